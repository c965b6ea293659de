import { expect, it } from 'vitest';
import { encodeCursor } from '../../src/events/cursor.ts';
import { globalId } from '../../src/graphql/builder.ts';
import { createLog } from '../../src/log.ts';
import { startPackhorse } from '../../src/main.ts';
import { startApp } from '../support/app.ts';
import { createWorkspace, depot, mutate, register, stage, zipOf } from '../support/story.ts';
import { rawSocket } from './raw-socket.ts';
import { logOf, upTo } from './reading.ts';
import { makeYard, runId, write } from './writing.ts';

// Nothing polls: what is not announced does not arrive.
const app = await startApp({ env: { PACKHORSE_POLL_MS: '600000' }, worker: false });
const { db, bell } = app.app;
const socket = await app.socket();

const runEvents = `subscription ($id: ID!, $after: String) { dataRunEvents(id: $id, after: $after) { cursor sequence reason } }`;
const workspaceEvents = `subscription ($id: ID!, $after: String) { workspaceEvents(workspace: $id, after: $after) { cursor sequence reason } }`;
const runProgress = `subscription ($id: ID!) { dataRunProgress(id: $id) { state } }`;

interface Told {
  readonly cursor: string;
  readonly sequence: number;
  readonly reason: string | null;
}

/** The first so many events of a subscription, which is then completed. */
async function take(query: string, id: string, after: string | null, count: number): Promise<Told[]> {
  const taken: Told[] = [];
  for await (const { data, errors } of socket.iterate<Record<string, Told>>({ query, variables: { id, after } })) {
    expect(errors).toBeUndefined();
    taken.push(...Object.values(data ?? {}));
    if (taken.length >= count) break;
  }
  return taken;
}

it('goes on from every cursor without a gap and without a repeat', { timeout: 300_000 }, async () => {
  const { workspaceId, runs } = await makeYard(db, 3);
  const [id = ''] = runs;
  for (const n of upTo(20)) await write(db, runs[n % 3] ?? '', `n${n}`);
  await write(db, id, 'a batch', 105); // more than a page
  await write(db, id, 'last');
  for (const [query, scope, global] of [
    [runEvents, { workspaceId, dataRunId: id }, runId(id)],
    [workspaceEvents, { workspaceId }, globalId('Workspace', workspaceId)],
  ] as const) {
    const cursors = (await logOf(db, scope)).map(({ position }) => encodeCursor(workspaceId, position));
    const all = await take(query, global, encodeCursor(workspaceId, 0n), cursors.length);
    expect(all.map(({ cursor }) => cursor)).toEqual(cursors);
    for (const [index, cursor] of cursors.slice(0, -1).entries()) {
      const rest = await take(query, global, cursor, cursors.length - index - 1);
      expect(rest.map((event) => event.cursor)).toEqual(cursors.slice(index + 1));
    }
    const ending = take(query, global, cursors.at(-1) ?? null, 1);
    await expect.poll(() => bell.waiting()).toBe(1);
    await write(db, id, 'news');
    expect((await ending).map(({ reason }) => reason)).toEqual(['news']);
    await expect.poll(() => bell.waiting()).toBe(0);
  }
});

it('begins now without a cursor', async () => {
  const { workspaceId, runs } = await makeYard(db, 1);
  const [id = ''] = runs;
  await write(db, id, 'before');
  for (const [query, global] of [
    [runEvents, runId(id)],
    [workspaceEvents, globalId('Workspace', workspaceId)],
  ] as const) {
    const taking = take(query, global, null, 1);
    await expect.poll(() => bell.waiting()).toBe(1);
    await write(db, id, 'after');
    expect((await taking).map(({ reason }) => reason)).toEqual(['after']);
    await expect.poll(() => bell.waiting()).toBe(0);
  }
});

it('joins a snapshot and its tail exactly, while writers are busy', { timeout: 300_000 }, async () => {
  const { workspaceId, runs } = await makeYard(db, 2);
  const [id = '', other = ''] = runs;
  let stop = false;
  const writers = [id, id, other].map(async (run) => {
    for (let n = 0; !stop; n++) await write(db, run, `n${n}`);
  });
  const rounds: { from: string; seen: number; told: Told[] }[] = [];
  for (let round = 0; round < 100; round++) {
    const { data } = await app.graphql(`query ($id: ID!) { dataRun(id: $id) { lastEventCursor } }`, { id: runId(id) });
    const from: string = data.dataRun.lastEventCursor;
    rounds.push({ from, seen: round, told: await take(runEvents, runId(id), from, 4) });
  }
  stop = true;
  await Promise.all(writers);
  const cursors = (await logOf(db, { workspaceId, dataRunId: id })).map(({ position }) => encodeCursor(workspaceId, position));
  for (const { from, told } of rounds) {
    const at = cursors.indexOf(from);
    expect(at).toBeGreaterThanOrEqual(0);
    expect(told.map(({ cursor }) => cursor)).toEqual(cursors.slice(at + 1, at + 1 + told.length));
  }
});

it('refuses a cursor that is not one of this log, and what the viewer may not see', async () => {
  const yard = await makeYard(db, 1);
  const other = await makeYard(db, 1);
  const run = runId(yard.runs[0] ?? '');
  const workspace = globalId('Workspace', yard.workspaceId);
  const stranger = await app.token({ workspaces: [other.slug] });
  const blind = await app.token({ permissions: ['data-run'] });
  const unknown = runId('00000000-0000-7000-8000-00000000beef');
  const foreign = encodeCursor(other.workspaceId, 1n);
  const ahead = encodeCursor(yard.workspaceId, 3n); // the log ends at 1

  const cases: [code: string, query: string, variables: Record<string, unknown>, token?: string][] = [
    ...['', 'nonsense', foreign, ahead, encodeCursor(yard.workspaceId, 1n).slice(1)].flatMap((after): typeof cases => [
      ['CURSOR_INVALID', runEvents, { id: run, after }],
      ['CURSOR_INVALID', workspaceEvents, { id: workspace, after }],
    ]),
    ...[runEvents, runProgress].flatMap((query): typeof cases => [
      ['NOT_FOUND', query, { id: unknown }],
      ['NOT_FOUND', query, { id: 'nonsense' }],
      ['NOT_FOUND', query, { id: workspace }],
      ['NOT_FOUND', query, { id: run }, stranger],
    ]),
    ['NOT_FOUND', workspaceEvents, { id: run }],
    ['NOT_FOUND', workspaceEvents, { id: workspace }, stranger],
    ['NOT_FOUND', runEvents, { id: run, after: foreign }, stranger], // not found comes first
  ];
  const sockets = new Map([
    [undefined, await rawSocket(app)],
    [stranger, await rawSocket(app, stranger)],
  ]);
  for (const [index, [code, query, variables, token]] of cases.entries()) {
    const raw = sockets.get(token);
    const id = String(index);
    raw?.subscribe(id, query, variables);
    await raw?.reach((message) => message.id === id && message.type === 'complete');
    const told = raw?.messages.filter((message) => message.id === id);
    expect(told?.map(({ type }) => type)).toEqual(['next', 'complete']);
    expect(told?.[0]?.payload.errors, JSON.stringify([query, variables])).toMatchObject([{ extensions: { code } }]);
  }
  const raw = await rawSocket(app, blind);
  raw.subscribe('1', runEvents, { id: run });
  const first = await raw.reach((message) => message.id === '1');
  expect(['NOT_FOUND', 'FORBIDDEN']).toContain((first.payload.errors ?? first.payload)[0].extensions.code);
  await expect.poll(() => bell.waiting()).toBe(0);
});

it('ends with its token, and goes on under a fresh one from where it was', async () => {
  const { workspaceId, runs } = await makeYard(db, 1);
  const [id = ''] = runs;
  const raw = await rawSocket(app, await app.token({ expiresInSeconds: 5 }));
  raw.subscribe('1', runEvents, { id: runId(id), after: encodeCursor(workspaceId, 0n) });
  await raw.reach(({ type }) => type === 'next');
  await write(db, id, 'in time');
  const last = await raw.reach(({ payload }) => payload?.data?.dataRunEvents.reason === 'in time');
  await expect.poll(() => raw.closed()).toBe(4403);
  await expect.poll(() => bell.waiting()).toBe(0);
  await write(db, id, 'too late');
  const rest = await take(runEvents, runId(id), last.payload.data.dataRunEvents.cursor, 1);
  expect(rest.map(({ reason }) => reason)).toEqual(['too late']);
});

it('reaches the subscribers of another process by its notices, without a poll', async () => {
  const second = await startPackhorse(app.config, createLog(app.config));
  try {
    const workspaceId = await createWorkspace(app);
    const packageId = await stage(app, workspaceId, await zipOf('depot', depot));
    const id = await register(app, workspaceId, packageId);
    const raw = await rawSocket({ ...app, url: second.url });
    const query = `subscription ($id: ID!) { dataRunEvents(id: $id) { action at } }`;
    raw.subscribe('1', query, { id });
    await expect.poll(() => second.app.bell.waiting()).toBe(1);
    for (const [mutation, action] of [
      ['startDataRun', 'START'],
      ['pauseDataRun', 'PAUSE'],
      ['cancelDataRun', 'CANCEL'],
    ] as const) {
      await mutate(app, mutation, { dataRunId: id });
      await raw.reach(({ payload }) => payload?.data?.dataRunEvents.action === action);
    }
  } finally {
    await second.stop();
  }
});

it('streams server-sent events too, until the client leaves', async () => {
  const { workspaceId, runs } = await makeYard(db, 1);
  const [id = ''] = runs;
  const leaving = new AbortController();
  const { status, headers, text } = await events(app.url, runId(id), encodeCursor(workspaceId, 0n), leaving.signal);
  expect([status, headers.get('content-type')]).toEqual([200, expect.stringContaining('text/event-stream')]);
  await expect.poll(() => bell.waiting()).toBe(1);
  await write(db, id, 'news');
  await expect.poll(() => text()).toContain('"reason":"news"');
  expect(text().match(/"sequence":\d+/g)).toEqual(['"sequence":1', '"sequence":2']);
  leaving.abort();
  await expect.poll(() => bell.waiting()).toBe(0);
});

it('ends every stream when the server stops, soon, and leaves nothing', async () => {
  const { workspaceId, runs } = await makeYard(db, 1);
  const [id = ''] = runs;
  const before = timers();
  const second = await startPackhorse(app.config, createLog(app.config));
  const at = { ...app, url: second.url };
  const raw = await rawSocket(at);
  const deaf = await rawSocket(at);
  for (const each of [raw, deaf]) each.subscribe('1', runEvents, { id: runId(id), after: encodeCursor(workspaceId, 0n) });
  for (const each of [raw, deaf]) each.subscribe('2', runProgress, { id: runId(id) });
  for (const each of [raw, deaf]) await each.reach((message) => message.id === '1');
  const sse = await events(second.url, runId(id), null);
  await expect.poll(() => [second.app.fan.counts().subscribers, second.app.bell.waiting()]).toEqual([4, 4]);
  deaf.socket.pause(); // answers no closing frame
  const began = performance.now();
  await second.stop();
  expect(performance.now() - began).toBeLessThan(25_000); // ws waits 30 s for a closing frame
  await expect.poll(() => raw.closed()).toBe(1001);
  await sse.ended; // completed, not cut
  expect(sse.text()).toContain('event: complete');
  expect(second.app.bell.waiting()).toBe(0);
  deaf.socket.terminate();
  await expect.poll(() => deaf.closed()).toBeDefined();
  await expect.poll(timers).toBeLessThanOrEqual(before);
});

const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length - db.pool.idleCount;

async function events(base: string, id: string, after: string | null, signal?: AbortSignal) {
  const response = await fetch(`${base}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream', authorization: `Bearer ${await app.token()}` },
    body: JSON.stringify({ query: runEvents, variables: { id, after } }),
    signal: signal ?? null,
  });
  let read = '';
  const ended = (async () => {
    for await (const chunk of response.body ?? []) read += Buffer.from(chunk).toString();
  })();
  ended.catch(() => {}); // a test that leaves by itself
  return { status: response.status, headers: response.headers, text: () => read, ended };
}
