import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, onTestFinished, vi } from 'vitest';
import { WebSocket } from 'ws';
import { encodeCursor } from '../../src/events/cursor.ts';
import { startApp } from '../support/app.ts';
import { type RawSocket, rawSocket } from './raw-socket.ts';
import { upTo } from './reading.ts';
import { makeYard, runId, write } from './writing.ts';

// Nothing polls, so only leaving ends a wait.
const app = await startApp({ env: { PACKHORSE_POLL_MS: '600000' }, worker: false });
const { db, bell } = app.app;
const events = `subscription ($id: ID!, $after: String) { dataRunEvents(id: $id, after: $after) { sequence reason } }`;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Bytes that are still held after everything that can go has gone. */
function held(): number {
  for (let turn = 0; turn < 3; turn++) collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** But those of idle connections, which the pool ends after a while. */
const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length - db.pool.idleCount;
/** Both ends of what clients opened. */
const sockets = () => process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length - db.pool.totalCount;
const MiB = 1024 * 1024;

it('keeps nothing of five hundred subscribers that left, though nothing was published', async () => {
  const { runs } = await makeYard(db, 25);
  const token = await app.token();
  /** Five hundred, on as many runs as there are: twenty a socket that completes them, one a socket that is torn. */
  const come = async (): Promise<{ polite: RawSocket[]; torn: RawSocket[] }> => {
    const polite = await Promise.all(upTo(25).map(() => rawSocket(app, token)));
    const torn = await Promise.all(upTo(250).map(() => rawSocket(app, token)));
    for (const raw of polite) for (const n of upTo(10)) raw.subscribe(`s${n}`, events, { id: runId(runs[n] ?? '') });
    for (const [n, raw] of torn.entries()) raw.subscribe('s', events, { id: runId(runs[n % 25] ?? '') });
    await expect.poll(() => app.app.fan.counts().sharing, { timeout: 120_000 }).toBe(500);
    return { polite, torn };
  };
  const leave = async ({ polite, torn }: { polite: RawSocket[]; torn: RawSocket[] }) => {
    const at = performance.now();
    for (const raw of polite) for (const n of upTo(10)) raw.complete(`s${n}`);
    for (const raw of torn) raw.socket.terminate();
    await expect.poll(() => bell.waiting(), { interval: 10 }).toBe(0);
    const lasted = performance.now() - at;
    for (const raw of polite) raw.socket.terminate();
    await expect.poll(sockets).toBeLessThanOrEqual(before.sockets);
    return lasted;
  };
  const before = { timers: timers(), sockets: sockets() };
  await leave(await come()); // what is loaded and cached once is not a leak
  const heap = held();
  const lasted = await leave(await come());
  expect(timers()).toBeLessThanOrEqual(before.timers);
  const after = held();
  console.log(`500 subscribers: gone after ${lasted.toFixed(0)} ms, held ${(heap / MiB).toFixed(1)} → ${(after / MiB).toFixed(1)} MiB`);
  expect(after).toBeLessThan(heap * 1.1);
});

/** One that follows a run and is gone: before the server has answered, when it has just asked, with its first event in hand, or politely. */
const passBy = (n: number, token: string, id: string, after: string) =>
  new Promise<void>((resolve, reject) => {
    const socket = new WebSocket(`${app.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
    const say = (message: object, then?: () => void) => socket.send(JSON.stringify(message), then);
    const tear = () => socket.terminate();
    socket.on('error', reject).on('close', () => resolve());
    socket.on('open', () =>
      say({ type: 'connection_init', payload: { authorization: `Bearer ${token}` } }, n % 4 === 0 ? tear : undefined),
    );
    socket.on('message', (data: Buffer) => {
      const { type } = JSON.parse(data.toString()) as { type: string };
      const payload = { query: events, variables: { id, after } };
      if (type === 'connection_ack') say({ id: 's', type: 'subscribe', payload }, n % 4 === 1 ? tear : undefined);
      if (type !== 'next') return;
      if (n % 4 === 2) return tear();
      say({ id: 's', type: 'complete' });
      socket.close(1000);
    });
  });

it('keeps nothing of two thousand that came, followed and vanished', { timeout: 240_000 }, async () => {
  const { workspaceId, runs } = await makeYard(db, 1);
  const after = encodeCursor(workspaceId, 0n);
  const token = await app.token();
  const pass = async (count: number) => {
    for (let n = 0; n < count; n += 20) await Promise.all(upTo(20).map((at) => passBy(n + at, token, runId(runs[0] ?? ''), after)));
    await expect.poll(() => bell.waiting(), { interval: 10 }).toBe(0);
    await expect.poll(() => app.app.fan.counts()).toEqual({ subscribers: 0, sharing: 0, streams: 0 });
    await expect.poll(sockets).toBeLessThanOrEqual(before.sockets);
  };
  const before = { timers: timers(), sockets: sockets() };
  await pass(400); // what is loaded and cached once is not a leak
  const heap = held();
  await pass(2_000);
  expect(timers()).toBeLessThanOrEqual(before.timers);
  const heapAfter = held();
  console.log(`2,000 that vanished: held ${(heap / MiB).toFixed(1)} → ${(heapAfter / MiB).toFixed(1)} MiB`);
  expect(heapAfter - heap).toBeLessThan(10 * MiB);
});

it('holds no more than a little for a reader that has stopped reading, and serves the others', async () => {
  const { workspaceId, runs } = await makeYard(db, 1);
  const [id = ''] = runs;
  const after = encodeCursor(workspaceId, 1n);
  const [slow, fast] = [await rawSocket(app), await rawSocket(app)];
  for (const raw of [slow, fast]) raw.subscribe('s', events, { id: runId(id), after });
  await expect.poll(() => app.app.fan.counts().sharing).toBe(2);
  slow.socket.pause();
  const before = held();
  const reason = 'x'.repeat(4_000); // 5,000 of them are more than the kernel keeps for a socket
  let most = 0;
  for (const n of upTo(50)) {
    await write(db, id, reason, 100);
    await fast.reach(({ payload }) => payload?.data?.dataRunEvents.sequence === n * 100 + 1);
    fast.messages.length = 0; // the test's own memory
    if (n % 10 === 0) most = Math.max(most, held() - before);
  }
  console.log(`a reader 20 MB behind: ${(most / MiB).toFixed(1)} MiB more`);
  expect(slow.messages.length).toBeLessThan(10);
  expect(most).toBeLessThan(10 * MiB);
  slow.socket.resume();
  await slow.reach(({ payload }) => payload?.data?.dataRunEvents.sequence === 5_001);
  const sequences = slow.messages.flatMap(({ type, payload }) => (type === 'next' ? [payload.data.dataRunEvents.sequence] : []));
  expect(sequences).toEqual(upTo(5_001).slice(1));
  for (const raw of [slow, fast]) raw.socket.terminate();
  await expect.poll(() => bell.waiting()).toBe(0);
});

it('drops a client that asks and never reads the answers', async () => {
  const printed = vi.spyOn(console, 'error');
  onTestFinished(() => printed.mockRestore());
  const [flood, other] = [await rawSocket(app), await rawSocket(app)];
  flood.socket.pause();
  const ping = JSON.stringify({ type: 'ping', payload: { text: 'x'.repeat(60_000) } });
  const send = () => new Promise((resolve) => flood.socket.send(ping, resolve));
  const before = held();
  let sent = 0;
  for (; sent < 2_000 && flood.socket.readyState === flood.socket.OPEN; sent++) await send();
  expect(held() - before).toBeLessThan(40 * MiB);
  flood.socket.resume(); // to see that it was closed
  await expect.poll(() => flood.closed()).toBe(1006);
  expect(sent).toBeLessThan(2_000);
  other.subscribe('q', '{ __typename }');
  await other.reach(({ type }) => type === 'complete');
  expect(printed).not.toHaveBeenCalled(); // graphql-ws has its say for each answer that was lost
});

it('keeps nothing of streams over HTTP whose clients left', async () => {
  const { runs } = await makeYard(db, 1);
  const id = runId(runs[0] ?? '');
  const leaving = new AbortController();
  const authorization = `Bearer ${await app.token()}`;
  const open = upTo(50).map(() =>
    fetch(`${app.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream', authorization },
      body: JSON.stringify({ query: events, variables: { id } }),
      signal: leaving.signal,
    }),
  );
  await Promise.all(open);
  await expect.poll(() => bell.waiting()).toBe(50);
  leaving.abort();
  await expect.poll(() => bell.waiting()).toBe(0);
});
