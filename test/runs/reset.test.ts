// Taking back what a settled run wrote, through the API: what comes back, what is refused, and who meets whom.
import { describe, expect, it } from 'vitest';
import { exported, loaded, mutateExport, published, readExport, request } from '../exports/story.ts';
import { everything, startApp } from '../support/app.ts';
import { freshDatabase } from '../support/database.ts';
import { poolOn } from '../support/exports.ts';
import { holdSettling } from '../support/holds.ts';
import { scriptedTarget } from '../support/scripted-target.ts';
import { eventsOf, everythingOf, inState, registered, uuidOf } from '../support/states.ts';
import { createWorkspace, mutate, type Resource, reach, register, stage, zipOf } from '../support/story.ts';

const databaseUrl = await freshDatabase();
const app = await startApp({ env: { DATABASE_URL: databaseUrl } });
const pool = poolOn(databaseUrl);

const target = scriptedTarget();
const remote = await startApp({ targets: () => [target], worker: false });

const field = (name: string, type = 'string') => ({ name, type });
const shelves = (rows: string): Resource => ({
  name: 'shelves',
  rows: `id,room,width\n${rows}`,
  schema: { fields: [field('id', 'integer'), field('room'), field('width', 'number')], primaryKey: 'id', missingValues: ['~'] },
});
const notes = (rows: string): Resource => ({ name: 'notes', rows: `note\n${rows}` });
const boxes = (rows: string): Resource => ({
  name: 'boxes',
  rows: `id,shelf\n${rows}`,
  schema: {
    fields: [field('id'), field('shelf', 'integer')],
    primaryKey: 'id',
    foreignKeys: [{ fields: 'shelf', reference: { resource: 'shelves', fields: 'id' } }],
  },
});
/** A dataset beside it that the package needs for its references, with no row of its own. */
const noShelves = shelves('');

async function run(workspaceId: string, name: string, resources: readonly Resource[], more: Record<string, unknown> = {}): Promise<string> {
  const id = await register(app, workspaceId, await stage(app, workspaceId, await zipOf(name, resources)), more);
  await mutate(app, 'startDataRun', { dataRunId: id });
  await reach(app, id, 'SUCCEEDED');
  return id;
}

const reset = (dataRunId: string, more: Record<string, unknown> = {}, token?: string) =>
  mutate(app, 'resetDataRun', { dataRunId, ...more }, token);

async function datasetsOf(workspaceId: string): Promise<any[]> {
  const { data, errors } = await app.graphql(
    `query ($id: ID!) { node(id: $id) { ... on Workspace { datasets { edges { node { id name rowCount schema rows { edges { node { key values } } } } } } } } }`,
    { id: workspaceId },
  );
  expect(errors).toEqual([]);
  return data.node.datasets.edges.map(({ node }: any) => node);
}

async function shown(id: string): Promise<any> {
  const { data } = await app.graphql(
    'query ($id: ID!) { dataRun(id: $id) { state resetAt settledAt allowedActions readiness { ready blockers { code dataset } } } }',
    { id },
  );
  return data.dataRun;
}

/** Until the backend that does something waits for a lock. */
const waits = (pattern: string) =>
  expect
    .poll(
      async () =>
        (
          await pool.query(
            `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'packhorse' AND wait_event_type = 'Lock' AND query ~ $1`,
            [pattern],
          )
        ).rowCount,
      { timeout: 10_000, interval: 20 },
    )
    .toBe(1);

it('puts everything back as it was, says so, and lets the package be loaded again', { timeout: 60_000 }, async () => {
  const workspaceId = await createWorkspace(app);
  await loaded(app, workspaceId, [shelves(`1,,1.50\n2,~,1${'0'.repeat(30)}\n3,hall,~\n`), notes('a\nb\nb\n')], 'first');
  const before = await datasetsOf(workspaceId);
  const digest = (await exported(app, workspaceId)).execution.manifestDigest;

  const wider = { ...shelves('1,~,1.5\n2,,1\n3,hall,~\n4,attic,7\n'), name: 'shelves' };
  const second = [
    {
      ...wider,
      rows: 'id,room,width,more\n1,~,1.5,m\n2,,1,m\n4,attic,7,~\n',
      schema: { ...wider.schema, fields: [...(wider.schema as any).fields, field('more')] },
    },
    notes('b\nc\n'),
    { name: 'fresh', rows: 'x\n1\n' },
  ];
  const id = await run(workspaceId, 'second', second);
  const changed = (await exported(app, workspaceId)).execution.manifestDigest;
  const fresh = (await datasetsOf(workspaceId)).find(({ name }) => name === 'fresh');
  expect((await shown(id)).allowedActions).toEqual(['RESET']);
  // Admitted before the reset, and written after it.
  await pool.query('UPDATE export_slot SET execution_id = (SELECT id FROM export_execution LIMIT 1), lease_until = $1 WHERE n = 1', [
    '2100-01-01',
  ]);
  await pool.query('DELETE FROM export_slot WHERE n > 1');
  const waiting = await request(app, workspaceId);

  const settledAt = (await shown(id)).settledAt;
  expect(await reset(id, { reason: 'wrong file' })).toMatchObject({ __typename: 'DataRun', state: 'SUCCEEDED', allowedActions: [] });
  expect((await eventsOf(app, id)).at(-1)).toMatchObject({
    action: 'RESET',
    from_state: 'SUCCEEDED',
    to_state: 'SUCCEEDED',
    actor: 'ann',
    reason: 'wrong file',
  });
  expect(await shown(id)).toMatchObject({
    settledAt,
    resetAt: expect.any(String),
    readiness: {
      ready: false,
      blockers: [
        { code: 'DATASET_RESET', dataset: 'shelves' },
        { code: 'DATASET_RESET', dataset: 'notes' },
        { code: 'DATASET_RESET', dataset: 'fresh' },
      ],
    },
  });
  expect(await datasetsOf(workspaceId)).toEqual(before);
  const { data } = await app.graphql('query ($id: ID!) { node(id: $id) { id } }', { id: fresh.id });
  expect(data.node).toBeNull();

  expect((await readExport(app, waiting)).state).toBe('QUEUED');
  await pool.query('UPDATE export_slot SET execution_id = NULL, lease_owner = NULL, lease_until = NULL');
  expect((await published(app, waiting)).manifestDigest).toBe(changed);
  expect((await exported(app, workspaceId)).execution.manifestDigest).toBe(digest);

  expect(await reset(id)).toMatchObject({ __typename: 'InvalidTransitionError', from: 'SUCCEEDED', action: 'RESET', allowed: [] });
  await run(workspaceId, 'second', second, { previousRunId: id });
  expect((await exported(app, workspaceId)).execution.manifestDigest).toBe(changed);
});

it('leaves nothing to export where nothing is left, and the next load takes the dataset up again', async () => {
  const workspaceId = await createWorkspace(app);
  const id = await run(workspaceId, 'only', [notes('a\n')]);
  const [dataset] = await datasetsOf(workspaceId);
  await reset(id);
  expect(await datasetsOf(workspaceId)).toEqual([]);
  expect(await mutateExport(app, 'requestWorkspaceExport', { workspaceId })).toMatchObject({ code: 'NOTHING_TO_EXPORT' });
  await run(workspaceId, 'only', [shelves('1,hall,1\n'), notes('z\n')]);
  expect((await datasetsOf(workspaceId)).map(({ id: own, name, rowCount }) => [own === dataset.id, name, rowCount])).toEqual([
    [true, 'notes', '1'],
    [false, 'shelves', '1'],
  ]);
});

it('gives the first result again to the same key, and takes nothing back twice', async () => {
  const workspaceId = await createWorkspace(app);
  const id = await run(workspaceId, 'keyed', [notes('a\n')]);
  const [one, other] = await Promise.all([reset(id, { idempotencyKey: 'k' }), reset(id, { idempotencyKey: 'k' })]);
  expect([one.__typename, other.__typename]).toEqual(['DataRun', 'DataRun']);
  expect((await eventsOf(app, id)).filter(({ action }) => action === 'RESET')).toHaveLength(1);
  expect(await reset(id, { idempotencyKey: 'k', reason: 'other' })).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' });
});

describe('is refused', () => {
  it('while a later run has written the same rows, or rows of another refer to what would vanish, and changes nothing', async () => {
    const workspaceId = await createWorkspace(app);
    const first = await run(workspaceId, 'first', [shelves('1,hall,1\n2,hall,1\n'), notes('a\n')]);
    const second = await run(workspaceId, 'second', [shelves('2,attic,1\n')]);
    const before = [await datasetsOf(workspaceId), await everythingOf(app, first)];
    expect(await reset(first)).toMatchObject({ __typename: 'ConflictError', code: 'LATER_RUN', conflictingId: second });
    const third = await run(workspaceId, 'third', [noShelves, boxes('b1,1\n')]);
    expect(await reset(second)).toMatchObject({ __typename: 'DataRun' });
    expect(await reset(first)).toMatchObject({ __typename: 'ConflictError', code: 'ROWS_IN_USE', conflictingId: third });
    const notesOf = (datasets: any) => datasets.find(({ name }: any) => name === 'notes'); // the two were loaded side by side
    expect(notesOf(await datasetsOf(workspaceId))).toEqual(notesOf(before[0]));
    expect(await everythingOf(app, first)).toBe(before[1]);
    expect(await reset(third)).toMatchObject({ __typename: 'DataRun' });
    expect(await reset(first)).toMatchObject({ __typename: 'DataRun' });
    expect(await datasetsOf(workspaceId)).toEqual([]);
  });

  it('while a child could still write, and lets a failed run be taken back when it cannot', async () => {
    const workspaceId = await createWorkspace(remote);
    const alone = (name: string): Resource => ({ name, rows: 'id\n1\n', 'packhorse:target': 'scripted' });
    const id = await registered(remote, workspaceId, [alone('quick'), alone('slow')], { driving: 'ON_REQUEST' });
    await mutate(remote, 'startDataRun', { dataRunId: id });
    target.end('quick', 'failed');
    await mutate(remote, 'advanceDataRun', { dataRunId: id });
    await reach(remote, id, 'FAILED');
    const refused = await mutate(remote, 'resetDataRun', { dataRunId: id });
    expect(refused).toMatchObject({ __typename: 'InvalidTransitionError', from: 'FAILED', action: 'RESET' });
    expect(refused.message).toContain('1 of its children');
    await remote.app.db.pool.query(`UPDATE data_run SET active_children = 0, cancelling_steps = 1 WHERE id = $1`, [uuidOf(id)]);
    expect(await mutate(remote, 'resetDataRun', { dataRunId: id })).toMatchObject({ __typename: 'InvalidTransitionError' });
    await remote.app.db.pool.query(`UPDATE data_run SET cancelling_steps = 0 WHERE id = $1`, [uuidOf(id)]);
    expect(await mutate(remote, 'resetDataRun', { dataRunId: id })).toMatchObject({ __typename: 'DataRun', state: 'FAILED' });
  });

  it.each([
    ['succeeded', `state = 'SUCCEEDED'`],
    ['was lost', `state = 'FAILED', failure = '{"code":"CHILD_LOST"}'`],
    ['came after one that was blocked', `state = 'FAILED', failure = '{}', attempt = 2, child_job_id = NULL`],
  ])('where a child of a remote target %s', async (_what, end) => {
    const id = await inState(remote, target, 'FAILED');
    await remote.app.db.pool.query(
      `ALTER TABLE data_run_step DISABLE TRIGGER data_run_step_guard; UPDATE data_run_step SET ${end} WHERE run_id = '${uuidOf(id)}' AND dataset = 'first'; ALTER TABLE data_run_step ENABLE TRIGGER data_run_step_guard`,
    );
    const answered = await mutate(remote, 'resetDataRun', { dataRunId: id });
    expect(answered).toMatchObject({ __typename: 'ConflictError', code: 'NOT_RESETTABLE' });
    expect(answered.message).toContain('first');
  });

  it('to who has no authority on the target that wrote, who is not shown it either', async () => {
    const workspaceId = await createWorkspace(app);
    const id = await run(workspaceId, 'held', [notes('a\n')]);
    const token = await app.token({ permissions: everything.filter((permission) => permission !== 'target:*') });
    expect(await reset(id, {}, token)).toMatchObject({ __typename: 'ForbiddenError', permission: 'target:store', dataset: 'notes' });
    const { data } = await app.graphql('query ($id: ID!) { dataRun(id: $id) { allowedActions } }', { id }, token);
    expect(data.dataRun.allowedActions).toEqual([]);
  });
});

describe('meets', () => {
  it('another reset of the same run: one of them takes it back', async () => {
    const workspaceId = await createWorkspace(app);
    const id = await run(workspaceId, 'both', [notes('a\n')]);
    const answers = await Promise.all([reset(id), reset(id), reset(id)]);
    expect(answers.map(({ __typename }) => String(__typename)).sort()).toEqual([
      'DataRun',
      'InvalidTransitionError',
      'InvalidTransitionError',
    ]);
    expect((await eventsOf(app, id)).filter(({ action }) => action === 'RESET')).toHaveLength(1);
  });

  it('a load of the same rows that is about to commit: waits for it, and is refused', async () => {
    const workspaceId = await createWorkspace(app);
    const first = await run(workspaceId, 'first', [shelves('1,hall,1\n')]);
    const hold = await holdSettling(databaseUrl);
    const second = run(workspaceId, 'second', [shelves('1,attic,1\n')]);
    await expect.poll(() => hold.waiting(), { timeout: 10_000 }).not.toBeNull();
    const answer = reset(first);
    await waits('FROM dataset.*FOR UPDATE');
    await hold.release();
    expect(await answer).toMatchObject({ code: 'LATER_RUN', conflictingId: await second });
  });
});
