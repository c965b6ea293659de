// What a restart may not change. The same start as production, twice on one database.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { storeTarget } from '../../src/runs/targets/store.ts';
import { launch, type TestApp } from '../support/app.ts';
import { freshDatabase } from '../support/database.ts';
import { scriptedTarget } from '../support/scripted-target.ts';
import { chain, eventsOf, registered } from '../support/states.ts';
import { createWorkspace, depot, mutate, reach, readRun, register, stage, zipOf } from '../support/story.ts';

const target = scriptedTarget();
const databaseUrl = await freshDatabase();
const home = mkdtempSync(path.join(tmpdir(), 'packhorse-restart-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));
const env = { DATABASE_URL: databaseUrl, PACKHORSE_HOME: home };
const start = () => launch(env, (db) => [storeTarget(db), target]);

it('leaves a paused run whose children have ended paused, submits nothing, and finishes what was running', async () => {
  const first = await start();
  const workspaceId = await createWorkspace(first, 'restart');
  const paused = await registered(first, workspaceId, chain);
  await mutate(first, 'startDataRun', { dataRunId: paused });
  await expect.poll(async () => (await readRun(first, paused)).activeChildren).toBe(1);
  await mutate(first, 'pauseDataRun', { dataRunId: paused });
  const running = await registered(first, workspaceId, chain);
  await mutate(first, 'startDataRun', { dataRunId: running });
  await expect.poll(async () => (await readRun(first, running)).activeChildren).toBe(1);
  const loading = await register(first, workspaceId, await stage(first, workspaceId, await zipOf('depot-restart', depot)));
  await mutate(first, 'startDataRun', { dataRunId: loading });
  await first.stop();

  for (const job of target.jobs) job.state = 'succeeded'; // while nobody looks
  const second = await start();
  try {
    await sameAsBefore(second);
  } finally {
    await second.stop();
  }

  async function sameAsBefore(second: TestApp): Promise<void> {
    await reach(second, loading, 'SUCCEEDED');
    await expect.poll(async () => (await readRun(second, paused)).steps[0].state).toBe('SUCCEEDED');
    await expect.poll(async () => (await readRun(second, running)).steps[1].state).toBe('ACTIVE');
    expect(await readRun(second, paused)).toMatchObject({
      state: 'PAUSED',
      activeChildren: 0,
      steps: [{ state: 'SUCCEEDED' }, { state: 'PENDING', attempt: 0 }],
    });
    const events = await eventsOf(second, paused);
    expect(
      events.slice(events.findIndex(({ action, dataset }) => action === 'PAUSE' && dataset === null)).map(({ action }) => action),
    ).toEqual(['PAUSE', 'SUCCEED']);

    await mutate(second, 'resumeDataRun', { dataRunId: paused });
    await expect.poll(async () => (await readRun(second, paused)).steps[1].state).toBe('ACTIVE');
    target.begins = 'succeeded';
    for (const job of target.jobs) job.state = 'succeeded';
    await reach(second, paused, 'SUCCEEDED');
    await reach(second, running, 'SUCCEEDED');
    expect(target.jobs).toHaveLength(4);
  }
});
