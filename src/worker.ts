// The background half of a process: graphile-worker as alarm clock, and the reaper's timer. Neither is needed for the other to recover.
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger, run, type TaskList, type Logger as WorkerLogger } from 'graphile-worker';
import pg from 'pg';
import { pruneEvents } from './events/retention.ts';
import { type ExportTasks, exportTaskList, reapExports, tidyExports } from './exports/tasks.ts';
import { dispatchExports } from './exports/wake.ts';
import type { Log } from './log.ts';
import { forgetExpiredKeys } from './once.ts';
import { discardExpired } from './packages/tasks.ts';
import { forgetRejects } from './records/rejects.ts';
import { type RunTasks, reapRuns, runTaskList } from './runs/tasks.ts';
import { loadStoreJob } from './runs/wake.ts';

/** What a process that works in the background needs of each feature. */
export interface Tasks {
  readonly runs: RunTasks;
  readonly exports: ExportTasks;
}

export interface WorkerOptions {
  readonly databaseUrl: string;
  /** How many datasets this process loads at once. */
  readonly loads: number;
  /** How many exports it generates at once. */
  readonly exports: number;
  /** How often the reaper looks. */
  readonly pollMs: number;
  readonly eventRetentionDays: number;
  readonly rejectedRowDays: number;
  readonly log: Log;
}

export interface Worker {
  stop(): Promise<void>;
}

const passesAtOnce = 4;
const errandsAtOnce = 4;

export async function startWorker(tasks: Tasks, options: WorkerOptions): Promise<Worker> {
  const { loads, passes } = apart('loads', loadStoreJob.name, 'passes', runTaskList(tasks.runs));
  const { exports, errands } = apart('exports', dispatchExports.name, 'errands', exportTaskList(tasks.exports));
  // Loads and exports last long, and errands wait for storage and destinations. In one queue, as many of them as there are hands would
  // keep everything else waiting.
  const runners = await Promise.all([
    startRunner(passes, passesAtOnce, options),
    startRunner(loads, options.loads, options),
    startRunner(exports, options.exports, options),
    startRunner(errands, errandsAtOnce, options),
  ]);
  const reaper = startReaper(tasks, options);
  const chores = startChores(tasks, options);
  return {
    async stop() {
      // Together: a load that is handed over while the reaper ends its turn must not be taken up by this process again.
      await Promise.all([reaper, chores, ...runners].map((part) => part.stop()));
    },
  };
}

/** A task list in two: the task of that name, and the others. */
function apart<One extends string, Rest extends string>(one: One, task: string, rest: Rest, list: TaskList): Record<One | Rest, TaskList> {
  const named = Object.entries(list).filter(([name]) => name === task);
  const others = Object.entries(list).filter(([name]) => name !== task);
  return { [one]: Object.fromEntries(named), [rest]: Object.fromEntries(others) } as Record<One | Rest, TaskList>; // computed keys widen
}

async function startRunner(taskList: TaskList, concurrency: number, { databaseUrl, pollMs, log }: WorkerOptions): Promise<Worker> {
  // Its own pool, without a connect timeout: the worker does not await the statement that completes a job, so a timeout there is an
  // unhandled rejection, which ends the process.
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: concurrency + 2,
    // What it writes is only who rings when: a crash of the database that forgets it makes a job run once more, as any job may. Waiting
    // for the disk, each one began later by a commit.
    options: '-c timezone=UTC -c synchronous_commit=off',
    application_name: 'packhorse-worker',
  });
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  const runner = await run({
    pgPool: pool,
    concurrency,
    noHandleSignals: true, // it would end the process by itself
    pollInterval: Math.min(1_000, pollMs),
    taskList,
    parsedCronItems: [],
    logger: workerLogger(log),
  });
  return {
    async stop() {
      await runner.stop();
      // stop() resolves before the last job's completion is written. Ended too early, the pool leaves it locked for four hours.
      do await new Promise((resolve) => setTimeout(resolve, 10));
      while (pool.idleCount < pool.totalCount || pool.waitingCount > 0);
      await pool.end();
    },
  };
}

function startReaper(tasks: Tasks, { pollMs, log }: WorkerOptions): Worker {
  const looks = [
    () => reapExports(tasks.exports),
    () => reapRuns(tasks.runs, (error, ids) => log.error({ err: error, ...ids }, 'the reaper could not mend this')),
  ];
  return repeat(pollMs, () => each(looks, (error) => log.error({ err: error }, 'the reaper could not look')));
}

const choresEveryMs = 10 * 60_000;

function startChores(
  { runs: { driver, loader, stop }, exports }: Tasks,
  { eventRetentionDays, rejectedRowDays, log }: WorkerOptions,
): Worker {
  const chores = [
    () => discardExpired({ db: driver.db, storage: loader.storage }),
    () => forgetExpiredKeys(driver.db),
    () => tidyExports(exports),
    () => pruneEvents(driver.db, { days: eventRetentionDays, stop }),
    () => forgetRejects(driver.db.pool, { days: rejectedRowDays, stop }),
  ];
  return repeat(choresEveryMs, () => each(chores, (error) => log.error({ err: error }, 'the housekeeping failed')));
}

/** One after the other; a fault in one keeps none of the others. */
async function each(works: readonly (() => Promise<unknown>)[], onFault: (error: unknown) => void): Promise<void> {
  for (const work of works) await work().catch(onFault);
}

/** At once, and then so long after each turn has ended. Stopping waits for the turn under way. */
function repeat(everyMs: number, turn: () => Promise<void>): Worker {
  const stopping = new AbortController();
  const loop = async () => {
    while (!stopping.signal.aborted) {
      await turn();
      await sleep(everyMs, undefined, { signal: stopping.signal }).catch(() => {});
    }
  };
  const running = loop();
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

function workerLogger(log: Log): WorkerLogger {
  return new Logger((scope) => (level, message, meta) => {
    if (level !== 'error' && level !== 'warning') return;
    log[level === 'error' ? 'error' : 'warn']({ scope, meta, text: message }, 'background worker');
  });
}
