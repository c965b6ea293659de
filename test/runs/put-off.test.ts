// Children that an ended run still has are asked again after ever longer waits, and at once where there is news.
import { expect, it } from 'vitest';
import { storeTarget } from '../../src/runs/targets/store.ts';
import { driveInBackground, reapRuns } from '../../src/runs/tasks.ts';
import { startApp } from '../support/app.ts';
import { scriptedTarget } from '../support/scripted-target.ts';
import { chain, registered, uuidOf } from '../support/states.ts';
import { createWorkspace, mutate, readRun } from '../support/story.ts';

const target = scriptedTarget();
// Nothing in the background: each pass is made here. Waits that no test outlasts.
const app = await startApp({ targets: (db) => [storeTarget(db), target], worker: false, env: { PACKHORSE_RETRY_MS: '10000' } });
const { db } = app.app;
const { runs } = app.tasks;

it('waits twice as long each time, at most a minute, and begins anew where a child has said something', async () => {
  const workspaceId = await createWorkspace(app, 'patience');
  const id = await registered(app, workspaceId, [chain[0]!, { ...chain[0]!, name: 'other' }], { driving: 'ON_REQUEST' });
  await mutate(app, 'startDataRun', { dataRunId: id });
  target.script = { cancel: () => ({ is: 'unknown', message: 'it cannot be reached' }) };
  await mutate(app, 'cancelDataRun', { dataRunId: id });
  const row = () => db.prisma.dataRun.findUniqueOrThrow({ where: { id: uuidOf(id) } });
  const asked = () => target.job('first').cancelAsked;
  const reap = async () => {
    const before = asked();
    await reapRuns(runs, (error) => {
      throw error;
    });
    return asked() - before;
  };
  expect(await row()).toMatchObject({ state: 'CANCELLED', putOffUntil: null });
  const waits: number[] = [];
  for (let turn = 0; turn < 6; turn++) {
    expect(await reap()).toBe(1);
    expect(await reap()).toBe(0);
    const { putOffUntil, fruitlessPasses } = await row();
    expect(fruitlessPasses).toBe(turn + 1);
    waits.push(((putOffUntil?.getTime() ?? 0) - Date.now()) / 1_000);
    await db.pool.query(`UPDATE data_run SET put_off_until = clock_timestamp() - interval '1 ms' WHERE id = $1`, [uuidOf(id)]);
  }
  for (const [turn, seconds] of [10, 20, 40, 60, 60, 60].entries()) {
    expect(waits[turn]).toBeGreaterThan(seconds * 0.75 - 5);
    expect(waits[turn]).toBeLessThanOrEqual(seconds * 1.25);
  }
  // Woken, as by a callback, it asks whatever was put off; and one child that has stopped is news.
  await reap();
  target.script = { cancel: ({ dataset }) => (dataset === 'first' ? { is: 'unknown', message: 'it cannot be reached' } : null) };
  await driveInBackground(runs, uuidOf(id));
  expect((await readRun(app, id)).steps.map(({ state }: { state: string }) => state)).toEqual(['CANCELLING', 'CANCELLED']);
  expect(await row()).toMatchObject({ fruitlessPasses: 0, putOffUntil: null });
  expect(await reap()).toBe(1);
});
