// The background half of a process: graphile-worker as alarm clock, and the reaper's timer. Neither is needed for the other to recover.
import { Logger, run, type TaskList, type Logger as WorkerLogger } from 'graphile-worker';
import pg from 'pg';
import type { Log } from './log.ts';
import { type RunTasks, reapRuns, runTaskList } from './runs/tasks.ts';

export interface WorkerOptions {
  readonly databaseUrl: string;
  /** How many tasks at once: loads, and passes between them. */
  readonly concurrency: number;
  /** How often the reaper looks. */
  readonly pollMs: number;
  readonly log: Log;
}

export interface Worker {
  stop(): Promise<void>;
}

export async function startWorker(tasks: RunTasks, options: WorkerOptions): Promise<Worker> {
  // Its own pool, without a connect timeout: the worker does not await the statement that completes a job, so a timeout there is an
  // unhandled rejection, which ends the process.
  const pool = new pg.Pool({
    connectionString: options.databaseUrl,
    max: options.concurrency + 2,
    options: '-c timezone=UTC',
    application_name: 'packhorse-worker',
  });
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  const list: TaskList = runTaskList(tasks);
  const runner = await run({
    pgPool: pool,
    concurrency: options.concurrency,
    noHandleSignals: true, // it would end the process by itself
    pollInterval: Math.min(1_000, options.pollMs),
    taskList: list,
    parsedCronItems: [],
    logger: workerLogger(options.log),
  });
  const reaper = startReaper(tasks, options);
  return {
    async stop() {
      // Together: while the reaper ends its turn, no task may begin that would only be given up again.
      await Promise.all([reaper.stop(), runner.stop()]);
      // stop() resolves before the last job's completion is written. Ended too early, the pool leaves it locked for four hours.
      do await new Promise((resolve) => setTimeout(resolve, 10));
      while (pool.idleCount < pool.totalCount || pool.waitingCount > 0);
      await pool.end();
    },
  };
}

function startReaper(tasks: RunTasks, { pollMs, log }: WorkerOptions): { stop(): Promise<void> } {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let turn: Promise<void> = Promise.resolve();
  const next = (waitMs: number) => {
    if (stopped) return;
    timer = setTimeout(() => {
      turn = reapRuns(tasks, (error, ids) => log.error({ err: error, ...ids }, 'the reaper could not mend this'))
        .catch((error: unknown) => log.error({ err: error }, 'the reaper could not look'))
        .then(() => next(pollMs));
    }, waitMs);
  };
  next(0);
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await turn;
    },
  };
}

function workerLogger(log: Log): WorkerLogger {
  return new Logger((scope) => (level, message, meta) => {
    if (level !== 'error' && level !== 'warning') return;
    log[level === 'error' ? 'error' : 'warn']({ scope, meta, text: message }, 'background worker');
  });
}
