// The export settings of a workspace, changed in the browser.
import type { Page } from 'playwright-core';
import { Webhook } from 'standardwebhooks';
import { expect, it } from 'vitest';
import { answering } from '../exports/announced.ts';
import { mutateExport } from '../exports/story.ts';
import { startApp } from '../support/app.ts';
import { expectAccessible, reachedByKeyboard, useChromium } from '../support/browser.ts';
import { createWorkspace, depot, mutate, reach, register, stage, zipOf } from '../support/story.ts';

const app = await startApp({ env: { PACKHORSE_FETCH_HOSTS: '127.0.0.1' } });
const visit = useChromium();

const open = async (slug: string, token?: string) =>
  visit(`${app.url}/workspaces/${slug}/export-settings#token=${token ?? (await app.token())}`);
const save = (page: Page) => page.getByRole('button', { name: 'Save', exact: true });

async function settingsOf(slug: string): Promise<any> {
  const { data } = await app.graphql(
    `{ workspace(slug: "${slug}") { exportSettings { format datasets retentionDays destinations { name url } } } }`,
  );
  return data.workspace.exportSettings;
}

it('are changed by a form, whose new secret is shown once', async () => {
  const workspaceId = await createWorkspace(app, 'set');
  const run = await register(app, workspaceId, await stage(app, workspaceId, await zipOf('depot', depot)));
  await mutate(app, 'startDataRun', { dataRunId: run });
  await reach(app, run, 'SUCCEEDED');
  const { page, elsewhere, faults } = await visit(`${app.url}/workspaces/set?tab=exports#token=${await app.token()}`);
  await page.getByRole('link', { name: 'Export settings' }).click();
  await page.getByRole('radio', { name: 'CSV' }).waitFor();
  expect(await save(page).isDisabled()).toBe(true);
  await page.getByRole('radio', { name: 'NDJSON' }).click();
  await page.getByRole('switch', { name: 'All datasets' }).press('Space');
  await page.getByRole('combobox', { name: 'Only these datasets' }).fill('rou');
  await page.getByRole('option', { name: 'routes' }).click();
  await page.getByRole('textbox', { name: 'Days that a published package is kept' }).fill('12');
  await page.getByRole('button', { name: 'Add a destination' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('crm');
  await page.getByRole('textbox', { name: 'URL' }).fill('http://127.0.0.1:2/hook');
  await expectAccessible(page);
  expect(await reachedByKeyboard(page)).toEqual(
    expect.arrayContaining([
      'NDJSON',
      expect.stringMatching(/^All datasets/),
      'Only these datasets',
      'Name',
      'URL',
      'Signing secret',
      'Forget crm',
      'Save',
    ]),
  );
  await save(page).click();
  await page.getByText('Signing secrets that were made').waitFor();
  expect(await page.getByRole('alert').textContent()).toMatch(/crm.*whsec_/);
  await expectAccessible(page);
  expect(await settingsOf('set')).toEqual({
    format: 'NDJSON',
    datasets: ['routes'],
    retentionDays: 12,
    destinations: [{ name: 'crm', url: 'http://127.0.0.1:2/hook' }],
  });
  await page.reload();
  await page.getByRole('textbox', { name: 'URL' }).waitFor();
  expect(await page.getByText('whsec_').count()).toBe(0);
  expect({ elsewhere, faults }).toEqual({ elsewhere: [], faults: [] });
});

it('say at the field what the server refuses', async () => {
  await createWorkspace(app, 'refused');
  const { page } = await open('refused');
  const days = page.getByRole('textbox', { name: 'Days that a published package is kept' });
  await days.fill('4000');
  await save(page).click();
  await page.getByText('A package is kept for 1 to 3,650 days.').waitFor();
  expect(await days.getAttribute('aria-invalid')).toBe('true');
  await days.fill('many');
  await save(page).click();
  await page.getByText('Give a whole number of days.').waitFor();
  await days.fill('3');
  await page.getByRole('button', { name: 'Add a destination' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('far');
  await page.getByRole('textbox', { name: 'URL' }).fill('https://example.org/hook');
  await save(page).click();
  await page.getByText('The destination "far" cannot be used: example.org:443').waitFor();
  await expectAccessible(page);
  expect(await settingsOf('refused')).toMatchObject({ retentionDays: 30, destinations: [] });
});

it('do not write over what somebody else has changed meanwhile, unseen', async () => {
  const workspaceId = await createWorkspace(app, 'shared');
  const { page } = await open('shared');
  const days = page.getByRole('textbox', { name: 'Days that a published package is kept' });
  await days.fill('5');
  await mutateExport(app, 'updateExportSettings', { workspaceId, format: 'NDJSON', retentionDays: 9 });
  await save(page).click();
  await page.getByText('Both of you have changed the days kept.').waitFor();
  expect(await settingsOf('shared')).toMatchObject({ format: 'NDJSON', retentionDays: 9 });
  await page.getByRole('button', { name: 'Keep mine, to save over theirs' }).click();
  expect(await days.inputValue()).toBe('5');
  expect(await page.getByRole('radio', { name: 'NDJSON' }).isChecked()).toBe(true);
  await save(page).click();
  await page.getByText('Saved.').waitFor();
  expect(await settingsOf('shared')).toMatchObject({ format: 'NDJSON', retentionDays: 5 });
  // What others change beside it is no conflict, and stays.
  await mutateExport(app, 'updateExportSettings', { workspaceId, format: 'PARQUET' });
  await days.fill('6');
  await save(page).click();
  await page.getByText('Saved.').waitFor();
  await expect.poll(() => settingsOf('shared')).toMatchObject({ format: 'PARQUET', retentionDays: 6 });
});

it('are only shown to whoever may not change them', async () => {
  await createWorkspace(app, 'shown');
  const { page } = await open('shown', await app.token({ permissions: ['workspace:read'] }));
  await page.getByText('workspace:admin').waitFor();
  expect(await page.getByRole('radio', { name: 'CSV' }).isDisabled()).toBe(true);
  expect(await save(page).count()).toBe(0);
  await expectAccessible(page);
});

it('take a signing secret that the page made, and send a test that is signed by it', async () => {
  const workspaceId = await createWorkspace(app, 'rotated');
  const server = await answering(200, 500);
  const set = await mutateExport(app, 'updateExportSettings', { workspaceId, destinations: [{ name: 'crm', url: server.url }] });
  const [{ secret: old }] = set.exportSettings.destinations;
  const { page, elsewhere, faults } = await open('rotated');
  const test = page.getByRole('button', { name: 'Send a test to crm' });
  await test.waitFor();
  await page.getByRole('button', { name: 'Make a new secret for crm' }).click();
  const field = page.getByLabel('Signing secret');
  const secret = await field.inputValue();
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/); // 32 bytes
  expect(secret).not.toBe(old);
  expect(await field.getAttribute('type')).toBe('text');
  await page.getByText('Give it to the receiver, and save.').waitFor();
  expect(await test.count()).toBe(0); // what is not saved cannot be tested
  await expectAccessible(page);
  expect(await reachedByKeyboard(page)).toContain('Make a new secret for crm');
  await save(page).click();
  await page.getByText('Saved.').waitFor();
  expect(await field.inputValue()).toBe('');
  await test.click();
  await page.getByText(/^crm answered 200 in [\d,]+ ms\.$/).waitFor();
  const [call, ...more] = server.calls;
  expect(more).toEqual([]);
  const headers = call!.headers as Record<string, string>;
  expect(new Webhook(secret).verify(call!.body, headers)).toMatchObject({ type: 'destination.ping', data: { workspace: 'rotated' } });
  expect(() => new Webhook(old).verify(call!.body, headers)).toThrow('No matching signature');
  await test.click();
  await page.getByText(/^crm answered 500 in [\d,]+ ms, which is no delivery \(HTTP_500\)\.$/).waitFor();
  await expectAccessible(page);
  expect({ elsewhere, faults }).toEqual({ elsewhere: [], faults: [] });
});

it('say why a test did not arrive, and offer none of what was not saved, or to whoever may not send one', async () => {
  const workspaceId = await createWorkspace(app, 'away');
  await mutateExport(app, 'updateExportSettings', { workspaceId, destinations: [{ name: 'crm', url: 'http://127.0.0.1:2/hook' }] });
  const { page } = await open('away');
  const test = page.getByRole('button', { name: 'Send a test to crm' });
  await test.click();
  await page.getByText(/^crm was not reached: 127\.0\.0\.1:2 /).waitFor();
  await page.getByRole('textbox', { name: 'URL' }).fill('http://127.0.0.1:2/other');
  await expect.poll(() => test.count()).toBe(0);
  const { page: looking } = await open('away', await app.token({ permissions: ['workspace:read'] }));
  await looking.getByText('workspace:admin').waitFor();
  expect(await looking.getByRole('button', { name: 'Send a test to crm' }).count()).toBe(0);
});
