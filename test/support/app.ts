// A whole Packhorse for the calling test file, on a database of its own, spoken to over HTTP and sockets as a client would.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createClient } from 'graphql-ws';
import { afterAll } from 'vitest';
import { WebSocket } from 'ws';
import { issueToken } from '../../src/auth/token.ts';
import { type Config, readConfig } from '../../src/config.ts';
import type { Db } from '../../src/db.ts';
import { createLog } from '../../src/log.ts';
import { type Packhorse, startPackhorse } from '../../src/main.ts';
import type { Target } from '../../src/runs/targets/target.ts';
import { freshDatabase } from './database.ts';

export interface Grant {
  readonly subject?: string;
  readonly permissions?: readonly string[];
  readonly workspaces?: readonly string[];
  readonly expiresInSeconds?: number;
}

export const everything = ['workspace:read', 'workspace:admin', 'data-run', 'data-run:force', 'target:*', 'data-export:execute'];

export interface TestApp extends Packhorse {
  readonly config: Config;
  token(grant?: Grant): Promise<string>;
  /** POSTs an operation; the answer as it came. */
  graphql(query: string, variables?: Record<string, unknown>, token?: string | null): Promise<Answer>;
  /** A graphql-ws client, disposed of after the file. */
  socket(token?: string): Promise<ReturnType<typeof createClient>>;
}

export interface Answer {
  readonly status: number;
  readonly data: any;
  readonly errors: readonly { message: string; extensions?: { code?: string } }[];
}

export interface AppOptions {
  readonly env?: Record<string, string>;
  readonly targets?: (db: Db) => readonly Target[];
  /** False: nothing runs in the background. */
  readonly worker?: boolean;
}

/** The folder that this app keeps its objects in. */
export function storageRoot({ config }: TestApp): string {
  if (config.storage.kind !== 'folder') throw new Error('this app keeps its objects elsewhere');
  return config.storage.root;
}

/** Fast leases and polls, so that recovery shows within a test; and ten heartbeats a lease, since all of a test shares one thread. */
const fast = {
  PACKHORSE_LEASE_MS: '5000',
  PACKHORSE_HEARTBEAT_MS: '500',
  PACKHORSE_POLL_MS: '200',
  PACKHORSE_CANCEL_DEADLINE_MS: '2000',
  PACKHORSE_RETRY_MS: '20',
  PACKHORSE_PUBLISH_ATTEMPTS: '8',
};

export async function startApp({ env = {}, targets, worker = true }: AppOptions = {}): Promise<TestApp> {
  const home = mkdtempSync(path.join(tmpdir(), 'packhorse-test-'));
  const databaseUrl = env['DATABASE_URL'] ?? (await freshDatabase());
  afterAll(() => rmSync(home, { recursive: true, force: true }));
  const app = await launch({ PACKHORSE_HOME: home, DATABASE_URL: databaseUrl, PACKHORSE_ROLE: worker ? 'all' : 'api', ...env }, targets);
  afterAll(() => app.stop());
  return app;
}

/** The same without any clean-up: whoever launches it stops it. */
export async function launch(env: Record<string, string>, targets?: AppOptions['targets']): Promise<TestApp> {
  const config = readConfig({ PORT: '0', PACKHORSE_LOG_LEVEL: process.env['TEST_LOG_LEVEL'] ?? 'silent', ...fast, ...env });
  const running = await startPackhorse(config, createLog(config), targets);
  const token = (grant: Grant = {}) =>
    issueToken(running.tokens, {
      subject: grant.subject ?? 'ann',
      permissions: grant.permissions ?? everything,
      workspaces: grant.workspaces ?? ['*'],
      expiresInSeconds: grant.expiresInSeconds ?? 3_600,
    });
  const ann = await token();
  return {
    ...running,
    config,
    token,
    async graphql(query, variables = {}, given = ann) {
      const response = await fetch(`${running.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(given === null ? {} : { authorization: `Bearer ${given}` }) },
        body: JSON.stringify({ query, variables }),
      });
      const body = (await response.json()) as Partial<Answer>;
      return { status: response.status, data: body.data, errors: body.errors ?? [] };
    },
    async socket(given = ann) {
      const client = createClient({
        url: `${running.url.replace('http', 'ws')}/graphql`,
        webSocketImpl: WebSocket,
        connectionParams: { authorization: `Bearer ${given}` },
        retryAttempts: 0,
      });
      afterAll(() => client.dispose());
      return client;
    },
  };
}
