// Packhorse processes that can be killed, stopped and gone on with: `packhorse serve` on the calling file's database.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll } from 'vitest';
import { issueToken } from '../../src/auth/token.ts';
import { readConfig } from '../../src/config.ts';
import { type Answer, everything, type TestApp } from './app.ts';
import { built } from './built.ts';

export const nodeSecret = 'a secret that all nodes of a test share';

export interface Node {
  readonly pid: number;
  /** Settled once it listens; rejects where it ended before. */
  readonly ready: Promise<void>;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  readonly isAlive: boolean;
  /** What stories and sockets speak to. Its URL is there once it is ready. */
  readonly app: TestApp;
  signal(name: NodeJS.Signals): void;
  /** SIGKILL, and waits for its end. */
  kill(): Promise<void>;
  /** What it wrote to stderr. */
  readonly log: string;
  /** Peak resident memory in MiB, by the kernel's account. */
  peakMiB(): number;
  rssMiB(): number;
}

export interface Nodes {
  start(env?: Record<string, string>): Node;
}

// A node ends with the test that started it, however that one ends. Its stdin is a pipe, which must not keep it either.
const ending = `data:text/javascript,${encodeURIComponent("process.stdin.on('end', () => process.exit(1)).resume().unref?.()")}`;

/** Fast leases and polls, so that recovery shows within a test. */
const fast = { PACKHORSE_LEASE_MS: '3000', PACKHORSE_HEARTBEAT_MS: '500', PACKHORSE_POLL_MS: '200', PACKHORSE_CANCEL_DEADLINE_MS: '2000' };

export function nodesOn(databaseUrl: string): Nodes {
  const home = mkdtempSync(path.join(tmpdir(), 'packhorse-nodes-'));
  const started: ChildProcess[] = [];
  afterAll(async () => {
    for (const child of started) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    rmSync(home, { recursive: true, force: true });
  });
  return {
    start(env = {}) {
      const all = {
        ...fast,
        DATABASE_URL: databaseUrl,
        PACKHORSE_HOME: home,
        PACKHORSE_JWT_SECRET: nodeSecret,
        PACKHORSE_LOG_LEVEL: 'warn',
        PORT: '0',
        ...env,
      };
      const child = spawn(process.execPath, ['--import', ending, ...built, 'serve', '--json'], {
        env: { PATH: process.env['PATH'], TMPDIR: tmpdir(), ...all },
        stdio: ['pipe', 'pipe', 'pipe'],
      });
      started.push(child);
      return nodeOf(child, all);
    },
  };
}

/**
 * For nodes that take each other's place: while none is there, nobody else gets it. Connections, also those to itself, are given ports from
 * 32,768 on. Not drawn by a seed: two campaigns with the same one would take it from each other.
 */
export async function lastingPort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
    });
    await new Promise((resolve) => server.close(resolve));
    if (isFree) return port;
  }
}

function nodeOf(child: ChildProcess, env: Record<string, string>): Node {
  const pid = child.pid ?? 0;
  let log = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    log = (log + chunk.toString()).slice(-100_000);
  });
  let isAlive = true;
  const exited = once(child, 'exit').then(([code, signal]) => {
    isAlive = false;
    return { code, signal };
  });
  let url: string | undefined;
  const ready = new Promise<void>((resolve, reject) => {
    child.stdout?.once('data', (line: Buffer) => {
      ({ url } = JSON.parse(line.toString()));
      resolve();
    });
    exited.then(({ code, signal }) => reject(new Error(`the node ended by ${signal ?? code} before it listened: ${log}`)), reject);
  });
  ready.catch(() => {}); // killed while it starts, which a campaign does on purpose
  const { jwt } = readConfig(env);
  const token = issueToken(
    { secret: new TextEncoder().encode(nodeSecret), audience: jwt.audience, issuer: jwt.issuer },
    { subject: 'ann', permissions: everything, workspaces: ['*'], expiresInSeconds: 3_600 },
  );
  const graphql = async (query: string, variables: Record<string, unknown> = {}): Promise<Answer> => {
    await ready;
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${await token}` },
      body: JSON.stringify({ query, variables }),
    });
    const body = (await response.json()) as Partial<Answer>;
    return { status: response.status, data: body.data, errors: body.errors ?? [] };
  };
  const status = (name: string) => {
    const line = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return Number(line?.[1] ?? 0) / 1_024;
  };
  return {
    pid,
    ready,
    exited,
    get isAlive() {
      return isAlive;
    },
    app: {
      graphql,
      token: () => token,
      get url() {
        if (url === undefined) throw new Error('the node does not listen yet');
        return url;
      },
    } as TestApp, // they use nothing else of it
    signal: (name) => void child.kill(name),
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
    get log() {
      return log;
    },
    peakMiB: () => status('VmHWM'),
    rssMiB: () => status('VmRSS'),
  };
}
