// A page’s subscriptions through urql: on few sockets, through everything that ends those, and gone when urql has no more use for them.
import { Client, type OperationResult, subscriptionExchange } from '@urql/core';
import { expect, it, onTestFinished } from 'vitest';
import { onEnd, pipe, subscribe } from 'wonka';
import { WebSocket } from 'ws';
import type { Connection } from '../../src/client/request.ts';
import { subscribe as subscribeTo } from '../../src/client/resume.ts';
import { type ConnectionState, type ForwardOptions, forwardSubscriptions } from '../../src/client/urql.ts';
import { encodeCursor } from '../../src/events/cursor.ts';
import { pruneEvents } from '../../src/events/retention.ts';
import { globalId } from '../../src/graphql/builder.ts';
import { createLog } from '../../src/log.ts';
import { serve } from '../../src/server/http.ts';
import { type Door, door } from '../events/proxy.ts';
import { upTo } from '../events/reading.ts';
import { makeYard, move, runId, write } from '../events/writing.ts';
import { startApp } from '../support/app.ts';

// Nothing polls: what is not announced does not arrive.
const app = await startApp({ env: { PACKHORSE_POLL_MS: '600000' }, worker: false });
const { db, bell, fan } = app.app;

const ofRun = 'subscription ($id: ID!, $after: String) { dataRunEvents(id: $id, after: $after) { sequence cursor } }';
const ofRunRenamed = 'subscription ($id: ID!, $after: String) { news: dataRunEvents(id: $id, after: $after) { sequence at: cursor } }';
const ofRunWithout = 'subscription ($id: ID!, $after: String) { dataRunEvents(id: $id, after: $after) { sequence } }';
const ofWorkspace = 'subscription ($id: ID!, $after: String) { news: workspaceEvents(workspace: $id, after: $after) { cursor } }';
const progress = 'subscription ($id: ID!) { dataRunProgress(id: $id) { state } }';

interface Followed {
  /** The root field of each result. */
  readonly seen: any[];
  readonly codes: unknown[];
  ended(): boolean;
  leave(): void;
}

interface Page {
  readonly way: Door;
  readonly states: ConnectionState[];
  readonly reasons: (string | undefined)[];
  readonly follow: (query: string, variables: Record<string, unknown>) => Followed;
}

/** A client behind a door of its own. */
async function page(options: ForwardOptions = {}, { token, url = app.url }: Partial<Connection> = {}): Promise<Page> {
  const way = await door(url);
  const states: ConnectionState[] = [];
  const reasons: (string | undefined)[] = [];
  const connection = { url: way.url, token: token ?? (await app.token()), webSocket: WebSocket };
  const onState = (state: ConnectionState, reason?: string) => {
    states.push(state);
    reasons.push(reason);
  };
  const forwardSubscription = forwardSubscriptions(connection, { onState, firstWaitMs: 20, longestWaitMs: 100, ...options });
  const client = new Client({
    url: `${way.url}graphql`,
    preferGetMethod: false,
    exchanges: [subscriptionExchange({ forwardSubscription })],
  });
  return {
    way,
    states,
    reasons,
    follow(query, variables) {
      const seen: any[] = [];
      const codes: unknown[] = [];
      let ended = false;
      const take = ({ data, error }: OperationResult) => {
        if (error === undefined) seen.push(Object.values(data)[0]);
        else codes.push(error.networkError ?? error.graphQLErrors[0]?.extensions['code']);
      };
      const subscription = pipe(
        client.subscription(query, variables),
        onEnd(() => {
          ended = true;
        }),
        subscribe(take),
      );
      const leave = () => subscription.unsubscribe();
      onTestFinished(leave);
      return { seen, codes, ended: () => ended, leave };
    },
  };
}

const sequences = ({ seen }: Followed) => seen.map(({ sequence }) => sequence);
const everyoneIsGone = () => expect.poll(() => [bell.waiting(), fan.counts().subscribers]).toEqual([0, 0]);

it('gives all that a page follows over one socket: each event once and in order, however often that is cut', async () => {
  const { workspaceId, runs } = await makeYard(db, 3);
  const after = encodeCursor(workspaceId, 0n);
  const cursorOf: ForwardOptions['cursorOf'] = (data) => {
    const [root] = Object.values(data) as { cursor?: string; at?: string }[];
    return root?.cursor ?? root?.at ?? null;
  };
  const { way, states, reasons, follow } = await page({ cursorOf });
  const each = runs.map((run, index) => follow(index === 0 ? ofRunRenamed : ofRun, { id: runId(run), after }));
  const all = follow(ofWorkspace, { id: globalId('Workspace', workspaceId), after });
  const done = follow(progress, { id: runId(runs[0] ?? '') });
  await expect.poll(() => [...each, all, done].map(({ seen }) => seen.length)).toEqual([1, 1, 1, 3, 1]);
  expect(way.knocks()).toBe(1);

  const cuts = 6;
  const writeOnce = () => Promise.all(runs.map((run) => write(db, run, 'news', 2)));
  for (const cut of upTo(cuts)) {
    await writeOnce();
    await expect.poll(() => all.seen.length).toBeGreaterThan(3 + 12 * (cut - 1)); // somewhere in the middle
    way.shut();
    const [tried, told] = [way.knocks(), done.seen.length];
    await writeOnce();
    await expect.poll(() => way.knocks()).toBeGreaterThan(tried);
    way.open();
    await expect.poll(() => states.length).toBe(1 + 2 * cut);
    await expect.poll(() => done.seen.length).toBeGreaterThan(told); // begun again: it has no cursor
  }
  await expect.poll(() => all.seen.length).toBe(3 + 12 * cuts);
  for (const one of each) {
    await expect.poll(() => one.seen.length).toBe(1 + 4 * cuts);
    expect(sequences(one)).toEqual(upTo(1 + 4 * cuts));
  }
  expect(all.seen.map(({ cursor }) => cursor)).toEqual(upTo(3 + 12 * cuts).map((position) => encodeCursor(workspaceId, BigInt(position))));
  expect(states).toEqual(['live', ...upTo(cuts).flatMap(() => ['reconnecting', 'resumed'])]);
  expect(reasons[1]).toEqual(expect.any(String));
});

it('drops by cursor what is begun again without going on after it, and cannot where a document selects none', async () => {
  const { workspaceId, runs } = await makeYard(db, 1);
  const [run = ''] = runs;
  await write(db, run);
  const { way, states, follow } = await page();
  const literal = ofRun.replace(', $after: String', '').replace('$after', JSON.stringify(encodeCursor(workspaceId, 0n)));
  const dropped = follow(literal, { id: runId(run) });
  const without = follow(ofRunWithout, { id: runId(run), after: encodeCursor(workspaceId, 0n) });
  await expect.poll(() => [dropped.seen.length, without.seen.length]).toEqual([2, 2]);
  way.shut();
  way.open();
  await expect.poll(() => states.at(-1)).toBe('resumed');
  await write(db, run);
  await expect
    .poll(() => [sequences(dropped), sequences(without)])
    .toEqual([
      [1, 2, 3],
      [1, 2, 1, 2, 3],
    ]);
});

it('leaves nothing open when urql tears it down, and the others on its socket alone', async () => {
  const { workspaceId, runs } = await makeYard(db, 2);
  const [run = '', other = ''] = runs;
  const after = encodeCursor(workspaceId, 0n);
  const { way, states, follow } = await page();
  const stays = follow(ofRun, { id: runId(run), after });
  const goes = follow(ofRun, { id: runId(other), after });
  await expect.poll(() => fan.counts().subscribers).toBe(2);
  goes.leave();
  await expect.poll(() => [bell.waiting(), fan.counts().subscribers]).toEqual([1, 1]);
  await write(db, run);
  await expect.poll(() => sequences(stays)).toEqual([1, 2]);
  stays.leave();
  await everyoneIsGone();
  expect([way.knocks(), states]).toEqual([1, ['live', 'idle']]);

  // While the socket is not there yet: one goes, the other still waits for it.
  way.swallow();
  const waits = follow(ofRun, { id: runId(run), after });
  const early = follow(ofRun, { id: runId(other), after });
  await expect.poll(() => way.knocks()).toBe(2);
  early.leave();
  way.shut();
  way.open();
  await expect.poll(() => sequences(waits)).toEqual([1, 2]);
  expect(early.seen).toEqual([]);
  expect(fan.counts().subscribers).toBe(1);
  waits.leave();
  await everyoneIsGone();

  // And while it waits to try again.
  way.shut();
  const tries = follow(ofRun, { id: runId(run), after });
  await expect.poll(() => states.at(-1)).toBe('reconnecting');
  tries.leave();
  await expect.poll(() => states.at(-1)).toBe('idle');
});

it('ends what the server completes', async () => {
  const { runs } = await makeYard(db, 1);
  const [run = ''] = runs;
  const { follow, states } = await page();
  const done = follow(progress, { id: runId(run) });
  await expect.poll(() => done.seen.length).toBe(1);
  await move(db, run, 'CANCEL', 'CANCELLED');
  await expect.poll(() => done.ended()).toBe(true);
  expect([done.seen.at(-1), done.codes, states]).toEqual([expect.objectContaining({ state: 'CANCELLED' }), [], ['live', 'idle']]);
  await everyoneIsGone();
});

it('goes on with a fresh token when its own expires, one for all', async () => {
  const { workspaceId, runs } = await makeYard(db, 2);
  const after = encodeCursor(workspaceId, 0n);
  let issued = 0;
  const token = () => app.token({ expiresInSeconds: ++issued === 1 ? 2 : 3_600 });
  const { states, reasons, follow } = await page({}, { token });
  const each = runs.map((run) => follow(ofRun, { id: runId(run), after }));
  await expect.poll(() => states).toEqual(['live', 'reconnecting', 'resumed']);
  for (const run of runs) await write(db, run);
  for (const one of each) await expect.poll(() => sequences(one)).toEqual([1, 2]);
  expect([issued, reasons[1]]).toEqual([2, 'Token expired']);
});

it('gives a refusal as an error with its code, ends with it, and does not ask again', async () => {
  const { workspaceId, runs } = await makeYard(db, 1);
  const [run = ''] = runs;
  const id = runId(run);
  const { way, follow } = await page();
  const stays = follow(ofRun, { id, after: encodeCursor(workspaceId, 0n) });
  for (const [query, variables, code] of [
    [ofRun, { id: 'nothing' }, 'NOT_FOUND'],
    [ofRun, { id, after: 'nonsense' }, 'CURSOR_INVALID'],
    [ofRun.replace('sequence', 'nothing'), { id }, 'GRAPHQL_VALIDATION_FAILED'],
  ] as const) {
    const refused = follow(query, variables);
    await expect.poll(() => refused.ended()).toBe(true);
    expect([refused.codes, refused.seen]).toEqual([[code], []]);
  }
  const stranger = await page({}, { token: 'a.b.c' });
  const refused = stranger.follow(ofRun, { id });
  await expect.poll(() => refused.ended()).toBe(true);
  expect([refused.codes, stranger.way.knocks(), stranger.states]).toEqual([['UNAUTHENTICATED'], 1, []]);
  await write(db, run);
  await expect.poll(() => sequences(stays)).toEqual([1, 2]); // the socket is the same, and none the worse for it
  expect(way.knocks()).toBe(1);
  await expect.poll(() => fan.counts().subscribers).toBe(1);
});

it('gives an error where what it missed while it was cut off is no longer kept', async () => {
  const { workspaceId, runs } = await makeYard(db, 1);
  const [run = ''] = runs;
  const { way, follow, states } = await page();
  const followed = follow(ofRun, { id: runId(run), after: encodeCursor(workspaceId, 0n) });
  await expect.poll(() => sequences(followed)).toEqual([1]);
  way.shut();
  await write(db, run, 'missed', 3);
  await move(db, run, 'CANCEL', 'CANCELLED');
  await pruneEvents(db, { days: 0, stop: new AbortController().signal });
  way.open();
  await expect.poll(() => followed.ended()).toBe(true);
  expect([followed.codes, sequences(followed), states.at(-1)]).toEqual([['CURSOR_EXPIRED'], [1], 'idle']);
  await everyoneIsGone();
});

it('holds its place on a socket no longer than it is followed, however that ends', async () => {
  const { workspaceId, runs } = await makeYard(db, 1);
  const id = runId(runs[0] ?? '');
  const way = await door(app.url);
  const connection = { url: way.url, token: await app.token(), webSocket: WebSocket };
  const start = { id, after: encodeCursor(workspaceId, 0n) };
  const stays = subscribeTo(connection, ofRun, start);
  expect((await stays.next()).done).toBe(false);
  for (const _ of upTo(25)) {
    for await (const result of subscribeTo(connection, ofRun, start)) if (result !== undefined) break;
    await expect(subscribeTo(connection, ofRun, { id: 'nothing' }).next()).rejects.toMatchObject({ code: 'NOT_FOUND' });
  }
  expect(way.knocks()).toBe(1);
  await stays.return();
  await everyoneIsGone();
});

it('opens another socket where one has as many operations as a server takes', async () => {
  const { workspaceId, runs } = await makeYard(db, 25);
  const { way, follow, states } = await page();
  const each = runs.map((run) => follow(ofRun, { id: runId(run), after: encodeCursor(workspaceId, 0n) }));
  await expect.poll(() => each.map(sequences)).toEqual(runs.map(() => [1]));
  expect([way.knocks(), states]).toEqual([2, ['live']]);

  const narrow = await serve({
    app: app.app,
    host: '127.0.0.1',
    port: 0,
    tokens: app.tokens,
    signIn: null,
    limits: { ...app.config.limits, socketOperations: 3 },
    notReady: async () => null,
    log: createLog(app.config),
  });
  onTestFinished(() => narrow.close());
  const there = await page({}, { url: `http://127.0.0.1:${narrow.port}` });
  const all = runs.slice(0, 7).map((run) => there.follow(ofRun, { id: runId(run), after: encodeCursor(workspaceId, 0n) }));
  await expect.poll(() => all.map(sequences)).toEqual(all.map(() => [1]));
  for (const one of [...each, ...all]) one.leave();
  await everyoneIsGone();
});
