// A run that has ended, loaded again by the button of its page; and what is said where that cannot be.
import type { Page } from 'playwright-core';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { discardExpired } from '../../src/packages/tasks.ts';
import { storeTarget } from '../../src/runs/targets/store.ts';
import { launch, startApp } from '../support/app.ts';
import { expectAccessible, reachedByKeyboard, useChromium } from '../support/browser.ts';
import { scriptedTarget } from '../support/scripted-target.ts';
import { chain, registered, uuidOf } from '../support/states.ts';
import { createWorkspace, depot, mutate, type Resource, readRun } from '../support/story.ts';

const target = scriptedTarget();
const app = await startApp({ targets: (db) => [storeTarget(db), target] });
const visit = useChromium();
afterEach(() => {
  target.begins = 'running';
});

const [depots] = depot as [Resource, ...Resource[]];
const late: Resource = { name: 'late', rows: 'id\n1\n', 'packhorse:target': 'scripted', 'packhorse:dependsOn': ['depots'] };

const open = async (slug: string, id: string, token?: string) =>
  visit(`${app.url}/workspaces/${slug}/runs/${id}#token=${token ?? (await app.token())}`);
const stateOf = (page: Page) => page.locator('[data-state]').first().textContent();
const loadAgain = (page: Page) => page.getByRole('button', { name: 'Load again' });
const idIn = (page: Page) => decodeURIComponent(new URL(page.url()).pathname.split('/').at(-1) ?? '');

/** By the dialog; the id of the run whose page is come to. */
async function pressed(page: Page, old: string): Promise<string> {
  await loadAgain(page).click();
  await page.getByRole('button', { name: 'Register a new run' }).click();
  await expect.poll(() => idIn(page)).not.toBe(old);
  return idIn(page);
}

async function refusedWith(page: Page, text: string | RegExp): Promise<void> {
  await loadAgain(page).click();
  await page.getByRole('button', { name: 'Register a new run' }).click();
  await page.getByRole('dialog').getByRole('alert').getByText(text).waitFor();
  await expectAccessible(page);
}

/** Pass after pass, since nobody else makes one. */
async function driven(id: string, until: () => unknown): Promise<void> {
  await expect
    .poll(async () => {
      await mutate(app, 'advanceDataRun', { dataRunId: id });
      return until();
    })
    .toBeTruthy();
}

it('registers the package of a run that failed once more, under its policies, and writes nothing twice', async () => {
  const workspaceId = await createWorkspace(app, 'failed');
  const policies = { driving: 'ON_REQUEST', onMissingReference: 'FAIL' };
  const id = await registered(app, workspaceId, [depots, late], policies);
  await mutate(app, 'startDataRun', { dataRunId: id });
  const { page, elsewhere, faults } = await open('failed', id);
  const { page: looking } = await open('failed', id, await app.token({ permissions: ['workspace:read'] }));
  await driven(id, () => target.jobs.some(({ dataset }) => dataset === 'late'));
  await expect.poll(() => page.locator('[data-step="depots"] [data-state]').textContent()).toBe('SUCCEEDED');
  expect(await loadAgain(page).count()).toBe(0); // it goes on
  target.end('late', 'failed');
  await mutate(app, 'advanceDataRun', { dataRunId: id });

  await loadAgain(page).waitFor();
  expect(await reachedByKeyboard(page)).toContain('Load again');
  await loadAgain(page).click();
  await page.getByRole('dialog').getByText('so what succeeded is not written twice').waitFor();
  await page.getByRole('dialog').getByText('A job target of your own is given its datasets again.').waitFor();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Leave it' }).click();
  const again = await pressed(page, id);
  await expect.poll(() => stateOf(page)).toBe('REGISTERED');
  const { data } = await app.graphql(
    'query ($id: ID!) { dataRun(id: $id) { driving onInvalidRow onMissingReference previousRun { id package { id } } package { id } } }',
    { id: again },
  );
  const kept = data.dataRun.previousRun.package;
  expect(data.dataRun).toEqual({ ...policies, onInvalidRow: 'FAIL', previousRun: { id, package: kept }, package: kept });
  expect(await loadAgain(page).count()).toBe(0); // it was not started yet

  await page.getByRole('button', { name: 'Plan it' }).click();
  await page.getByRole('region', { name: 'The plan' }).getByRole('row', { name: '1 depots SUCCEEDED 2 0 0 0 2 0 0' }).waitFor();
  target.begins = 'succeeded';
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.getByRole('button', { name: 'Start the run' }).click();
  await driven(again, async () => (await readRun(app, again)).state === 'SUCCEEDED');
  await expect.poll(() => stateOf(page)).toBe('SUCCEEDED');
  const { steps } = await readRun(app, again);
  expect(steps[0]).toMatchObject({ dataset: 'depots', rows: { source: '2', loaded: '0', updated: '0', unchanged: '2' } });
  await page.getByText('The package’s data are in the workspace, whole.').waitFor();
  expect(await loadAgain(page).count()).toBe(0); // there is nothing to do

  await page.getByRole('link', { name: 'the run before it' }).click();
  await expect.poll(() => stateOf(page)).toBe('FAILED');
  expect(idIn(page)).toBe(id);
  await expect.poll(() => stateOf(looking)).toBe('FAILED');
  expect(await loadAgain(looking).count()).toBe(0);
  expect({ elsewhere, faults }).toEqual({ elsewhere: [], faults: [] });
});

it('is offered for a run that was cancelled, and for one that succeeded and was taken back', async () => {
  const workspaceId = await createWorkspace(app, 'ended');
  const cancelled = await registered(app, workspaceId, [depots]);
  const { page } = await open('ended', cancelled);
  await expect.poll(() => stateOf(page)).toBe('REGISTERED');
  await mutate(app, 'cancelDataRun', { dataRunId: cancelled });
  const reset = await pressed(page, cancelled);
  await mutate(app, 'startDataRun', { dataRunId: reset });
  await expect.poll(() => stateOf(page)).toBe('SUCCEEDED');
  expect(await loadAgain(page).count()).toBe(0);
  await mutate(app, 'resetDataRun', { dataRunId: reset });
  const last = await pressed(page, reset);
  await page.getByRole('button', { name: 'Plan it' }).click();
  await page.getByRole('region', { name: 'The plan' }).getByRole('row', { name: '1 depots SUCCEEDED 2 0 2 0 0 0 0' }).waitFor();
  expect((await readRun(app, last)).state).toBe('REGISTERED');
});

it('says which run is in the way, and leads to it', async () => {
  const workspaceId = await createWorkspace(app, 'occupied');
  const id = await registered(app, workspaceId, [depots]);
  await mutate(app, 'cancelDataRun', { dataRunId: id });
  const { page, faults } = await open('occupied', id);
  const { page: other } = await open('occupied', id);
  const holder = await pressed(other, id);
  await refusedWith(page, 'has an unfinished run in this workspace. Let it settle, or cancel it.');
  await page.getByRole('link', { name: 'To the run in the way' }).click();
  await expect.poll(() => stateOf(page)).toBe('REGISTERED');
  expect(idIn(page)).toBe(holder);
  expect(await page.getByRole('dialog').count()).toBe(0);
  expect(faults).toEqual([]);
});

it('says that the package is no longer kept, and leads to where it is loaded from files', async () => {
  const workspaceId = await createWorkspace(app, 'discarded');
  const id = await registered(app, workspaceId, [depots]);
  await mutate(app, 'cancelDataRun', { dataRunId: id });
  const { page, faults } = await open('discarded', id);
  await loadAgain(page).waitFor();
  await app.app.db.pool.query(
    `UPDATE data_package SET expires_at = clock_timestamp() - interval '1 second' WHERE id = (SELECT package_id FROM data_run WHERE id = $1)`,
    [uuidOf(id)],
  );
  expect(await discardExpired(app.app.packages)).toBe(1);
  await refusedWith(page, 'was uploaded too long ago and is no longer kept.');
  expect(idIn(page)).toBe(id);
  await page.getByRole('link', { name: 'Load it from your files' }).click();
  await page.getByRole('region', { name: 'Drop a package here' }).waitFor();
  expect(faults).toEqual([]);
});

it('shows everything that the server now finds wrong with the package', async () => {
  const workspaceId = await createWorkspace(app, 'unfit');
  const id = await registered(app, workspaceId, chain);
  await mutate(app, 'cancelDataRun', { dataRunId: id });
  // The same database and storage under settings that name no such target any more.
  const { home, databaseUrl } = app.config;
  const poorer = await launch({ PACKHORSE_HOME: home, DATABASE_URL: databaseUrl ?? '', PACKHORSE_ROLE: 'api' });
  onTestFinished(() => poorer.stop());
  const { page, faults } = await visit(`${poorer.url}/workspaces/unfit/runs/${id}#token=${await poorer.token()}`);
  await refusedWith(page, /\(and 1 more\)/);
  const problems = await page.getByRole('list', { name: 'Problems of the package' }).getByRole('listitem').allTextContents();
  expect(problems).toEqual([expect.stringMatching(/"first".*\(UNKNOWN_TARGET at \/resources\/0/), expect.stringMatching(/"second"/)]);
  await page.getByRole('link', { name: 'Mend it, and load it from your files' }).waitFor();
  const { data } = await app.graphql('{ workspace(slug: "unfit") { dataRuns(first: 2) { edges { node { id } } } } }');
  expect(data.workspace.dataRuns.edges).toEqual([{ node: { id } }]);
  expect(faults).toEqual([]);
});
