// A package loaded by the page: dropped, judged, planned, started, watched to its end.
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { startApp } from '../support/app.ts';
import { expectAccessible, reachedByKeyboard, useChromium } from '../support/browser.ts';
import { registered } from '../support/states.ts';
import { createWorkspace, depot, mutate, reach, stage, zipOf } from '../support/story.ts';

const app = await startApp();
const visit = useChromium();

it('loads a package that is dropped on it, and watches it to its end', async () => {
  await createWorkspace(app, 'dropped');
  const { page, elsewhere, faults } = await visit(`${app.url}/workspaces/dropped#token=${await app.token()}`);
  await page.getByRole('link', { name: 'Load a package' }).click();
  await page.getByRole('region', { name: 'Drop a package here' }).waitFor();
  await expectAccessible(page);
  expect(await reachedByKeyboard(page)).toContain('Choose a file');
  const zip = (await zipOf('depot', depot)).toString('base64');
  const dropped = await page.evaluateHandle((base64) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))], 'depot.zip'));
    return transfer;
  }, zip);
  await page.getByRole('region', { name: 'Drop a package here' }).dispatchEvent('drop', { dataTransfer: dropped });
  await page.getByRole('button', { name: 'Plan it' }).click();
  const plan = page.getByRole('region', { name: 'The plan' });
  await plan.waitFor();
  expect(await plan.getByRole('row').allTextContents()).toEqual([
    'TurnDatasetWould beRowsInvalidNewChangedUnchangedHeld backRemoved',
    '1depotsSUCCEEDED2020000',
    '1toolsSUCCEEDED1010000',
    '2routesSUCCEEDED3030000',
  ]);
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.getByRole('button', { name: 'Start the run' }).click();
  await expect.poll(() => page.locator('[data-state]').first().textContent()).toBe('SUCCEEDED');
  await page.getByText('The package’s data are in the workspace, whole.').waitFor();
  expect({ elsewhere, faults }).toEqual({ elsewhere: [], faults: [] });
});

it('shows what would be wrong with a run, and does not start one whose plan no longer holds', async () => {
  const workspaceId = await createWorkspace(app, 'planned');
  const [depots, , routes] = depot;
  const wrong = [
    { ...depots!, rows: 'id,city\n1,Bern\n1,Oslo\n' },
    { ...routes!, rows: 'id,depot\n1,1\n2,9\n' },
  ];
  const bad = await registered(app, workspaceId, wrong);
  const { page, faults } = await visit(`${app.url}/workspaces/planned/runs/${encodeURIComponent(bad)}#token=${await app.token()}`);
  await page.getByRole('button', { name: 'Plan it' }).click();
  await page.getByRole('region', { name: 'Faulty rows of depots' }).getByText('repeats a primary key').waitFor();
  await page.getByText('The dataset routes would not be loaded, since depots would fail.').waitFor();
  await expectAccessible(page);

  const run = await registered(app, workspaceId, [depots!]);
  const sound = await visit(`${app.url}/workspaces/planned/runs/${encodeURIComponent(run)}#token=${await app.token()}`);
  await sound.page.getByRole('button', { name: 'Plan it' }).click();
  await sound.page.getByRole('region', { name: 'The plan' }).waitFor();
  const other = await registered(app, workspaceId, [depots!]);
  await mutate(app, 'startDataRun', { dataRunId: other });
  await reach(app, other, 'SUCCEEDED');
  await sound.page.getByRole('button', { name: 'Start', exact: true }).click();
  await sound.page.getByRole('button', { name: 'Start the run' }).click();
  await sound.page.getByRole('alert').getByText('What the plan was made of has changed since.').waitFor();
  await sound.page.getByRole('button', { name: 'Leave it' }).click();
  await sound.page.getByRole('button', { name: 'Plan it again' }).click();
  await expect
    .poll(() => sound.page.getByRole('region', { name: 'The plan' }).getByRole('row').last().textContent())
    .toBe('1depotsSUCCEEDED2000200');
  await sound.page.getByRole('button', { name: 'Start', exact: true }).click();
  await sound.page.getByRole('button', { name: 'Start the run' }).click();
  await expect.poll(() => sound.page.locator('[data-state]').first().textContent()).toBe('SUCCEEDED');
  expect([...faults, ...sound.faults]).toEqual([]);
});

it('shows everything that is wrong with a package, and registers nothing', async () => {
  await createWorkspace(app, 'refused');
  const { page, faults } = await visit(`${app.url}/workspaces/refused/load#token=${await app.token()}`);
  const schema = { fields: [{ name: 'id', type: 'nothing' }], primaryKey: 'absent' };
  const buffer = await zipOf('broken', [{ name: 'numbers', rows: 'id\n1\n', schema }]);
  await page.getByLabel('The package').setInputFiles({ name: 'broken.zip', mimeType: 'application/zip', buffer });
  await page.getByText('Nothing was registered.').waitFor();
  await page.getByRole('region', { name: 'Problems of the package' }).getByText('absent').waitFor();
  await expectAccessible(page);
  const { data } = await app.graphql('{ workspace(slug: "refused") { dataRuns(first: 1) { edges { node { id } } } } }');
  expect(data.workspace.dataRuns.edges).toEqual([]);
  expect(faults).toEqual([]);
});

it('leaves rows out where it is told to, and gives them back as a package', async () => {
  const workspaceId = await createWorkspace(app, 'partly');
  const { page, elsewhere, faults } = await visit(`${app.url}/workspaces/partly/load#token=${await app.token()}`);
  await page.getByLabel('Rows that are not valid').selectOption({ label: 'are left out, and can be downloaded' });
  await page.getByLabel('Rows that point at nothing').selectOption({ label: 'are left out, and can be downloaded' });
  await expectAccessible(page);
  const [depots, , routes] = depot;
  const buffer = await zipOf('partly', [
    { ...depots!, rows: 'id,city\n1,Bern\n1,Oslo\n' },
    { ...routes!, rows: 'id,depot\n1,1\n2,9\n3,8\n' },
  ]);
  await page.getByLabel('The package').setInputFiles({ name: 'partly.zip', mimeType: 'application/zip', buffer });
  await page.getByRole('button', { name: 'Plan it' }).click();
  const plan = page.getByRole('region', { name: 'The plan' });
  await plan.waitFor();
  expect((await plan.getByRole('row').allTextContents()).slice(1)).toEqual(['1depotsSUCCEEDED2110000', '2routesSUCCEEDED3210000']);
  await page.getByText('1 row of the dataset depots is not in it: not valid, and left out.').waitFor();
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.getByRole('button', { name: 'Start the run' }).click();
  await page.getByText('3 rows were left out:').waitFor();
  await page.getByText('Rows that are not valid are left out, and can be downloaded. Rows that point at nothing are left out').waitFor();
  await page.getByRole('region', { name: 'Faulty rows of routes' }).getByText('where there is no such row').first().waitFor();
  await expectAccessible(page);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download as a data package' }).click(),
  ]);
  expect(download.suggestedFilename()).toBe('partly-rejected-rows.zip');
  const packageId = await stage(app, workspaceId, await readFile(await download.path()));
  const { data } = await app.graphql(
    `mutation ($input: RegisterDataRunInput!) { registerDataRun(input: $input) { ... on DataRun { package { name resources { name } } } } }`,
    { input: { workspaceId, packageId } },
  );
  expect(data.registerDataRun).toEqual({ package: { name: 'partly-rejected-rows', resources: [{ name: 'depots' }, { name: 'routes' }] } });
  // Nobody may have them any more.
  await app.app.db.pool.query('DELETE FROM rejected_dataset');
  await page.getByRole('button', { name: 'Download as a data package' }).click();
  await page.getByRole('alert').getByText('Load the package again.').waitFor();
  expect({ elsewhere, faults }).toEqual({ elsewhere: [], faults: [] });
});
