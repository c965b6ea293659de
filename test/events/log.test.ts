import { getEventListeners } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { type Db, inStatement, inTransaction } from '../../src/db.ts';
import { CursorError, decodeCursor, encodeCursor } from '../../src/events/cursor.ts';
import { cancellable, follow } from '../../src/events/follow.ts';
import { lastPosition } from '../../src/events/log.ts';
import { Stale } from '../../src/lifecycle/transition.ts';
import { freshDatabase } from '../support/database.ts';
import { untilBlocked } from '../support/holds.ts';
import { gate, logOf, openBell, openTestDb, read, ringing, upTo } from './reading.ts';
import { append, makeYard, readRunRow, write } from './writing.ts';

const url = await freshDatabase();
const bell = openBell(url, 600_000); // what is missed shows as a test that times out
const plain = openTestDb(url, 20);
const db = ringing(plain, bell);

class Undone extends Error {}

it('gives every reader exactly what eight writers commit, in order and once', { timeout: 300_000 }, async () => {
  const yards = [await makeYard(db, 3), await makeYard(db, 3)];
  const runs = yards.flatMap((yard) => yard.runs);
  const readers = yards.flatMap(({ workspaceId, runs: [first = ''] }) => [
    { scope: { workspaceId }, reader: read(db, bell, { workspaceId }) },
    { scope: { workspaceId }, reader: read(db, bell, { workspaceId }) },
    { scope: { workspaceId, dataRunId: first }, reader: read(db, bell, { workspaceId, dataRunId: first }) },
  ]);
  let [committed, undone, stale, deadlocks] = [new Set<string>(), 0, 0, 0];

  const once = async (reason: string, runId: string, style: number) => {
    if (style === 0) {
      // As resolvers do: read, decide, write; whoever was overtaken learns it.
      const run = await readRunRow({ sql: db.prisma, touched: new Set() }, runId);
      await inStatement(db, (tx) => append(tx, run, reason));
    } else {
      await inTransaction(db, async (tx) => {
        // As passes do under the run's lock, and, without it, as an optimistic writer does.
        if (style === 1) await tx.sql.$queryRaw`SELECT id FROM data_run WHERE id = ${runId}::uuid FOR UPDATE`;
        await append(tx, await readRunRow(tx, runId), reason);
        if (Math.random() < 0.1) throw new Undone();
      });
    }
  };
  const writer = async (name: number) => {
    for (let n = 1; n <= 500; ) {
      const reason = `${name}:${n}`;
      try {
        await once(reason, runs[(name + n) % runs.length] ?? '', (name + n) % 3);
        committed.add(reason);
        n++;
      } catch (error) {
        if (error instanceof Undone) undone++;
        else if (error instanceof Stale) stale++;
        else throw error;
      }
    }
  };
  const before = await plain.pool.query(`SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`);
  await Promise.all(upTo(8).map(writer));
  for (const { workspaceId, runs: own } of yards) for (const id of own) await write(db, id, `end of ${workspaceId}`);
  deadlocks = Number(
    (await plain.pool.query(`SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`)).rows[0].deadlocks,
  );

  expect(committed.size).toBe(4_000);
  expect([undone > 0, stale > 0]).toEqual([true, true]);
  expect(deadlocks).toBe(Number(before.rows[0].deadlocks));
  const stored: string[] = [];
  for (const { workspaceId, runs: own } of yards) {
    const log = await logOf(db, { workspaceId });
    expect(log.map(({ position }) => Number(position))).toEqual(upTo(log.length));
    expect(await lastPosition(db, workspaceId)).toBe(BigInt(log.length));
    for (const id of own) {
      const events = log.filter(({ dataRunId }) => dataRunId === id);
      expect(events.map(({ sequence }) => sequence)).toEqual(upTo(events.length));
      const run = await db.prisma.dataRun.findUniqueOrThrow({ where: { id } });
      expect([run.lastSequence, run.lastPosition]).toEqual([events.length, events.at(-1)?.position]);
    }
    stored.push(...log.flatMap(({ reason }) => (reason === null || reason.startsWith('end') ? [] : [reason])));
  }
  // What was rolled back or stale is nowhere; what was acknowledged is there once.
  expect(stored.toSorted()).toEqual([...committed].toSorted());
  for (const { scope, reader } of readers) {
    const expected = await logOf(db, scope);
    await expect.poll(() => reader.events.length).toBe(expected.length);
    expect(reader.events.map(({ position }) => position)).toEqual(expected.map(({ position }) => position));
    reader.stop();
  }
});

it('keeps a transaction that came second waiting for the first to end, so nothing commits behind a reader', async () => {
  const { workspaceId, runs } = await makeYard(db, 2);
  const [first = '', second = ''] = runs;
  const reader = read(db, bell, { workspaceId }, await lastPosition(db, workspaceId));
  const [isWritten, mayCommit] = [gate(), gate()];
  const slow = inTransaction(db, async (tx) => {
    await append(tx, await readRunRow(tx, first), 'first');
    isWritten.open();
    await mayCommit.passed;
  });
  await isWritten.passed;
  const fast = write(db, second, 'second');
  await untilBlocked(plain, 1);
  expect(reader.events).toEqual([]);
  mayCommit.open();
  await Promise.all([slow, fast]);
  expect((await reader.until('second')).map(({ reason }) => reason)).toEqual(['first', 'second']);
  const cursor = reader.events.at(-1)?.position;
  reader.stop();
  await write(db, second, 'third');
  await write(db, first, 'fourth');
  const resumed = read(db, bell, { workspaceId }, cursor);
  expect((await resumed.until('fourth')).map(({ reason }) => reason)).toEqual(['third', 'fourth']);
  resumed.stop();
});

it('lets the next position be taken again after a rollback', async () => {
  const { workspaceId, runs } = await makeYard(db, 2);
  const [first = '', second = ''] = runs;
  const end = gate();
  const isWritten = gate();
  const undone = inTransaction(db, async (tx) => {
    await append(tx, await readRunRow(tx, first), 'never', 3);
    isWritten.open();
    await end.passed;
    throw new Undone();
  });
  await isWritten.passed;
  const written = write(db, second, 'kept');
  await untilBlocked(plain, 1);
  end.open();
  await expect(undone).rejects.toThrow(Undone);
  await written;
  expect((await logOf(db, { workspaceId })).map(({ position, reason }) => [Number(position), reason])).toEqual([
    [1, null],
    [2, null],
    [3, 'kept'],
  ]);
});

it('writes nothing for a row that has moved on', async () => {
  const { workspaceId, runs } = await makeYard(db, 1);
  const [id = ''] = runs;
  const before = await db.prisma.dataRun.findUniqueOrThrow({ where: { id } });
  await write(db, id);
  const now = await db.prisma.dataRun.findUniqueOrThrow({ where: { id } });
  const announced: string[] = [];
  const listening: Db = { ...db, announce: (topic) => announced.push(topic) };
  await expect(inStatement(listening, (tx) => append(tx, before, 'late'))).rejects.toThrow(Stale);
  await expect(inTransaction(listening, (tx) => append(tx, before, 'late'))).rejects.toThrow(Stale);
  expect(await db.prisma.dataRun.findUniqueOrThrow({ where: { id } })).toEqual(now);
  expect(await logOf(db, { workspaceId })).toHaveLength(2);
  expect(await lastPosition(db, workspaceId)).toBe(2n);
  expect(announced).toEqual([]);
});

it('writes nothing, either, for a row that moved while the statement waited for it', async () => {
  const { workspaceId, runs } = await makeYard(db, 1);
  const [id = ''] = runs;
  const row = await db.prisma.dataRun.findUniqueOrThrow({ where: { id } });
  const [isWritten, mayCommit] = [gate(), gate()];
  const winner = inTransaction(db, async (tx) => {
    await append(tx, row, 'winner');
    isWritten.open();
    await mayCommit.passed;
  });
  await isWritten.passed;
  const loser = inStatement(db, (tx) => append(tx, row, 'loser'));
  const outcome = expect(loser).rejects.toThrow(Stale);
  await untilBlocked(plain, 1);
  mayCommit.open();
  await Promise.all([winner, outcome]);
  expect((await logOf(db, { workspaceId })).map(({ reason }) => reason)).toEqual([null, 'winner']);
});

it('wakes a reader for an event that was committed while it read for the first time', async () => {
  const { workspaceId, runs } = await makeYard(db, 1);
  let reads = 0;
  // The page is read, then the event is committed and announced, then the reader gets the page.
  const prisma = plain.prisma.$extends({
    query: {
      async $queryRaw({ args, query }) {
        const page = await query(args);
        if (++reads === 1) await write(db, runs[0] ?? '', 'between');
        return page;
      },
    },
  });
  const reader = read({ ...db, prisma: prisma as unknown as Db['prisma'] }, bell, { workspaceId }, 1n);
  await reader.until('between');
  reader.stop();
});

it('ends a stream at once when its reader leaves, or its signal aborts', async () => {
  const { workspaceId } = await makeYard(db, 1);
  const before = bell.waiting();
  const stopping = new AbortController();
  const reading = follow(db, bell, { workspaceId }, 1n, stopping.signal);
  const step = reading.next();
  await expect.poll(() => bell.waiting()).toBe(before + 1);
  stopping.abort();
  expect(await step).toEqual({ done: true, value: undefined });
  await turn();
  expect(bell.waiting()).toBe(before);
});

it('lets go of a connection’s signal however its stream ends', async () => {
  const parent = new AbortController();
  const listeners = () => getEventListeners(parent.signal, 'abort').length;
  const broken = cancellable({ signals: [parent.signal], expiresAt: null, watch: null }, async function* () {
    yield 1;
    throw new Undone();
  });
  const left = cancellable({ signals: [parent.signal], expiresAt: null, watch: null }, async function* () {
    yield 1;
  });
  expect(listeners()).toBe(2);
  await broken.next();
  await expect(broken.next()).rejects.toThrow(Undone);
  await left.return?.();
  expect(listeners()).toBe(0);
});

it('reads only cursors that it wrote, for the workspace that they are of', async () => {
  const [own, other] = ['00000000-0000-7000-8000-000000000001', '00000000-0000-7000-8000-000000000002'];
  for (const position of [0n, 1n, 99n, 10n ** 17n]) expect(decodeCursor(own, encodeCursor(own, position))).toBe(position);
  const cursor = encodeCursor(own, 7n);
  const written = (text: string) => Buffer.from(text).toString('base64url');
  for (const wrong of [
    '',
    '7',
    `${cursor}=`,
    ` ${cursor}`,
    `${cursor}!`,
    cursor.slice(0, -1),
    encodeCursor(other, 7n),
    written(`1:${own}:07`),
    written(`1:${own}:-1`),
    written(`1:${own}:7.5`),
    written(`1:${own}:${'9'.repeat(19)}`),
    written(`2:${own}:7`),
  ]) {
    expect(() => decodeCursor(own, wrong), wrong).toThrow(CursorError);
  }
});

it('ends a stream when its token expires, however much is collected meanwhile', async () => {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  let told: AbortSignal | undefined;
  const stream = cancellable({ signals: [], expiresAt: new Date(Date.now() + 200), watch: null }, async function* (signal) {
    told = signal;
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    yield* [];
  });
  const ended = stream.next();
  for (const until = Date.now() + 150; Date.now() < until; ) collect();
  await expect(ended).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  expect(told?.aborted).toBe(true);
});
