// Background work: named, with a payload that is checked where it is asked for and again where it is done.
import type { JobHelpers, Task as WorkerTask } from 'graphile-worker';
import type pg from 'pg';
import type { z } from 'zod';
import type { Prisma, PrismaClient } from '../generated/prisma/client.ts';

export interface Task<Payload extends z.ZodType> {
  readonly name: string;
  readonly payload: Payload;
}

export interface EnqueueOptions {
  /** A job with this key that has not begun is replaced; one that runs is followed by this one. */
  readonly jobKey?: string;
  readonly runAt?: Date;
}

export function defineTask<Payload extends z.ZodType>(task: Task<Payload>): Task<Payload> {
  return task;
}

/** The task and what does it, as graphile-worker's task list wants them. It may run twice: ask the row whether there is still something to do. */
export function implement<Payload extends z.ZodType>(
  task: Task<Payload>,
  run: (payload: z.output<Payload>, helpers: JobHelpers) => Promise<void>,
): readonly [name: string, WorkerTask] {
  return [task.name, async (payload, helpers) => run(await task.payload.parseAsync(payload), helpers)];
}

/** Enqueues in the caller's transaction: the job exists if, and when, the work that it is for does. */
export async function enqueue<Payload extends z.ZodType>(
  tx: Prisma.TransactionClient | PrismaClient,
  task: Task<Payload>,
  payload: z.input<Payload>,
  options: EnqueueOptions = {},
): Promise<void> {
  const json = checked(task, payload);
  const { jobKey = null, runAt = null } = options;
  await added(async () => {
    const [job] = await tx.$queryRaw<{ id: string | null }[]>`
      SELECT id::text AS id FROM graphile_worker.add_job(${task.name}::text, ${json}::json, job_key => ${jobKey}::text, run_at => ${runAt}::timestamptz)`;
    return job?.id;
  });
}

/** The same on a connection of pg, for work that runs in a transaction of its own there. */
export async function enqueueWith<Payload extends z.ZodType>(
  client: pg.ClientBase | pg.Pool,
  task: Task<Payload>,
  payload: z.input<Payload>,
  options: EnqueueOptions = {},
): Promise<void> {
  const values = [task.name, checked(task, payload), options.jobKey ?? null, options.runAt ?? null];
  const text = 'SELECT id::text AS id FROM graphile_worker.add_job($1::text, $2::json, job_key => $3::text, run_at => $4::timestamptz)';
  await added(async () => (await client.query<{ id: string | null }>(text, values)).rows[0]?.id);
}

/**
 * graphile-worker 0.17 adds a keyed job in two statements, and adds none, without a word, where a worker takes the older job with the key
 * between them. Asked again it sees that one taken, and makes a new one.
 */
async function added(add: () => Promise<string | null | undefined>): Promise<void> {
  for (let attempt = 1; attempt <= 5; attempt++) {
    const id = await add();
    if (id !== null && id !== undefined) return;
  }
  throw new Error('a job could not be added: the one before it is taken again and again');
}

/** What is stored is what was given, not what the schema made of it: the worker parses it again. */
function checked<Payload extends z.ZodType>(task: Task<Payload>, payload: z.input<Payload>): string {
  task.payload.parse(payload);
  return JSON.stringify(payload);
}
