import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { PrismaClient } from '../../src/generated/prisma/client.ts';
import { defineTask, enqueue, enqueueWith, implement } from '../../src/tasks/task.ts';
import { freshDatabase } from '../support/database.ts';

const greet = defineTask({ name: 'greet', payload: z.object({ name: z.string(), at: z.coerce.date().optional() }) });

describe('enqueueing', async () => {
  const url = await freshDatabase();
  const db = new PrismaClient({ adapter: new PrismaPg({ connectionString: url, options: '-c timezone=UTC' }) });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  afterAll(async () => {
    await client.end();
    await db.$disconnect();
  });

  async function jobs(): Promise<{ payload: unknown; key: string | null; run_at: Date }[]> {
    const { rows } = await client.query('SELECT payload, key, run_at FROM graphile_worker._private_jobs ORDER BY id');
    await client.query('DELETE FROM graphile_worker._private_jobs');
    return rows;
  }

  it('adds a job when the transaction commits, and none when it does not', async () => {
    await db.$transaction((tx) => enqueue(tx, greet, { name: 'Ada' }));
    await db
      .$transaction(async (tx) => {
        await enqueue(tx, greet, { name: 'nobody' });
        throw new Error('changed its mind');
      })
      .catch(() => {});
    expect(await jobs()).toMatchObject([{ payload: { name: 'Ada' }, key: null }]);
  });

  it('does the same on a connection of pg', async () => {
    await client.query('BEGIN');
    await enqueueWith(client, greet, { name: 'nobody' });
    await client.query('ROLLBACK');
    await enqueueWith(client, greet, { name: 'Ada' }, { jobKey: 'k', runAt: new Date('2030-01-01T00:00:00Z') });
    expect(await jobs()).toMatchObject([{ payload: { name: 'Ada' }, key: 'k', run_at: new Date('2030-01-01T00:00:00Z') }]);
  });

  it('replaces the job of the same key, and keeps the instant', async () => {
    const runAt = new Date('2030-06-01T10:00:00.123Z');
    await enqueue(db, greet, { name: 'first' }, { jobKey: 'one' });
    await enqueue(db, greet, { name: 'last' }, { jobKey: 'one', runAt });
    expect(await jobs()).toMatchObject([{ payload: { name: 'last' }, key: 'one', run_at: runAt }]);
  });

  it('loses none where a worker takes the job of the same key in that moment', async () => {
    await enqueue(db, greet, { name: 'first' }, { jobKey: 'taken' });
    const worker = new pg.Client({ connectionString: url });
    await worker.connect();
    await worker.query('BEGIN');
    await worker.query(`UPDATE graphile_worker._private_jobs SET locked_at = now(), locked_by = 'worker' WHERE key = 'taken'`);
    const adding = enqueue(db, greet, { name: 'news' }, { jobKey: 'taken' });
    const waits = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    await expect.poll(async () => (await client.query(waits)).rowCount).toBe(1);
    await worker.query('COMMIT');
    await worker.end();
    await adding;
    expect(await jobs()).toMatchObject([
      { payload: { name: 'first' }, key: null },
      { payload: { name: 'news' }, key: 'taken' },
    ]);
  });

  it('refuses a payload that the schema refuses, on both sides', async () => {
    // @ts-expect-error: a number is no name
    await expect(enqueue(db, greet, { name: 1 })).rejects.toThrow(z.ZodError);
    expect(await jobs()).toEqual([]);
    const [name, run] = implement(greet, async () => {});
    expect(name).toBe('greet');
    // The helpers are not reached.
    await expect(run({ name: 1 }, undefined as never)).rejects.toThrow(z.ZodError);
  });

  it('hands the worker what the schema makes of the payload', async () => {
    const seen: unknown[] = [];
    const [, run] = implement(greet, async (payload) => void seen.push(payload));
    await run({ name: 'Ada', at: '2030-01-01T00:00:00.000Z' }, undefined as never);
    expect(seen).toEqual([{ name: 'Ada', at: new Date('2030-01-01T00:00:00Z') }]);
  });
});
