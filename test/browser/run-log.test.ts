// The log of a run as a file: every event, as the command line prints it, however many pages that takes.
import { readFileSync } from 'node:fs';
import type { Page, Route } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { startApp } from '../support/app.ts';
import { expectAccessible, reachedByKeyboard, useChromium } from '../support/browser.ts';
import { jsonLines, packhorse } from '../support/command-line.ts';
import { scriptedTarget } from '../support/scripted-target.ts';
import { registered } from '../support/states.ts';
import { createWorkspace, mutate } from '../support/story.ts';

const target = scriptedTarget();
const app = await startApp({ targets: () => [target] });
const visit = useChromium();

/** Its log has two pages of 100. Nothing changes it any more, so all tests have the same. */
let id: string;
beforeAll(async () => {
  id = await registered(app, await createWorkspace(app, 'logged'));
  await mutate(app, 'startDataRun', { dataRunId: id });
  for (let n = 0; n < 50; n++) {
    await mutate(app, 'pauseDataRun', { dataRunId: id });
    await mutate(app, 'resumeDataRun', { dataRunId: id });
  }
  await mutate(app, 'cancelDataRun', { dataRunId: id, reason: '“quoted”\nand on two lines' });
});

const open = async () => visit(`${app.url}/workspaces/logged/runs/${id}#token=${await app.token()}`);
const button = (page: Page) => page.getByRole('button', { name: 'Download as NDJSON' });

/** The second page of the log, when it is asked for: the test says how it is answered. */
async function secondPage(page: Page): Promise<{ readonly asked: Promise<Route> }> {
  let found = (_: Route) => {};
  const asked = new Promise<Route>((resolve) => {
    found = resolve;
  });
  await page.route('**/graphql', (route) => {
    const { query, variables } = route.request().postDataJSON() as { query: string; variables: { first?: number; after?: string } };
    const isIt = query.includes('query PastEvents') && variables.first === 100 && typeof variables.after === 'string';
    return isIt ? found(route) : route.fallback();
  });
  return { asked };
}

it('saves every event of a run, a JSON object a line, as the command line prints them', async () => {
  const { page, elsewhere, faults } = await open();
  await button(page).waitFor();
  expect(await reachedByKeyboard(page)).toContain('Download as NDJSON');
  const arriving = page.waitForEvent('download');
  await button(page).click();
  const file = await arriving;
  expect(file.suggestedFilename()).toMatch(/^package-\d+-events\.ndjson$/);
  const text = readFileSync(await file.path(), 'utf8');
  const events = jsonLines(text);
  expect(events.length).toBeGreaterThan(100);
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
  const cancel = { action: 'CANCEL', to: 'CANCELLED', dataset: null, actor: 'ann', reason: '“quoted”\nand on two lines' };
  expect(events.filter(({ to }) => to === 'CANCELLED')).toContainEqual(expect.objectContaining(cancel));
  const printed = await packhorse(['watch', id, '--json'], { PACKHORSE_URL: app.url, PACKHORSE_TOKEN: await app.token() });
  expect(text).toBe(printed.stdout);
  await expect.poll(() => page.getByRole('status').filter({ hasText: 'read so far' }).count()).toBe(0);
  expect({ elsewhere, faults }).toEqual({ elsewhere: [], faults: [] });
});

it('says how much it has read meanwhile, and where it breaks off what to do; then it begins anew', async () => {
  const { page, faults } = await open();
  const { asked } = await secondPage(page);
  await button(page).click();
  const route = await asked;
  await page.getByText('100 events read so far…').waitFor();
  await expectAccessible(page);
  await route.abort('connectionreset');
  const alert = page.getByRole('alert').filter({ hasText: 'Nothing was saved' });
  await alert.waitFor();
  expect(await alert.textContent()).toBe(
    'The server cannot be reached. Nothing was saved: press the button to read them again from the first.',
  );
  await expectAccessible(page);
  await page.unrouteAll();
  const arriving = page.waitForEvent('download');
  await button(page).click();
  const events = jsonLines(readFileSync(await (await arriving).path(), 'utf8'));
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1)); // none twice
  expect(events.length).toBeGreaterThan(100);
  expect(await alert.count()).toBe(0);
  expect(faults).toEqual([]);
});

it('saves nothing of a run whose page was left', async () => {
  const { page } = await open();
  const files: unknown[] = [];
  page.on('download', (file) => files.push(file));
  const { asked } = await secondPage(page);
  await button(page).click();
  const route = await asked;
  await page.getByRole('link', { name: 'logged', exact: true }).click();
  await page.getByRole('tab', { name: 'runs' }).waitFor();
  const answered = page.waitForResponse((response) => response.request() === route.request());
  await route.continue();
  await (await answered).finished();
  await page.getByRole('tab', { name: 'events' }).click();
  await page.getByRole('cell', { name: 'CANCEL' }).first().waitFor();
  expect(files).toEqual([]);
});
