// Many deliveries to receivers that fail at random, by workers that come and go. The receivers' ledger is the judge.
import type { ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { expect } from 'vitest';
import { newWebhookSecret } from '../../src/exports/webhook.ts';
import { receiver } from '../outbound/receiver.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { createWorkspace, depot } from '../support/story.ts';
import { destinationsSet } from './announced.ts';
import { rowsOf } from './by-hand.ts';
import { loaded, published, request } from './story.ts';

const faults: readonly ((response: ServerResponse) => void)[] = [
  (response) => response.writeHead(500).end(),
  (response) => response.writeHead(429, { 'retry-after': '0' }).end(),
  (response) => response.writeHead(302, { location: '/elsewhere' }).end(),
  (response) => response.socket?.resetAndDestroy(),
  (response) => response.writeHead(200, { 'content-length': '10' }).end('cut', () => response.socket?.destroy()),
];

interface Storm {
  readonly exports: number;
  /** To each of which every export is announced: at most 20. */
  readonly destinations: number;
  /** How many times another worker comes, and goes in the middle of whatever it is at. */
  readonly passing: number;
}

/** On an app with a worker; those that come and go are started with the same `env`. */
export async function deliveryStorm(app: TestApp, env: Record<string, string>, storm: Storm): Promise<void> {
  const taken = new Map<string, number>();
  const failures = new Map<string, number>();
  const server = await receiver((response, call) => {
    const id = String(call.headers['webhook-id']);
    // Two of five calls fail, each in its way; which, is drawn by their number. After three no destination has patience left.
    const draw = (server.calls.length * 7_919) % 25;
    const faultsOfIt = failures.get(id) ?? 0;
    if (draw < 10 && faultsOfIt < 3) {
      failures.set(id, faultsOfIt + 1);
      return faults[draw % faults.length]!(response);
    }
    taken.set(id, (taken.get(id) ?? 0) + 1);
    response.end();
  });
  const secret = newWebhookSecret();
  const destinations = Array.from({ length: storm.destinations }, (_, n) => ({ name: `d${n}`, url: `${server.url}/d${n}`, secret }));
  const workspaceId = await createWorkspace(app);
  await loaded(app, workspaceId, depot.slice(0, 1));
  await destinationsSet(app, workspaceId, destinations);
  for (let n = 0; n < storm.exports; n++) {
    const passing = n < storm.passing ? await startApp({ env }) : null;
    const before = server.calls.length;
    const id = await request(app, workspaceId);
    if (passing !== null) {
      await expect.poll(() => server.calls.length).toBeGreaterThan(before + 5);
      await passing.stop(); // in the middle of whatever it is at
    }
    await published(app, id);
  }
  const count = async (text: string) => (await rowsOf<{ n: number }>(app, `SELECT count(*)::int AS n FROM ${text}`))[0]!.n;
  const all = storm.exports * storm.destinations;
  await expect.poll(() => count(`export_delivery WHERE state = 'DELIVERED'`), { timeout: 300_000, interval: 100 }).toBe(all);
  const rows = await rowsOf<{ id: string }>(app, 'SELECT webhook_id AS id FROM export_delivery');
  expect([...taken.keys()].sort()).toEqual(rows.map(({ id }) => id).sort());
  expect([...failures.values()].reduce((sum, n) => sum + n, 0)).toBeGreaterThan(all / 4);
  for (const { body, headers } of server.calls) new Webhook(secret).verify(body, headers as Record<string, string>);
  expect(server.calls.filter((call) => !/^\/d\d+$/.test(call.path))).toEqual([]); // redirects that were followed
  const perDelivery = new Map(server.calls.map((call) => [String(call.headers['webhook-id']), call.path]));
  for (const call of server.calls) expect(perDelivery.get(String(call.headers['webhook-id']))).toBe(call.path);
  // Each call is an attempt that is shown, but for those of processes that went in the middle.
  expect(await count('export_delivery_attempt')).toBeLessThanOrEqual(server.calls.length);
  expect(await count('export_delivery_attempt')).toBeGreaterThanOrEqual(server.calls.length - 4 * storm.passing);
  expect(await count(`export_delivery_attempt WHERE code = 'DELIVERED'`)).toBe(all);
  expect(await count(`lifecycle_event WHERE action = 'DELIVER'`)).toBe(all);
}
