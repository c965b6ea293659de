// The background half of a process: graphile-worker as alarm clock, and the reaper's timer. Neither is needed for the other to recover.
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger, run, type TaskList, type Logger as WorkerLogger } from 'graphile-worker';
import pg from 'pg';
import type { Log } from './log.ts';
import { forgetExpiredKeys } from './once.ts';
import { discardExpired } from './packages/tasks.ts';
import { type RunTasks, reapRuns, runTaskList } from './runs/tasks.ts';
import { loadStoreJob } from './runs/wake.ts';

export interface WorkerOptions {
  readonly databaseUrl: string;
  /** How many datasets this process loads at once. */
  readonly loads: number;
  /** How often the reaper looks. */
  readonly pollMs: number;
  readonly log: Log;
}

export interface Worker {
  stop(): Promise<void>;
}

const passesAtOnce = 4;

export async function startWorker(tasks: RunTasks, options: WorkerOptions): Promise<Worker> {
  const { [loadStoreJob.name]: load, ...passes } = runTaskList(tasks);
  // Loads last long. In one queue with the passes, as many of them as there are hands would keep every run waiting.
  const runners = await Promise.all([
    startRunner(passes, passesAtOnce, options),
    ...(load === undefined ? [] : [startRunner({ [loadStoreJob.name]: load }, options.loads, options)]),
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

async function startRunner(taskList: TaskList, concurrency: number, { databaseUrl, pollMs, log }: WorkerOptions): Promise<Worker> {
  // Its own pool, without a connect timeout: the worker does not await the statement that completes a job, so a timeout there is an
  // unhandled rejection, which ends the process.
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    max: concurrency + 2,
    options: '-c timezone=UTC',
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

function startReaper(tasks: RunTasks, { pollMs, log }: WorkerOptions): Worker {
  return repeat(pollMs, async () => {
    try {
      await reapRuns(tasks, (error, ids) => log.error({ err: error, ...ids }, 'the reaper could not mend this'));
    } catch (error) {
      log.error({ err: error }, 'the reaper could not look');
    }
  });
}

const choresEveryMs = 10 * 60_000;

function startChores({ driver, loader }: RunTasks, { log }: WorkerOptions): Worker {
  return repeat(choresEveryMs, async () => {
    try {
      await discardExpired({ db: driver.db, storage: loader.storage });
      await forgetExpiredKeys(driver.db);
    } catch (error) {
      log.error({ err: error }, 'the housekeeping failed');
    }
  });
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
