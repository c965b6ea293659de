// A client's streams through everything that ends a connection: a server that stops, a token that expires, a proxy that hangs up.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterAll, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { dataRunProgressDocument, workspaceDocument, workspaceEventsDocument } from '../../src/client/documents.ts';
import type { EventFieldsFragment, WorkspaceEventsSubscription } from '../../src/client/gql/graphql.ts';
import { type Connection, execute } from '../../src/client/request.ts';
import { subscribe } from '../../src/client/resume.ts';
import { createLog } from '../../src/log.ts';
import { startPackhorse } from '../../src/main.ts';
import { startApp } from '../support/app.ts';
import { createWorkspace, depot, mutate, reach, register, stage, zipOf } from '../support/story.ts';

const app = await startApp();
const connection: Connection = { url: app.url, token: await app.token(), webSocket: WebSocket };
const cursorOf = ({ workspaceEvents }: WorkspaceEventsSubscription) => workspaceEvents.cursor;
const fast = { firstWaitMs: 20, longestWaitMs: 100 };

const opened: (() => Promise<void> | void)[] = [];
afterAll(async () => {
  for (const close of opened) await close();
});

/** A run of the depot, from registration to its end, through this server. */
async function load(server: typeof app, workspaceId: string): Promise<string> {
  const id = await register(server, workspaceId, await stage(server, workspaceId, await zipOf('depot', depot)));
  await mutate(server, 'startDataRun', { dataRunId: id });
  await reach(server, id, 'SUCCEEDED');
  return id;
}

async function workspaceBySlug(slug: string) {
  const { workspace } = await execute(connection, workspaceDocument, { slug });
  if (workspace === null) throw new Error(`no workspace ${slug}`);
  return workspace;
}

it('answers an operation with its data, and refusals as members of the result', async () => {
  await createWorkspace(app, 'plain');
  expect(await execute(connection, workspaceDocument, { slug: 'plain' })).toMatchObject({ workspace: { slug: 'plain' } });
  expect(await execute(connection, workspaceDocument, { slug: 'nowhere' })).toEqual({ workspace: null });
});

it('tells in one sentence that the token is refused, that nothing listens, and that something else does', async () => {
  const ask = (given: Partial<Connection>) => execute({ ...connection, ...given }, workspaceDocument, { slug: 'plain' });
  await expect(ask({ token: 'a.b.c' })).rejects.toMatchObject({ name: 'ClientError', code: 'UNAUTHENTICATED' });
  await expect(ask({ token: null })).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  await expect(ask({ url: 'http://127.0.0.1:9' })).rejects.toMatchObject({
    code: 'UNREACHABLE',
    message: expect.not.stringContaining('\n'),
  });
  await expect(ask({ url: `${app.url}/healthz` })).rejects.toMatchObject({ code: 'BAD_ANSWER' });
});

it('ends with the stream, and throws for what another attempt would not mend', async () => {
  const id = await load(app, await createWorkspace(app, 'ends'));
  const states: string[] = [];
  for await (const { dataRunProgress } of subscribe(connection, dataRunProgressDocument, { id })) states.push(dataRunProgress.state);
  expect(states).toEqual(['SUCCEEDED']);

  const workspace = await workspaceBySlug('ends');
  const first = (given: Partial<Connection>, variables: { workspace: string; after?: string }) =>
    subscribe({ ...connection, ...given }, workspaceEventsDocument, variables, fast).next();
  await expect(first({}, { workspace: 'nothing' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(first({}, { workspace: workspace.id, after: 'nonsense' })).rejects.toMatchObject({ code: 'CURSOR_INVALID' });
  await expect(first({ token: 'a.b.c' }, { workspace: workspace.id })).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  const stranger = await app.token({ workspaces: ['elsewhere'] });
  await expect(first({ token: stranger }, { workspace: workspace.id })).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

it('ends without an error when its signal aborts, also while it waits to connect', async () => {
  await createWorkspace(app, 'aborted');
  const { id } = await workspaceBySlug('aborted');
  for (const url of [app.url, 'http://127.0.0.1:9']) {
    const stop = new AbortController();
    const stream = subscribe({ ...connection, url }, workspaceEventsDocument, { workspace: id }, { signal: stop.signal });
    const next = stream.next();
    setTimeout(() => stop.abort(), 100);
    expect(await next).toEqual({ done: true, value: undefined });
  }
});

it('lets go of a server that never answers', async () => {
  const server = createServer();
  opened.push(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const arrived = once(server, 'connection') as Promise<[Socket]>;
  const stop = new AbortController();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const next = subscribe({ ...connection, url }, workspaceEventsDocument, { workspace: 'w' }, { signal: stop.signal }).next();
  const [socket] = await arrived;
  const gone = once(socket.resume(), 'close');
  stop.abort();
  expect(await next).toEqual({ done: true, value: undefined });
  await gone;
});

it('begins nothing on a socket that is being closed, though somebody still reads what came over it', async () => {
  const id = await load(app, await createWorkspace(app, 'closing'));
  const disconnects: string[] = [];
  const options = { onDisconnect: (reason: string) => disconnects.push(reason), ...fast };
  const readers = Array.from({ length: 30 }, () => subscribe(connection, dataRunProgressDocument, { id }, options));
  // Each has the run's only result and has not come to the end, which the server told it meanwhile.
  for (const reader of readers) expect((await reader.next()).done).toBe(false);
  expect(disconnects).toEqual([]);
  for (const reader of readers) expect((await reader.next()).done).toBe(true);
});

it('goes on with a fresh token when its own expires', async () => {
  const workspaceId = await createWorkspace(app, 'expires');
  const { id, lastEventCursor } = await workspaceBySlug('expires');
  let issued = 0;
  const token = () => app.token({ expiresInSeconds: ++issued === 1 ? 4 : 3_600 });
  const stop = new AbortController();
  const seen: EventFieldsFragment[] = [];
  const disconnects: string[] = [];
  const variables = { workspace: id, after: lastEventCursor };
  const onDisconnect = (reason: string) => disconnects.push(reason);
  const options = { cursorOf, signal: stop.signal, onDisconnect, ...fast };
  const following = (async () => {
    for await (const { workspaceEvents } of subscribe({ ...connection, token }, workspaceEventsDocument, variables, options)) {
      seen.push(workspaceEvents);
    }
  })();
  await expect.poll(() => disconnects).toEqual(['Token expired']);
  const run = await load(app, workspaceId);
  await expect.poll(() => seen.at(-1)).toMatchObject({ action: 'SUCCEED', dataset: null, dataRun: { id: run } });
  expect(issued).toBe(2);
  stop.abort();
  await following;
});

it('misses nothing and repeats nothing of what happens while its server is stopped and started again', async () => {
  const workspaceId = await createWorkspace(app, 'restarted');
  const { id, lastEventCursor } = await workspaceBySlug('restarted');
  const port = Number(new URL(app.url).port);
  const log = createLog(app.config);
  const startAgain = async (on: number) => {
    const again = await startPackhorse({ ...app.config, port: on }, log);
    opened.push(() => again.stop());
    return again;
  };
  const stop = new AbortController();
  const seen: EventFieldsFragment[] = [];
  const disconnects: string[] = [];
  const variables = { workspace: id, after: lastEventCursor };
  const onDisconnect = (reason: string) => disconnects.push(reason);
  const options = { cursorOf, signal: stop.signal, onDisconnect, ...fast };
  const following = (async () => {
    for await (const { workspaceEvents } of subscribe(connection, workspaceEventsDocument, variables, options)) seen.push(workspaceEvents);
  })();

  const before = await load(app, workspaceId);
  await expect.poll(() => runOf(seen.at(-1))).toBe(before);
  await app.stop();
  await expect.poll(() => disconnects.length).toBeGreaterThan(1);
  const other = await startAgain(0); // on the same database, where the stream does not look
  const elsewhere = { ...app, graphql: graphqlOf(other.url, await app.token()) };
  const during = await load(elsewhere, workspaceId);
  await startAgain(port);
  const after = await load(app, workspaceId);
  await expect
    .poll(() => seen.filter((event) => event.action === 'SUCCEED' && 'dataset' in event && event.dataset === null).length)
    .toBe(3);

  for (const run of [before, during, after]) {
    const sequences = seen.filter((event) => runOf(event) === run).map(({ sequence }) => sequence);
    expect(sequences).toEqual(sequences.map((_, index) => index + 1));
  }
  expect(new Set(seen.map(({ cursor }) => cursor)).size).toBe(seen.length);
  const { data } = await app.graphql(
    'query ($slug: String!) { workspace(slug: $slug) { events(first: 100) { edges { cursor } pageInfo { hasNextPage } } } }',
    { slug: 'restarted' },
  );
  expect(data.workspace.events.pageInfo.hasNextPage).toBe(false);
  expect(seen.map(({ cursor }) => cursor)).toEqual(data.workspace.events.edges.map(({ cursor }: { cursor: string }) => cursor));
  stop.abort();
  await following;
});

function runOf(event: EventFieldsFragment | undefined): string | null {
  return event?.__typename === 'DataRunEvent' ? event.dataRun.id : null;
}

function graphqlOf(url: string, token: string): typeof app.graphql {
  return async (query, variables = {}) => {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ query, variables }),
    });
    const body = (await response.json()) as { data: unknown; errors?: never[] };
    return { status: response.status, data: body.data, errors: body.errors ?? [] };
  };
}

it('takes a socket that is closed without "complete" for a disconnect, and drops what comes twice', async () => {
  const asked: unknown[] = [];
  const event = (cursor: string) => ({ data: { workspaceEvents: { cursor } } });
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  opened.push(() => server.close());
  await once(server, 'listening');
  server.on('connection', (socket) => {
    const send = (message: object) => socket.send(JSON.stringify(message));
    socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as { type: string; id: string; payload: { variables: unknown } };
      if (message.type === 'connection_init') return send({ type: 'connection_ack' });
      if (message.type !== 'subscribe') return;
      asked.push(message.payload.variables);
      const cursors = asked.length === 1 ? ['a', 'b'] : ['b', 'c'];
      for (const cursor of cursors) send({ type: 'next', id: message.id, payload: event(cursor) });
      if (asked.length === 1) return socket.close(1000); // as a proxy does that has waited long enough
      send({ type: 'complete', id: message.id });
    });
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const seen: string[] = [];
  const options = { cursorOf, ...fast };
  for await (const result of subscribe({ ...connection, url }, workspaceEventsDocument, { workspace: 'w', after: null }, options)) {
    seen.push(cursorOf(result));
  }
  expect(seen).toEqual(['a', 'b', 'c']);
  expect(asked).toEqual([
    { workspace: 'w', after: null },
    { workspace: 'w', after: 'b' },
  ]);
});
