// Tokens that are not ours, or no longer good: over HTTP, over websockets, and under streams that are already open.
import { createHmac, generateKeyPairSync, sign as signWith } from 'node:crypto';
import { connect } from 'node:net';
import { SignJWT, UnsecuredJWT } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { connected, events, rawSocket, send } from '../server/raw.ts';
import { everything, startApp } from '../support/app.ts';
import { createWorkspace, mutate, register, stage, zipOf } from '../support/story.ts';

const app = await startApp({ worker: false });
let workspace: string;
let run: string;
beforeAll(async () => {
  workspace = await createWorkspace(app, 'secret-place');
  run = await register(app, workspace, await stage(app, workspace, await zipOf('secret', [{ name: 'secrets', rows: 'id\n1\n' }])));
});

const { secret } = app.tokens;
const now = () => Math.floor(Date.now() / 1_000);
const good = () => ({
  sub: 'ann',
  aud: 'packhorse',
  iss: 'packhorse',
  iat: now(),
  exp: now() + 3_600,
  permissions: everything,
  workspaces: ['*'],
});
const base64 = (value: unknown) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

/** Signed as ours are, whatever is in it. */
function signed(
  payload: unknown,
  header: object = { alg: 'HS256', typ: 'JWT' },
  key: string | Uint8Array = secret,
  hash = 'sha256',
): string {
  const body = `${base64(header)}.${base64(payload)}`;
  return `${body}.${createHmac(hash, key).update(body).digest('base64url')}`;
}
const without = (claim: string) => Object.fromEntries(Object.entries(good()).filter(([name]) => name !== claim));
const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const rsaSigned = (header: object) => {
  const body = `${base64(header)}.${base64(good())}`;
  return `${body}.${signWith('sha256', Buffer.from(body), rsa.privateKey).toString('base64url')}`;
};
const [head = '', payload = '', mac = ''] = signed(good()).split('.');
const jwk = { kty: 'oct', k: Buffer.from('x'.repeat(32)).toString('base64url'), alg: 'HS256' };
const theirs = new TextEncoder().encode('x'.repeat(32));

const forged: Readonly<Record<string, string>> = {
  'alg none': new UnsecuredJWT(good()).encode(),
  'alg none with our signature': signed(good(), { alg: 'none' }),
  'alg None': `${base64({ alg: 'None' })}.${payload}.${mac}`,
  'alg NONE, empty signature': `${base64({ alg: 'NONE' })}.${payload}.`,
  'no signature': `${head}.${payload}.`,
  'two parts': `${head}.${payload}`,
  'four parts': `${head}.${payload}.${mac}.${mac}`,
  'signature of another payload': `${head}.${base64({ ...good(), sub: 'root' })}.${mac}`,
  'signature cut': `${head}.${payload}.${mac.slice(0, -2)}`,
  'signature padded': `${head}.${payload}.${mac}==`,
  'wrong secret': signed(good(), { alg: 'HS256' }, theirs),
  'empty secret': signed(good(), { alg: 'HS256' }, ''),
  'the secret as hex': signed(good(), { alg: 'HS256' }, Buffer.from(secret).toString('hex')),
  'HS512 of our secret': signed(good(), { alg: 'HS512' }, secret, 'sha512'),
  'HS384 of our secret': signed(good(), { alg: 'HS384' }, secret, 'sha384'),
  'HS512 in the header of an HS256': signed(good(), { alg: 'HS512' }),
  'alg hs256': signed(good(), { alg: 'hs256' }),
  'no alg': signed(good(), { typ: 'JWT' }),
  'alg a list': signed(good(), { alg: ['HS256'] }),
  'RS256 of a key of their own': rsaSigned({ alg: 'RS256' }),
  'RS256 in the header, HMAC of ours': signed(good(), { alg: 'RS256' }),
  'RS256 with jwk': rsaSigned({ alg: 'RS256', jwk: rsa.publicKey.export({ format: 'jwk' }) }),
  'HMAC of a public key': signed(good(), { alg: 'HS256' }, rsa.publicKey.export({ type: 'spki', format: 'pem' }).toString()),
  'kid of a file': signed(good(), { alg: 'HS256', kid: '../../../../dev/null' }, ''),
  'kid with SQL': signed(good(), { alg: 'HS256', kid: `' UNION SELECT 'x` }, theirs),
  'jku of their own': signed(good(), { alg: 'HS256', jku: 'http://127.0.0.1:9/keys' }, theirs),
  'x5u of their own': signed(good(), { alg: 'HS256', x5u: 'http://127.0.0.1:9/cert' }, theirs),
  'jwk of their own': signed(good(), { alg: 'HS256', jwk }, theirs),
  'crit that we do not know': signed(good(), { alg: 'HS256', crit: ['exp'], exp: 1 }),
  'b64 false': signed(good(), { alg: 'HS256', b64: false, crit: ['b64'] }),
  encrypted: `${base64({ alg: 'dir', enc: 'A256GCM' })}..${base64('iv')}.${base64('text')}.${base64('tag')}`,
  'aud of another service': signed({ ...good(), aud: 'billing' }),
  'aud missing': signed(without('aud')),
  'aud a list without us': signed({ ...good(), aud: ['billing', 'packhorse2'] }),
  'aud a number': signed({ ...good(), aud: 7 }),
  'aud in capitals': signed({ ...good(), aud: 'PACKHORSE' }),
  'iss of another': signed({ ...good(), iss: 'somebody' }),
  'iss missing': signed(without('iss')),
  'iss a list': signed({ ...good(), iss: ['packhorse', 'somebody'] }),
  'exp missing': signed(without('exp')),
  'exp in the past': signed({ ...good(), exp: now() - 1 }),
  'exp now': signed({ ...good(), exp: now() }),
  'exp a string': signed({ ...good(), exp: String(now() + 3_600) }),
  'exp null': signed({ ...good(), exp: null }),
  'exp beyond a number': signed(JSON.stringify(good()).replace(/"exp":\d+/, '"exp":1e999')),
  'exp negative': signed({ ...good(), exp: -1 }),
  'nbf in the future': signed({ ...good(), nbf: now() + 600 }),
  'nbf a string': signed({ ...good(), nbf: 'soon' }),
  'sub missing': signed(without('sub')),
  'sub empty': signed({ ...good(), sub: '' }),
  'sub a number': signed({ ...good(), sub: 7 }),
  'sub an object': signed({ ...good(), sub: { toString: 'ann' } }),
  'sub with NUL': signed({ ...good(), sub: 'ann\0' }),
  'sub half a surrogate': signed(JSON.stringify(good()).replace('"ann"', '"\\ud800"')),
  'sub of 10,000 characters': signed({ ...good(), sub: 'a'.repeat(5_000) }),
  'permissions missing': signed(without('permissions')),
  'permissions a string': signed({ ...good(), permissions: 'workspace:read data-run' }),
  'permissions an object': signed({ ...good(), permissions: { 'workspace:read': true } }),
  'permissions of lists': signed({ ...good(), permissions: [['workspace:read']] }),
  'permissions null': signed({ ...good(), permissions: null }),
  'workspaces missing': signed(without('workspaces')),
  'workspaces a string': signed({ ...good(), workspaces: '*' }),
  'workspaces true': signed({ ...good(), workspaces: true }),
  'workspaces with a number': signed({ ...good(), workspaces: ['*', 1] }),
  'payload a list': signed([good()]),
  'payload a string': signed('"ann"'),
  'payload null': signed('null'),
  'payload not JSON': signed('{"sub":'),
  'header not JSON': `${base64('{')}.${payload}.${mac}`,
  huge: signed({ ...good(), extra: 'x'.repeat(9_000) }),
  dots: '..',
  'no token after Bearer': '',
  words: 'let me in',
  unicode: 'ä.ö.ü',
};

const query = '{ viewer { subject permissions } workspace(slug: "secret-place") { id name } workspaces { edges { node { slug } } } }';
const leaks = /secret-place|ann|jose|JW[TSE]|claim|signature|exp"|audience|issuer|\bat \/|\.ts:/i;

it('a good token is taken, so what follows is refused for its fault', async () => {
  const { status, data, errors } = await app.graphql(query, {}, signed(good()));
  expect([status, errors, data.viewer.subject, data.workspace.name]).toEqual([200, [], 'ann', 'secret-place']);
  const jose = await new SignJWT({ permissions: [], workspaces: [] })
    .setProtectedHeader({ alg: 'HS256', kid: 'any' })
    .setSubject('ann')
    .setAudience(['other', 'packhorse'])
    .setIssuer('packhorse')
    .setExpirationTime('1h')
    .sign(secret);
  expect((await app.graphql('{ viewer { subject } }', {}, jose)).errors).toEqual([]);
  (await connected(app.url, signed(good()))).socket.close();
});

it('over HTTP, each is refused with 401 and not a word why', async () => {
  expect(Object.keys(forged).length).toBeGreaterThanOrEqual(60);
  for (const [name, token] of Object.entries(forged)) {
    for (const accept of ['application/json', 'application/graphql-response+json', 'text/event-stream']) {
      const authorization = `Bearer ${Buffer.from(token).toString('latin1')}`; // Latin-1 is what a header can hold
      const headers = { 'content-type': 'application/json', accept, authorization };
      const answer = await send(`${app.url}/graphql`, { method: 'POST', headers }, JSON.stringify({ query }));
      const body = JSON.parse(/\{.*\}/.exec(answer.text)?.[0] ?? 'null');
      const codes = body?.errors.map((error: { extensions: unknown }) => error.extensions);
      expect([name, accept, answer.status, codes]).toEqual([name, accept, 401, [{ code: 'UNAUTHENTICATED' }]]);
      expect(body.data ?? null).toBeNull();
      expect(answer.text.replace('A valid access token is needed: Authorization: Bearer <token>.', ''), name).not.toMatch(leaks);
    }
  }
});

it('over websocket, each is refused with 4403 and not a word why', async () => {
  const outcomes = await Promise.all(
    Object.entries(forged).flatMap(([name, token]) =>
      [true, false].map(async (waits) => {
        const socket = await rawSocket(app.url);
        socket.say({ type: 'connection_init', payload: { authorization: `Bearer ${token}` } });
        // Said before the answer it is a fault of its own, and must not be carried out either.
        if (!waits) socket.say({ id: '1', type: 'subscribe', payload: { query } });
        const { code, reason } = await socket.closed;
        return [name, waits ? code === 4403 : code === 4401 || code === 4403, waits ? reason : 'Forbidden', socket.heard];
      }),
    ),
  );
  for (const [name, ...outcome] of outcomes) expect([name, ...outcome]).toEqual([name, true, 'Forbidden', []]);
});

it('over websocket, a token anywhere else than in connectionParams does not count', async () => {
  const token = await app.token();
  for (const payload of [
    undefined,
    null,
    {},
    { token },
    { authorization: token },
    { authorization: [`Bearer ${token}`] },
    { headers: { authorization: `Bearer ${token}` } },
  ]) {
    const socket = await rawSocket(app.url, { authorization: `Bearer ${token}` });
    socket.say({ type: 'connection_init', payload });
    const { code } = await socket.closed;
    expect([JSON.stringify(payload), [4403, 4400].includes(code), socket.heard]).toEqual([JSON.stringify(payload), true, []]);
  }
});

it('other schemes than Bearer are refused, and none at all is unauthenticated in the answer', async () => {
  const token = await app.token();
  for (const authorization of [
    token,
    `Basic ${token}`,
    `Bearer  ${token}`,
    `Bearer ${token} x`,
    `Bearer ${token}, Bearer ${token}`,
    'Bearer',
  ]) {
    const answer = await send(
      `${app.url}/graphql`,
      { method: 'POST', headers: { 'content-type': 'application/json', authorization } },
      JSON.stringify({ query }),
    );
    expect([authorization.slice(0, 20), answer.status]).toEqual([authorization.slice(0, 20), 401]);
  }
  const { data, errors } = await app.graphql(query, {}, null);
  expect(data ?? null).toBeNull();
  expect(errors.map(({ extensions }) => extensions?.code)).toContain('UNAUTHENTICATED');
  expect((await app.graphql('{ __schema { queryType { name } } }', {}, null)).errors).toEqual([]);
  expect((await app.graphql('{ lifecycles { name } }', {}, null)).errors[0]?.extensions?.code).toBe('UNAUTHENTICATED');
});

describe('a token that expires while its holder follows a run', () => {
  const follow = 'subscription ($id: ID!) { workspaceEvents(workspace: $id) { action } }';

  it('ends the socket with 4403, and nothing that happens later is delivered', async () => {
    const socket = await connected(app.url, await app.token({ expiresInSeconds: 5 }));
    socket.say({ id: 'a', type: 'subscribe', payload: { query: follow, variables: { id: workspace } } });
    socket.say({
      id: 'b',
      type: 'subscribe',
      payload: { query: 'subscription ($id: ID!) { dataRunProgress(id: $id) { state } }', variables: { id: run } },
    });
    await socket.until(({ id, type }) => id === 'b' && type === 'next');
    expect(await socket.closed).toEqual({ code: 4403, reason: 'Token expired' });
    const heard = socket.heard.length;
    await register(app, workspace, await stage(app, workspace, await zipOf('later', [{ name: 'laters', rows: 'id\n1\n' }])));
    expect(socket.heard.length).toBe(heard);
    await expect.poll(() => app.app.bell.waiting()).toBe(0);
  });

  it('delivers nothing and does nothing for a client that does not answer the closing frame', async () => {
    const mute = await muteSocket(await app.token({ expiresInSeconds: 5 }));
    mute.say({ id: 'a', type: 'subscribe', payload: { query: follow, variables: { id: workspace } } });
    await expect.poll(() => app.app.bell.waiting()).toBe(1);
    await expect.poll(() => mute.closing()).toBe(true);
    const heard = mute.heard().length;
    const waiting = await register(app, workspace, await stage(app, workspace, await zipOf('mute', [{ name: 'mutes', rows: 'id\n1\n' }])));
    mute.say({
      id: 'c',
      type: 'subscribe',
      payload: { query: 'mutation ($id: ID!) { cancelDataRun(input: { dataRunId: $id }) { __typename } }', variables: { id: waiting } },
    });
    await expect.poll(() => app.app.bell.waiting()).toBe(0);
    expect((await mutate(app, 'pauseDataRun', { dataRunId: waiting })).from).toBe('REGISTERED');
    expect(mute.heard().length).toBe(heard);
    mute.end();
  });

  it('ends a stream of server-sent events', async () => {
    const stream = await events(app.url, await app.token({ expiresInSeconds: 5 }), follow, { id: workspace });
    expect(stream.status).toBe(200);
    await expect.poll(() => app.app.bell.waiting()).toBe(1);
    // Said, not only ended: a client takes the end of a stream for the end of what there is.
    expect(await stream.next()).toMatchObject({ errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] });
    expect(await stream.next()).toBeNull();
    expect(app.app.bell.waiting()).toBe(0);
  });
});

/** A websocket client made by hand, that reads but never says goodbye. */
async function muteSocket(token: string) {
  const { port } = new URL(app.url);
  const socket = connect(Number(port), '127.0.0.1');
  let heard = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    heard = Buffer.concat([heard, chunk]);
  });
  socket.on('error', () => {});
  const say = (message: unknown) => {
    const text = Buffer.from(JSON.stringify(message));
    const length = Buffer.from([text.length >> 8, text.length & 255]);
    socket.write(Buffer.concat([Buffer.from([0x81, 0x80 | 126]), length, Buffer.alloc(4), text])); // masked with zeros
  };
  socket.write(
    `GET /graphql HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${Buffer.alloc(16).toString('base64')}\r\nsec-websocket-protocol: graphql-transport-ws\r\n\r\n`,
  );
  await expect.poll(() => heard.toString('latin1')).toContain('101 Switching Protocols');
  say({ type: 'connection_init', payload: { authorization: `Bearer ${token}` } });
  await expect.poll(() => heard.toString('latin1')).toContain('connection_ack');
  return { say, heard: () => heard, closing: () => heard.includes(Buffer.from('Token expired')), end: () => socket.destroy() };
}
