// Signing in as a person does it: at a real provider, in Chromium, from the page that is to be seen and back to it.
import type { Page } from 'playwright-core';
import { afterAll, expect, it } from 'vitest';
import { startApp } from '../support/app.ts';
import { expectAccessible, useChromium } from '../support/browser.ts';
import { clientId, clientSecret, signInService } from '../support/sign-in-service.ts';
import { createWorkspace } from '../support/story.ts';

const service = await signInService(() => [`${app.url}/sign-in/callback`]);
afterAll(() => service.close());
const app = await startApp({
  env: {
    PACKHORSE_JWT_ISSUER: service.issuer,
    PACKHORSE_JWKS_URL: `${service.issuer}/jwks`,
    PACKHORSE_OIDC_CLIENT_ID: clientId,
    PACKHORSE_OIDC_CLIENT_SECRET: clientSecret,
  },
});
const visit = useChromium();
await createWorkspace(app, 'depot');

const signIn = (page: Page) => page.getByRole('link', { name: 'Sign in', exact: true });

/** But for the font that the provider's own pages ask for. */
const askedOf = (elsewhere: readonly string[]) => [
  ...new Set(elsewhere.map((asked) => new URL(asked).origin).filter((origin) => origin !== 'https://fonts.googleapis.com')),
];

/** The provider's own pages. */
async function atProvider(page: Page, name: string): Promise<void> {
  await page.getByPlaceholder('Enter any login').fill(name);
  await page.getByPlaceholder('and password').fill('anything');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
}

it('signs in, is back on the page that was asked for, and asks nobody else before and after', async () => {
  const { page, elsewhere, faults } = await visit(`${app.url}/workspaces/depot?tab=exports`);
  await expectAccessible(page);
  expect(elsewhere).toEqual([]);
  await signIn(page).click();
  await atProvider(page, 'ann');
  await page.getByRole('heading', { name: 'depot' }).waitFor();
  expect(page.url()).toBe(`${app.url}/workspaces/depot?tab=exports`); // and without the token
  expect(askedOf(elsewhere)).toEqual([service.issuer]);
  const token = await page.evaluate(() => sessionStorage.getItem('packhorse.token'));
  expect(JSON.parse(Buffer.from(token?.split('.')[1] ?? '', 'base64url').toString())).toMatchObject({ sub: 'ann', aud: 'packhorse' });
  const cookies = await page.context().cookies(`${app.url}/sign-in/callback`); // the provider's among them: cookies know no ports
  expect(cookies.map(({ name }) => name)).not.toContain('packhorse_sign_in');
  expect(faults).toEqual([]);
});

it('leads to no page but one of ours', async () => {
  for (const to of ['//127.0.0.1:9/workspaces/x', 'http://127.0.0.1:9/', '/graphql?query={__typename}', '/\\\\127.0.0.1:9']) {
    const { page, elsewhere } = await visit(`${app.url}/sign-in?${new URLSearchParams({ to })}`);
    await atProvider(page, 'ann');
    await page.getByRole('heading', { name: 'Workspaces' }).waitFor();
    expect([page.url(), askedOf(elsewhere)]).toEqual([`${app.url}/`, [service.issuer]]);
  }
});

it('asks again when the token has expired, and keeps the page', async () => {
  service.seconds = 8;
  const { page } = await visit(`${app.url}/workspaces/depot`);
  await signIn(page).click();
  await atProvider(page, 'bob');
  await page.getByRole('heading', { name: 'depot' }).waitFor();
  service.seconds = 600;
  await page.getByText('The access token has expired.').waitFor();
  await signIn(page).click(); // the provider still knows who it is
  await page.getByRole('heading', { name: 'depot' }).waitFor();
  expect(page.url()).toBe(`${app.url}/workspaces/depot`);
});

it('says what to do about a token that is not for this server, and about a person who turned back', async () => {
  service.claims = { workspaces: ['*'] };
  const { page } = await visit(app.url);
  await signIn(page).click();
  await atProvider(page, 'eve');
  await page.getByText('The sign-in service gave an access token that this server does not take.').waitFor();
  expect(page.url()).toBe(`${app.url}/`);
  service.claims = { permissions: ['workspace:read'], workspaces: ['*'] };
  const other = await visit(app.url);
  await signIn(other.page).click();
  await other.page.getByRole('link', { name: 'Cancel' }).click();
  await other.page.getByText('The sign-in service refused.').waitFor();
});
