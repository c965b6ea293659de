// A database for the calling test file, dropped after it; whoever leaves a connection open fails the file.
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, inject } from 'vitest';

/**
 * Clones the migrated template and returns the clone's URL. Call it before anything that registers an `afterAll` of its own:
 * these run last first, so what the file opened is closed before the database is dropped.
 */
export async function freshDatabase(): Promise<string> {
  return cloneOf('tpl');
}

/** A database with nothing in it, for tests of the migrations themselves. */
export async function emptyDatabase(): Promise<string> {
  return cloneOf('template0');
}

async function cloneOf(template: string): Promise<string> {
  const url = new URL(inject('adminUrl'));
  const admin = new pg.Client({ connectionString: url.href, application_name: 'test admin' });
  await admin.connect();
  const name = `t_${randomBytes(6).toString('hex')}`;
  await admin.query(`CREATE DATABASE ${name} TEMPLATE ${template}`);
  afterAll(async () => {
    try {
      const open = await leftovers(admin, name);
      await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
      if (open.length > 0) throw new Error(`the file left ${open.length} connection(s) to its database open:\n${open.join('\n')}`);
    } finally {
      await admin.end();
    }
  });
  url.pathname = name;
  return url.href;
}

/** What is still connected to the database after twenty seconds of grace: ending a client resolves before its backend is gone. */
async function leftovers(admin: pg.Client, database: string): Promise<string[]> {
  const deadline = Date.now() + 20_000;
  for (;;) {
    const { rows } = await admin.query<{ line: string }>(
      `SELECT format('%s, %s, last: %s', coalesce(nullif(application_name, ''), 'unnamed'), state, left(query, 200)) AS line
       FROM pg_stat_activity WHERE datname = $1 AND backend_type = 'client backend'`,
      [database],
    );
    if (rows.length === 0 || Date.now() > deadline) return rows.map((row) => row.line);
    await sleep(10);
  }
}
