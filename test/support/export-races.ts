// Races about exports, for as many rounds as a test has time for.
import type pg from 'pg';
import { expect } from 'vitest';
import { mutateExport, readExport, request } from '../exports/story.ts';
import type { TestApp } from './app.ts';
import { copying, hasFolder, storyOf, takenSlots } from './exports.ts';
import { uuidOf } from './states.ts';

const times = (count: number) => Array.from({ length: count }, (_, index) => index);

/** 32 requests at once, spread over the servers: one is admitted, and named to the others. Nothing may be dispatching meanwhile. */
export async function admissionRounds(servers: readonly TestApp[], pool: pg.Pool, workspaceId: string, rounds: number): Promise<void> {
  const admitted = async () =>
    (await pool.query('SELECT FROM export_execution WHERE workspace_id = $1', [uuidOf(workspaceId)])).rowCount ?? 0;
  const [first] = servers;
  if (first === undefined) throw new Error('a race needs a server');
  const before = await admitted();
  for (const round of times(rounds)) {
    const answers = await Promise.all(
      times(32).map((n) => mutateExport(servers[n % servers.length] ?? first, 'requestWorkspaceExport', { workspaceId })),
    );
    const made = answers.filter(({ __typename }) => __typename === 'ExportExecution');
    expect(made, JSON.stringify(answers.slice(0, 3))).toHaveLength(1);
    const refusal = { __typename: 'ConflictError', code: 'ACTIVE_EXPORT_EXISTS', conflictingId: made[0].id };
    expect(answers.filter((answer) => answer !== made[0])).toMatchObject(times(31).map(() => refusal));
    expect(await storyOf(pool, made[0].id)).toEqual(['REQUEST']);
    expect(await admitted()).toBe(before + round + 1);
    expect((await mutateExport(first, 'cancelExportExecution', { exportExecutionId: made[0].id })).state).toBe('CANCELLED');
  }
}

export interface CancelReport {
  /** Until no file, no statement and no slot of it was left. */
  readonly slowestMs: number;
  /** How many had succeeded before they could be cancelled. */
  readonly late: number;
}

/**
 * Exports are cancelled at a moment that `until` chooses, until so many were: nothing of these may be left, and nothing published. One that
 * had succeeded by then does not count.
 */
export async function cancelRounds(
  app: TestApp,
  pool: pg.Pool,
  workspaceId: string,
  cancels: number,
  until: (id: string) => Promise<unknown>,
): Promise<CancelReport> {
  let slowestMs = 0;
  let late = 0;
  for (let cancelled = 0; cancelled < cancels; ) {
    const id = await request(app, workspaceId); // admitted at once, whatever the one before is still at
    await until(id);
    const asked = performance.now();
    const answer = await mutateExport(app, 'cancelExportExecution', { exportExecutionId: id });
    if (answer.__typename !== 'ExportExecution') {
      expect(answer).toMatchObject({ __typename: 'InvalidTransitionError', from: 'SUCCEEDED' });
      late++;
      continue;
    }
    expect(answer.state).toBe('CANCELLED');
    expect(await takenSlots(pool)).toBe(0);
    await expect.poll(() => hasFolder(app.config.workDir, id), { interval: 5 }).toBe(false);
    await expect.poll(() => copying(pool), { interval: 5 }).toEqual([]);
    slowestMs = Math.max(slowestMs, performance.now() - asked);
    cancelled++;
    expect(await storyOf(pool, id)).toSatisfy((story: string[]) => ['REQUEST,CANCEL', 'REQUEST,DISPATCH,CANCEL'].includes(story.join()));
    expect(await readExport(app, id)).toMatchObject({ state: 'CANCELLED', exportPackage: null, counts: [] });
  }
  return { slowestMs, late };
}
