import { setMaxListeners } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { decodeCursor, encodeCursor } from '../../src/events/cursor.ts';
import { follow, startingPoint } from '../../src/events/follow.ts';
import type { LogScope } from '../../src/events/log.ts';
import { pruneEvents } from '../../src/events/retention.ts';
import { globalId } from '../../src/graphql/builder.ts';
import { launch, startApp } from '../support/app.ts';
import { rawSocket } from './raw-socket.ts';
import { logOf, upTo } from './reading.ts';
import { makeYard, runId, write, type Yard } from './writing.ts';

const app = await startApp({ worker: false });
const { db, bell } = app.app;
const socket = await app.socket();

const days = 30;
const prune = (stop = new AbortController().signal) => pruneEvents(db, { days, stop });

/** Events of a subject that are of age already: they never change, so they are written old. Returns their positions. */
async function writeOld({ workspaceId, dataRunId: run, exportExecutionId }: LogScope, count: number, age = days + 1): Promise<bigint[]> {
  return db.prisma.$transaction(async (sql) => {
    const { position } = await sql.workspaceLog.update({ where: { workspaceId }, data: { position: { increment: count } } });
    const data = { lastSequence: { increment: count }, lastPosition: position };
    const { lastSequence } =
      run !== undefined
        ? await sql.dataRun.update({ where: { id: run }, data })
        : await sql.exportExecution.update({ where: { id: exportExecutionId ?? '' }, data });
    await sql.$executeRaw`
      INSERT INTO lifecycle_event (workspace_id, position, data_run_id, export_execution_id, sequence, at, action, to_state, actor, reason)
      SELECT ${workspaceId}::uuid, ${position}::bigint - ${count}::int + n, ${run ?? null}::uuid, ${exportExecutionId ?? null}::uuid,
        ${lastSequence}::int - ${count}::int + n, clock_timestamp() - make_interval(days => ${age}::int), 'SUBMIT', 'SUBMITTING', 'ann', 'old'
      FROM generate_series(1, ${count}::int) n`;
    return upTo(count).map((n) => position - BigInt(count - n));
  });
}

/** A workspace with runs that have no event yet: what is written of them first is old. */
async function oldYard(count: number): Promise<Yard> {
  const { workspaceId, slug, runs } = await makeYard(db, 0);
  const { id: packageId } = await db.prisma.dataPackage.create({ data: { workspaceId, stagedBy: 'ann', expiresAt: new Date() } });
  const made = upTo(count).map((n) => ({
    workspaceId,
    packageId,
    packageName: `p${n}`,
    registeredBy: 'ann',
    notes: [],
    openTargets: [],
    activeTargets: [],
  }));
  const rows = await db.prisma.dataRun.createManyAndReturn({ data: made, select: { id: true } });
  return { workspaceId, slug, runs: [...runs, ...rows.map(({ id }) => id)] };
}

/** The run is over, without an event that would be young. */
const settle = (id: string) => db.prisma.dataRun.update({ where: { id }, data: { state: 'CANCELLED', settledAt: new Date() } });

const horizonOf = async (workspaceId: string) => (await db.prisma.workspaceLog.findUniqueOrThrow({ where: { workspaceId } })).horizon;
const positions = async (scope: LogScope) => (await logOf(db, scope)).map(({ position }) => Number(position));

it('prunes what is old, in order up to the first that is young, and nothing else', async () => {
  const yard = await oldYard(1);
  const [id = ''] = yard.runs;
  const { workspaceId } = yard;
  await writeOld({ workspaceId, dataRunId: id }, 1_203); // more than two batches
  await writeOld({ workspaceId, dataRunId: id }, 2, days - 1);
  await writeOld({ workspaceId, dataRunId: id }, 1); // a clock that was put back
  await settle(id);
  const young = await makeYard(db, 1);
  await settle(young.runs[0] ?? '');

  const halted = new AbortController();
  halted.abort();
  expect(await prune(halted.signal)).toBe(0);
  const counts = await Promise.all([prune(), prune(), prune()]);
  expect(counts.reduce((sum, count) => sum + count)).toBe(1_203);
  expect(await prune()).toBe(0);
  expect(await horizonOf(workspaceId)).toBe(1_203n);
  expect(await positions({ workspaceId })).toEqual([1_204, 1_205, 1_206]);
  expect([await horizonOf(young.workspaceId), await positions({ workspaceId: young.workspaceId })]).toEqual([0n, [1]]);
});

it('lets nobody delete what is beyond the horizon, nor change or truncate anything', async () => {
  const yard = await oldYard(1);
  const [id = ''] = yard.runs;
  const { workspaceId } = yard;
  await writeOld({ workspaceId, dataRunId: id }, 4);
  const where = `WHERE workspace_id = '${workspaceId}'`;
  await db.pool.query(`UPDATE workspace_log SET horizon = 2 ${where}`);
  for (const statement of [
    `DELETE FROM lifecycle_event ${where}`,
    `DELETE FROM lifecycle_event ${where} AND position = 3`,
    `UPDATE lifecycle_event SET actor = 'bob' ${where} AND position = 1`,
    'TRUNCATE lifecycle_event',
  ]) {
    await expect(db.pool.query(statement), statement).rejects.toMatchObject({ code: 'PH002' });
  }
  await expect(db.pool.query(`UPDATE workspace_log SET horizon = 5 ${where}`)).rejects.toMatchObject({ code: '23514' });
  await db.pool.query(`DELETE FROM lifecycle_event ${where} AND position <= 2`);
  expect(await positions({ workspaceId })).toEqual([3, 4]);
});

it('keeps the whole log of what is unfinished, or has a child, a publication or a delivery that is', async () => {
  const yard = await oldYard(4);
  const { workspaceId } = yard;
  const [first = '', child = '', cancelling = '', unfinished = ''] = yard.runs;
  const made = { workspaceId, requestedBy: 'ann', settings: {}, cutoff: '2026-01-01T00:00:00.000000Z', cutoffSnapshot: '1:1:', plan: [] };
  const running = await db.prisma.exportExecution.create({ data: made });
  await writeOld({ workspaceId, dataRunId: first }, 3);
  await settle(first);
  expect(await prune()).toBe(3);

  const subjects: [name: string, append: () => Promise<unknown>, end: () => Promise<unknown>][] = [
    ['a run', () => writeOld({ workspaceId, dataRunId: unfinished }, 1), () => settle(unfinished)],
    [
      'a child of a settled run',
      async () => {
        await writeOld({ workspaceId, dataRunId: child }, 1);
        await db.prisma.dataRun.update({ where: { id: child }, data: { state: 'CANCELLED', settledAt: new Date(), activeChildren: 1 } });
      },
      () => db.prisma.dataRun.update({ where: { id: child }, data: { activeChildren: 0 } }),
    ],
    [
      'a cancel duty',
      async () => {
        await writeOld({ workspaceId, dataRunId: cancelling }, 1);
        await db.prisma.dataRun.update({
          where: { id: cancelling },
          data: { state: 'CANCELLED', settledAt: new Date(), cancellingSteps: 1 },
        });
      },
      () => db.prisma.dataRun.update({ where: { id: cancelling }, data: { cancellingSteps: 0 } }),
    ],
    [
      'an export',
      () => writeOld({ workspaceId, exportExecutionId: running.id }, 1),
      () => db.prisma.exportExecution.update({ where: { id: running.id }, data: { state: 'CANCELLED', settledAt: new Date() } }),
    ],
  ];
  for (const [name, append, end] of subjects) {
    await append();
    await writeOld({ workspaceId, dataRunId: first }, 2); // goes on after it
    expect(await prune(), name).toBe(0);
    await end();
    expect(await prune(), name).toBe(3);
  }

  const published = await db.prisma.exportPackage.create({ data: { executionId: running.id, workspaceId } });
  const where = { id: published.id };
  await writeOld({ workspaceId, exportExecutionId: running.id }, 1);
  expect(await prune()).toBe(0);
  await db.prisma.exportPackage.update({
    where,
    data: { state: 'FAILED', failure: { code: 'FULL' } },
  });
  const delivery = await db.prisma.exportDelivery.create({
    data: { packageId: published.id, destination: 'd', url: 'https://example.org/', secret: '', webhookId: 'w' },
  });
  expect(await prune()).toBe(0);
  await db.prisma.exportDelivery.update({ where: { id: delivery.id }, data: { state: 'FAILED', failure: { code: 'GONE' } } });
  expect(await prune()).toBe(1);
});

const query = `query ($id: ID!, $after: String, $first: Int) { node(id: $id) { ... on Workspace { oldestEventCursor
  events(after: $after, first: $first) { edges { cursor } pageInfo { hasPreviousPage hasNextPage } } } } }`;
const ofRun = `query ($id: ID!, $after: String) { dataRun(id: $id) {
  events(after: $after) { edges { cursor } pageInfo { hasPreviousPage } } } }`;
const workspaceEvents = `subscription ($id: ID!, $after: String) { workspaceEvents(workspace: $id, after: $after) { cursor } }`;
const runEvents = `subscription ($id: ID!, $after: String) { dataRunEvents(id: $id, after: $after) { cursor } }`;

/** The cursors of a subscription's first events, or the code it was refused with. */
async function take(document: string, id: string, after: string, count: number): Promise<string[] | string | undefined> {
  const taken: string[] = [];
  for await (const { data, errors } of socket.iterate<Record<string, { cursor: string }>>({ query: document, variables: { id, after } })) {
    if (errors !== undefined) return errors[0]?.extensions?.['code'] as string;
    taken.push(...Object.values(data ?? {}).map(({ cursor }) => cursor));
    if (taken.length >= count) break;
  }
  return taken;
}

it('refuses cursors from before the horizon, and says where what is left begins', async () => {
  const yard = await oldYard(1);
  const { workspaceId } = yard;
  const [id = ''] = yard.runs;
  const workspace = globalId('Workspace', workspaceId);
  const cursor = (position: number) => encodeCursor(workspaceId, BigInt(position));
  const left = [cursor(6), cursor(7), cursor(8)];
  const all = async (variables: object) => (await app.graphql(query, { id: workspace, ...variables })).data.node;
  await writeOld({ workspaceId, dataRunId: id }, 5);
  await write(db, id, 'young', 3);
  expect(await all({ first: 1 })).toMatchObject({ oldestEventCursor: cursor(0), events: { pageInfo: { hasPreviousPage: false } } });
  await settle(id);
  expect(await prune()).toBe(5);

  for (const position of [0, 1, 4]) {
    const { errors } = await app.graphql(query, { id: workspace, after: cursor(position) });
    expect(errors?.map(({ extensions }) => extensions?.code)).toEqual(['CURSOR_EXPIRED']);
    expect(await take(workspaceEvents, workspace, cursor(position), 1)).toBe('CURSOR_EXPIRED');
  }
  const { oldestEventCursor, events } = await all({});
  expect(oldestEventCursor).toBe(cursor(5));
  expect(events).toEqual({ edges: left.map((text) => ({ cursor: text })), pageInfo: { hasPreviousPage: true, hasNextPage: false } });
  expect((await all({ after: oldestEventCursor })).events).toEqual(events);
  expect(await take(workspaceEvents, workspace, oldestEventCursor, 3)).toEqual(left);
});

it('takes a run’s cursor for as long as nothing of the run after it is gone', async () => {
  const yard = await oldYard(4);
  const { workspaceId } = yard;
  const [gone = '', half = '', later = '', other = ''] = yard.runs;
  const wrote = {
    gone: await writeOld({ workspaceId, dataRunId: gone }, 3), // 1 to 3
    half: await writeOld({ workspaceId, dataRunId: half }, 2), // 4, 5
    other: await writeOld({ workspaceId, dataRunId: other }, 1), // 6
  };
  await write(db, half, 'young', 2); // 7, 8
  await write(db, later, 'young', 2); // 9, 10
  for (const id of yard.runs) await settle(id);
  expect(await prune()).toBe(6);
  expect(wrote.other).toEqual([6n]);

  const from = async (id: string, after: number) => {
    const { data, errors } = await app.graphql(ofRun, { id: runId(id), after: encodeCursor(workspaceId, BigInt(after)) });
    const streamed = await startingPoint(db, { workspaceId, dataRunId: id }, encodeCursor(workspaceId, BigInt(after))).then(
      () => undefined,
      (error: { code: string }) => error.code,
    );
    expect(errors?.[0]?.extensions?.code).toBe(streamed);
    return streamed ?? data.dataRun.events.edges.map(({ cursor }: { cursor: string }) => Number(decodeCursor(workspaceId, cursor)));
  };
  expect(await Promise.all([0, 1, 2].map((after) => from(gone, after)))).toEqual(Array(3).fill('CURSOR_EXPIRED'));
  expect(await Promise.all([3, 4, 6, 9].map((after) => from(gone, after)))).toEqual(Array(4).fill([]));
  // Its event 5 is gone. That nothing was between 5 and 7 is not known any more.
  expect(await Promise.all([0, 4, 5].map((after) => from(half, after)))).toEqual(Array(3).fill('CURSOR_EXPIRED'));
  expect(await Promise.all([6, 7, 8].map((after) => from(half, after)))).toEqual([[7, 8], [8], []]);
  expect(await Promise.all([0, 3, 6, 9].map((after) => from(later, after)))).toEqual([[9, 10], [9, 10], [9, 10], [10]]);

  const previous = async (id: string) => (await app.graphql(ofRun, { id: runId(id) })).data.dataRun.events.pageInfo.hasPreviousPage;
  expect(await Promise.all([gone, half, later].map(previous))).toEqual([true, true, false]);
  // What a run's lastEventCursor says is always taken.
  const { data } = await app.graphql('query ($id: ID!) { dataRun(id: $id) { lastEventCursor } }', { id: runId(gone) });
  const news = take(runEvents, runId(gone), data.dataRun.lastEventCursor, 1);
  await expect.poll(() => bell.waiting()).toBe(1);
  await write(db, gone, 'news');
  expect(await news).toEqual([encodeCursor(workspaceId, 11n)]);
});

it('leaves a stream at the tail alone, although all that it gave is pruned', async () => {
  const yard = await oldYard(2);
  const { workspaceId } = yard;
  const [quiet = '', busy = ''] = yard.runs;
  const ending = new AbortController();
  onTestFinished(() => ending.abort());
  await writeOld({ workspaceId, dataRunId: quiet }, 2);
  const seen: bigint[] = [];
  let place = 0n;
  const news = (async () => {
    const note = (now: bigint) => {
      place = now;
    };
    const at = { from: null, at: note, atTail: () => {} };
    for await (const { position } of follow(db, bell, { workspaceId, dataRunId: quiet }, 1n, ending.signal, at))
      if (seen.push(position) === 2) break;
  })();
  await expect.poll(() => seen).toEqual([2n]);
  await writeOld({ workspaceId, dataRunId: busy }, 8);
  bell.ring(`log:${workspaceId}`);
  await expect.poll(() => place).toBe(10n);
  for (const id of yard.runs) await settle(id);
  expect(await prune()).toBe(10);
  await write(db, quiet, 'news');
  await news;
  expect(seen).toEqual([2n, 11n]);
});

it('ends a stream that retention overtakes while it catches up, after what it had read', async () => {
  const yard = await oldYard(1);
  const { workspaceId } = yard;
  const [id = ''] = yard.runs;
  await writeOld({ workspaceId, dataRunId: id }, 1_000);
  const [raw, client] = [await rawSocket(app), await db.pool.connect()];
  try {
    // Its page is read, and then its events cannot be answered.
    await client.query('BEGIN; LOCK TABLE data_run');
    const document = `subscription ($id: ID!, $after: String) { workspaceEvents(workspace: $id, after: $after) { cursor ... on DataRunEvent { dataRun { state } } } }`;
    raw.subscribe('1', document, { id: globalId('Workspace', workspaceId), after: encodeCursor(workspaceId, 50n) });
    await expect
      .poll(async () => (await client.query(`SELECT FROM pg_locks WHERE NOT granted AND relation = 'data_run'::regclass`)).rowCount)
      .toBe(1);
    await client.query(`UPDATE workspace_log SET horizon = 500 WHERE workspace_id = '${workspaceId}'`);
    await client.query(`DELETE FROM lifecycle_event WHERE workspace_id = '${workspaceId}' AND position <= 500`);
  } finally {
    await client.query('COMMIT');
    client.release();
  }
  const end = await raw.reach(({ type, payload }) => type === 'error' || payload?.errors !== undefined);
  expect(JSON.stringify(end)).toContain('CURSOR_EXPIRED');
  const told = raw.messages.flatMap(({ payload }) => payload?.data?.workspaceEvents?.cursor ?? []);
  expect(told).toEqual(upTo(100).map((n) => encodeCursor(workspaceId, 50n + BigInt(n))));
});

interface Reading {
  readonly scope: LogScope;
  readonly from: bigint;
  readonly got: bigint[];
  isExpired: boolean;
}

it('gives everybody everything or CURSOR_EXPIRED, while 10,000 events are written and pruned', { timeout: 300_000 }, async () => {
  const yard = await oldYard(5);
  const { workspaceId } = yard;
  const [live = '', ...over] = yard.runs;
  for (const id of over) await settle(id);
  const written: { position: bigint; run: string }[] = [];
  const upTo10000 = () => written.length >= 10_000;
  let [isWritten, isPruned, rounds] = [false, false, 0];

  // The live run comes last: from its first event on nothing is pruned.
  const writer = async (run: string) => {
    while (!upTo10000()) {
      const count = 1 + Math.floor(Math.random() * 40);
      for (const position of await writeOld({ workspaceId, dataRunId: run }, count)) written.push({ position, run });
      bell.ring(`log:${workspaceId}`);
    }
  };
  const pruning = async () => {
    do {
      if ((await prune()) > 0) rounds++;
      await turn();
    } while (!isWritten);
    await prune(); // the last one may have looked before the last of it was written
    isPruned = true;
  };
  const readings: Reading[] = [];
  const ending = new AbortController();
  setMaxListeners(0, ending.signal);
  onTestFinished(() => ending.abort());
  const reader = async (name: number) => {
    const run = over[name % 8] ?? null; // half of them follow the workspace
    const scope = run === null ? { workspaceId } : { workspaceId, dataRunId: run };
    while (!ending.signal.aborted) {
      const last = (await db.prisma.workspaceLog.findUniqueOrThrow({ where: { workspaceId } })).position;
      const back = isPruned ? 0 : Math.min(Number(last), 1_500) * Math.random();
      const from = last - BigInt(Math.floor(back));
      const reading: Reading = { scope, from, got: [], isExpired: false };
      readings.push(reading);
      try {
        for await (const { position } of follow(db, bell, scope, from, ending.signal)) {
          reading.got.push(position);
          // Now and then a reader is slow: it takes its next when it has been overtaken, perhaps.
          const before = rounds;
          if (Math.random() < 0.002) while (rounds === before && !isWritten) await turn();
        }
      } catch (error) {
        expect(error).toMatchObject({ code: 'CURSOR_EXPIRED' });
        reading.isExpired = true;
      }
    }
  };
  const readers = upTo(16).map(reader);
  const prunes = pruning();
  await Promise.all(over.map(writer));
  isWritten = true;
  await prunes;
  for (const run of [...over, live]) {
    await write(db, run, 'the last of it', 3);
    const { lastPosition } = await db.prisma.dataRun.findUniqueOrThrow({ where: { id: run } });
    for (const back of [2n, 1n, 0n]) written.push({ position: lastPosition - back, run });
  }
  written.sort((a, b) => Number(a.position - b.position));
  const expected = ({ scope, from }: Reading) =>
    written.filter(({ position, run }) => position > from && (scope.dataRunId ?? run) === run).map(({ position }) => position);
  // Whoever is not refused has all of it, to the end.
  await expect
    .poll(() => readings.filter(({ isExpired }) => !isExpired).every((reading) => reading.got.at(-1) === expected(reading).at(-1)))
    .toBe(true);
  ending.abort();
  await Promise.all(readers);
  for (const reading of readings) {
    const all = expected(reading);
    expect(reading.got).toEqual(reading.isExpired ? all.slice(0, reading.got.length) : all);
  }
  const refused = readings.filter(({ isExpired }) => isExpired);
  expect([refused.length > 0, refused.some(({ got }) => got.length > 0), rounds > 5]).toEqual([true, true, true]);
  expect(written.map(({ position }) => Number(position))).toEqual(upTo(written.length));
  expect(await prune()).toBe(0);
  const horizon = Number(await horizonOf(workspaceId));
  expect(horizon).toBe(written.length - 15);
  expect(await positions({ workspaceId })).toEqual(upTo(15).map((n) => horizon + n));
});

it('is done by the worker, by the setting', async () => {
  const yard = await oldYard(2);
  const { workspaceId } = yard;
  const [id = '', live = ''] = yard.runs;
  await writeOld({ workspaceId, dataRunId: id }, 700, 4);
  await settle(id);
  await writeOld({ workspaceId, dataRunId: live }, 5, 4);
  const worker = await launch({
    PACKHORSE_HOME: app.config.home,
    DATABASE_URL: app.config.databaseUrl ?? '',
    PACKHORSE_ROLE: 'worker',
    PACKHORSE_EVENT_RETENTION_DAYS: '3',
  });
  onTestFinished(() => worker.stop());
  await expect.poll(() => horizonOf(workspaceId)).toBe(700n);
  expect(await positions({ workspaceId })).toEqual([701, 702, 703, 704, 705]);
});
