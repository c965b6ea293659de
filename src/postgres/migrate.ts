// Applies prisma/migrations the way `prisma migrate deploy` does, and keeps its table, with nothing but pg.
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { migrateWorker } from './worker-schema.ts';

/** The database cannot be brought to what this version needs. The message is one line for whoever started the process. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}

const oldestServer = 150_000;
const lockOfPrismaMigrate = 72_707_369;
const migrationsFolder = path.resolve(import.meta.dirname, '../../prisma/migrations'); // the same from src/ and from dist/

const historyTable = `CREATE TABLE IF NOT EXISTS _prisma_migrations (
  id varchar(36) PRIMARY KEY, checksum varchar(64) NOT NULL, finished_at timestamptz, migration_name varchar(255) NOT NULL,
  logs text, rolled_back_at timestamptz, started_at timestamptz NOT NULL DEFAULT now(), applied_steps_count integer NOT NULL DEFAULT 0)`;

interface Migration {
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

/** Brings the database and its job queue to this version, and returns the names of the migrations it applied. Any number may run at once. */
export async function migrate(url: string, folder = migrationsFolder): Promise<string[]> {
  const migrations = readMigrations(folder);
  const client = await connect(url);
  try {
    await refuseOldServer(client);
    await client.query('SELECT pg_advisory_lock($1)', [lockOfPrismaMigrate]);
    await client.query(historyTable);
    const { rows } = await client.query<{ migration_name: string; checksum: string }>(
      'SELECT migration_name, checksum FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL ORDER BY migration_name',
    );
    const done = new Map(rows.map((row) => [row.migration_name, row.checksum]));
    refuseUnknown(done, migrations);
    const missing = migrations.filter(({ name, checksum }) => {
      const before = done.get(name);
      if (before !== undefined && before !== checksum) {
        throw new MigrationError(`migration ${name} was edited after it was applied: restore it and put the change into a new migration`);
      }
      return before === undefined;
    });
    for (const migration of missing) await apply(client, migration);
    await migrateWorker(url); // still under the lock
    return missing.map(({ name }) => name);
  } finally {
    await client.end();
  }
}

function readMigrations(folder: string): Migration[] {
  return readdirSync(folder)
    .sort()
    .map((name) => ({ name, file: path.join(folder, name, 'migration.sql') }))
    .filter(({ file }) => existsSync(file))
    .map(({ name, file }) => {
      const sql = readFileSync(file, 'utf8');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    });
}

/** A connection of one’s own in UTC; throws MigrationError, in one line, where there is no answer. */
export async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    options: '-c timezone=UTC -c client_min_messages=warning',
    application_name: 'packhorse migrate',
  });
  client.on('error', () => {}); // without a listener it would end the process
  try {
    await client.connect();
    return client;
  } catch (error) {
    await client.end().catch(() => {});
    const reason =
      error instanceof AggregateError ? error.errors.map(String).join(', ') : String(error instanceof Error ? error.message : error);
    throw new MigrationError(`the database ${client.database} at ${client.host}:${client.port} does not answer: ${reason}`, {
      cause: error,
    });
  }
}

async function refuseOldServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ number: number; version: string }>(
    `SELECT current_setting('server_version_num')::int AS number, current_setting('server_version') AS version`,
  );
  const server = rows[0];
  if (server !== undefined && server.number < oldestServer) {
    throw new MigrationError(`Postgres 15 or newer is needed; the server at ${client.host}:${client.port} is ${server.version}`);
  }
}

function refuseUnknown(done: ReadonlyMap<string, string>, migrations: readonly Migration[]): void {
  const known = new Set(migrations.map(({ name }) => name));
  const unknown = [...done.keys()].filter((name) => !known.has(name));
  if (unknown.length > 0) {
    throw new MigrationError(
      `the database was migrated by a newer Packhorse (this one does not know ${unknown.join(', ')}): run that version`,
    );
  }
}

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  await client.query('BEGIN');
  try {
    await client.query(migration.sql);
    await client.query(
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count) VALUES ($1, $2, $3, clock_timestamp(), 1)`,
      [randomUUID(), migration.checksum, migration.name],
    );
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {}); // the connection may be what failed
    throw new MigrationError(`migration ${migration.name} failed: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}
