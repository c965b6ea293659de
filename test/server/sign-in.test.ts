// Signing in by a provider, up to where a person is asked for: what is begun, and what is refused when it comes back. test/browser has the rest.
import { afterAll, beforeEach, expect, it } from 'vitest';
import { sealer } from '../../src/auth/sealed.ts';
import { startApp } from '../support/app.ts';
import { clientId, clientSecret, signInService } from '../support/sign-in-service.ts';

const service = await signInService(() => [`${app.url}/sign-in/callback`]);
afterAll(() => service.close());
const provider = {
  PACKHORSE_JWT_ISSUER: service.issuer,
  PACKHORSE_JWKS_URL: `${service.issuer}/jwks`,
  PACKHORSE_OIDC_CLIENT_ID: clientId,
  PACKHORSE_OIDC_CLIENT_SECRET: clientSecret,
};
const app = await startApp({ worker: false, env: { ...provider, PACKHORSE_OIDC_PARAMETERS: 'prompt=login&ui_locales=de' } });

interface Arrived {
  readonly status: number;
  readonly location: URL;
  readonly cookie: string;
}

async function get(path: string, cookie = ''): Promise<Arrived> {
  const answer = await fetch(app.url + path, { redirect: 'manual', headers: cookie === '' ? {} : { cookie } });
  const location = new URL(answer.headers.get('location') ?? '', app.url);
  return { status: answer.status, location, cookie: answer.headers.getSetCookie().join('; ') };
}

/** Named, not with its attributes. */
const nameAndValue = ({ cookie }: Arrived) => cookie.split(';')[0] ?? '';
const refusalOf = ({ location }: Arrived) => location.pathname + location.search + location.hash;

let begun: Arrived;
beforeEach(async () => {
  begun = await get('/sign-in?to=%2Fworkspaces%2Fdepot%3Ftab%3Druns');
});

it('sends the browser to the provider with a challenge, and keeps the rest from everybody', async () => {
  const { status, location, cookie } = begun;
  expect(status).toBe(303);
  expect(location.origin).toBe(service.issuer);
  expect(Object.fromEntries(location.searchParams)).toEqual({
    client_id: clientId,
    response_type: 'code',
    scope: 'openid',
    redirect_uri: `${app.url}/sign-in/callback`,
    code_challenge_method: 'S256',
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    state: expect.stringMatching(/^[\w-]{43}$/),
    nonce: expect.stringMatching(/^[\w-]{43}$/),
    prompt: 'login',
    ui_locales: 'de',
  });
  expect(cookie).toMatch(/^packhorse_sign_in=v1\.[\w-]+; Path=\/sign-in\/callback; Max-Age=600; HttpOnly; SameSite=Lax$/);
  for (const secret of ['state', 'nonce']) expect(cookie).not.toContain(location.searchParams.get(secret));
  const again = await get('/sign-in');
  expect(again.location.searchParams.get('state')).not.toBe(location.searchParams.get('state'));
});

it('takes no answer that this browser has not begun', async () => {
  const state = begun.location.searchParams.get('state');
  const answer = `/sign-in/callback?code=stolen&state=${state}&iss=${encodeURIComponent(service.issuer)}`;
  expect(refusalOf(await get(answer))).toBe('/#refused=foreign');
  expect(refusalOf(await get(answer, nameAndValue(await get('/sign-in'))))).toBe('/#refused=foreign');
  expect(refusalOf(await get(answer, `${nameAndValue(begun).slice(0, -4)}AAAA`))).toBe('/#refused=foreign');
  const forged = await get(answer, nameAndValue(begun)); // begun here, but the code is not one of the provider's
  expect(refusalOf(forged)).toBe('/#refused=foreign');
  expect(forged.cookie).toContain('Max-Age=0');
  const mixed = answer.replace(encodeURIComponent(service.issuer), encodeURIComponent('https://another.example'));
  expect(refusalOf(await get(mixed, nameAndValue(begun)))).toBe('/#refused=foreign');
});

it('takes no answer to what was begun too long ago', async () => {
  const state = begun.location.searchParams.get('state');
  const answer = `/sign-in/callback?error=access_denied&state=${state}&iss=${encodeURIComponent(service.issuer)}`;
  const kept = { state, nonce: 'n', verifier: 'v', to: '/' };
  const cookie = (until: number) => `packhorse_sign_in=${sealer(app.tokens.secret).seal(JSON.stringify({ ...kept, until }), 'sign-in')}`;
  expect(refusalOf(await get(answer, cookie(Date.now() - 1)))).toBe('/#refused=foreign');
  expect(refusalOf(await get(answer, cookie(Date.now() + 600_000)))).toBe('/#refused=denied');
});

it('says that the provider refused', async () => {
  const state = begun.location.searchParams.get('state');
  const answer = `/sign-in/callback?error=access_denied&error_description=%3Cb%3E&state=${state}&iss=${encodeURIComponent(service.issuer)}`;
  expect(refusalOf(await get(answer, nameAndValue(begun)))).toBe('/#refused=denied');
});

it('answers at its two addresses only, and only who asks to be shown a page', async () => {
  const put = await fetch(`${app.url}/sign-in`, { method: 'POST', redirect: 'manual' });
  expect(put.status).toBe(405);
  expect((await get('/sign-in/other')).status).toBe(404);
});

it('is not there where no provider is set', async () => {
  const plain = await startApp({ worker: false });
  expect((await fetch(`${plain.url}/sign-in`, { redirect: 'manual' })).status).toBe(404);
  expect((await fetch(`${plain.url}/sign-in/callback?code=1`, { redirect: 'manual' })).status).toBe(404);
});

it('says that the provider cannot be reached, and reaches it once it is there', async () => {
  const passing = await signInService(() => []);
  const away = await startApp({ worker: false, env: { ...provider, PACKHORSE_JWT_ISSUER: passing.issuer } });
  await passing.close();
  const refused = await fetch(`${away.url}/sign-in`, { redirect: 'manual' });
  expect([refused.status, refused.headers.get('location')]).toEqual([303, '/#refused=unreachable']);
  const back = await signInService(() => [], Number(new URL(passing.issuer).port));
  const sent = await fetch(`${away.url}/sign-in`, { redirect: 'manual' });
  expect(new URL(sent.headers.get('location') ?? '').origin).toBe(back.issuer);
  await back.close();
});
