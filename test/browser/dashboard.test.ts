// The dashboard as a person meets it: signed in by the link that the demo prints, on the list of workspaces and in one of them.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { launch, startApp } from '../support/app.ts';
import { expectAccessible, reachedByKeyboard, useChromium } from '../support/browser.ts';
import { freshDatabase } from '../support/database.ts';
import { createWorkspace, depot, mutate, reach, register, stage, zipOf } from '../support/story.ts';

const app = await startApp();
const visit = useChromium();

const signedIn = async (path = '/', token?: string) => visit(`${app.url}${path}#token=${token ?? (await app.token())}`);
const connection = (page: Page) => page.locator('[data-connection]').getAttribute('data-connection');

async function registered(workspaceId: string, by = app): Promise<string> {
  return register(by, workspaceId, await stage(by, workspaceId, await zipOf('depot', depot)));
}

it('asks for a token, takes one, and lists the workspaces that it names', async () => {
  await createWorkspace(app, 'stables');
  await createWorkspace(app, 'hidden');
  const { page, elsewhere, faults } = await visit(`${app.url}/`);
  await expectAccessible(page);
  await page.getByRole('textbox', { name: 'Access token' }).fill(await app.token({ workspaces: ['stables'] }));
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'stables' }).waitFor();
  expect(await page.getByRole('link', { name: 'hidden' }).count()).toBe(0);
  await expectAccessible(page);
  expect({ elsewhere, faults }).toEqual({ elsewhere: [], faults: [] });
});

it('takes the token out of the address at once, and keeps it for this tab', async () => {
  const { page } = await signedIn();
  await page.getByRole('heading', { name: 'Workspaces' }).waitFor();
  expect(page.url()).toBe(`${app.url}/`);
  await page.reload();
  await page.getByRole('heading', { name: 'Workspaces' }).waitFor();
});

it('says what to do where there is nothing, and of what there is not', async () => {
  const { page } = await signedIn('/', await app.token({ workspaces: [] }));
  await page.getByText('There is no workspace that you may see').waitFor();
  await page.goto(`${app.url}/workspaces/nowhere`);
  await page.getByText('There is no such workspace').waitFor();
});

it('asks again when the token expires, and shows the same page afterwards', async () => {
  await createWorkspace(app, 'expiring');
  const { page } = await signedIn('/workspaces/expiring?tab=exports', await app.token({ expiresInSeconds: 3 }));
  await page.getByText('The access token has expired.').waitFor();
  expect(new URL(page.url()).search).toBe('?tab=exports');
  await page.getByRole('textbox', { name: 'Access token' }).fill(await app.token());
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('Nothing was exported yet').waitFor();
});

it('shows a run from its registration to its end without being asked', async () => {
  const workspaceId = await createWorkspace(app, 'watched');
  const { page, elsewhere, faults } = await signedIn('/workspaces/watched');
  await page.getByText('Nothing was loaded yet').waitFor();
  await expect.poll(() => connection(page)).toBe('live');
  const id = await registered(workspaceId);
  const state = page.locator(`[data-run="${id}"] [data-state]`);
  await expect.poll(() => state.textContent()).toBe('REGISTERED');
  await mutate(app, 'startDataRun', { dataRunId: id });
  await expect.poll(() => state.textContent()).toBe('SUCCEEDED');
  await expectAccessible(page);
  await page.getByRole('tab', { name: 'datasets' }).click();
  await page.getByRole('cell', { name: 'depots' }).waitFor();
  await page.getByRole('tab', { name: 'events' }).click();
  await page.getByRole('cell', { name: 'SUCCEED' }).first().waitFor();
  await expectAccessible(page);
  expect({ elsewhere, faults }).toEqual({ elsewhere: [], faults: [] });
});

it('keeps filters and the place in a list in the address', async () => {
  const workspaceId = await createWorkspace(app, 'listed');
  const ids: string[] = [];
  const packageId = await stage(app, workspaceId, await zipOf('depot', depot));
  for (let run = 0; run < 21; run++) {
    const id = await register(app, workspaceId, packageId);
    ids.push(id);
    await mutate(app, 'cancelDataRun', { dataRunId: id }); // one at a time may be unfinished
  }
  const [oldest = ''] = ids;
  const { page } = await signedIn('/workspaces/listed');
  await page.getByRole('button', { name: 'Next' }).click();
  await page.locator(`[data-run="${oldest}"]`).waitFor();
  const { page: sent } = await signedIn(new URL(page.url()).pathname + new URL(page.url()).search);
  await sent.locator(`[data-run="${oldest}"]`).waitFor();
  expect(await sent.locator('[data-run]').count()).toBe(1);
  await sent.getByText('CANCELLED', { exact: true }).first().click();
  await expect.poll(() => sent.url()).toContain('CANCELLED');
  expect(await reachedByKeyboard(sent)).toEqual(expect.arrayContaining(['Runs', 'CANCELLED', 'Package', 'Filter', 'Sign out']));
});

it('shows what happened before it was opened, page by page, newest first, and what happens meanwhile', async () => {
  const workspaceId = await createWorkspace(app, 'remembered');
  const packageId = await stage(app, workspaceId, await zipOf('depot', depot));
  const again = async () => mutate(app, 'cancelDataRun', { dataRunId: await register(app, workspaceId, packageId) });
  for (let n = 0; n < 11; n++) await again(); // five events each, with the three steps that it skips: more than a page
  const { data } = await app.graphql('{ workspace(slug: "remembered") { events(first: 100) { edges { node { id } } } } }');
  const log = data.workspace.events.edges.map(({ node }: { node: { id: string } }) => node.id).toReversed();
  const { page } = await signedIn('/workspaces/remembered?tab=events');
  const shown = () => page.locator('[data-event]').evaluateAll((lines) => lines.map((line) => line.getAttribute('data-event')));
  await expect.poll(shown).toEqual(log.slice(0, 50));
  await page.getByRole('button', { name: 'Next' }).click();
  await expect.poll(shown).toEqual(log.slice(50));
  expect(await page.getByRole('button', { name: 'Next' }).isDisabled()).toBe(true);
  await page.getByRole('button', { name: 'Previous' }).click();
  await expect.poll(shown).toEqual(log.slice(0, 50));
  await again();
  await page.getByRole('button', { name: 'First' }).click(); // which it can be as soon as there is something newer
  await expect.poll(async () => (await shown()).slice(5)).toEqual(log.slice(0, 45));
});

it('goes on when the server is started again: nothing is lost, nothing is shown twice, and another node’s page shows the same', async () => {
  const home = mkdtempSync(path.join(tmpdir(), 'packhorse-test-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const env = { PACKHORSE_HOME: home, DATABASE_URL: await freshDatabase() };
  const first = await launch({ ...env, PACKHORSE_ROLE: 'api' });
  const other = await launch(env);
  onTestFinished(() => other.stop());
  const workspaceId = await createWorkspace(other, 'lasting');
  const token = await other.token();
  const at = (url: string) => visit(`${url}/workspaces/lasting?tab=events#token=${token}`);
  const { page, elsewhere, faults } = await at(first.url);
  const { page: page2 } = await at(other.url);
  for (const one of [page, page2]) await expect.poll(() => connection(one)).toBe('live');
  const shown = (one: Page) => one.locator('[data-event]').evaluateAll((lines) => lines.map((line) => line.getAttribute('data-event')));
  const id = await registered(workspaceId, other);
  await expect.poll(() => shown(page)).not.toEqual([]);

  await first.stop();
  await expect.poll(() => connection(page)).toBe('reconnecting');
  await mutate(other, 'startDataRun', { dataRunId: id });
  await reach(other, id, 'SUCCEEDED');
  const again = await launch({ ...env, PACKHORSE_ROLE: 'api', PORT: new URL(first.url).port });
  onTestFinished(() => again.stop());

  await expect.poll(() => connection(page)).toBe('resumed');
  const { data } = await other.graphql('{ workspace(slug: "lasting") { events(first: 100) { edges { node { id } } } } }');
  const log = data.workspace.events.edges.map(({ node }: { node: { id: string } }) => node.id).toReversed();
  await expect.poll(() => shown(page)).toEqual(log);
  await expect.poll(() => shown(page2)).toEqual(log);
  expect({ elsewhere, faults }).toEqual({ elsewhere: [], faults: [] });
});

it('lets a browser keep the files that the page names, and nothing else', async () => {
  const index = await fetch(`${app.url}/workspaces/any/page`);
  const policy = index.headers.get('content-security-policy') ?? '';
  expect(index.headers.get('cache-control')).toBe('no-store');
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toContain('unsafe');
  const html = await index.text();
  const [, nonce = ''] = /'nonce-([^']+)'/.exec(policy) ?? [];
  expect(html).toContain(nonce);
  expect(await (await fetch(`${app.url}/`)).text()).not.toContain(nonce);
  const names = [...html.matchAll(/"(\/assets\/[^"]+)"/g)].map(([, name = '']) => name);
  expect(names.length).toBeGreaterThan(2);
  for (const name of names) {
    const file = await fetch(app.url + name, { headers: { 'accept-encoding': 'gzip' } });
    expect(file.headers.get('cache-control'), name).toBe('public,max-age=31536000,immutable');
    expect(file.headers.get('content-type'), name).toMatch(/^(text\/(javascript|css)|image\/svg\+xml)/);
  }
  for (const path of ['/assets/none.js', '/assets/..%2findex.html', '/assets/../../package.json', '/elsewhere'])
    expect((await fetch(app.url + path)).status, path).toBe(404);
});
