// What tests of exports look at below the API: rows, slots, files, and runners of their own.
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { afterAll, onTestFinished } from 'vitest';
import { type Db, openDb } from '../../src/db.ts';
import { signingKey } from '../../src/exports/keys.ts';
import type { Runner } from '../../src/exports/runner.ts';
import { createLog } from '../../src/log.ts';
import type { Hold } from './holds.ts';
import { type EventRow, uuidOf } from './states.ts';
import type { Resource } from './story.ts';

const schema = {
  fields: [
    { name: 'id', type: 'integer' },
    { name: 'label', type: 'string' },
  ],
  primaryKey: 'id',
};

/** `count` rows of two whole numbers: there is nothing to look for in them before they are copied. */
export function measured(name: string, count: number): Resource {
  const fields = ['id', 'value'].map((field) => ({ name: field, type: 'integer' }));
  return {
    name,
    rows: `id,value\n${Array.from({ length: count }, (_, n) => `${n + 1},${n * 7}`).join('\n')}\n`,
    schema: { fields, primaryKey: 'id' },
  };
}

/** `count` rows of an id and a text. */
export function numbered(name: string, count: number, label = 'row'): Resource {
  return { name, rows: `id,label\n${Array.from({ length: count }, (_, n) => `${n + 1},${label} ${n + 1}`).join('\n')}\n`, schema };
}

/** `count` rows that do not become much smaller when they are compressed: some 25 bytes each. */
export function noisy(name: string, count: number): Resource {
  const label = (n: number) => createHash('sha256').update(String(n)).digest('base64url').slice(0, 24);
  return { name, rows: `id,label\n${Array.from({ length: count }, (_, n) => `${n + 1},${label(n)}`).join('\n')}\n`, schema };
}

/** A pool of the test's own, ended after the file. */
export function poolOn(databaseUrl: string, max = 3): pg.Pool {
  const pool = new pg.Pool({ connectionString: databaseUrl, max, application_name: 'test' });
  afterAll(() => pool.end());
  return pool;
}

export interface RunnerOptions {
  readonly slots?: number;
  readonly leaseMs?: number;
  readonly takeovers?: number;
  readonly work?: string;
}

/** Makes runners with connections of their own, for the calling file, which closes them. */
export function runnersOn(databaseUrl: string): (options?: RunnerOptions) => Runner {
  const opened: Db[] = [];
  const work = workFolder();
  afterAll(async () => {
    for (const db of opened) await db.close();
  });
  return ({ slots = 1, leaseMs = 30_000, takeovers = 5, work: own = work }: RunnerOptions = {}) => {
    const db = openDb(databaseUrl, { poolSize: 6, statementTimeoutMs: 0 });
    opened.push(db);
    return {
      generator: { db, databaseUrl, work: own, key: signingKey(Buffer.from('a secret that all runners share.')) },
      dispatch: { slots, leaseMs, takeovers },
      heartbeatMs: 10_000,
      owner: `runner ${opened.length}`,
      log: createLog({ logLevel: 'silent' }),
    };
  };
}

function workFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'packhorse-work-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export async function exportEvents(pool: pg.Pool, id: string): Promise<EventRow[]> {
  const { rows } = await pool.query<EventRow>(
    `SELECT sequence, action, from_state, to_state, dataset, actor, reason, cause FROM lifecycle_event WHERE export_execution_id = $1 ORDER BY sequence`,
    [uuidOf(id)],
  );
  return rows;
}

/** Its events as words; their numbers have no gap. */
export async function storyOf(pool: pg.Pool, id: string): Promise<string[]> {
  const events = await exportEvents(pool, id);
  const gap = events.find(({ sequence }, index) => sequence !== index + 1);
  if (gap !== undefined) throw new Error(`event ${gap.sequence} of ${id} follows a gap`);
  return events.map(({ action, cause }) => (cause === null ? action : `${action} ${cause}`));
}

export const folderOfExport = (work: string, id: string) => path.join(work, uuidOf(id));
export const hasFolder = (work: string, id: string) => existsSync(folderOfExport(work, id));

/** Slots that an execution has. */
export async function takenSlots(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ taken: number }>(
    'SELECT count(*)::int AS taken FROM export_slot WHERE execution_id IS NOT NULL OR lease_owner IS NOT NULL OR lease_until IS NOT NULL',
  );
  return rows[0]?.taken ?? 0;
}

/** Backends that write an export's rows out, or wait to. */
export async function copying(pool: pg.Pool): Promise<number[]> {
  const { rows } = await pool.query<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND query ~ 'pg_visible_in_snapshot' AND pid <> pg_backend_pid()`,
  );
  return rows.map(({ pid }) => pid);
}

/** Keeps whoever exports the dataset from reading its rows. Loads wait as well. */
export async function holdGenerating(databaseUrl: string, workspaceId: string, dataset: string): Promise<Hold> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'test hold' });
  await client.connect();
  let ended = false;
  const release = async () => {
    if (ended) return;
    ended = true;
    await client.end();
  };
  onTestFinished(release);
  const { rows } = await client.query<{ name: string }>('SELECT table_name AS name FROM dataset WHERE workspace_id = $1 AND name = $2', [
    uuidOf(workspaceId),
    dataset,
  ]);
  await client.query(`BEGIN; LOCK TABLE records.${rows[0]?.name} IN ACCESS EXCLUSIVE MODE`);
  return {
    async waiting() {
      const blocked = await client.query<{ pid: number }>(
        `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'packhorse' AND pg_backend_pid() = ANY (pg_blocking_pids(pid))`,
      );
      await client.query('SELECT pg_stat_clear_snapshot()'); // else a transaction sees for ever what it saw first
      return blocked.rows[0]?.pid ?? null;
    },
    release,
  };
}
