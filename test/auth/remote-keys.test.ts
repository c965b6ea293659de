// Tokens of an issuer elsewhere, whose public keys a real HTTP server gives out.
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, exportSPKI, type GenerateKeyPairResult, generateKeyPair, type JWK, SignJWT } from 'jose';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { KeysUnavailableError, remoteKeys } from '../../src/auth/remote-keys.ts';
import { UnauthenticatedError, verifyToken } from '../../src/auth/token.ts';
import { rawSocket } from '../server/raw.ts';
import { everything, startApp } from '../support/app.ts';

/** What the issuer answers: its keys, or something else. */
const issuer = { keys: [] as JWK[], answer: null as { status: number; body: string } | null, asked: 0 };
const server = createServer((_request, response) => {
  issuer.asked++;
  const { status, body } = issuer.answer ?? { status: 200, body: JSON.stringify({ keys: issuer.keys }) };
  response.writeHead(status, { 'content-type': 'application/json' }).end(body);
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
afterAll(() => void server.close());
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`;
const app = await startApp({ worker: false, env: { PACKHORSE_JWKS_URL: url } });
const { secret } = app.tokens;

const claims = () => ({ permissions: everything, workspaces: ['*'] });
const key = (alg: string) => generateKeyPair(alg, { extractable: true });
const published = async ({ publicKey }: GenerateKeyPairResult, alg: string, kid: string) => ({
  ...(await exportJWK(publicKey)),
  alg,
  kid,
  use: 'sig',
});
const tokenBy = (
  { privateKey }: GenerateKeyPairResult,
  alg: string,
  kid: string,
  more: { aud?: string; iss?: string; exp?: string } = {},
) =>
  new SignJWT(claims())
    .setProtectedHeader({ alg, kid })
    .setSubject('ann')
    .setAudience(more.aud ?? 'packhorse')
    .setIssuer(more.iss ?? 'packhorse')
    .setExpirationTime(more.exp ?? '1h')
    .sign(privateKey);
const statusOf = async (token: string) => {
  const { status, data, errors } = await app.graphql('{ viewer { subject } }', {}, token);
  return [status, data?.viewer?.subject ?? errors[0]?.extensions?.code];
};
const settings = (keys = remoteKeys(url, 0)) => ({ secret, audience: 'packhorse', issuer: 'packhorse', keys });

beforeEach(() => {
  issuer.answer = null;
});

const own = { RS256: await key('RS256'), ES256: await key('ES256'), EdDSA: await key('EdDSA') };
issuer.keys = await Promise.all(Object.entries(own).map(([alg, pair]) => published(pair, alg, alg)));

it('hold by each kind of key, beside those by the secret, and are fetched once for many', async () => {
  const before = issuer.asked;
  for (const [alg, pair] of Object.entries(own)) expect(await statusOf(await tokenBy(pair, alg, alg))).toEqual([200, 'ann']);
  expect(await statusOf(await app.token())).toEqual([200, 'ann']);
  expect(issuer.asked - before).toBe(1);
});

it('are refused of another audience or issuer, past their time, by an unknown key, and by another key of the same name', async () => {
  const stranger = await key('ES256');
  for (const token of [
    await tokenBy(own.ES256, 'ES256', 'ES256', { aud: 'another' }),
    await tokenBy(own.ES256, 'ES256', 'ES256', { iss: 'another' }),
    await tokenBy(own.ES256, 'ES256', 'ES256', { exp: '-1m' }),
    await tokenBy(stranger, 'ES256', 'stranger'),
    await tokenBy(stranger, 'ES256', 'ES256'),
  ])
    expect(await statusOf(token)).toEqual([401, 'UNAUTHENTICATED']);
});

it('cannot be made with what is public: the key itself as a secret, or no signature at all', async () => {
  const spki = await exportSPKI(own.RS256.publicKey);
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const body = { ...claims(), sub: 'ann', aud: 'packhorse', iss: 'packhorse', exp: Math.floor(Date.now() / 1_000) + 3_600 };
  for (const header of [{ alg: 'HS256', kid: 'RS256' }, { alg: 'HS256' }]) {
    const unsigned = `${encode(header)}.${encode(body)}`;
    const token = `${unsigned}.${createHmac('sha256', spki).update(unsigned).digest('base64url')}`;
    expect(await statusOf(token)).toEqual([401, 'UNAUTHENTICATED']);
  }
  for (const alg of ['none', 'HS384', 'RSA1_5']) {
    const token = `${encode({ alg, kid: 'RS256' })}.${encode(body)}.AAAA`;
    expect(await statusOf(token), alg).toEqual([401, 'UNAUTHENTICATED']);
  }
});

it('are fetched again where a token names a key that is not among them, so that keys can be changed', async () => {
  const keys = remoteKeys(url, 0);
  await verifyToken(settings(keys), await tokenBy(own.ES256, 'ES256', 'ES256'));
  const next = await key('ES256');
  const token = await tokenBy(next, 'ES256', 'next');
  await expect(verifyToken(settings(keys), token)).rejects.toThrow(UnauthenticatedError);
  issuer.keys = [...issuer.keys, await published(next, 'ES256', 'next')];
  expect(await verifyToken(settings(keys), token)).toMatchObject({ subject: 'ann' });
});

it('are not fetched again and again for keys that somebody invents', async () => {
  const keys = remoteKeys(url);
  await verifyToken(settings(keys), await tokenBy(own.ES256, 'ES256', 'ES256'));
  const before = issuer.asked;
  for (let n = 0; n < 20; n++)
    await expect(verifyToken(settings(keys), await tokenBy(own.ES256, 'ES256', `invented-${n}`))).rejects.toThrow(UnauthenticatedError);
  expect(issuer.asked).toBe(before);
});

it.each([
  ['an error', { status: 500, body: 'no' }],
  ['something else', { status: 200, body: '<html>' }],
  ['no list of keys', { status: 200, body: '{}' }],
  ['a redirect', { status: 302, body: '' }],
])('are neither taken nor refused while the issuer gives %s: the client is asked to try again', async (_name, answer) => {
  issuer.answer = answer;
  const token = await tokenBy(own.ES256, 'ES256', 'ES256');
  await expect(verifyToken(settings(), token)).rejects.toThrow(KeysUnavailableError);
});

it('that cannot be checked now are answered 503 over HTTP and 1013 on a socket, and the secret’s still hold', async () => {
  issuer.answer = { status: 503, body: '' };
  const cut = await startApp({ worker: false, env: { PACKHORSE_JWKS_URL: url } });
  const token = await tokenBy(own.ES256, 'ES256', 'ES256');
  const { status, errors } = await cut.graphql('{ viewer { subject } }', {}, token);
  expect([status, errors[0]?.extensions?.code]).toEqual([503, 'UNAVAILABLE']);
  const socket = await rawSocket(cut.url);
  socket.say({ type: 'connection_init', payload: { authorization: `Bearer ${token}` } });
  expect((await socket.closed).code).toBe(1013);
  expect((await cut.graphql('{ viewer { subject } }', {}, await cut.token())).status).toBe(200);
});
