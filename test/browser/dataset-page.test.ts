// A dataset’s rows in the browser: in their order, digit for digit, each at an address of its own.
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { loadedZip } from '../exports/story.ts';
import { startApp } from '../support/app.ts';
import { expectAccessible, reachedByKeyboard, useChromium } from '../support/browser.ts';
import { createWorkspace, mutate, zipOf } from '../support/story.ts';

const app = await startApp();
const visit = useChromium();

const schema = {
  fields: [
    { name: 'id', type: 'integer' },
    { name: 'price', type: 'number' },
    { name: 'note #', type: 'string' },
    { name: 'sold', type: 'boolean' },
  ],
  missingValues: ['NULL'],
  primaryKey: 'id',
};
/** Neighbours that are one and the same as floats. */
const big = ['9007199254740992', '9007199254740993', '9007199254740995'];
const lines = [
  ...Array.from({ length: 60 }, (_, n) => `${n + 1},${n}.10,"line ${n + 1}",true`),
  `${big[0]},12345678901234567.123456789,NULL,false`,
  `${big[1]},0.1000000000000000055511151231257827,"",NULL`,
  `${big[2]},-0.30,"<b>two</b>\nlines",true`,
];
const prices = (rows: readonly string[]) =>
  zipOf('prices', [{ name: 'prices of 2026', path: 'prices of 2026.csv', rows: `id,price,note #,sold\n${rows.join('\n')}\n`, schema }]);

const rowsOf = (page: Page) => page.locator('[data-row]').evaluateAll((all) => all.map((row) => row.getAttribute('data-row')));
/** Without the run that wrote it. */
const cellsOf = async (page: Page, key: string) => (await page.locator(`[data-row="${key}"] td`).allTextContents()).slice(0, -1);

it('shows rows in key order and page by page, with no digit changed', async () => {
  const workspaceId = await createWorkspace(app, 'exact');
  const run = await loadedZip(app, workspaceId, await prices(lines));
  const { page, elsewhere, faults } = await visit(`${app.url}/workspaces/exact/runs/${run}#token=${await app.token()}`);
  await page.getByRole('link', { name: 'Rows of prices of 2026' }).click();
  await expect.poll(() => rowsOf(page)).toEqual(Array.from({ length: 50 }, (_, n) => String(n + 1)));
  expect(await page.getByRole('columnheader').allTextContents()).toEqual([
    'Row',
    'id integer key',
    'price number',
    'note # string',
    'sold boolean',
    'Written by',
  ]);
  await page.getByRole('button', { name: 'Next' }).click();
  await expect.poll(async () => (await rowsOf(page)).length).toBe(13);
  expect((await rowsOf(page)).slice(-3)).toEqual(big);
  expect(await cellsOf(page, big[0]!)).toEqual([big[0], '12345678901234567.123456789', 'null', 'false']);
  expect(await cellsOf(page, big[1]!)).toEqual([big[1], '0.1000000000000000055511151231257827', 'empty', 'null']);
  expect(await cellsOf(page, big[2]!)).toEqual([big[2], '-0.30', '<b>two</b>\nlines', 'true']);
  await expectAccessible(page);
  expect(await reachedByKeyboard(page)).toEqual(expect.arrayContaining(['Rows of prices of 2026', big[1], 'Previous']));
  const { page: sent } = await visit(`${page.url()}#token=${await app.token()}`);
  await expect.poll(() => rowsOf(sent)).toEqual(await rowsOf(page));
  await sent.getByRole('button', { name: 'Previous' }).click();
  await expect.poll(async () => (await rowsOf(sent))[0]).toBe('1');
  expect({ elsewhere, faults }).toEqual({ elsewhere: [], faults: [] });
});

it('gives each row an address, where it is found again although rows came before it', async () => {
  const workspaceId = await createWorkspace(app, 'linked');
  await loadedZip(app, workspaceId, await prices(lines.slice(2)));
  const { page } = await visit(`${app.url}/workspaces/linked?tab=datasets#token=${await app.token()}`);
  await page.getByRole('link', { name: 'prices of 2026' }).click();
  await page.getByRole('button', { name: 'Next' }).click();
  await page.getByRole('link', { name: big[1]!, exact: true }).click();
  const one = page.getByRole('region', { name: `Row ${big[1]}` });
  await expect.poll(() => one.locator('dd').allTextContents()).toEqual([big[1], '0.1000000000000000055511151231257827', 'empty', 'null']);
  await expectAccessible(page);
  await loadedZip(app, workspaceId, await prices(lines.slice(0, 2)));
  const { page: sent } = await visit(`${page.url()}#token=${await app.token()}`);
  await expect.poll(() => sent.locator('[aria-current=true]').getAttribute('data-row')).toBe(big[1]);
  await sent.getByRole('button', { name: 'Close' }).click();
  await expect.poll(() => sent.getByRole('region', { name: `Row ${big[1]}` }).count()).toBe(0);
  expect(await rowsOf(sent)).toEqual(big.slice(1));
});

it('leads from each row to the run that wrote it', async () => {
  const workspaceId = await createWorkspace(app, 'written');
  const first = await loadedZip(app, workspaceId, await prices(['1,1,one,true', '2,2,two,true']));
  const second = await loadedZip(app, workspaceId, await prices(['2,2,TWO,true']));
  const { page } = await visit(`${app.url}/workspaces/written/datasets/prices%20of%202026#token=${await app.token()}`);
  const runs = () => page.locator('[data-row] td:last-child a').evaluateAll((all) => all.map((one) => one.getAttribute('href')));
  const address = (run: string) => `/workspaces/written/runs/${encodeURIComponent(run)}`;
  await expect.poll(runs).toEqual([address(first), address(second)]);
  await page.getByRole('link', { name: '2', exact: true }).click();
  await page.getByRole('region', { name: 'Row 2' }).getByRole('link', { name: 'prices' }).click();
  await page.waitForURL(app.url + address(second));
  await page.getByRole('heading', { name: 'prices' }).waitFor();
  await page.goBack();
  await mutate(app, 'resetDataRun', { dataRunId: second });
  await expect.poll(runs).toEqual([address(first)]);
});

it('follows what runs write and take back, and says where there is nothing', async () => {
  const workspaceId = await createWorkspace(app, 'followed');
  const { page } = await visit(`${app.url}/workspaces/followed/datasets/prices%20of%202026#token=${await app.token()}`);
  await page.getByText('There is no dataset prices of 2026').waitFor();
  await expectAccessible(page);
  const first = await loadedZip(app, workspaceId, await prices(lines.slice(0, 1)));
  await expect.poll(() => rowsOf(page)).toEqual(['1']);
  const second = await loadedZip(app, workspaceId, await prices(lines.slice(1, 2)));
  await expect.poll(() => rowsOf(page)).toEqual(['1', '2']);
  await page.getByRole('link', { name: '2', exact: true }).click();
  await page.getByRole('region', { name: 'Row 2' }).waitFor();
  await mutate(app, 'resetDataRun', { dataRunId: second });
  await page.getByText('The row 2 is not among these').waitFor();
  await page.goto(`${app.url}/workspaces/followed/datasets/prices%20of%202026?after=nonsense`);
  await page.getByText('is none of this list').waitFor();
  await page.getByRole('link', { name: 'To its first rows' }).click();
  await expect.poll(() => rowsOf(page)).toEqual(['1']);
  await mutate(app, 'resetDataRun', { dataRunId: first });
  await page.getByText('There is no dataset prices of 2026').waitFor();
});
