import { describe, expect, it } from 'vitest';
import { globalId } from '../../src/graphql/builder.ts';
import { makeYard, write } from '../events/writing.ts';
import { startApp } from '../support/app.ts';
import { bytes, connected, rawSocket } from './raw.ts';
import { internals, surface } from './surface.ts';

const { app, port, token, own, lives } = await surface();

describe('websockets', () => {
  it('an oversize frame closes the connection that sent it and no other', async () => {
    const good = await connected(app.url, token);
    const bad = await connected(app.url, token);
    bad.say({ id: '1', type: 'subscribe', payload: { query: `{ viewer { subject } } #${'x'.repeat(1_000_000)}` } });
    expect((await bad.closed).code).toBe(1009);
    good.say({ id: '1', type: 'subscribe', payload: { query: '{ viewer { subject } }' } });
    expect((await good.until(({ id }) => id === '1')).payload.data.viewer.subject).toBe('ann');
    good.socket.close();
  });

  it('frames that are no messages close the connection with a code of the protocol', async () => {
    const cases: [string, string, (code: number) => boolean][] = [
      ['not JSON', '{', (code) => code === 4400],
      ['another type', '{"type":"nonsense"}', (code) => code === 4400],
      ['null', 'null', (code) => code === 4400],
      ['a list', '[]', (code) => code === 4400],
      ['subscribe without id', '{"type":"subscribe","payload":{"query":"{ __typename }"}}', (code) => code === 4400],
      ['id a number', '{"id":1,"type":"subscribe","payload":{"query":"{ __typename }"}}', (code) => code === 4400],
      ['payload a string', '{"id":"1","type":"subscribe","payload":"x"}', (code) => code === 4400],
      ['query a number', '{"id":"1","type":"subscribe","payload":{"query":1}}', (code) => code === 4400],
      ['variables a string', '{"id":"1","type":"subscribe","payload":{"query":"{ __typename }","variables":"x"}}', (code) => code === 4400],
      ['a second init', '{"type":"connection_init"}', (code) => code === 4429],
    ];
    for (const [name, message, expected] of cases) {
      const socket = await connected(app.url, token);
      socket.say(message);
      const { code, reason } = await socket.closed;
      expect([name, code, expected(code)]).toEqual([name, code, true]);
      expect(reason).not.toMatch(internals);
    }
    const binary = await connected(app.url, token);
    binary.socket.send(Buffer.alloc(1_000, 0xff));
    expect((await binary.closed).code).toBe(4400);
    await lives();
  });

  it('the same id twice closes with 4409, an operation before the init with 4401, none at all with 4408', async () => {
    const twice = await connected(app.url, token);
    const subscribe = {
      id: '1',
      type: 'subscribe',
      payload: { query: 'subscription ($id: ID!) { workspaceEvents(workspace: $id) { id } }', variables: { id: own().workspace } },
    };
    twice.say(subscribe);
    twice.say(subscribe);
    const early = await rawSocket(app.url);
    early.say(subscribe);
    const silent = await rawSocket(app.url);
    expect((await Promise.all([twice.closed, early.closed, silent.closed])).map(({ code }) => code)).toEqual([4409, 4401, 4408]);
    await expect.poll(() => app.app.bell.waiting()).toBe(0);
  });

  it('of another subprotocol are refused', async () => {
    const old = await rawSocket(app.url, {}, 'graphql-ws').catch((error: unknown) => String(error));
    expect(typeof old === 'string' ? 4406 : (await old.closed).code).toBe(4406);
  });

  it('are so many of one subject and no more, until one of them is gone', async () => {
    const few = await startApp({ worker: false, env: { PACKHORSE_MAX_SOCKETS_PER_SUBJECT: '2' } });
    const [ann, bob] = [await few.token(), await few.token({ subject: 'bob' })];
    const first = await connected(few.url, ann);
    const second = await connected(few.url, ann);
    const third = await rawSocket(few.url);
    third.say({ type: 'connection_init', payload: { authorization: `Bearer ${ann}` } });
    expect(await third.closed).toMatchObject({ code: 1013 });
    const others = await connected(few.url, bob);
    first.socket.close();
    await expect
      .poll(async () => {
        const again = await rawSocket(few.url);
        again.say({ type: 'connection_init', payload: { authorization: `Bearer ${ann}` } });
        return Promise.race([again.closed.then(({ code }) => code), again.until(({ type }) => type === 'connection_ack').then(() => 'in')]);
      })
      .toBe('in');
    for (const { socket } of [second, others]) socket.terminate();
  });

  it('carry 20 operations at once, and refuse the others', async () => {
    const socket = await connected(app.url, token);
    const query = 'subscription ($id: ID!, $after: String) { workspaceEvents(workspace: $id, after: $after) { id } }';
    for (let at = 0; at < 25; at++)
      socket.say({ id: `${at}`, type: 'subscribe', payload: { query, variables: { id: own().workspace, after: own().cursor } } });
    const answers = await Promise.all(Array.from({ length: 25 }, (_, at) => socket.until(({ id }) => id === `${at}`)));
    const refused = answers.filter(({ type }) => type === 'error');
    expect(refused.map(({ payload }) => payload[0].extensions.code)).toEqual(Array(5).fill('TOO_MANY_OPERATIONS'));
    // One that ends makes room.
    socket.say({ id: '0', type: 'complete' });
    await expect.poll(() => app.app.fan.counts().subscribers).toBe(19);
    socket.say({ id: 'next', type: 'subscribe', payload: { query: '{ viewer { subject } }' } });
    expect((await socket.until(({ id }) => id === 'next')).type).toBe('next');
    socket.socket.close();
    await expect.poll(() => app.app.bell.waiting()).toBe(0);
  });

  it('of others are served on while one asks for 20,000 operations, and while others break the rules', { timeout: 60_000 }, async () => {
    const { workspaceId, runs } = await makeYard(app.app.db, 1);
    const query = 'subscription ($id: ID!) { workspaceEvents(workspace: $id) { reason } }';
    const follow = (id: string) => ({ id, type: 'subscribe', payload: { query, variables: { id: globalId('Workspace', workspaceId) } } });
    const bystander = await connected(app.url, token);
    bystander.say(follow('1'));
    await expect.poll(() => app.app.bell.waiting()).toBe(1);
    const told: string[] = [];
    const served = async (meanwhile: string) => {
      told.push(meanwhile);
      await write(app.app.db, runs[0] ?? '', meanwhile);
      expect(await bystander.until(({ payload }) => payload?.data?.workspaceEvents.reason === meanwhile)).not.toBeNull();
    };
    const flood = await connected(app.url, token);
    for (let n = 0; n < 20_000; n++) {
      flood.say(follow(`${n}`));
      if (n % 5_000 === 4_999) await served(`after ${n + 1} operations`);
    }
    expect((await flood.closed).code).toBe(4429);
    await expect.poll(() => app.app.fan.counts().subscribers).toBe(1);

    const large = await connected(app.url, token);
    large.say({ ...follow('1'), more: 'x'.repeat(1_000_000) });
    const twice = await connected(app.url, token);
    for (const _ of [1, 2]) twice.say(follow('1'));
    const silent = await rawSocket(app.url);
    const foreign = rawSocket(app.url, { origin: 'http://evil.example' }).catch((error: unknown) => String(error));
    await served('with all of them there');
    expect((await Promise.all([large.closed, twice.closed, silent.closed])).map(({ code }) => code)).toEqual([1009, 4409, 4408]);
    expect(await foreign).toContain('403');
    await served('when they are gone');
    expect(bystander.heard.flatMap(({ payload }) => payload?.data?.workspaceEvents.reason ?? [])).toEqual(told);
    bystander.socket.close();
    await expect.poll(() => app.app.bell.waiting()).toBe(0);
  });

  it('are opened by our own pages and by programs, from no other origin and at no other path', async () => {
    const upgrade = (path: string, headers: string) =>
      bytes(
        port,
        `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\nsec-websocket-protocol: graphql-transport-ws\r\n${headers}\r\n`,
      );
    const origins = [
      'null',
      'http://evil.example',
      `http://127.0.0.1:${port}.evil.example`,
      `http://127.0.0.1`,
      `http://127.0.0.1:${port + 1}`,
      `http://localhost:${port}`,
      'file://',
      'https://',
      '',
      'chrome-extension://abc',
      `http://evil.example/127.0.0.1:${port}`,
      `http://evil.example#127.0.0.1:${port}`,
      `127.0.0.1:${port}`,
      '*',
      `http://127.0.0.1:${port}@evil.example`,
      `//127.0.0.1:${port}`,
      'data:text/html,x',
      'http://[::1]',
      'about:blank',
      'javascript:0',
    ];
    for (const origin of origins)
      expect([origin, await upgrade('/graphql', `origin: ${origin}\r\n`)]).toEqual([origin, expect.stringMatching(/^HTTP\/1.1 403 /)]);
    expect(await upgrade('/graphql', `origin: http://127.0.0.1:${port}\r\n`)).toMatch(/^HTTP\/1.1 101 /);
    expect(await upgrade('/graphql', '')).toMatch(/^HTTP\/1.1 101 /);
    for (const path of ['/', '/graphiql', '/uploads/x', '/graphql/x']) expect(await upgrade(path, '')).toMatch(/^HTTP\/1.1 404 /);
    for (const path of ['//', 'http://', '//:'])
      expect([path, await upgrade(path, '')]).toEqual([path, expect.stringMatching(/^HTTP\/1.1 4\d\d /)]);
    await lives();
  });
});
