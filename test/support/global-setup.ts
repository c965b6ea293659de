// For the whole run: a build of the sources as they are, for the processes that tests start and the pages that they look at, and one throwaway
// Postgres with the migrated template that every test file clones.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { ensureBuilt } from '../../scripts/ensure-built.mjs';
import { startPostgres } from '../../src/postgres/embedded.ts';
import { migrate } from '../../src/postgres/migrate.ts';

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await ensureBuilt();
  project.onTestsRerun(ensureBuilt); // what is edited while it watches
  const server = await serverForRun();
  try {
    await buildTemplate(server.adminUrl);
  } catch (error) {
    await server.stop();
    throw error;
  }
  project.provide('adminUrl', server.adminUrl);
  return server.stop;
}

/** The npm-shipped Postgres 18, or, to try another version, a superuser's TEST_DATABASE_URL of a server that is there already. */
async function serverForRun(): Promise<{ adminUrl: string; stop: () => Promise<void> }> {
  const given = process.env.TEST_DATABASE_URL;
  if (given !== undefined) return { adminUrl: given, stop: async () => {} };
  const home = mkdtempSync(path.join(tmpdir(), 'packhorse-test-'));
  // A zone that no one lives in by accident: a connection that forgets to ask for UTC reads wrong instants here, as it would for a user.
  const server = await startPostgres({ home, throwaway: true, settings: { autovacuum: 'off', timezone: 'Asia/Kathmandu' } });
  return {
    adminUrl: server.url(),
    async stop() {
      await server.stop('immediate');
      rmSync(home, { recursive: true, force: true });
    },
  };
}

async function buildTemplate(adminUrl: string): Promise<void> {
  const admin = new pg.Client({ connectionString: adminUrl });
  await admin.connect();
  const templateUrl = new URL(adminUrl);
  templateUrl.pathname = 'tpl';
  try {
    const { rowCount } = await admin.query(`SELECT FROM pg_database WHERE datname = 'tpl'`);
    if (rowCount) await admin.query('ALTER DATABASE tpl WITH IS_TEMPLATE false');
    await admin.query('DROP DATABASE IF EXISTS tpl WITH (FORCE)');
    await admin.query('CREATE DATABASE tpl');
    await migrate(templateUrl.href);
    await admin.query('ALTER DATABASE tpl WITH ALLOW_CONNECTIONS false IS_TEMPLATE true');
    // A client's end() resolves before its backend is gone, and CREATE DATABASE … TEMPLATE needs it gone.
    while ((await admin.query(`SELECT FROM pg_stat_activity WHERE datname = 'tpl'`)).rowCount) await sleep(5);
  } finally {
    await admin.end();
  }
}

declare module 'vitest' {
  export interface ProvidedContext {
    /** A superuser's URL of the database `postgres` on the run's server. */
    adminUrl: string;
  }
}
