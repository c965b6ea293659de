import { appendFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { MigrationError, migrate } from '../../src/postgres/migrate.ts';
import { emptyDatabase, freshDatabase } from '../support/database.ts';

const original = path.resolve(import.meta.dirname, '../../prisma/migrations');

/** A copy of the migrations to tamper with. */
function migrationsCopy(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'packhorse-migrations-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(original, folder, { recursive: true });
  return folder;
}

function addMigration(folder: string, name: string, sql: string): void {
  mkdirSync(path.join(folder, name));
  writeFileSync(path.join(folder, name, 'migration.sql'), sql);
}

async function query<R extends pg.QueryResultRow>(url: string, sql: string): Promise<R[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<R>(sql)).rows;
  } finally {
    await client.end();
  }
}

describe('migrate', async () => {
  const contested = await emptyDatabase();
  const current = await freshDatabase();
  const edited = await freshDatabase();
  const newer = await freshDatabase();
  const broken = await freshDatabase();
  const old = await emptyDatabase();

  it('applies each migration once although several processes start at the same time', async () => {
    const applied = await Promise.all([migrate(contested), migrate(contested), migrate(contested)]);
    const [first] = applied.filter((names) => names.length > 0);
    expect(applied.filter((names) => names.length > 0)).toHaveLength(1);
    expect(await query(contested, 'SELECT migration_name FROM _prisma_migrations ORDER BY 1')).toEqual(
      first!.map((migration_name) => ({ migration_name })),
    );
    expect(await query(contested, `SELECT to_regproc('graphile_worker.add_job') IS NOT NULL AS present`)).toEqual([{ present: true }]);
  });

  it('does nothing to a database that is current', async () => {
    expect(await migrate(current)).toEqual([]);
  });

  it('refuses a migration that was edited after it was applied', async () => {
    const folder = migrationsCopy();
    addMigration(folder, '29990101000000_more', 'CREATE TABLE more (id int)');
    await migrate(edited, folder);
    appendFileSync(path.join(folder, '29990101000000_more/migration.sql'), '-- harmless');
    await expect(migrate(edited, folder)).rejects.toThrow(/^migration 29990101000000_more was edited after it was applied.*$/);
  });

  it('refuses a database that a newer version migrated', async () => {
    const folder = migrationsCopy();
    addMigration(folder, '29990101000000_future', 'CREATE TABLE future (id int)');
    await migrate(newer, folder);
    await expect(migrate(newer)).rejects.toThrow(/^the database was migrated by a newer Packhorse .*29990101000000_future.*$/);
  });

  it('refuses a server older than Postgres 15', async () => {
    await query(
      old,
      `CREATE SCHEMA fake;
       CREATE FUNCTION fake.current_setting(name text) RETURNS text LANGUAGE sql AS
         $$ SELECT CASE name WHEN 'server_version_num' THEN '140011' ELSE '14.11' END $$;
       DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = fake, pg_catalog, public', current_database()); END $$`,
    );
    await expect(migrate(old)).rejects.toThrow(/^Postgres 15 or newer is needed; the server at 127\.0\.0\.1:\d+ is 14\.11$/);
  });

  it('leaves nothing of a migration that fails, and keeps those before it', async () => {
    const folder = migrationsCopy();
    addMigration(folder, '29990101000000_good', 'CREATE TABLE good (id int)');
    addMigration(folder, '29990102000000_bad', 'CREATE TABLE half (id int); SELECT 1 / 0;');
    await expect(migrate(broken, folder)).rejects.toThrow('migration 29990102000000_bad failed: division by zero');
    expect(await query(broken, `SELECT to_regclass('good') IS NOT NULL AS good, to_regclass('half') IS NOT NULL AS half`)).toEqual([
      { good: true, half: false },
    ]);
    expect(await query(broken, `SELECT 1 FROM _prisma_migrations WHERE migration_name LIKE '%bad'`)).toEqual([]);
  });

  it('names the place, and not the password, where nothing answers', async () => {
    const failure: unknown = await migrate('postgresql://someone:hush@127.0.0.1:1/nowhere').catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(MigrationError);
    expect(String(failure)).toContain('the database nowhere at 127.0.0.1:1 does not answer');
    expect(String(failure)).not.toContain('hush');
  });
});
