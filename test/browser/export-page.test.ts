// An export asked for in the browser, followed to its package, and fetched by a link.
import { expect, it } from 'vitest';
import { launch, startApp, type TestApp } from '../support/app.ts';
import { expectAccessible, reachedByKeyboard, useChromium } from '../support/browser.ts';
import { freshDatabase } from '../support/database.ts';
import { createWorkspace, depot, mutate, reach, register, stage, zipOf } from '../support/story.ts';

const app = await startApp();
const visit = useChromium();

async function load(by: TestApp, workspaceId: string): Promise<void> {
  const id = await register(by, workspaceId, await stage(by, workspaceId, await zipOf('depot', depot)));
  await mutate(by, 'startDataRun', { dataRunId: id });
  await reach(by, id, 'SUCCEEDED');
}

it('is asked for by a button, followed until it is published, and downloaded', async () => {
  const workspaceId = await createWorkspace(app, 'taken');
  await load(app, workspaceId);
  const { page, elsewhere, faults } = await visit(`${app.url}/workspaces/taken?tab=exports#token=${await app.token()}`);
  await page.getByRole('button', { name: 'Export the workspace as it is now' }).click();
  await page.getByText('PUBLISHED').waitFor();
  await page.getByRole('cell', { name: 'depots' }).waitFor();
  await page.getByRole('button', { name: 'Make a link' }).click();
  const link = page.getByRole('link', { name: 'Download' });
  await link.waitFor();
  await expectAccessible(page);
  expect(await reachedByKeyboard(page)).toEqual(expect.arrayContaining(['Make a link', 'Download']));
  const arriving = page.waitForEvent('download');
  await link.click();
  expect((await arriving).suggestedFilename()).toMatch(/\.zip$/);
  expect({ elsewhere, faults }).toEqual({ elsewhere: [], faults: [] });
});

it('is cancelled where nothing works on it, and says what was refused where there is nothing to export', async () => {
  const env = { DATABASE_URL: await freshDatabase() };
  const idle = await startApp({ env, worker: false });
  const workspaceId = await createWorkspace(idle, 'queued');
  const { page } = await visit(`${idle.url}/workspaces/queued?tab=exports#token=${await idle.token()}`);
  await page.getByRole('button', { name: 'Export the workspace as it is now' }).click();
  await page.getByText('there is nothing to export').waitFor();
  const working = await launch({ ...env, PACKHORSE_HOME: idle.config.home });
  try {
    await load(working, workspaceId);
  } finally {
    await working.stop();
  }
  await page.getByRole('button', { name: 'Export the workspace as it is now' }).click();
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await page.getByLabel('Reason').fill('not today');
  await page.getByRole('button', { name: 'Cancel the export' }).click();
  await expect.poll(() => page.locator('[data-state]').first().textContent()).toBe('CANCELLED');
});
