// What the tests of bad input share: an application with two tenants, ways in, and what must never show through.
import { afterAll, beforeAll, expect } from 'vitest';
import { hookHosts, type Tenant, tenant } from '../auth/tenants.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { json, type RawAnswer, send } from './raw.ts';

/** Nothing of ours shows through. */
export const internals =
  /INTERNAL_ERROR|prisma|postgres|SELECT |INSERT |\bat .*\.(ts|js):|node_modules|relation "|SQLSTATE|invocation|stack/i;
export const codesOf = (text: string): string[] =>
  (JSON.parse(text).errors ?? []).map((error: { extensions?: { code?: string } }) => error.extensions?.code ?? 'none');

export interface Surface {
  readonly app: TestApp;
  readonly port: number;
  readonly token: string;
  readonly endpoint: string;
  /** Made before the first test. */
  readonly own: () => Tenant;
  readonly other: () => Tenant;
  readonly post: (body: string | Buffer, headers?: Record<string, string>) => Promise<RawAnswer>;
  /** It answers as before. Looked at once more when the file is done. */
  readonly lives: () => Promise<void>;
}

export async function surface(): Promise<Surface> {
  const app = await startApp({ env: { PACKHORSE_POOL_SIZE: '5', ...hookHosts } });
  const token = await app.token();
  const endpoint = `${app.url}/graphql`;
  const made: Tenant[] = [];
  beforeAll(async () => {
    made.push(await tenant(app, 'own', 'mine'), await tenant(app, 'other', 'CANARY'));
  });
  const at = (index: number): Tenant => {
    const found = made[index];
    if (found === undefined) throw new Error('tenants are made before the first test, not before');
    return found;
  };
  const lives = async () => {
    const { status, data } = await app.graphql('{ viewer { subject } }');
    expect([status, data]).toEqual([200, { viewer: { subject: 'ann' } }]);
  };
  afterAll(lives);
  return {
    app,
    port: Number(new URL(app.url).port),
    token,
    endpoint,
    own: () => at(0),
    other: () => at(1),
    post: (body, headers = {}) => send(endpoint, { method: 'POST', headers: { ...json(token), ...headers } }, body),
    lives,
  };
}
