// Server-sent events: the same events as over sockets, each with its cursor as its id, for readers who come and go and read as they like.
import { request as httpRequest } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, onTestFinished } from 'vitest';
import { inTransaction } from '../../src/db.ts';
import { encodeCursor } from '../../src/events/cursor.ts';
import { globalId } from '../../src/graphql/builder.ts';
import { change, exportExecutionSubject } from '../../src/lifecycle/transition.ts';
import { createLog } from '../../src/log.ts';
import { serve } from '../../src/server/http.ts';
import { rawSocket } from '../events/raw-socket.ts';
import { upTo } from '../events/reading.ts';
import { makeYard, runId, write } from '../events/writing.ts';
import { startApp } from '../support/app.ts';
import { json, send } from './raw.ts';
import { type Asking, count, ids, openEvents } from './sse-reader.ts';

// Nothing polls: what is not announced does not arrive.
const app = await startApp({ env: { PACKHORSE_POLL_MS: '600000' }, worker: false });
const { db, bell } = app.app;
const token = await app.token();
const read = (asking: Partial<Asking> & Pick<Asking, 'query' | 'variables'>) => openEvents({ url: app.url, token, ...asking });

const ofRun = 'subscription ($id: ID!, $after: String) { dataRunEvents(id: $id, after: $after) { sequence reason } }';
const ofWorkspace = 'subscription ($id: ID!, $after: String) { workspaceEvents(workspace: $id, after: $after) { sequence } }';
const ofExport = 'subscription ($id: ID!, $after: String) { exportExecutionEvents(id: $id, after: $after) { sequence } }';
const progress = 'subscription ($id: ID!) { dataRunProgress(id: $id) { state } }';

async function makeExport(workspaceId: string): Promise<string> {
  return inTransaction(db, async (tx) => {
    const execution = await tx.sql.exportExecution.create({
      data: { workspaceId, requestedBy: 'ann', settings: {}, cutoff: '2026-01-01T00:00:00.000000Z', cutoffSnapshot: '1:1:', plan: [] },
    });
    const events = Array(3).fill({ action: 'REQUEST', from: null, to: execution.state });
    await change(tx, exportExecutionSubject, execution, { to: execution.state, events }, { actor: 'ann' });
    return execution.id;
  });
}

it('gives each event the cursor that it has over a socket, whatever is asked of it, and goes on after any of them', async () => {
  const { workspaceId, runs } = await makeYard(db, 2);
  const [id = '', other = ''] = runs;
  for (const run of [id, other, id, id]) await write(db, run);
  const execution = globalId('ExportExecution', await makeExport(workspaceId));
  const after = encodeCursor(workspaceId, 0n);
  for (const [query, variables, total] of [
    [ofRun, { id: runId(id), after }, 4],
    [ofWorkspace, { id: globalId('Workspace', workspaceId), after }, 9],
    [ofExport, { id: execution, after }, 3],
  ] as const) {
    const raw = await rawSocket(app);
    raw.subscribe('s', query.replace('{ sequence', '{ cursor sequence'), variables);
    const stream = await read({ query, variables });
    await expect.poll(() => count(stream)).toBe(total);
    await expect.poll(() => raw.messages.filter(({ type }) => type === 'next').length).toBe(total);
    const results = raw.messages.flatMap((message) => (message.type === 'next' ? [message.payload.data] : []));
    const cursors = results.map((data): string => (Object.values(data)[0] as { cursor: string }).cursor);
    expect(ids(stream)).toEqual(cursors);
    expect(stream.told().map(({ data }) => data)).toEqual(
      results.map((data) => ({
        data: Object.fromEntries(Object.entries(data).map(([field, { cursor: _, ...event }]: [string, any]) => [field, event])),
      })),
    );
    // What the operation says is where it began the first time.
    for (const [index, lastId] of cursors.slice(0, -1).entries()) {
      const rest = await read({ query, variables, lastId });
      await expect.poll(() => count(rest)).toBe(total - index - 1);
      expect(ids(rest)).toEqual(cursors.slice(index + 1));
      rest.leave();
    }
    for (const lastId of ['', undefined]) {
      const again = await read({ query, variables, lastId }); // an empty one is how a browser says that it has none
      await expect.poll(() => count(again)).toBe(total);
      again.leave();
    }
    stream.leave();
    raw.socket.terminate();
  }
  await expect.poll(() => bell.waiting()).toBe(0);
});

it('misses none and repeats none over a thousand events, however often its connection is cut', async () => {
  const { workspaceId, runs } = await makeYard(db, 1);
  const [run = ''] = runs;
  const writer = (async () => {
    for (const n of upTo(200)) await write(db, run, `${n}`.repeat(n), 5); // of all sizes, so cuts are anywhere
  })();
  const got: number[] = [];
  let lastId = encodeCursor(workspaceId, 0n);
  let cuts = 0;
  for (; got.length < 1_001; cuts++) {
    const stream = await read({ query: ofRun, variables: { id: runId(run), after: 'for the first time only' }, lastId });
    const enough = Math.min(1_001 - got.length, 1 + ((cuts * 37) % 61));
    await expect.poll(() => count(stream), { interval: 5 }).toBeGreaterThanOrEqual(enough);
    stream.leave();
    await stream.ended;
    for (const { id, data } of stream.told()) {
      got.push(data.data.dataRunEvents.sequence);
      lastId = id ?? '';
    }
  }
  await writer;
  expect(got).toEqual(upTo(1_001));
  expect(cuts).toBeGreaterThan(10);
  await expect.poll(() => bell.waiting()).toBe(0);
});

it('refuses an id that is no cursor of this log, as it does such an argument', async () => {
  const { workspaceId, runs } = await makeYard(db, 1);
  const other = await makeYard(db, 1);
  const after = encodeCursor(workspaceId, 0n);
  const bad = ['nonsense', '1', encodeCursor(other.workspaceId, 1n), encodeCursor(workspaceId, 2n), `${after}=`, `${after}, ${after}`, 'é'];
  for (const lastId of bad) {
    for (const [query, id] of [
      [ofRun, runId(runs[0] ?? '')],
      [ofWorkspace, globalId('Workspace', workspaceId)],
    ] as const) {
      const stream = await read({ query, variables: { id, after }, lastId });
      await stream.ended;
      const codes = stream.told().map(({ id: given, event, data }) => [given, event, data?.errors?.[0].extensions.code]);
      expect([lastId, codes]).toEqual([
        lastId,
        [
          [undefined, 'next', 'CURSOR_INVALID'],
          [undefined, 'complete', undefined],
        ],
      ]);
    }
  }
});

it('has no ids where there are no cursors, and tells no proxy to keep anything', async () => {
  const { runs } = await makeYard(db, 1);
  const stream = await read({ query: progress, variables: { id: runId(runs[0] ?? '') }, lastId: 'nonsense' });
  await expect.poll(() => count(stream)).toBe(1);
  expect(stream.told()).toEqual([{ id: undefined, event: 'next', data: { data: { dataRunProgress: { state: 'REGISTERED' } } } }]);
  expect(stream.response.statusCode).toBe(200);
  const { headers } = stream.response;
  expect([headers['content-type'], headers['cache-control'], headers['x-accel-buffering']]).toEqual([
    'text/event-stream',
    'no-cache',
    'no',
  ]);
});

it('is asked for by POST and JSON alone, within the same limits as everything else', async () => {
  const { runs } = await makeYard(db, 1);
  const id = runId(runs[0] ?? '');
  const accept = { ...json(token), accept: 'text/event-stream' };
  const get = await send(`${app.url}/graphql?query=${encodeURIComponent(ofRun)}`, { headers: accept });
  const form = await send(`${app.url}/graphql`, { method: 'POST', headers: { ...accept, 'content-type': 'text/plain' } }, '{}');
  expect([get.status, form.status]).toEqual([405, 415]);
  const deep = `subscription ($id: ID!) { dataRunEvents(id: $id) { dataRun ${'{ workspace { dataRuns { edges { node '.repeat(8)}{ id } ${'} } } }'.repeat(8)} } }`;
  for (const [query, code] of [
    [deep, 'TOO_COSTLY'],
    [`subscription ($id: ID!) { dataRunEvents(id: $id) { ${'cursor '.repeat(20_000)} } }`, undefined],
    ['subscription ($id: ID!) { dataRunEvents(id: $id) { nothing } }', 'GRAPHQL_VALIDATION_FAILED'],
  ] as const) {
    const answer = await send(`${app.url}/graphql`, { method: 'POST', headers: accept }, JSON.stringify({ query, variables: { id } }));
    expect(answer.text).toContain('"errors":');
    expect(answer.text).toContain(code ?? 'tokens');
  }
  // Whoever accepts no stream gets none.
  const body = JSON.stringify({ query: ofRun, variables: { id } });
  const unacceptable = await send(`${app.url}/graphql`, { method: 'POST', headers: { ...accept, accept: 'application/json' } }, body);
  expect(unacceptable.status).toBe(406);
  await expect.poll(() => bell.waiting()).toBe(0);
  const types = JSON.stringify({ query: '{ __schema { subscriptionType { name } } }' });
  const one = await send(`${app.url}/graphql`, { method: 'POST', headers: accept }, types);
  expect(one.text).toContain(
    'event: next\ndata: {"data":{"__schema":{"subscriptionType":{"name":"Subscription"}}}}\n\nevent: complete\ndata:\n\n',
  );
});

/** Another server of the same application. */
async function another(keepAliveMs = 12_000) {
  const running = await serve({
    app: app.app,
    host: '127.0.0.1',
    port: 0,
    tokens: app.tokens,
    signIn: null,
    limits: app.config.limits,
    notReady: async () => null,
    log: createLog(app.config),
    keepAliveMs,
  });
  return { url: `http://127.0.0.1:${running.port}`, close: () => running.close() };
}

it('says something at once, and now and then while nothing happens', async () => {
  const { runs } = await makeYard(db, 1);
  const [run = ''] = runs;
  const server = await another(20);
  onTestFinished(() => server.close());
  const stream = await read({ query: ofRun, variables: { id: runId(run) }, url: server.url });
  await expect.poll(() => stream.text()).toMatch(/^(:\n\n){5,}$/);
  await write(db, run, 'news');
  await expect.poll(() => count(stream)).toBe(1); // whole, between two of them
  const seen = stream.text().length;
  await expect.poll(() => stream.text().slice(seen)).toMatch(/^(:\n\n){2,}$/);
  const silent = await read({ query: ofRun, variables: { id: runId(run) } });
  await expect.poll(() => silent.text()).toBe(':\n\n');
});

it('completes when the server stops, and ends though one does not read', async () => {
  const { workspaceId, runs } = await makeYard(db, 1);
  const variables = { id: runId(runs[0] ?? ''), after: encodeCursor(workspaceId, 0n) };
  const server = await another();
  const [stream, deaf] = [
    await read({ query: ofRun, variables, url: server.url }),
    await read({ query: ofRun, variables, url: server.url }),
  ];
  deaf.response.pause();
  await expect.poll(() => bell.waiting()).toBe(2);
  await server.close(); // it would wait for the one that does not read as long as that one stays
  await stream.ended;
  expect(stream.told().map(({ event }) => event)).toEqual(['next', 'complete']);
  expect(bell.waiting()).toBe(0);
});

it('ends with its token, says why, and gives nothing later', async () => {
  const { runs } = await makeYard(db, 1);
  const [run = ''] = runs;
  const stream = await read({ query: ofRun, variables: { id: runId(run) }, token: await app.token({ expiresInSeconds: 5 }) });
  await expect.poll(() => bell.waiting()).toBe(1);
  await write(db, run, 'in time');
  await expect.poll(() => bell.waiting()).toBe(0);
  await write(db, run, 'too late');
  await stream.ended;
  expect(stream.told().map(({ event, data }) => [event, data?.data?.dataRunEvents.reason ?? data?.errors[0].extensions.code])).toEqual([
    ['next', 'in time'],
    ['next', 'UNAUTHENTICATED'],
    ['complete', undefined],
  ]);
  // What came last is the id that a browser comes again with.
  const lastId = ids(stream).findLast((id) => id !== undefined);
  const rest = await read({ query: ofRun, variables: { id: runId(run) }, lastId });
  await expect.poll(() => count(rest)).toBe(1);
  expect(rest.told()[0]?.data.data.dataRunEvents.reason).toBe('too late');
});

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** MiB that are still held after everything that can go has gone. */
function held(): number {
  for (let turn = 0; turn < 3; turn++) collect();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1024 ** 2;
}

it('holds no more than a little for a reader that is far behind, which reads the rest later', async () => {
  const { workspaceId, runs } = await makeYard(db, 1);
  const [run = ''] = runs;
  const server = await another(5);
  onTestFinished(() => server.close());
  const slow = await read({ query: ofRun, variables: { id: runId(run), after: encodeCursor(workspaceId, 1n) }, url: server.url });
  slow.response.pause();
  const long = 'x'.repeat(4_000); // 5,000 of them are more than the kernel keeps for a socket
  await write(db, run, long, 100);
  const before = held();
  let most = 0;
  for (const n of upTo(50)) {
    await write(db, run, long, 100);
    if (n % 10 === 0) most = Math.max(most, held() - before);
  }
  console.log(`a reader 20 MB behind: ${most.toFixed(1)} MiB more`);
  expect(most).toBeLessThan(8);
  expect(bell.waiting()).toBe(1);
  const quiet = await read({ query: progress, variables: { id: runId(run) }, url: server.url });
  await expect.poll(() => quiet.text().split(':\n\n').length).toBeGreaterThan(100);
  slow.response.resume();
  await expect.poll(() => count(slow)).toBe(5_100);
  expect(slow.told().map(({ data }) => data.data.dataRunEvents.sequence)).toEqual(upTo(5_101).slice(1));
  expect(slow.text().slice(0, slow.text().lastIndexOf('event: next'))).not.toMatch(/(:\n\n){50}/); // kept up by nothing but silence
});

const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length - db.pool.idleCount;

it('keeps nothing of readers that left, also of those that left before they were answered or had stopped reading', async () => {
  const { workspaceId, runs } = await makeYard(db, 1);
  const [run = ''] = runs;
  const variables = { id: runId(run), after: encodeCursor(workspaceId, 0n) };
  await write(db, run, 'x'.repeat(4_000), 1_000);
  const before = timers();
  const stalled = await Promise.all(upTo(10).map(() => read({ query: ofRun, variables })));
  for (const { response } of stalled) response.pause();
  const gone = upTo(200).map(
    (n) =>
      new Promise<void>((resolve) => {
        const request = httpRequest(`${app.url}/graphql`, { method: 'POST', agent: false, headers: { ...json(token), accept: '*/*' } });
        request.on('error', () => {}).on('close', resolve);
        request.end(JSON.stringify({ query: ofRun, variables }), () => setTimeout(() => request.destroy(), n % 20));
      }),
  );
  await Promise.all(gone);
  for (const each of stalled) each.leave();
  await expect.poll(() => bell.waiting()).toBe(0);
  await expect.poll(timers).toBeLessThanOrEqual(before);
});
