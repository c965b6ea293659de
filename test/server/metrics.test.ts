// What operators see: that notices are lost, while subscribers still get everything; and nothing that would tell one tenant of another.
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { rawSocket } from '../events/raw-socket.ts';
import { openTestDb, upTo } from '../events/reading.ts';
import { makeYard, runId, write, type Yard } from '../events/writing.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { freshDatabase } from '../support/database.ts';
import { send } from './raw.ts';

const pollMs = 1_000; // a notice that comes later than that counts as lost
const databaseUrl = await freshDatabase();
const env = { DATABASE_URL: databaseUrl, PACKHORSE_POLL_MS: String(pollMs) };
const here = await startApp({ worker: false, env });
const there = await startApp({ worker: false, env });
const silent = openTestDb(databaseUrl); // its commits ring no bell

let yard: Yard;
beforeAll(async () => {
  yard = await makeYard(silent, 1);
});

async function metric(app: TestApp, name: string): Promise<number> {
  const { text } = await send(`${app.url}/metrics`, {});
  const line = text.split('\n').find((one) => one.startsWith(`packhorse_${name} `));
  if (line === undefined) throw new Error(`no packhorse_${name} in ${text}`);
  return Number(line.split(' ')[1]);
}

async function subscribers(app: TestApp, count: number) {
  for (const one of [here, there]) await expect.poll(() => metric(one, 'listen_connected')).toBe(1);
  const before = await metric(app, 'events_delivered_total');
  const sockets = await Promise.all(upTo(count).map(() => rawSocket(app)));
  const query = 'subscription ($id: ID!) { dataRunEvents(id: $id) { reason } }';
  for (const raw of sockets) raw.subscribe('s', query, { id: runId(yard.runs[0] ?? '') });
  await expect.poll(() => app.app.fan.counts()).toEqual({ subscribers: count, sharing: count, streams: 1 });
  onTestFinished(async () => {
    for (const { socket } of sockets) socket.terminate();
    await expect.poll(() => app.app.fan.counts().subscribers).toBe(0);
    expect(await metric(app, 'subscribers')).toBe(0);
  });
  return {
    reach: (reason: string) =>
      Promise.all(sockets.map((raw) => raw.reach(({ payload }) => payload?.data?.dataRunEvents.reason === reason))),
    delivered: async () => (await metric(app, 'events_delivered_total')) - before,
  };
}

it('finds nothing by the poll while notices come, and counts every delivery', async () => {
  const { reach, delivered } = await subscribers(there, 3);
  expect([await metric(there, 'subscribers'), await metric(there, 'shared_streams')]).toEqual([3, 1]);
  for (const n of upTo(20)) await write(here.app.db, yard.runs[0] ?? '', `told ${n}`);
  await reach('told 20');
  expect(await delivered()).toBe(60);
  expect(await metric(there, 'events_found_by_poll_total')).toBe(0);
  expect(await metric(there, 'notices_total{kind="other"}')).toBeGreaterThan(0);
  expect(await metric(there, 'notices_total{kind="own"}')).toBe(0);
  expect(await metric(here, 'notices_total{kind="own"}')).toBeGreaterThan(0);
  expect(await metric(here, 'events_delivered_total')).toBe(0); // each server has numbers of its own
});

it('shows that notices are lost altogether, while everything arrives by the poll', async () => {
  const before = await metric(there, 'events_found_by_poll_total');
  const { reach, delivered } = await subscribers(there, 3);
  for (const n of upTo(5)) {
    await write(silent, yard.runs[0] ?? '', `untold ${n}`);
    await reach(`untold ${n}`);
  }
  expect(await delivered()).toBe(15);
  await expect.poll(async () => (await metric(there, 'events_found_by_poll_total')) - before).toBe(5); // once for the stream that three share
});

it('shows that the listening connection was lost and made again', async () => {
  const before = await metric(there, 'listen_reconnects_total');
  await silent.pool.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'packhorse-bell'`,
  );
  await expect.poll(async () => (await metric(there, 'listen_reconnects_total')) - before).toBe(1);
  expect(await metric(there, 'listen_connected')).toBe(1);
});

it('tells anybody numbers, and nothing else', async () => {
  await here.graphql('query Canary { viewer { subject } }');
  const { status, headers, text } = await send(`${there.url}/metrics`, {});
  expect(status).toBe(200);
  expect(headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
  expect(text).toContain('process_cpu_seconds_total');
  const samples = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  for (const line of samples) expect(line).toMatch(/^(packhorse|process|nodejs)_\w+(\{[^}]*\})? (-?[\d.e+-]+|Nan)$/); // the mean of nothing
  const labels = new Set(samples.flatMap((line) => [...line.matchAll(/(\w+)="/g)].map(([, name]) => name)));
  expect(labels).toEqual(new Set(['kind', 'le', 'space', 'type']));
  for (const known of [yard.slug, yard.workspaceId, ...yard.runs, 'ann', 'Canary', process.version]) expect(text).not.toContain(known);
  expect((await send(`${there.url}/metrics`, { method: 'HEAD' })).text).toBe('');
  expect((await send(`${there.url}/metrics`, { method: 'POST' })).status).toBe(405);
});
