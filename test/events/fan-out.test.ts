// Many who follow the same: one stream for all of them, whatever each began with, and nothing of it to whom it does not belong.
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { encodeCursor } from '../../src/events/cursor.ts';
import { startApp } from '../support/app.ts';
import { type RawSocket, rawSocket } from './raw-socket.ts';
import { upTo } from './reading.ts';
import { makeYard, runId, write, type Yard } from './writing.ts';

const app = await startApp({ worker: false, env: { PACKHORSE_STREAM_BACKLOG: '300' } });
const { db, bell, fan } = app.app;

let yard: Yard;
beforeAll(async () => {
  yard = await makeYard(db, 2);
});

const query =
  'subscription ($id: ID!, $after: String) { dataRunEvents(id: $id, after: $after) { sequence reason dataRun { allowedActions } } }';
const sequences = ({ messages }: RawSocket, id = 's') =>
  messages.flatMap((message) =>
    message.id === id && message.type === 'next' ? [message.payload.data.dataRunEvents.sequence as number] : [],
  );

async function subscriber(run: string, after: bigint | null, token?: string): Promise<RawSocket> {
  const raw = await rawSocket(app, token);
  raw.subscribe('s', query, { id: runId(run), after: after === null ? null : encodeCursor(yard.workspaceId, after) });
  return raw;
}

const fresh = async () => {
  yard = await makeYard(db, 2);
  onTestFinished(async () => {
    await expect.poll(() => fan.counts()).toEqual({ subscribers: 0, sharing: 0, streams: 0 });
    await expect.poll(() => bell.waiting()).toBe(0);
  });
  const [run = '', other = ''] = yard.runs;
  return { run, other };
};
const leave = (sockets: readonly RawSocket[]) => {
  for (const { socket } of sockets) socket.terminate();
};

it('twenty that come in the middle of it, from anywhere, share one stream and get everything once and in order', async () => {
  const { run } = await fresh();
  for (const n of upTo(5)) await write(db, run, `before ${n}`);
  const sockets: { raw: RawSocket; first: number }[] = [];
  let last = 6;
  let writing = true;
  const writer = (async () => {
    for (; writing || last < 60; last++) await write(db, run, `event ${last}`);
  })();
  for (const n of upTo(20)) {
    const from = n % 3 === 0 ? 0n : BigInt(1 + (n % 5));
    // Runs of a yard have an event each: the log's position is the sequence and one, after the first.
    sockets.push({ raw: await subscriber(run, from), first: from === 0n ? 1 : Number(from) });
  }
  writing = false;
  await writer;
  await write(db, run, 'the last');
  for (const { raw } of sockets) await raw.reach(({ payload }) => payload?.data?.dataRunEvents.reason === 'the last');
  const all = sequences(sockets.find(({ first }) => first === 1)?.raw as RawSocket);
  expect(all).toEqual(upTo(all.length));
  for (const { raw } of sockets) {
    const got = sequences(raw);
    expect(got).toEqual(all.slice(all.length - got.length));
  }
  await expect.poll(() => fan.counts()).toEqual({ subscribers: 20, sharing: 20, streams: 1 });
  expect(bell.waiting()).toBe(1);
  leave(sockets.map(({ raw }) => raw));
});

it('whoever is alone is in a stream of one, which ends with it, and another may come after', async () => {
  const { run } = await fresh();
  for (const round of upTo(3)) {
    const raw = await subscriber(run, null);
    await expect.poll(() => fan.counts().sharing).toBe(1);
    await write(db, run, `round ${round}`);
    await raw.reach(({ payload }) => payload?.data?.dataRunEvents.reason === `round ${round}`);
    raw.complete('s');
    await expect.poll(() => fan.counts().streams).toBe(0);
    leave([raw]);
  }
});

it('the first to come may leave: the others stay with the stream that it began', async () => {
  const { run } = await fresh();
  const first = await subscriber(run, null);
  await expect.poll(() => fan.counts().sharing).toBe(1);
  const second = await subscriber(run, null);
  await expect.poll(() => fan.counts().sharing).toBe(2);
  leave([first]);
  await expect.poll(() => fan.counts().sharing).toBe(1);
  await write(db, run, 'after it left');
  await second.reach(({ payload }) => payload?.data?.dataRunEvents.reason === 'after it left');
  leave([second]);
});

describe('never share', () => {
  it('those with other rights: each sees what its own token allows', async () => {
    const { run } = await fresh();
    const rights = [['workspace:read', 'data-run', 'target:*'], ['workspace:read'], ['workspace:read', 'data-run']];
    const sockets = await Promise.all(
      rights.map(async (permissions) => subscriber(run, null, await app.token({ permissions, workspaces: [yard.slug] }))),
    );
    const everywhere = await subscriber(run, null, await app.token({ permissions: ['workspace:read'], workspaces: ['*'] }));
    const same = await subscriber(run, null, await app.token({ subject: 'bob', permissions: ['workspace:read'], workspaces: [yard.slug] }));
    await expect.poll(() => fan.counts()).toEqual({ subscribers: 5, sharing: 5, streams: 4 });
    await write(db, run, 'one');
    const seen = [];
    for (const raw of [...sockets, everywhere, same]) {
      const { payload } = await raw.reach(({ payload: given }) => given?.data?.dataRunEvents.reason === 'one');
      seen.push(payload.data.dataRunEvents.dataRun.allowedActions);
    }
    expect(seen).toEqual([['START', 'CANCEL'], [], ['START', 'CANCEL'], [], []]);
    leave([...sockets, everywhere, same]);
  });

  it('those who follow something else, or ask for other fields', async () => {
    const { run, other } = await fresh();
    const sockets = [await subscriber(run, null), await subscriber(other, null)];
    const third = await rawSocket(app);
    third.subscribe('s', 'subscription ($id: ID!) { dataRunEvents(id: $id) { sequence } }', { id: runId(run) });
    const fourth = await rawSocket(app);
    fourth.subscribe('s', 'subscription ($w: ID!) { workspaceEvents(workspace: $w) { sequence reason } }', {
      w: Buffer.from(`Workspace:${yard.workspaceId}`).toString('base64'),
    });
    await expect.poll(() => fan.counts()).toEqual({ subscribers: 4, sharing: 4, streams: 4 });
    await write(db, run, 'for one');
    await third.reach(({ type }) => type === 'next');
    await fourth.reach(({ payload }) => payload?.data?.workspaceEvents.reason === 'for one');
    await sockets[0]?.reach(({ type }) => type === 'next');
    expect(sequences(sockets[1] as RawSocket)).toEqual([]);
    leave([...sockets, third, fourth]);
  });

  it('with one who may not see it at all', async () => {
    const { run } = await fresh();
    const good = await subscriber(run, null);
    const bad = await subscriber(run, null, await app.token({ workspaces: ['elsewhere'] }));
    const { payload } = await bad.reach(({ id }) => id === 's');
    expect(JSON.stringify(payload)).toContain('NOT_FOUND');
    await expect.poll(() => fan.counts().subscribers).toBe(1);
    leave([good, bad]);
  });
});

const long = 'x'.repeat(4_000);

it('a reader that stops reading leaves the others, reads later what it missed, and joins them again', async () => {
  const { run } = await fresh();
  const [slow, fast] = [await subscriber(run, null), await subscriber(run, null)];
  await expect.poll(() => fan.counts().sharing).toBe(2);
  slow.socket.pause();
  // More than the kernel and the outlet keep for it, and fewer than it may fall behind: it is the size that stops it.
  const big = 'y'.repeat(900);
  for (const n of upTo(250)) {
    await write(db, run, `${n} ${n % 2 === 0 ? long : big}`, 1);
    if (n % 50 === 0) await fast.reach(({ payload }) => payload?.data?.dataRunEvents.sequence === n + 1);
  }
  slow.socket.resume();
  await slow.reach(({ payload }) => payload?.data?.dataRunEvents.sequence === 251);
  expect(sequences(slow)).toEqual(upTo(251).slice(1));
  await expect.poll(() => fan.counts()).toEqual({ subscribers: 2, sharing: 2, streams: 1 });
  leave([slow, fast]);
});

it('one that falls too far behind is closed with a code to come again after, and misses nothing by it', { timeout: 300_000 }, async () => {
  const { run } = await fresh();
  const [slow, fast] = [await subscriber(run, null), await subscriber(run, null)];
  await expect.poll(() => fan.counts().sharing).toBe(2);
  slow.socket.pause();
  for (const n of upTo(40)) {
    await write(db, run, long, 50);
    await fast.reach(({ payload }) => payload?.data?.dataRunEvents.sequence === n * 50 + 1);
  }
  slow.socket.resume();
  await expect.poll(() => slow.closed()).toBe(1013);
  const got = sequences(slow);
  expect(got).toEqual(upTo(got.length + 1).slice(1));
  expect(got.length).toBeLessThan(2_000);
  const again = await subscriber(run, BigInt(got.at(-1) ?? 1) + 1n);
  await again.reach(({ payload }) => payload?.data?.dataRunEvents.sequence === 2_001);
  expect([...got, ...sequences(again)]).toEqual(upTo(2_001).slice(1));
  leave([slow, fast, again]);
});
