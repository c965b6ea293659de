// Keeps a process at a place of its work for as long as a test wants, by locks of the database that it meets there: most of them the
// built-in loader's.
import pg from 'pg';
import { expect, onTestFinished } from 'vitest';
import type { Db } from '../../src/db.ts';
import { uuidOf } from './states.ts';

export interface Hold {
  /** The backend of a loader that waits here. */
  waiting(): Promise<number | null>;
  release(): Promise<void>;
}

/** Until so many statements of this database wait for a lock. */
export async function untilBlocked({ pool }: Pick<Db, 'pool'>, count: number): Promise<void> {
  const waiting = `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  await expect.poll(async () => (await pool.query<{ n: number }>(waiting)).rows[0]?.n).toBe(count);
}

const stageLock = 4_711;

/** In the reading phase: the staging table is made, and no byte of the file is in it. */
export async function holdReading(databaseUrl: string): Promise<Hold> {
  const client = await connected(databaseUrl);
  await client.query(`
    CREATE OR REPLACE FUNCTION hold_staging() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
      IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands() WHERE object_identity = 'pg_temp.stage') THEN PERFORM pg_advisory_xact_lock_shared(${stageLock}); END IF;
    END $$;
    DROP EVENT TRIGGER IF EXISTS hold_staging;
    CREATE EVENT TRIGGER hold_staging ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION hold_staging()`);
  await client.query(`SELECT pg_advisory_lock(${stageLock})`);
  return {
    waiting: () => waitingFor(client),
    async release() {
      await client.query(`SELECT pg_advisory_unlock(${stageLock}); DROP EVENT TRIGGER hold_staging`);
      await client.end();
    },
  };
}

/** In the transaction that writes: the dataset's row is being made by somebody else, who has not committed. */
export async function holdWriting(databaseUrl: string, workspaceId: string, dataset: string): Promise<Hold> {
  const client = await connected(databaseUrl);
  await client.query('BEGIN');
  await client.query(
    `INSERT INTO dataset (id, workspace_id, name, schema, table_name, columns) VALUES (gen_random_uuid(), $1, $2, '{}', 'held', '[]')`,
    [uuidOf(workspaceId), dataset],
  );
  return {
    waiting: () => waitingFor(client),
    async release() {
      await client.query('ROLLBACK');
      await client.end();
    },
  };
}

/** Whatever needs a lock that the statement takes. Resolves once it has it, which may be when somebody else has let go. */
export async function holdRows(databaseUrl: string, statement: string, values: readonly unknown[] = []): Promise<Hold> {
  const client = await connected(databaseUrl);
  await client.query('BEGIN');
  await client.query(statement, [...values]);
  return {
    waiting: () => waitingFor(client),
    async release() {
      await client.query('ROLLBACK');
      await client.end();
    },
  };
}

async function connected(databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'test hold' });
  await client.connect();
  let ended = false;
  client.once('end', () => {
    ended = true;
  });
  onTestFinished(async () => {
    if (!ended) await client.end(); // the test failed before it let go
  });
  return client;
}

async function waitingFor(client: pg.Client): Promise<number | null> {
  await client.query('SELECT pg_stat_clear_snapshot()'); // else a transaction sees for ever what it saw first
  const { rows } = await client.query<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'packhorse' AND pg_backend_pid() = ANY (pg_blocking_pids(pid))`,
  );
  return rows[0]?.pid ?? null;
}

/** At the end of the transaction that writes: every row is written, and nothing is committed. */
export const holdSettling = (databaseUrl: string): Promise<Hold> => holdUpdates(databaseUrl, 'dataset', 'true');

const updateLock = 4_712;

/** Whoever is about to update a row of the table so that the condition, of OLD and NEW, holds. */
export async function holdUpdates(databaseUrl: string, table: string, when: string): Promise<Hold> {
  const client = await connected(databaseUrl);
  await client.query(`
    CREATE OR REPLACE FUNCTION hold_update() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      PERFORM pg_advisory_xact_lock_shared(${updateLock});
      RETURN NEW;
    END $$;
    CREATE OR REPLACE TRIGGER hold_update BEFORE UPDATE ON ${table} FOR EACH ROW WHEN (${when}) EXECUTE FUNCTION hold_update()`);
  await client.query(`SELECT pg_advisory_lock(${updateLock})`);
  return {
    waiting: () => waitingFor(client),
    async release() {
      await client.query(`SELECT pg_advisory_unlock(${updateLock})`);
      await client.query(`DROP TRIGGER hold_update ON ${table}`);
      await client.end();
    },
  };
}
