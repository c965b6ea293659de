// Admission: one of many, what there is to export, and the moment that is exported.
import { beforeEach, expect, it } from 'vitest';
import { launch, startApp } from '../support/app.ts';
import { freshDatabase } from '../support/database.ts';
import { admissionRounds } from '../support/export-races.ts';
import { exportEvents, numbered, poolOn, storyOf } from '../support/exports.ts';
import { holdSettling } from '../support/holds.ts';
import { nodesOn } from '../support/nodes.ts';
import { uuidOf } from '../support/states.ts';
import { createWorkspace, mutate, reach, register, stage, zipOf } from '../support/story.ts';
import { loaded, mutateExport, published, readExport, request } from './story.ts';

const databaseUrl = await freshDatabase();
const pool = poolOn(databaseUrl);
const nodes = nodesOn(databaseUrl);
// Two servers that admit, and nobody who dispatches while they race.
const [one, two] = await Promise.all([0, 1].map(() => startApp({ worker: false, env: { DATABASE_URL: databaseUrl } })));
if (one === undefined || two === undefined) throw new Error('both were started');

async function withWorker<T>(work: (app: typeof one & object) => Promise<T>): Promise<T> {
  const app = await launch({ PACKHORSE_HOME: one!.config.home, DATABASE_URL: databaseUrl });
  try {
    return await work(app);
  } finally {
    await app.stop();
  }
}

let workspaceId = '';
beforeEach(async () => {
  if (workspaceId !== '') return;
  workspaceId = await withWorker(async (app) => {
    const made = await createWorkspace(app, 'contested');
    await loaded(app, made, [numbered('things', 3)]);
    return made;
  });
});

const times = (count: number) => Array.from({ length: count }, (_, index) => index);
it('admits one of 32 requests to two servers, and names it to the others, in 20 rounds', async () => {
  await admissionRounds([one, two], pool, workspaceId, 20);
});

it('admits at most one where requests race a cancel of the one before', async () => {
  for (const round of times(10)) {
    const held = await request(one, workspaceId);
    const [cancelled, ...answers] = await Promise.all([
      mutateExport(one, 'cancelExportExecution', { exportExecutionId: held }),
      ...times(8).map((n) => mutateExport((n + round) % 2 === 0 ? one : two, 'requestWorkspaceExport', { workspaceId })),
    ]);
    expect(cancelled.state).toBe('CANCELLED');
    const made = answers.filter(({ __typename }) => __typename === 'ExportExecution');
    expect(made.length).toBeLessThan(2);
    for (const answer of answers) {
      if (answer !== made[0]) expect(answer).toMatchObject({ code: 'ACTIVE_EXPORT_EXISTS' });
    }
    for (const { id } of made) await mutateExport(one, 'cancelExportExecution', { exportExecutionId: id });
  }
});

it('queues nothing where there is nothing to export', async () => {
  const empty = await createWorkspace(one, 'empty');
  const refusal = { __typename: 'ConflictError', code: 'NOTHING_TO_EXPORT', conflictingId: null };
  expect(await mutateExport(one, 'requestWorkspaceExport', { workspaceId: empty, idempotencyKey: 'k' })).toMatchObject(refusal);
  await mutateExport(one, 'updateExportSettings', { workspaceId, datasets: ['others'] });
  expect(await mutateExport(one, 'requestWorkspaceExport', { workspaceId })).toMatchObject(refusal);
  const { rows } = await pool.query(`SELECT id FROM export_execution WHERE state IN ('QUEUED', 'RUNNING') OR workspace_id = $1`, [
    uuidOf(empty),
  ]);
  expect(rows).toEqual([]);
  await mutateExport(one, 'updateExportSettings', { workspaceId, datasets: null });
  expect((await pool.query(`SELECT FROM idempotency_key WHERE key = 'k'`)).rowCount).toBe(0); // only successes are kept
});

it('gives 20 requests with one key one answer, which shows the export as it is now', async () => {
  const input = { workspaceId, idempotencyKey: 'mine' };
  const answers = await Promise.all(times(20).map((n) => mutateExport(n % 2 === 0 ? one : two, 'requestWorkspaceExport', input)));
  expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
  const [{ id }] = answers;
  expect(await storyOf(pool, id)).toEqual(['REQUEST']);
  // Another subject's key is another key.
  const bob = await mutateExport(one, 'requestWorkspaceExport', input, await one.token({ subject: 'bob' }));
  expect(bob).toMatchObject({ code: 'ACTIVE_EXPORT_EXISTS', conflictingId: id });
  const cancel = { exportExecutionId: id, reason: 'no need', idempotencyKey: 'c' };
  const cancels = await Promise.all(times(5).map(() => mutateExport(two, 'cancelExportExecution', cancel)));
  expect(cancels.map(({ state }) => state)).toEqual(times(5).map(() => 'CANCELLED'));
  expect(await mutateExport(two, 'cancelExportExecution', { ...cancel, reason: 'another' })).toMatchObject({
    code: 'IDEMPOTENCY_KEY_REUSED',
  });
  expect(await mutateExport(two, 'requestWorkspaceExport', input)).toMatchObject({ id, state: 'CANCELLED' });
  expect((await exportEvents(pool, id)).map(({ action, actor, reason }) => [action, actor, reason])).toEqual([
    ['REQUEST', 'ann', null],
    ['CANCEL', 'ann', 'no need'],
  ]);
});

it('admits nobody without the permission, and tells of no workspace that a token does not name', async () => {
  const reader = await one.token({ permissions: ['workspace:read'] });
  expect(await mutateExport(one, 'requestWorkspaceExport', { workspaceId }, reader)).toMatchObject({
    __typename: 'ForbiddenError',
    permission: 'data-export:execute',
  });
  const stranger = await one.token({ workspaces: ['elsewhere'] });
  expect(await mutateExport(one, 'requestWorkspaceExport', { workspaceId }, stranger)).toMatchObject({ __typename: 'NotFoundError' });
});

it('takes the instant from the database, whatever zone it and the process are in', async () => {
  const name = new URL(databaseUrl).pathname.slice(1);
  await pool.query(`ALTER DATABASE ${name} SET timezone = 'America/St_Johns'`);
  const now = async () =>
    (await pool.query<{ now: string }>(`SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS now`))
      .rows[0]!.now;
  const node = nodes.start({ TZ: 'Asia/Kathmandu', PACKHORSE_ROLE: 'api' });
  await node.ready;
  const seen: string[] = [];
  for (const app of [node.app, one]) {
    const before = await now();
    const id = await request(app, workspaceId);
    const after = await now();
    const { data } = await app.graphql(`query ($id: ID!) { exportExecution(id: $id) { cutoff requestedAt } }`, { id });
    const { cutoff, requestedAt } = data.exportExecution;
    expect(cutoff).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    expect(before <= cutoff && cutoff <= after, `${before} ${cutoff} ${after}`).toBe(true);
    // Kept in milliseconds, so it may be rounded.
    expect(Date.parse(requestedAt)).toBeGreaterThanOrEqual(Date.parse(before) - 1);
    expect(Date.parse(requestedAt)).toBeLessThanOrEqual(Date.parse(after) + 1);
    seen.push(cutoff.slice(20, 26));
    await mutateExport(app, 'cancelExportExecution', { exportExecutionId: id });
  }
  expect(seen.some((micros) => !micros.startsWith('000', 3))).toBe(true); // microseconds, not milliseconds with noughts
  await node.kill();
});

it('exports what was committed when it was admitted: not what was only written, nor what came after', async () => {
  await withWorker(async (app) => {
    const own = await createWorkspace(app, 'cutoff');
    await loaded(app, own, [numbered('things', 3)]);
    const hold = await holdSettling(databaseUrl);
    const run = await register(app, own, await stage(app, own, await zipOf('given', [numbered('things', 5, 'late')])));
    await mutate(app, 'startDataRun', { dataRunId: run });
    await expect.poll(() => hold.waiting(), { interval: 5 }).not.toBeNull();
    const before = await request(app, own);
    await hold.release();
    await reach(app, run, 'SUCCEEDED');
    const early = await published(app, before);
    expect(early.counts).toMatchObject([{ dataset: 'things', rows: '3' }]);
    const after = await published(app, await request(app, own));
    expect(after.counts).toMatchObject([{ dataset: 'things', rows: '5' }]);
    expect(after.manifestDigest).not.toBe(early.manifestDigest);
    expect((await readExport(app, before)).manifestDigest).toBe(early.manifestDigest);
  });
});
