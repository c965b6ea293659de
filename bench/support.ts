// What the benchmarks share: a database with runs in it, servers as processes of their own, and a load of requests.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import pg from 'pg';
import { issueToken } from '../src/auth/token.ts';
import type { PostgresServer } from '../src/postgres/embedded.ts';
import { migrate } from '../src/postgres/migrate.ts';

export const secret = 'benchmarks-only-0123456789-0123456789';

export async function freshDatabase(postgres: PostgresServer, name: string): Promise<string> {
  const admin = new pg.Client({ connectionString: postgres.url() });
  await admin.connect();
  await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  await admin.query(`CREATE DATABASE ${name}`);
  await admin.end();
  await migrate(postgres.url(name));
  return postgres.url(name);
}

/** A workspace `bench` with running runs of `steps` steps each; returns their database ids, oldest first. */
export async function seedRuns(url: string, runs: number, steps: number): Promise<string[]> {
  const client = new pg.Client({ connectionString: url, options: '-c timezone=UTC' });
  await client.connect();
  try {
    return await seed(client, runs, steps);
  } finally {
    await client.end();
  }
}

async function seed(client: pg.Client, runs: number, steps: number): Promise<string[]> {
  await client.query(`INSERT INTO workspace (id, slug, name) VALUES (gen_random_uuid(), 'bench', 'bench') ON CONFLICT DO NOTHING`);
  await client.query(`INSERT INTO workspace_log (workspace_id) SELECT id FROM workspace ON CONFLICT DO NOTHING`);
  await client.query(`INSERT INTO export_settings (workspace_id) SELECT id FROM workspace ON CONFLICT DO NOTHING`);
  const { rows } = await client.query<{ id: string }>(
    `WITH p AS (INSERT INTO data_package (id, workspace_id, staged_by, expires_at, name, digest, plan)
        SELECT gen_random_uuid(), w.id, 'bench', now(), 'p' || $2::int || '-' || g, 'sha256:0', '{}' FROM workspace w, generate_series(1, $1::int) g RETURNING id, workspace_id, name)
     INSERT INTO data_run (id, workspace_id, package_id, package_name, driving, registered_by, open_steps, open_targets, active_targets, notes)
     SELECT gen_random_uuid(), workspace_id, id, name, 'ON_REQUEST', 'bench', $2::int, '{store}', '{}', '{}' FROM p RETURNING id`,
    [runs, steps],
  );
  await client.query(
    `INSERT INTO data_run_step (id, run_id, position, dataset, depends_on, target) SELECT gen_random_uuid(), r.id, g, 'dataset-' || g, '{}', 'store'
     FROM data_run r, generate_series(0, $1::int - 1) g WHERE NOT EXISTS (SELECT 1 FROM data_run_step s WHERE s.run_id = r.id)`,
    [steps],
  );
  await client.query(`UPDATE data_run SET state = 'RUNNING', started_at = now() WHERE state = 'REGISTERED'`);
  await client.query('ANALYZE');
  return rows.map(({ id }) => id);
}

export interface ServerProcess {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Milliseconds by the machine's monotonic clock, which all its processes read alike. */
export const clock = (): number => clockBegan + performance.now();
const clockBegan = Number(process.hrtime.bigint()) / 1e6 - performance.now();

const ownFiles = 500; // of a process, besides its sockets

/** The command, allowed to hold so many sockets. Only root may go over the hard limit. */
export function withSockets(sockets: number, command: readonly string[]): [string, ...string[]] {
  return ['sh', '-c', `ulimit -n ${sockets + ownFiles} && exec "$@"`, 'sh', ...command];
}

/** What the system says against a process that holds so many sockets; null: nothing. */
export function refusedSockets(sockets: number): string | null {
  const [command, ...args] = withSockets(sockets, ['true']);
  const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  return status === 0 ? null : stderr.trim();
}

export interface ProcessOptions {
  /** Another Node than this one. */
  readonly node?: string;
  /** That it will hold, where they are many. */
  readonly sockets?: number;
  /** Its complaints are not shown. */
  readonly mute?: boolean;
}

/** Starts a server that prints its URL as the first http:// on stdout. */
export async function serverProcess(
  args: readonly string[],
  env: Record<string, string>,
  { node = process.execPath, sockets, mute = false }: ProcessOptions = {},
): Promise<ServerProcess> {
  const [command, ...rest] = sockets === undefined ? [node, ...args] : withSockets(sockets, [node, ...args]);
  const child = spawn(command, rest, {
    env: { ...process.env, NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'pipe', mute ? 'ignore' : 'inherit'],
  });
  let text = '';
  for await (const chunk of child.stdout) {
    text += String(chunk);
    const [url] = /http:\/\/[\w.:]+/.exec(text) ?? [];
    if (url === undefined) continue;
    child.stdout.resume();
    return {
      url,
      pid: child.pid ?? 0,
      async stop() {
        const exited = once(child, 'exit');
        child.kill('SIGTERM');
        await exited;
      },
    };
  }
  throw new Error(`the server ended before it listened: ${text}`);
}

export function packhorse(
  databaseUrl: string,
  home: string,
  env: Record<string, string> = {},
  options: ProcessOptions = {},
): Promise<ServerProcess> {
  const settings = {
    DATABASE_URL: databaseUrl,
    PACKHORSE_HOME: home,
    PORT: '0',
    PACKHORSE_JWT_SECRET: secret,
    PACKHORSE_ROLE: 'all',
    PACKHORSE_LOG_LEVEL: 'error',
    PACKHORSE_POOL_SIZE: '10',
  };
  return serverProcess(['bin/packhorse.mjs', 'serve'], { ...settings, ...env }, options);
}

export function token(): Promise<string> {
  const settings = { secret: new TextEncoder().encode(secret), audience: 'packhorse', issuer: 'packhorse' };
  return issueToken(settings, {
    subject: 'bench',
    permissions: ['workspace:read', 'workspace:admin', 'data-run', 'target:*', 'data-export:execute'],
    workspaces: ['*'],
    expiresInSeconds: 86_400,
  });
}

const agent = new Agent({ keepAlive: true, maxSockets: 64 });

export function post(url: string, body: string, authorization: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      authorization: `Bearer ${authorization}`,
    };
    const sent = request(url, { method: 'POST', agent, headers }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () => resolve(Buffer.concat(parts).toString()));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Answers a second, with so many requests under way at once. */
export async function rate(requests: readonly (() => Promise<unknown>)[], connections: number): Promise<number> {
  const queue = requests.values();
  const began = performance.now();
  await Promise.all(
    Array.from({ length: connections }, async () => {
      for (const send of queue) await send();
    }),
  );
  return requests.length / ((performance.now() - began) / 1_000);
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** Alternated rounds, so that what else the machine does falls on both sides alike. */
export async function alternate(
  rounds: number,
  ours: () => Promise<number>,
  theirs: () => Promise<number>,
): Promise<{ ours: number; theirs: number }> {
  const [a, b]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    a.push(await ours());
    b.push(await theirs());
  }
  return { ours: median(a), theirs: median(b) };
}
