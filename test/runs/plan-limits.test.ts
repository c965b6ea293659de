// What a plan may and may not do: it writes nothing, tells nobody what is not theirs, and ends in time. What it says holds until
// something is stored.
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { everything, startApp } from '../support/app.ts';
import { freshDatabase } from '../support/database.ts';
import { poolOn } from '../support/exports.ts';
import { type Hold, holdRows } from '../support/holds.ts';
import { scriptedTarget } from '../support/scripted-target.ts';
import { everythingOf, registered, uuidOf } from '../support/states.ts';
import { createWorkspace, depot, mutate, type Resource, reach, register, stage, zipOf } from '../support/story.ts';
import { loaded, plan, planned } from './planning.ts';

const databaseUrl = await freshDatabase();
const app = await startApp({ env: { DATABASE_URL: databaseUrl } });
const pool = poolOn(databaseUrl);
// What is loaded is loaded by the first: each has a storage of its own.
const hurried = await startApp({ env: { DATABASE_URL: databaseUrl, PACKHORSE_PLAN_DEADLINE_MS: '150' }, worker: false });
const stopping = await startApp({ env: { DATABASE_URL: databaseUrl }, worker: false });
const target = scriptedTarget();
const remote = await startApp({ targets: () => [target], worker: false });
const quietUrl = await freshDatabase();
const writer = await startApp({ env: { DATABASE_URL: quietUrl } });
const reader = await startApp({ env: { DATABASE_URL: quietUrl }, worker: false });
const quiet = poolOn(quietUrl);

const words = (rows: string, type = 'integer'): Resource => ({
  name: 'words',
  rows: `id,word\n${rows}`,
  schema: {
    fields: [
      { name: 'id', type },
      { name: 'word', type: 'string' },
    ],
    primaryKey: 'id',
  },
});

/** A workspace with words in it, and a run that would change them. */
async function ground(): Promise<{ workspaceId: string; id: string }> {
  const workspaceId = await createWorkspace(app);
  await loaded(app, workspaceId, [words('1,a\n2,b\n')]);
  return { workspaceId, id: await registered(app, workspaceId, [words('1,c\n3,d\n')]) };
}

/** A dataset that nobody can read until it is let go of: a plan waits for it. */
async function holdTable(workspaceId: string): Promise<Hold> {
  const { rows } = await pool.query<{ table: string }>(
    `SELECT table_name AS table FROM dataset WHERE workspace_id = $1 AND name = 'words'`,
    [uuidOf(workspaceId)],
  );
  return holdRows(databaseUrl, `LOCK TABLE records.${rows[0]?.table} IN ACCESS EXCLUSIVE MODE`);
}

const waits = (hold: Hold) => expect.poll(() => hold.waiting()).not.toBeNull();
const isOver = (hold: Hold) => expect.poll(() => hold.waiting()).toBeNull();

/** As `plan`, but by another, who may leave, and with whatever the answer is. */
async function ask(dataRunId: string, signal: AbortSignal = new AbortController().signal): Promise<any> {
  const query =
    'mutation ($input: PlanDataRunInput!) { planDataRun(input: $input) { __typename ... on DataRunPlan { digest } ... on Error { code } } }';
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${await app.token({ subject: 'asker' })}` };
  const body = JSON.stringify({ query, variables: { input: { dataRunId } } });
  return (await fetch(`${app.url}/graphql`, { method: 'POST', headers, body, signal })).json();
}

describe('a plan writes', () => {
  it('nothing: no row, no event, no table that stays', async () => {
    const workspaceId = await createWorkspace(writer, 'quiet');
    await loaded(writer, workspaceId, [words('1,a\n2,b\n'), ...depot]);
    await writer.stop();
    const runs = [
      await registered(reader, workspaceId, [words('2,c\n3,d\n'), { name: 'unkeyed', rows: 'a\nb\n' }, ...depot]),
      await registered(reader, workspaceId, [words('x,a\n'), ...depot]),
    ];
    /** Every version of every row, and every table there is, temporary ones too. */
    const whole = async () => {
      const { rows: tables } = await quiet.query<{ name: string }>(
        `SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE c.relkind = 'r' AND (n.nspname IN ('public', 'records', 'graphile_worker') OR c.relpersistence = 't') ORDER BY 1`,
      );
      const rows = new Map<string, string>();
      for (const { name } of tables) {
        const { rows: found } = await quiet.query<{ text: string | null }>(
          `SELECT string_agg(xmin::text || t::text, E'\\n' ORDER BY ctid) AS text FROM ${name} t`,
        );
        rows.set(name, found[0]?.text ?? '');
      }
      return rows;
    };
    const before = await whole();
    expect(before.size).toBeGreaterThan(20);
    const plans = [];
    for (const id of runs) plans.push(await planned(reader, id));
    expect(plans.map(({ datasets }) => datasets[0].state)).toEqual(['SUCCEEDED', 'FAILED']);
    expect(await whole()).toEqual(before);
  });
});

describe('the digest', () => {
  it('is the same while nothing is stored, and starts the run, with the same key again', async () => {
    const { id } = await ground();
    const { digest } = await planned(app, id);
    expect((await planned(app, id)).digest).toBe(digest);
    const input = { dataRunId: id, planDigest: digest, idempotencyKey: randomUUID() };
    expect((await mutate(app, 'startDataRun', input)).__typename).toBe('DataRun');
    expect((await mutate(app, 'startDataRun', input)).__typename).toBe('DataRun');
    expect((await mutate(app, 'startDataRun', { ...input, planDigest: null })).code).toBe('IDEMPOTENCY_KEY_REUSED');
    expect((await reach(app, id, 'SUCCEEDED')).steps[0].rows).toMatchObject({ loaded: '1', updated: '1' });
  });

  it.each(['load', 'reset'])('is stale after a %s of one of its datasets: the start is refused, and changes nothing', async (change) => {
    const { workspaceId, id } = await ground();
    const other = await registered(app, workspaceId, [words('9,z\n')]);
    const load = async () => {
      await mutate(app, 'startDataRun', { dataRunId: other });
      await reach(app, other, 'SUCCEEDED');
    };
    if (change === 'reset') await load();
    const { digest } = await planned(app, id);
    if (change === 'reset') expect((await mutate(app, 'resetDataRun', { dataRunId: other })).__typename).toBe('DataRun');
    else await load();
    const before = await everythingOf(app, id);
    expect(await mutate(app, 'startDataRun', { dataRunId: id, planDigest: digest })).toMatchObject({
      __typename: 'ConflictError',
      code: 'PLAN_STALE',
    });
    expect(await everythingOf(app, id)).toBe(before);
    const fresh = await planned(app, id);
    expect(fresh.digest).not.toBe(digest);
    expect((await mutate(app, 'startDataRun', { dataRunId: id, planDigest: fresh.digest })).__typename).toBe('DataRun');
  });

  it('is not touched by what other datasets and other workspaces are loaded with', async () => {
    const { workspaceId, id } = await ground();
    const { digest } = await planned(app, id);
    await loaded(app, workspaceId, depot);
    await loaded(app, await createWorkspace(app), [words('5,e\n')]);
    expect((await planned(app, id)).digest).toBe(digest);
  });

  it('is another for other policies, another package and another workspace, and for nothing else', async () => {
    const workspaceId = await createWorkspace(app);
    const [same, other] = [await zipOf('same', [words('1,a\n')]), await zipOf('same', [words('1,b\n')])];
    const digestOf = async (place: string, zip: Buffer, more: Record<string, unknown>) => {
      const id = await register(app, place, await stage(app, place, zip), more);
      const { digest } = await planned(app, id);
      await mutate(app, 'cancelDataRun', { dataRunId: id });
      return digest;
    };
    const digest = await digestOf(workspaceId, same, {});
    expect(await digestOf(workspaceId, same, {})).toBe(digest);
    const others = [
      await digestOf(workspaceId, same, { onMissingReference: 'FAIL' }),
      await digestOf(workspaceId, same, { onHashMismatch: 'WARN' }),
      await digestOf(workspaceId, other, {}),
      await digestOf(await createWorkspace(app), same, {}),
    ];
    expect(new Set([digest, ...others]).size).toBe(5);
  });

  it('of a plan during which something was loaded is stale from the beginning', async () => {
    const { workspaceId, id } = await ground();
    const hold = await holdTable(workspaceId);
    const asked = ask(id);
    await waits(hold);
    await pool.query(
      `INSERT INTO dataset_load (dataset_id, run_id, store_job_id, schema) SELECT id, gen_random_uuid(), gen_random_uuid(), '{}' FROM dataset WHERE workspace_id = $1`,
      [uuidOf(workspaceId)],
    );
    await hold.release();
    const { digest } = (await asked).data.planDataRun;
    expect((await mutate(app, 'startDataRun', { dataRunId: id, planDigest: digest })).code).toBe('PLAN_STALE');
  });

  it('of a run that was started says nothing any more, and what is no digest is refused as such', async () => {
    const { id } = await ground();
    const { digest } = await planned(app, id);
    expect(await mutate(app, 'startDataRun', { dataRunId: id, planDigest: digest.slice(0, -1) })).toMatchObject({
      __typename: 'InvalidInputError',
      field: 'planDigest',
    });
    const run = await registered(remote, await createWorkspace(remote), [{ ...words('1,a\n'), 'packhorse:target': 'scripted' }]);
    const made = await planned(remote, run);
    expect((await mutate(remote, 'startDataRun', { dataRunId: run, planDigest: made.digest })).__typename).toBe('DataRun');
    await mutate(remote, 'pauseDataRun', { dataRunId: run });
    expect((await mutate(remote, 'startDataRun', { dataRunId: run, planDigest: made.digest })).code).toBe('PLAN_STALE');
    expect(await plan(remote, run)).toMatchObject({
      __typename: 'InvalidTransitionError',
      from: 'PAUSED',
      action: 'PLAN',
      allowed: ['START', 'RESUME', 'CANCEL'],
    });
  });
});

describe('a plan is told', () => {
  it('to nobody whose workspace it is not, nor does it find their rows', async () => {
    const theirs = await ground();
    const mine = await createWorkspace(app, 'mine');
    const token = await app.token({ workspaces: ['mine'] });
    expect(await plan(app, theirs.id, token)).toMatchObject({ __typename: 'NotFoundError' });
    const pointing: Resource = {
      name: 'pointing',
      rows: 'id,word\n1,1\n',
      schema: {
        fields: [
          { name: 'id', type: 'integer' },
          { name: 'word', type: 'integer' },
        ],
        primaryKey: 'id',
        foreignKeys: [{ fields: 'word', reference: { resource: 'words', fields: 'id' } }],
      },
    };
    const id = await registered(app, mine, [words('7,x\n'), pointing]);
    const made = await plan(app, id, token);
    expect(made.datasets.map(({ account }: any) => account)).toMatchObject([{ loaded: '1', unchanged: '0' }, { blocked: '1' }]);
  });

  it('to who may run, with what authority they lack', async () => {
    const { id } = await ground();
    const without = (permission: string) => app.token({ permissions: everything.filter((one) => one !== permission) });
    expect(await plan(app, id, await without('data-run'))).toMatchObject({ __typename: 'ForbiddenError', permission: 'data-run' });
    expect((await plan(app, id, await without('target:*'))).datasets).toMatchObject([{ target: 'store', authorised: false }]);
    expect((await planned(app, id)).datasets).toMatchObject([{ target: 'store', authorised: true }]);
  });

  it('of another target’s dataset as far as its file goes', async () => {
    const id = await registered(remote, await createWorkspace(remote), [{ ...words('1,a\nx,b\n'), 'packhorse:target': 'scripted' }]);
    const made = await planned(remote, id);
    expect(made.datasets).toMatchObject([
      { target: 'scripted', rows: '2', invalidRows: '1', state: null, account: null, rowErrorCount: '1' },
    ]);
    expect(made.blockers).toEqual([]);
    expect(target.submissions.filter(({ runId }) => runId === uuidOf(id))).toEqual([]);
  });
});

describe('a plan under way', () => {
  it('is the only one of its workspace', async () => {
    const { workspaceId, id } = await ground();
    const elsewhere = await ground();
    const hold = await holdTable(workspaceId);
    const asked = ask(id);
    await waits(hold);
    expect((await ask(id)).errors).toMatchObject([{ extensions: { code: 'BUSY' } }]);
    expect((await ask(elsewhere.id)).data.planDataRun.__typename).toBe('DataRunPlan');
    await hold.release();
    expect((await asked).data.planDataRun.__typename).toBe('DataRunPlan');
  });

  it('ends when nobody waits for it any more, and another may be made', async () => {
    const { workspaceId, id } = await ground();
    const hold = await holdTable(workspaceId);
    const leaving = new AbortController();
    const asked = ask(id, leaving.signal).catch((error: Error) => error.name);
    await waits(hold);
    leaving.abort();
    expect(await asked).toBe('AbortError');
    await isOver(hold);
    await hold.release();
    expect((await ask(id)).data.planDataRun.__typename).toBe('DataRunPlan');
  });

  it('ends with its asker’s access', async () => {
    const { workspaceId, id } = await ground();
    const hold = await holdTable(workspaceId);
    const asked = ask(id);
    await waits(hold);
    const { errors } = await app.graphql(`mutation ($input: RevokeAccessInput!) { revokeAccess(input: $input) { __typename } }`, {
      input: { workspaceId, subject: 'asker' },
    });
    expect(errors).toEqual([]);
    expect((await asked).errors).toMatchObject([{ extensions: { code: 'ACCESS_REVOKED' } }]);
    await isOver(hold);
    await hold.release();
  });

  it('ends at its deadline, and leaves the run as it was', async () => {
    const { workspaceId } = await ground();
    const id = await registered(hurried, workspaceId, [words('1,c\n')]);
    const before = await everythingOf(hurried, id);
    const hold = await holdTable(workspaceId);
    expect(await plan(hurried, id)).toMatchObject({ __typename: 'InvalidInputError', code: 'PLAN_TOO_LONG' });
    await isOver(hold);
    await hold.release();
    expect(await everythingOf(hurried, id)).toBe(before);
  });

  it('ends with its process', async () => {
    const { workspaceId } = await ground();
    const id = await registered(stopping, workspaceId, [words('1,c\n')]);
    const hold = await holdTable(workspaceId);
    const asked = plan(stopping, id).catch(() => 'cut off');
    await waits(hold);
    await stopping.stop();
    await asked;
    await isOver(hold);
    await hold.release();
  });
});
