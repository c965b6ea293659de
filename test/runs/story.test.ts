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
