// The schema of graphile-worker: `graphile_worker.add_job` fails until it is installed.
import { Logger, runMigrations } from 'graphile-worker';
import pg from 'pg';

/** Installs or updates the schema `graphile_worker`. */
export async function migrateWorker(databaseUrl: string): Promise<void> {
  // A pool of our own: given a connection string, runMigrations returns with its pool open and its error handler gone.
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1, options: '-c timezone=UTC', application_name: 'packhorse migrate' });
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  try {
    await runMigrations({ pgPool: pool, logger: new Logger(() => () => {}) });
  } finally {
    await pool.end();
  }
}
