// Puts a process together: config → database → server and/or worker, and stops it in the opposite order. No top-level effects:
// the command line calls this, and so do tests, with the same object as production.

import { chmodSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { callTokens } from './auth/call-token.ts';
import { remoteKeys } from './auth/remote-keys.ts';
import { jwtSecret } from './auth/secret.ts';
import { signIn } from './auth/sign-in.ts';
import type { TokenSettings } from './auth/token.ts';
import { type Config, ensureHome, urlOf } from './config.ts';
import { type Db, openDb } from './db.ts';
import { accessWatch } from './events/access.ts';
import { fanOut } from './events/fan-out.ts';
import { type Bell, startBell } from './events/listen.ts';
import { assembleExports } from './exports/assemble.ts';
import { ensureSlots } from './exports/dispatcher.ts';
import { ensureSigningKey } from './exports/keys.ts';
import type { App } from './graphql/context.ts';
import type { Log } from './log.ts';
import { defaultPackageLimits, type PackageLimits } from './packages/limits.ts';
import { missingFromCatalog } from './postgres/catalog.ts';
import { type PostgresServer, startPostgres } from './postgres/embedded.ts';
import { migrate } from './postgres/migrate.ts';
import type { Driver } from './runs/driver.ts';
import { httpTarget } from './runs/targets/http.ts';
import { storeTarget } from './runs/targets/store.ts';
import type { Target } from './runs/targets/target.ts';
import { type RunningServer, serve } from './server/http.ts';
import { storageOf } from './storage/open.ts';
import { startWorker, type Tasks, type Worker } from './worker.ts';

export interface Packhorse {
  /** What links begin with; of the server that this process runs, if it runs one. */
  readonly url: string;
  readonly app: App;
  readonly tasks: Tasks;
  readonly tokens: TokenSettings;
  stop(): Promise<void>;
}

/** A fault of the surroundings: one line for whoever started the process. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/** The embedded Postgres of a home, where no other is configured. */
export async function databaseOf(config: Config): Promise<{ url: string; stop(): Promise<void> }> {
  if (config.databaseUrl !== null) return { url: config.databaseUrl, stop: async () => {} };
  ensureHome(config.home);
  // As root, Postgres runs as another user, who must be able to pass through the home, though not to look into it.
  if (process.getuid?.() === 0) chmodSync(config.home, 0o711);
  const server: PostgresServer = await startPostgres({ home: path.join(config.home, 'postgres') });
  const client = new pg.Client({ connectionString: server.url() });
  await client.connect();
  const { rowCount } = await client.query(`SELECT 1 FROM pg_database WHERE datname = 'packhorse'`);
  if (rowCount === 0) await client.query('CREATE DATABASE packhorse');
  await client.end();
  return { url: server.url('packhorse'), stop: () => server.stop() };
}

export function packageLimits({ limits }: Pick<Config, 'limits'>): PackageLimits {
  return {
    ...defaultPackageLimits,
    archiveBytes: limits.packageBytes,
    entries: limits.archiveEntries,
    expandedBytes: limits.expandedBytes,
    entryRatio: limits.expansionRatio,
    datasetExpandedBytes: limits.expandedBytes,
  };
}

/** Everything of a process but the server and the worker. Tests give it other targets. */
export interface Parts {
  readonly db: Db;
  readonly bell: Bell;
  readonly app: App;
  readonly tasks: Tasks;
  close(): Promise<void>;
}

export interface PartOptions {
  readonly databaseUrl: string;
  readonly config: Config;
  readonly secret: Uint8Array;
  readonly publicUrl: () => string;
  readonly log: Log;
  readonly targets?: (db: Db) => readonly Target[];
  readonly stop: AbortSignal;
}

const statementTimeoutMs = 15_000;
const resetTimeoutMs = 3_600_000;
const plansAtOnce = 2;

export function assemble({ databaseUrl, config, secret, publicUrl, log, targets, stop }: PartOptions): Parts {
  const bell = startBell(databaseUrl, config.pollMs, (error) =>
    log.warn({ err: error }, 'the listening connection is down; polling meanwhile'),
  );
  const announcing = (db: Db): Db => ({ ...db, announce: (topic) => bell.ring(topic) });
  const db = announcing(openDb(databaseUrl, { poolSize: config.poolSize, statementTimeoutMs }));
  // As long as a lease: who takes over from a loader that was stopped must not wait longer for its locks than for its job.
  const idleTimeoutMs = Math.max(config.leaseMs, 5_000);
  // Loads run statements that last; they must not take the connections that answers need.
  const bulk = announcing(openDb(databaseUrl, { poolSize: config.storeConcurrency * 2 + 2, statementTimeoutMs: 0, idleTimeoutMs }));
  // So few that resets at once wait for each other, or are told that the database is busy; none takes a loader's connection.
  const resets = announcing(openDb(databaseUrl, { poolSize: 2, statementTimeoutMs: 0, transactionTimeoutMs: resetTimeoutMs }));
  const plans = openDb(databaseUrl, { poolSize: plansAtOnce, statementTimeoutMs: config.planDeadlineMs + 5_000 }); // the deadline says more than Postgres would
  const tokens = callTokens(secret, config.jwt.issuer);
  const remote = config.targets.map((target) => httpTarget(target, { tokens, links: { secret, publicUrl } }));
  const list = [...(targets?.(db) ?? [storeTarget(db)]), ...remote];
  const driver: Driver = {
    db,
    targets: new Map(list.map((target) => [target.name, target])),
    // A pass asks once before it first writes: had it lost its lease by then, its answers would be thrown away, pass after pass.
    settings: {
      leaseMs: config.leaseMs,
      retryMs: config.retryMs,
      deadlineMs: Math.floor(Math.min(config.deadlineMs, config.cancelDeadlineMs, config.leaseMs / 3)),
    },
    passes: new Set(),
    log,
  };
  const storage = storageOf(config.storage);
  const limits = packageLimits(config);
  const outgoing = assembleExports({ databaseUrl, config, secret, publicUrl, log, stop, storage, db, announcing });
  let delivered = 0;
  const app: App = {
    db,
    bell,
    fan: fanOut({
      backlog: config.streamBacklog,
      onDelivered(count) {
        delivered += count;
      },
    }),
    delivered: () => delivered,
    access: accessWatch(db),
    runs: {
      db,
      bulk: resets,
      driver,
      settings: { grantHours: config.grantHours, deadlineMs: config.deadlineMs },
      plans: { db: plans, deadlineMs: config.planDeadlineMs, underWay: new Set() },
    },
    packages: { db, storage, limits, secret, publicUrl, stagedHours: config.stagedHours },
    exports: outgoing.exports,
    callKeys: tokens.publicKeys,
  };
  const loader = { db: bulk, storage, limits, leaseMs: config.leaseMs, heartbeatMs: config.heartbeatMs, log };
  return {
    db,
    bell,
    app,
    tasks: { runs: { driver, loader, cancelDeadlineMs: config.cancelDeadlineMs, stop }, exports: outgoing.tasks },
    async close() {
      await Promise.allSettled(driver.passes);
      for (const target of remote) await target.close();
      await bell.close();
      await outgoing.close();
      await plans.close();
      await resets.close();
      await bulk.close();
      await db.close();
    },
  };
}

export async function startPackhorse(config: Config, log: Log, targets?: PartOptions['targets']): Promise<Packhorse> {
  ensureHome(config.home);
  const secret = jwtSecret(config);
  const { audience, issuer, keysUrl } = config.jwt;
  const tokens: TokenSettings = { secret, audience, issuer, keys: keysUrl === null ? null : remoteKeys(keysUrl) };
  const database = await databaseOf(config);
  const stopping = new AbortController();
  const undo: (() => Promise<void>)[] = [() => database.stop()];
  try {
    await prepare(database.url);
    let port = config.port;
    // The port may be chosen by the system, and links need it: read when they are made.
    const publicUrl = () => config.publicUrl ?? urlOf(config.host, port);
    const parts = assemble({
      databaseUrl: database.url,
      config,
      secret,
      publicUrl,
      log,
      stop: stopping.signal,
      ...(targets ? { targets } : {}),
    });
    undo.push(() => parts.close());
    await ensureSlots(parts.db, config.exportSlots);
    await ensureSigningKey(parts.db, parts.tasks.exports.runner.generator.key);
    const { app } = parts;
    if (config.role !== 'api') {
      const worker: Worker = await startWorker(parts.tasks, {
        databaseUrl: database.url,
        loads: config.storeConcurrency,
        exports: config.exportSlots,
        pollMs: config.pollMs,
        eventRetentionDays: config.eventRetentionDays,
        rejectedRowDays: config.rejectedRowDays,
        log,
      });
      undo.push(() => worker.stop());
    }
    undo.push(async () => stopping.abort());
    if (config.role !== 'worker') {
      const server: RunningServer = await serve({
        app,
        host: config.host,
        port: config.port,
        tokens,
        signIn: config.provider === null ? null : signIn(config.provider, tokens),
        limits: config.limits,
        notReady: () => notReady(parts.db),
        log,
      });
      port = server.port;
      undo.push(() => server.close());
    }
    return { url: publicUrl(), app, tasks: parts.tasks, tokens, stop: () => unwind(undo) };
  } catch (error) {
    await unwind(undo);
    throw error;
  }
}

async function unwind(undo: (() => Promise<void>)[]): Promise<void> {
  for (const step of undo.splice(0).reverse()) await step();
}

async function prepare(databaseUrl: string): Promise<void> {
  await migrate(databaseUrl);
  const client = new pg.Client({ connectionString: databaseUrl, options: '-c timezone=UTC' });
  await client.connect();
  try {
    const missing = await missingFromCatalog(client);
    if (missing.length > 0) {
      throw new StartError(
        `the database lacks ${missing.length} thing(s) that its promises rest on, first: ${missing[0]}. See \`packhorse migrate --check\`.`,
      );
    }
    const { rows } = await client.query<{ name: string }>(
      `SELECT name FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit') AND setting = 'off'`,
    );
    for (const { name } of rows) process.emitWarning(`the database runs with ${name} = off: what was acknowledged can be lost in a crash`);
  } finally {
    await client.end();
  }
}

async function notReady(db: Db): Promise<string | null> {
  try {
    await db.pool.query('SELECT 1');
    return null;
  } catch {
    return 'database';
  }
}
