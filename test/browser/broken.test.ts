// What a page shows that has failed itself, and where there is nothing of what its address names.
import { expect, it } from 'vitest';
import { published, request } from '../exports/story.ts';
import { startApp } from '../support/app.ts';
import { expectAccessible, reachedByKeyboard, useChromium } from '../support/browser.ts';
import { registered } from '../support/states.ts';
import { createWorkspace, depot, mutate, reach } from '../support/story.ts';

const app = await startApp();
const visit = useChromium();

async function loadedRun(slug: string): Promise<{ id: string; workspaceId: string }> {
  const workspaceId = await createWorkspace(app, slug);
  const id = await registered(app, workspaceId, depot);
  await mutate(app, 'startDataRun', { dataRunId: id });
  await reach(app, id, 'SUCCEEDED');
  return { id, workspaceId };
}

it.each([
  ['page', 'run-page'],
  ['part of a page', 'run-graph'],
  ['part around all pages', 'menu'],
])('says that a %s cannot be fetched, as after an update of the server, and loads it when it is asked to', async (_, file) => {
  const { id } = await loadedRun(`unfetched-${file}`);
  const { page, faults } = await visit(`${app.url}/lifecycles#token=${await app.token()}`);
  await page.getByRole('heading', { name: 'Lifecycles' }).waitFor();
  await page.route(`**/assets/${file}-*.js`, (route) => route.fulfill({ status: 404 }));
  await page.goto(`${app.url}/workspaces/unfetched-${file}/runs/${id}`);
  const alert = page.getByRole('alert');
  await alert.getByText('This page has failed').waitFor();
  await alert.getByText(new RegExp(`/assets/${file}-`)).waitFor();
  await alert.getByText('Nothing in the workspace has changed by it. Load the page again.').waitFor();
  await expectAccessible(page);
  await page.unrouteAll();
  await page.getByRole('button', { name: 'Load again' }).click();
  await page.getByRole('heading', { name: /^package-/ }).waitFor();
  await page.getByRole('button', { name: 'Menu' }).waitFor();
  expect(await alert.count()).toBe(0);
  expect(faults).toEqual([]);
});

it('says what went wrong in a page that throws, and leaves the way to the others open', async () => {
  const { id } = await loadedRun('thrown');
  const { page } = await visit(`${app.url}/workspaces/thrown#token=${await app.token()}`);
  await page.getByRole('tab', { name: 'runs' }).waitFor();
  await page.route('**/assets/run-page-*.js', (route) =>
    route.fulfill({ contentType: 'text/javascript', body: `export default () => { throw new Error('The count is no number'); };` }),
  );
  await page.locator(`[data-run="${id}"]`).getByRole('link').first().click();
  const alert = page.getByRole('alert');
  await alert.getByText('The count is no number').waitFor();
  expect(await reachedByKeyboard(page)).toEqual(expect.arrayContaining(['thrown', 'Load again', 'Sign out']));
  await expectAccessible(page);
  await page.getByRole('link', { name: 'thrown', exact: true }).click();
  await page.getByRole('tab', { name: 'runs' }).waitFor();
  expect(await alert.count()).toBe(0);
});

it('shows a run and an export at the address of their own workspace alone, whose events it follows', async () => {
  const { id, workspaceId } = await loadedRun('here');
  const execution = await request(app, workspaceId);
  await createWorkspace(app, 'there');
  const { page } = await visit(`${app.url}/#token=${await app.token()}`);
  for (const [what, place] of [
    ['run', `runs/${id}`],
    ['run', `runs/${id}/lifecycle`],
    ['export', `exports/${execution}`],
    ['export', `exports/${execution}/lifecycle`],
  ]) {
    await page.goto(`${app.url}/workspaces/here/${place}`);
    await page.locator('[data-state]').first().waitFor();
    await page.goto(`${app.url}/workspaces/there/${place}`);
    await page.getByRole('heading', { name: `There is no such ${what}` }).waitFor();
  }
});

it('says of a run and of an export that there is none, or that it is not yours, in the same words', async () => {
  const { id, workspaceId } = await loadedRun('theirs');
  const execution = await request(app, workspaceId);
  await published(app, execution);
  await createWorkspace(app, 'mine');
  const { page, elsewhere, faults } = await visit(`${app.url}/#token=${await app.token({ workspaces: ['mine'] })}`);
  await page.getByRole('link', { name: 'mine' }).waitFor();
  const none = (type: string) => Buffer.from(`${type}:01890000-0000-7000-8000-000000000000`).toString('base64');
  const said: (string | null)[] = [];
  for (const [what, place, ids] of [
    ['run', 'runs', [id, none('DataRun'), 'nonsense', execution]],
    ['export', 'exports', [execution, none('ExportExecution'), 'nonsense', id]],
  ] as const) {
    for (const one of ids) {
      await page.goto(`${app.url}/workspaces/mine/${place}/${one}`);
      await page.getByRole('heading', { name: `There is no such ${what}` }).waitFor();
      said.push((await page.getByRole('main').textContent())?.replace(what, '…') ?? null);
      expect(await page.getByRole('main').getByRole('button').count()).toBe(0);
    }
  }
  expect(new Set(said).size).toBe(1);
  expect(said[0]).toContain('Either it was never there, or your token does not name its workspace');
  await expectAccessible(page);
  await page.getByRole('link', { name: 'To the workspaces' }).click();
  await page.getByRole('heading', { name: 'Workspaces' }).waitFor();
  await page.goto(`${app.url}/workspaces/theirs/runs/${id}`);
  await page.getByRole('heading', { name: 'There is no such workspace' }).waitFor();
  expect({ elsewhere, faults }).toEqual({ elsewhere: [], faults: [] });
});
