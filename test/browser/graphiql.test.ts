// GraphiQL as a person meets it: in Chromium, from our server alone, with the token among the headers.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { startApp } from '../support/app.ts';
import { type Opened, useChromium } from '../support/browser.ts';
import { createWorkspace, depot, mutate, reach, register, stage, zipOf } from '../support/story.ts';

// What the README has a newcomer paste.
const readme = readFileSync(path.resolve(import.meta.dirname, '../../README.md'), 'utf8');
const [firstQuery = '', firstSubscription = ''] = [...readme.matchAll(/```graphql\n([\s\S]*?)```/g)].map(([, block = '']) => block);

const app = await startApp();
const visit = useChromium();

async function open(query: string, variables: object = {}): Promise<Opened> {
  const viewport = { width: 1_280, height: 2_000 }; // the editor writes only what is in sight
  const opened = await visit(`${app.url}/graphiql?query=${encodeURIComponent(query)}`, { viewport });
  await fill(opened.page, 'Variables', variables);
  await fill(opened.page, 'Headers', { Authorization: `Bearer ${await app.token()}` });
  return opened;
}

async function fill(page: Page, tab: 'Variables' | 'Headers', value: object): Promise<void> {
  await page.getByRole('button', { name: tab, exact: true }).click();
  await page.locator('.graphiql-editor-tool .graphiql-editor:not(.hidden) .monaco-editor').click();
  await page.keyboard.insertText(JSON.stringify(value));
}

const run = (page: Page) => page.getByRole('button', { name: /Execute query/i }).click();
/** The editor writes its spaces as no-break ones. */
const response = async (page: Page) => ((await page.locator('.result-window').textContent()) ?? '').replace(/\s+/g, ' ');

async function loadDepot(workspaceId: string): Promise<void> {
  const id = await register(app, workspaceId, await stage(app, workspaceId, await zipOf('depot', depot)));
  await mutate(app, 'startDataRun', { dataRunId: id });
  await reach(app, id, 'SUCCEEDED');
}

it('runs the README’s first query with the Authorization header, and asks nobody else for anything', async () => {
  await loadDepot(await createWorkspace(app, 'demo'));
  const { page, elsewhere, faults } = await open(firstQuery);
  await run(page);
  await expect.poll(() => response(page)).toContain('"name": "depots", "rowCount": "2"');
  expect(await response(page)).toContain('"state": "SUCCEEDED", "readiness": { "ready": true }');
  expect(elsewhere).toEqual([]);
  expect(faults).toEqual([]);
});

it('shows events as they happen, by the README’s first subscription', async () => {
  const workspaceId = await createWorkspace(app, 'followed');
  const { page, elsewhere, faults } = await open(firstSubscription, { workspace: workspaceId });
  await run(page);
  // Nothing says when a stream "from now" has begun: things happen until one shows.
  await expect
    .poll(
      async () => {
        await loadDepot(workspaceId);
        return response(page);
      },
      { timeout: 40_000 },
    )
    .toMatch(/"action": "SUCCEED", "to": "SUCCEEDED", "dataset": null/);
  expect(elsewhere).toEqual([]);
  expect(faults).toEqual([]);
});

it('has the dashboard’s token among its headers, and leaves it nowhere', async () => {
  await loadDepot(await createWorkspace(app, 'signed'));
  const token = await app.token();
  const { page, elsewhere, faults } = await visit(`${app.url}/#token=${token}`, { viewport: { width: 1_280, height: 2_000 } });
  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByRole('link', { name: 'GraphiQL' }).click();
  const query = firstQuery.replace('"demo"', '"signed"');
  for (const round of ['first', 'again']) {
    await page.goto(`${app.url}/graphiql?query=${encodeURIComponent(query)}&round=${round}`);
    await run(page);
    await expect.poll(() => response(page)).toContain('"name": "depots", "rowCount": "2"');
    await page.getByRole('button', { name: 'Headers', exact: true }).click();
    await page.getByText('"Authorization"').waitFor();
    await page.getByRole('button', { name: 'Variables', exact: true }).click(); // what is shown is what it keeps
  }
  expect(asked.length).toBeGreaterThan(3);
  expect(asked.filter((url) => url.includes(token))).toEqual([]);
  // The query: what it keeps has been written, which it does a moment later.
  await expect.poll(() => page.evaluate(() => JSON.stringify(localStorage))).toContain('signed');
  expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain(token.slice(0, 40));
  await page.goto(`${app.url}/`);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.goto(`${app.url}/graphiql?query=${encodeURIComponent(query)}`);
  await run(page);
  await expect.poll(() => response(page)).toContain('UNAUTHENTICATED');
  expect({ elsewhere, faults }).toEqual({ elsewhere: [], faults: [] });
});
