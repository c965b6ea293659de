// Many deliveries to receivers that fail at random, by workers that come and go. The receivers' ledger is the judge.

import { mkdtempSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Webhook } from 'standardwebhooks';
import { afterAll, expect, it } from 'vitest';
import { newWebhookSecret } from '../../src/exports/webhook.ts';
import { receiver } from '../outbound/receiver.ts';
import { startApp } from '../support/app.ts';
import { freshDatabase } from '../support/database.ts';
import { createWorkspace, depot } from '../support/story.ts';
import { destinationsSet } from './announced.ts';
import { rowsOf } from './by-hand.ts';
import { loaded, request } from './story.ts';

const shared = mkdtempSync(path.join(tmpdir(), 'packhorse-shared-'));
afterAll(() => rmSync(shared, { recursive: true }));
const env = {
  DATABASE_URL: await freshDatabase(),
  PACKHORSE_JWT_SECRET: 'a secret that all processes share',
  PACKHORSE_STORAGE: `file:${shared}`,
  PACKHORSE_FETCH_HOSTS: '127.0.0.1',
  PACKHORSE_RETRY_MS: '1',
  PACKHORSE_POLL_MS: '100',
};
const app = await startApp({ env });

const exportsInAll = 10;
const destinationsEach = 20;

const faults: readonly ((response: ServerResponse) => void)[] = [
  (response) => response.writeHead(500).end(),
  (response) => response.writeHead(429, { 'retry-after': '0' }).end(),
  (response) => response.writeHead(302, { location: '/elsewhere' }).end(),
  (response) => response.socket?.resetAndDestroy(),
  (response) => response.writeHead(200, { 'content-length': '10' }).end('cut', () => response.socket?.destroy()),
];

it('loses none of 200 deliveries, and repeats them with the same id only', { timeout: 180_000 }, async () => {
  const taken = new Map<string, number>();
  let failed = 0;
  const server = await receiver((response, call) => {
    const id = String(call.headers['webhook-id']);
    // Two of five calls fail, each in its way; which, is drawn by their number.
    const draw = (server.calls.length * 7_919) % 25;
    if (draw < 10) {
      failed++;
      return faults[draw % faults.length]!(response);
    }
    taken.set(id, (taken.get(id) ?? 0) + 1);
    response.end();
  });
  const secret = newWebhookSecret();
  const destinations = Array.from({ length: destinationsEach }, (_, n) => ({ name: `d${n}`, url: `${server.url}/d${n}`, secret }));
  for (let n = 0; n < exportsInAll; n++) {
    const workspaceId = await createWorkspace(app);
    await loaded(app, workspaceId, depot.slice(0, 1));
    await destinationsSet(app, workspaceId, destinations);
    await request(app, workspaceId);
    if (n % 4 === 1) {
      const passing = await startApp({ env });
      await expect.poll(() => server.calls.length).toBeGreaterThan(n * 5);
      await passing.stop(); // in the middle of whatever it is at
    }
  }
  const count = async (text: string) => (await rowsOf<{ n: number }>(app, `SELECT count(*)::int AS n FROM ${text}`))[0]!.n;
  const all = exportsInAll * destinationsEach;
  await expect.poll(() => count(`export_delivery WHERE state = 'DELIVERED'`), { timeout: 120_000, interval: 100 }).toBe(all);
  const rows = await rowsOf<{ id: string }>(app, 'SELECT webhook_id AS id FROM export_delivery');
  expect([...taken.keys()].sort()).toEqual(rows.map(({ id }) => id).sort());
  expect(failed).toBeGreaterThan(50);
  for (const { body, headers } of server.calls) new Webhook(secret).verify(body, headers as Record<string, string>);
  expect(server.calls.filter((call) => !/^\/d\d+$/.test(call.path))).toEqual([]); // redirects that were followed
  const perDelivery = new Map(server.calls.map((call) => [`${call.headers['webhook-id']}`, call.path]));
  for (const call of server.calls) expect(perDelivery.get(String(call.headers['webhook-id']))).toBe(call.path);
  // Each call is an attempt that is shown, but for those of processes that went in the middle.
  expect(await count('export_delivery_attempt')).toBeLessThanOrEqual(server.calls.length);
  expect(await count('export_delivery_attempt')).toBeGreaterThanOrEqual(server.calls.length - 12);
  expect(await count(`export_delivery_attempt WHERE code = 'DELIVERED'`)).toBe(all);
  expect(await count(`lifecycle_event WHERE action = 'DELIVER'`)).toBe(all);
});
