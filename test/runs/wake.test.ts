// Runs move by their wakes alone: here the reaper looks every ten minutes, so that a lost wake shows as a run that stands still.
import { expect, it } from 'vitest';
import { startApp } from '../support/app.ts';
import { createWorkspace, mutate, type Resource, reach, register, stage, zipOf } from '../support/story.ts';

const app = await startApp({ env: { PACKHORSE_POLL_MS: '600000', PACKHORSE_LEASE_MS: '600000', PACKHORSE_STORE_CONCURRENCY: '4' } });

/** Six levels of four datasets each, every one of which needs all of the level before: many children end in the same moment. */
const levels: Resource[] = Array.from({ length: 24 }, (_, index) => {
  const level = Math.floor(index / 4);
  const before = level === 0 ? [] : [0, 1, 2, 3].map((place) => `d${(level - 1) * 4 + place}`);
  return {
    name: `d${index}`,
    rows: 'id\n1\n',
    schema: { fields: [{ name: 'id', type: 'string' }], primaryKey: 'id' },
    'packhorse:dependsOn': before,
  };
});

it('loses no wake, although many come while a pass is under way', { timeout: 300_000 }, async () => {
  const workspaceId = await createWorkspace(app, 'wakes');
  const packageId = await stage(app, workspaceId, await zipOf('wakes', levels));
  for (let round = 0; round < 3; round++) {
    const id = await register(app, workspaceId, packageId);
    await mutate(app, 'startDataRun', { dataRunId: id });
    const run = await reach(app, id, 'SUCCEEDED');
    expect(run.steps).toHaveLength(24);
  }
});
