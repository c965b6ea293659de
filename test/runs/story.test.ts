import { expect, it } from 'vitest';
import { startApp } from '../support/app.ts';
import { createWorkspace, depot, mutate, reach, register, stage, zipOf } from '../support/story.ts';

const app = await startApp();

it('loads a package from registration to success, with its events in order', async () => {
  const workspaceId = await createWorkspace(app, 'story');
  const packageId = await stage(app, workspaceId, await zipOf('depot', depot));
  const id = await register(app, workspaceId, packageId);
  const started = await mutate(app, 'startDataRun', { dataRunId: id });
  expect(started.__typename, JSON.stringify(started)).toBe('DataRun');
  const run = await reach(app, id, 'SUCCEEDED');
  expect(
    run.steps.map((step: { dataset: string; state: string; rows: { loaded: string } }) => [step.dataset, step.state, step.rows.loaded]),
  ).toEqual([
    ['depots', 'SUCCEEDED', '2'],
    ['tools', 'SUCCEEDED', '1'],
    ['routes', 'SUCCEEDED', '3'],
  ]);
  const { data, errors } = await app.graphql(
    `query ($id: ID!) { dataRun(id: $id) { lastEventCursor readiness { ready } progress { done total }
      events(first: 50) { edges { cursor node { sequence action from to dataset actor cause dataRun { state } } } pageInfo { hasNextPage endCursor } }
      workspace { datasets { edges { node { name rowCount rows { edges { node { key values } } } } } } } } }`,
    { id },
  );
  expect(errors).toEqual([]);
  const events = data.dataRun.events.edges.map(({ node }: { node: { sequence: number; action: string; dataset: string } }) => node);
  expect(events.map((event: { sequence: number }) => event.sequence)).toEqual(events.map((_: unknown, index: number) => index + 1));
  expect(events.map((event: { action: string; dataset: string | null }) => `${event.action} ${event.dataset ?? ''}`.trim())).toEqual([
    'REGISTER',
    'START',
    'SUBMIT depots',
    'SUBMIT tools',
    'ACCEPT depots',
    'ACCEPT tools',
    expect.stringMatching(/^SUCCEED (depots|tools)$/),
    expect.stringMatching(/^(SUCCEED|SUBMIT) /),
    expect.stringMatching(/^(SUCCEED|SUBMIT|ACCEPT) /),
    expect.stringMatching(/^(SUCCEED|ACCEPT) /),
    'SUCCEED routes',
    'SUCCEED',
  ]);
  expect(data.dataRun.lastEventCursor).toBe(data.dataRun.events.pageInfo.endCursor);
  expect(data.dataRun.readiness.ready).toBe(true);
});

it('keeps the rows of a dataset without a key in the order of their file', async () => {
  const workspaceId = await createWorkspace(app, 'order');
  // Long enough for many pages of the stage, of lengths that leave holes in them: that is where their order was lost.
  const rows = Array.from({ length: 20_000 }, (_, n) => `${n},${'x'.repeat((n * 7919) % 300)}`);
  const schema = {
    fields: [
      { name: 'n', type: 'integer' },
      { name: 'text', type: 'string' },
    ],
  };
  const packageId = await stage(app, workspaceId, await zipOf('order', [{ name: 'log', rows: `n,text\n${rows.join('\n')}\n`, schema }]));
  const id = await register(app, workspaceId, packageId);
  await mutate(app, 'startDataRun', { dataRunId: id });
  await reach(app, id, 'SUCCEEDED');
  const dataset = await app.app.db.prisma.dataset.findFirstOrThrow({ where: { name: 'log' } });
  const { rows: stored } = await app.app.db.pool.query<{ n: string }>(`SELECT c1 AS n FROM records."${dataset.table}" ORDER BY row_id`);
  expect(stored.map(({ n }) => Number(n))).toEqual(rows.map((_, n) => n));
});
