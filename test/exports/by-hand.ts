// Exports where nothing runs in the background: a test takes each step itself, and may stand between any two.
import { existsSync } from 'node:fs';
import { expect } from 'vitest';
import { runNext } from '../../src/exports/runner.ts';
import { runStoreJob } from '../../src/runs/targets/store-loader.ts';
import { driveInBackground } from '../../src/runs/tasks.ts';
import type { StoredObject } from '../../src/storage/storage.ts';
import type { TestApp } from '../support/app.ts';
import { uuidOf } from '../support/states.ts';
import { mutate, type Resource, readRun, register, stage, zipOf } from '../support/story.ts';
import { request } from './story.ts';

/** A signal that never comes. */
export const goingOn = new AbortController().signal;

/** Loads resources as a package; the run has succeeded. */
export async function loadedByHand(app: TestApp, workspaceId: string, resources: readonly Resource[]): Promise<void> {
  const run = await register(app, workspaceId, await stage(app, workspaceId, await zipOf('given', resources)));
  const started = await mutate(app, 'startDataRun', { dataRunId: run });
  expect(started.__typename, JSON.stringify(started)).toBe('DataRun');
  const { runs } = app.tasks;
  // Each round drives it to its next step; what waits for another dataset has its turn in a later one.
  for (let round = 0; round < 10 && (await readRun(app, run)).state === 'RUNNING'; round++) {
    const jobs = await rowsOf<{ id: string }>(app, `SELECT id FROM store_job WHERE run_id = $1 AND state = 'queued'`, uuidOf(run));
    for (const { id } of jobs) await runStoreJob(runs.loader, id, goingOn);
    await driveInBackground(runs, uuidOf(run));
  }
  expect((await readRun(app, run)).state).toBe('SUCCEEDED');
}

/** Requests an export and generates it: it has succeeded, and has no package yet. Its global id. */
export async function generatedByHand(app: TestApp, workspaceId: string): Promise<string> {
  const id = await request(app, workspaceId);
  expect(await runNext(app.tasks.exports.runner, goingOn)).toEqual({ executionId: uuidOf(id), succeeded: true });
  return id;
}

export async function rowsOf<Row extends object>(app: TestApp, text: string, ...values: readonly unknown[]): Promise<Row[]> {
  return (await app.app.db.pool.query<Row>(text, [...values])).rows;
}

/** As the database holds them, the oldest first. */
export const packagesOf = (app: TestApp, executionId: string) =>
  app.app.db.prisma.exportPackage.findMany({ where: { executionId: uuidOf(executionId) }, orderBy: { id: 'asc' } });

export const executionOf = (app: TestApp, executionId: string) =>
  app.app.db.prisma.exportExecution.findUniqueOrThrow({ where: { id: uuidOf(executionId) } });

/** Its events in order: the action, what it is of, and its cause. */
export async function eventsOf(app: TestApp, executionId: string): Promise<string[]> {
  const events = await app.app.db.prisma.lifecycleEvent.findMany({
    where: { exportExecutionId: uuidOf(executionId) },
    orderBy: { sequence: 'asc' },
  });
  return events.map(({ action, destination, cause }) => [action, destination, cause].filter((part) => part !== null).join(' '));
}

/** What is in storage of exports. */
export async function objects({ tasks }: TestApp): Promise<StoredObject[]> {
  const found: StoredObject[] = [];
  for await (const object of tasks.exports.storage.list('exports/')) found.push(object);
  return found;
}

export const workOf = ({ config }: TestApp, executionId: string) => `${config.workDir}/${uuidOf(executionId)}`;
export const hasWork = (app: TestApp, executionId: string) => existsSync(workOf(app, executionId));
