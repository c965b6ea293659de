// A package loaded by the page: dropped, judged, started, watched to its end.
import { expect, it } from 'vitest';
import { startApp } from '../support/app.ts';
import { expectAccessible, reachedByKeyboard, useChromium } from '../support/browser.ts';
import { createWorkspace, depot, zipOf } from '../support/story.ts';

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
  await page.getByRole('button', { name: 'Start', exact: true }).click();
  await page.getByRole('button', { name: 'Start the run' }).click();
  await expect.poll(() => page.locator('[data-state]').first().textContent()).toBe('SUCCEEDED');
  await page.getByText('The package’s data are in the workspace, whole.').waitFor();
  expect({ elsewhere, faults }).toEqual({ elsewhere: [], faults: [] });
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
