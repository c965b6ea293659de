// Streams whose readers' access is taken back: they end, with a word that says why, and nothing more is given, while the others go on.
import { expect, it, onTestFinished } from 'vitest';
import { watchLater } from '../../src/events/access.ts';
import { encodeCursor } from '../../src/events/cursor.ts';
import { globalId } from '../../src/graphql/builder.ts';
import { setAccess } from '../auth/access-story.ts';
import { openEvents } from '../server/sse-reader.ts';
import { startApp } from '../support/app.ts';
import { type RawMessage, type RawSocket, rawSocket } from './raw-socket.ts';
import { upTo } from './reading.ts';
import { makeYard, runId, write, type Yard } from './writing.ts';

const app = await startApp({ worker: false });
const { db, bell, fan } = app.app;
const eve = await app.token({ subject: 'eve' });
const runEvents = 'subscription ($id: ID!, $after: String) { dataRunEvents(id: $id, after: $after) { cursor reason } }';
const workspaceEvents = 'subscription ($id: ID!, $after: String) { workspaceEvents(workspace: $id, after: $after) { cursor reason } }';
const progress = 'subscription ($id: ID!) { dataRunProgress(id: $id) { state } }';

const workspaceOf = ({ workspaceId }: Yard) => globalId('Workspace', workspaceId);
const revoke = (yard: Yard, subject = 'eve') => setAccess(app, 'revokeAccess', workspaceOf(yard), subject);
const reasonsOf = ({ messages }: RawSocket, id: string) =>
  messages
    .flatMap((message) => (message.id === id && message.type === 'next' ? Object.values<any>(message.payload.data) : []))
    .map(({ reason }) => reason);
const isEnd =
  (id: string) =>
  (message: RawMessage): boolean =>
    message.id === id && message.type !== 'next';
const revoked = {
  type: 'error',
  payload: [{ message: 'Your access to this workspace was revoked.', extensions: { code: 'ACCESS_REVOKED' } }],
};

async function freshYard(runs = 1): Promise<Yard> {
  onTestFinished(async () => {
    await expect.poll(() => fan.counts()).toEqual({ subscribers: 0, sharing: 0, streams: 0 });
    await expect.poll(() => bell.waiting()).toBe(0);
  });
  return makeYard(db, runs);
}

it('end on a socket, each of that workspace and no other', async () => {
  const [yard, other] = [await freshYard(), await freshYard()];
  const [run = ''] = yard.runs;
  const socket = await rawSocket(app, eve);
  socket.subscribe('run', runEvents, { id: runId(run) });
  socket.subscribe('workspace', workspaceEvents, { id: workspaceOf(yard) });
  socket.subscribe('progress', progress, { id: runId(run) });
  socket.subscribe('other', workspaceEvents, { id: workspaceOf(other) });
  await expect.poll(() => fan.counts()).toMatchObject({ subscribers: 4, sharing: 3 });
  await socket.reach(({ id }) => id === 'progress');
  await revoke(yard);
  for (const id of ['run', 'workspace', 'progress']) expect(await socket.reach(isEnd(id))).toMatchObject(revoked);
  await write(db, run, 'nothing of hers any more');
  await write(db, other.runs[0] ?? '', 'still hers');
  await socket.reach(({ id, type }) => id === 'other' && type === 'next');
  expect([reasonsOf(socket, 'run'), reasonsOf(socket, 'workspace'), reasonsOf(socket, 'other')]).toEqual([[], [], ['still hers']]);
  expect(socket.closed()).toBeUndefined();
  socket.socket.terminate();
});

it('end for that subject only where others share the stream, also where it was the first of them', async () => {
  const yard = await freshYard();
  const [run = ''] = yard.runs;
  // Nothing was ever taken from her, so that her rights are those of others.
  const first = await rawSocket(app, await app.token({ subject: 'fay' }));
  first.subscribe('s', runEvents, { id: runId(run) });
  await expect.poll(() => fan.counts()).toMatchObject({ sharing: 1, streams: 1 });
  const second = await rawSocket(app, await app.token({ subject: 'bob' }));
  second.subscribe('s', runEvents, { id: runId(run) });
  await expect.poll(() => fan.counts()).toEqual({ subscribers: 2, sharing: 2, streams: 1 });
  const elsewhere = await freshYard();
  await setAccess(app, 'revokeAccess', workspaceOf(elsewhere), 'gus'); // so he has other rights
  const third = await rawSocket(app, await app.token({ subject: 'gus' }));
  third.subscribe('s', runEvents, { id: runId(run) });
  await expect.poll(() => fan.counts()).toEqual({ subscribers: 3, sharing: 3, streams: 2 });
  await write(db, run, 'for both');
  await second.reach(({ type }) => type === 'next');
  await revoke(yard, 'fay');
  await first.reach(isEnd('s'));
  for (const n of upTo(3)) await write(db, run, `for one ${n}`);
  await second.reach(({ payload }) => payload?.data?.dataRunEvents.reason === 'for one 3');
  expect(reasonsOf(first, 's')).toEqual(['for both']);
  expect(reasonsOf(second, 's')).toEqual(['for both', 'for one 1', 'for one 2', 'for one 3']);
  for (const { socket } of [first, second, third]) socket.terminate();
});

it('are not watched any more where one of them is opened after its reader has left', async () => {
  const yard = await freshYard();
  const later = watchLater(app.app.access, 'eve');
  const watching = later.begin(() => {});
  later.of(yard.workspaceId);
  expect(app.app.access.watching()).toBe(1);
  watching[Symbol.dispose]();
  later.of(yard.workspaceId);
  expect(app.app.access.watching()).toBe(0);
});

it('end over server-sent events with the error for a last word', async () => {
  const yard = await freshYard();
  const [run = ''] = yard.runs;
  for (const [query, id] of [
    [runEvents, runId(run)],
    [workspaceEvents, workspaceOf(yard)],
    [progress, runId(run)],
  ] as const) {
    const stream = await openEvents({ query, variables: { id }, url: app.url, token: eve });
    await expect.poll(() => bell.waiting()).toBe(1);
    await revoke(yard);
    await stream.ended;
    await write(db, run, 'nothing of hers any more');
    const [said, end] = stream.told().slice(-2);
    expect(said).toMatchObject({ event: 'next', data: { errors: [{ extensions: { code: 'ACCESS_REVOKED' } }] } });
    expect(end?.event).toBe('complete');
    await setAccess(app, 'restoreAccess', workspaceOf(yard), 'eve');
  }
});

it('end in the middle of catching up, with no more than was on its way', async () => {
  const yard = await freshYard();
  const [run = ''] = yard.runs;
  const count = 20_000; // of which a socket that nobody reads takes some thousands
  for (const _ of upTo(20)) await write(db, run, 'x'.repeat(900), count / 20);
  const slow = await rawSocket(app, eve);
  slow.subscribe('s', runEvents, { id: runId(run), after: encodeCursor(yard.workspaceId, 0n) });
  await slow.reach(({ type }) => type === 'next');
  slow.socket.pause();
  await revoke(yard);
  const quick = await rawSocket(app, eve);
  quick.subscribe('s', runEvents, { id: runId(run), after: encodeCursor(yard.workspaceId, 0n) });
  expect(await quick.reach(({ id }) => id === 's')).toMatchObject({ payload: { errors: [{ extensions: { code: 'NOT_FOUND' } }] } });
  // Its stream is told while it waits for the socket: nothing shows that before the socket is read.
  await expect.poll(() => app.app.access.watching()).toBe(0);
  slow.socket.resume();
  expect(await slow.reach(isEnd('s'))).toMatchObject(revoked);
  expect(reasonsOf(slow, 's').length).toBeLessThan(count / 2);
  for (const { socket } of [slow, quick]) socket.terminate();
});
