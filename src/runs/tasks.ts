// What the runs' background tasks do, and the reaper, which finds the same work without any task having been enqueued.
import type { TaskList } from 'graphile-worker';
import { delegatedAuthority } from '../auth/grants.ts';
import { enqueue, implement } from '../tasks/task.ts';
import { goOnWithCancel } from './cancel.ts';
import { type Driver, pass, wantAnother } from './driver.ts';
import { runStoreJob, type StoreLoader } from './targets/store-loader.ts';
import { driveRun, loadStoreJob } from './wake.ts';

export interface RunTasks {
  readonly driver: Driver;
  readonly loader: StoreLoader;
  /** After a cancel's mark has stood this long, its process is taken for dead. */
  readonly cancelDeadlineMs: number;
  readonly stop: AbortSignal;
}

/** One background pass, under the grant that start or resume left. Runs driven on request are only followed once they have ended. */
export async function driveInBackground({ driver }: RunTasks, runId: string): Promise<void> {
  const run = await driver.db.prisma.dataRun.findUnique({ where: { id: runId } });
  if (run === null || run.state === 'REGISTERED') return;
  const isOpen = run.state === 'RUNNING' || run.state === 'PAUSED';
  if (isOpen && run.driving === 'ON_REQUEST') return;
  const authorise = isOpen ? delegatedAuthority(runId, 'DRIVE') : delegatedAuthority(runId, 'CANCEL', 'DRIVE');
  const { subject } = await authorise(driver.db.prisma);
  const options = { authorise, by: { actor: subject, cause: 'DRIVEN_IN_BACKGROUND' } };
  while (!(await pass(driver, runId, options))) if (await wantAnother(driver.db, runId)) return;
}

export function runTaskList(tasks: RunTasks): TaskList {
  return Object.fromEntries([
    implement(driveRun, ({ runId }) => driveInBackground(tasks, runId)),
    implement(loadStoreJob, ({ storeJobId }) => runStoreJob(tasks.loader, storeJobId, tasks.stop)),
  ]);
}

const passesAtOnce = 5;

/** Whatever has work and no live lease: runs to drive or follow, cancels and loads whose process died. Safe in every process at once. */
export async function reapRuns(
  tasks: RunTasks,
  report: (error: unknown, ids: { runId?: string; storeJobId?: string }) => void,
): Promise<void> {
  const { db } = tasks.driver;
  const jobs = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT id FROM store_job WHERE state IN ('queued', 'running') AND coalesce(lease_until, created_at + interval '2 seconds') < clock_timestamp()
    ORDER BY id LIMIT 100`;
  // A task of its own for each, and before the passes, which may have to wait for targets that do not answer.
  for (const { id } of jobs) await enqueue(db.prisma, loadStoreJob, { storeJobId: id }, { jobKey: `load:${id}` });
  const marked = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT id FROM data_run WHERE cancel_requested_at < clock_timestamp() - make_interval(secs => ${(2 * tasks.cancelDeadlineMs) / 1_000})
    ORDER BY cancel_requested_at LIMIT 100`;
  const runs = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT id FROM data_run
    WHERE ((driving = 'BACKGROUND' AND (state = 'RUNNING' OR (state = 'PAUSED' AND active_children > 0)))
        OR cancelling_steps > 0 OR (active_children > 0 AND settled_at IS NOT NULL))
      AND cancel_requested_at IS NULL AND (lease_until IS NULL OR lease_until < clock_timestamp())
      AND (put_off_until IS NULL OR put_off_until < clock_timestamp())
    ORDER BY id LIMIT 500`;
  const work = [...marked.map(({ id }) => ({ id, mend: resumeCancel(id) })), ...runs.map(({ id }) => ({ id, mend: drive(id) }))];
  // Side by side: one target that does not answer must not keep the runs of the others waiting for its deadline.
  const queue = work.values();
  const hands = async () => {
    for (const { id, mend } of queue) {
      if (tasks.stop.aborted) return;
      await mend(tasks).catch((error: unknown) => report(error, { runId: id }));
    }
  };
  await Promise.all(Array.from({ length: passesAtOnce }, hands));
}

const drive = (runId: string) => (tasks: RunTasks) => driveInBackground(tasks, runId);
const resumeCancel =
  (runId: string) =>
  ({ driver }: RunTasks) =>
    goOnWithCancel(driver, runId);
