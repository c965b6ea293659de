// GraphiQL as a person meets it: in Chromium, from our server alone, with the token among the headers.
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startApp } from '../support/app.ts';
import { createWorkspace, depot, mutate, reach, register, stage, zipOf } from '../support/story.ts';

const app = await startApp();
let browser: Browser;
beforeAll(async () => {
  browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  });
});
afterAll(() => browser.close());

interface Opened {
  readonly page: Page;
  readonly elsewhere: string[];
  readonly faults: string[];
}

async function open(query: string): Promise<Opened> {
  const page = await browser.newPage();
  const elsewhere: string[] = [];
  const faults: string[] = [];
  const { host } = new URL(app.url);
  const note = (url: string) => {
    if (!/^(data|blob):/.test(url) && new URL(url).host !== host) elsewhere.push(url);
  };
  page.on('request', (request) => note(request.url()));
  page.on('websocket', (socket) => note(socket.url()));
  page.on('pageerror', (error) => faults.push(error.message));
  await page.goto(`${app.url}/graphiql?query=${encodeURIComponent(query)}`);
  await page.getByRole('button', { name: /^Headers$/ }).click();
  await page.locator('.graphiql-editor-tool .graphiql-editor:not(.hidden) .monaco-editor').click();
  await page.keyboard.insertText(JSON.stringify({ Authorization: `Bearer ${await app.token()}` }));
  return { page, elsewhere, faults };
}

const run = (page: Page) => page.getByRole('button', { name: /Execute query/i }).click();
const response = (page: Page) => page.locator('.result-window').innerText();

it('runs a query with the Authorization header, and asks nobody else for anything', async () => {
  await createWorkspace(app, 'shown');
  const { page, elsewhere, faults } = await open('{ viewer { subject } workspaces { edges { node { slug } } } }');
  await run(page);
  await expect.poll(() => response(page)).toMatch(/"subject":\s*"ann"/);
  expect(await response(page)).toMatch(/"slug":\s*"shown"/);
  expect(elsewhere).toEqual([]);
  expect(faults).toEqual([]);
});

it('shows events as they happen, over a subscription with the same header', async () => {
  const workspaceId = await createWorkspace(app, 'followed');
  const { data } = await app.graphql('{ workspace(slug: "followed") { lastEventCursor } }');
  // From a cursor: nothing says when a stream "from now" has begun.
  const { page, elsewhere, faults } = await open(
    `subscription { workspaceEvents(workspace: "${workspaceId}", after: "${data.workspace.lastEventCursor}") { sequence action to ... on DataRunEvent { dataset } } }`,
  );
  await run(page);
  const id = await register(app, workspaceId, await stage(app, workspaceId, await zipOf('depot', depot)));
  await expect.poll(() => response(page), { timeout: 20_000 }).toMatch(/"action":\s*"REGISTER"/);
  await mutate(app, 'startDataRun', { dataRunId: id });
  await reach(app, id, 'SUCCEEDED');
  await expect.poll(() => response(page), { timeout: 20_000 }).toMatch(/"action":\s*"SUCCEED"[^}]*"dataset":\s*null/);
  expect(elsewhere).toEqual([]);
  expect(faults).toEqual([]);
});
