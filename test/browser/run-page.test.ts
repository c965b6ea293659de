// One run in the browser: started, paused, resumed, ended and cancelled by its buttons, and what its page says meanwhile.
import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import type { Page } from 'playwright-core';
import { afterEach, expect, it } from 'vitest';
import { storeTarget } from '../../src/runs/targets/store.ts';
import { startApp } from '../support/app.ts';
import { expectAccessible, reachedByKeyboard, useChromium } from '../support/browser.ts';
import { scriptedTarget } from '../support/scripted-target.ts';
import { chain, registered, uuidOf } from '../support/states.ts';
import { createWorkspace, mutate, readRun, register, stage, zipOf } from '../support/story.ts';

const target = scriptedTarget();
const app = await startApp({ targets: (db) => [storeTarget(db), target], env: { PACKHORSE_CANCEL_DEADLINE_MS: '800' } });
const visit = useChromium();
afterEach(() => {
  target.script = {};
});

const open = async (slug: string, id: string, search = '') =>
  visit(`${app.url}/workspaces/${slug}/runs/${id}${search}#token=${await app.token()}`);
const stateOf = (page: Page) => page.locator('[data-state]').first();
const stepState = (page: Page, dataset: string) => page.locator(`[data-step="${dataset}"] [data-state]`);

async function press(page: Page, verb: string, reason?: string): Promise<void> {
  await page.getByRole('button', { name: verb, exact: true }).click();
  if (reason !== undefined) await page.getByLabel('Reason').fill(reason);
  await page.getByRole('button', { name: `${verb} the run` }).click();
}

it('is driven by its buttons, shows each step as it comes, and keeps the reasons', async () => {
  const id = await registered(app, await createWorkspace(app, 'driven'), chain);
  const { page, elsewhere, faults } = await open('driven', id);
  const { page: second } = await open('driven', id);
  await page.getByRole('figure', { name: 'The datasets by their foreign keys' }).waitFor();
  await press(page, 'Start');
  await expect.poll(() => stepState(page, 'first').textContent()).toBe('ACTIVE');
  await expectAccessible(page);
  await press(page, 'Pause', 'the disk is full');
  await expect.poll(() => stateOf(page).textContent()).toBe('PAUSED');
  target.end('first', 'succeeded');
  await page.getByText('Why it does not move').waitFor();
  await expectAccessible(page);
  await press(page, 'Resume', 'there is room');
  await expect.poll(() => stepState(page, 'second').textContent()).toBe('ACTIVE');
  target.end('second', 'succeeded');
  for (const one of [page, second]) {
    await expect.poll(() => stateOf(one).textContent()).toBe('SUCCEEDED');
    await one.getByRole('cell', { name: 'the disk is full' }).waitFor();
    await one.getByRole('cell', { name: 'there is room' }).waitFor();
  }
  expect(await page.getByRole('button', { name: 'Pause' }).count()).toBe(0);
  expect({ elsewhere, faults }).toEqual({ elsewhere: [], faults: [] });
});

it('says that it is held although nothing has happened but time: its grant has run out', async () => {
  target.script.submit = () => ({ is: 'unknown', message: 'it is away' });
  const id = await registered(app, await createWorkspace(app, 'lapsed'), chain);
  await mutate(app, 'startDataRun', { dataRunId: id });
  const { page } = await open('lapsed', id);
  await expect.poll(() => stepState(page, 'first').textContent()).toBe('SUBMITTING');
  await app.app.db.pool.query('UPDATE run_grant SET expires_at = clock_timestamp() WHERE run_id = $1', [uuidOf(id)]);
  await page.getByText('Nobody’s authority on the target scripted is in force').waitFor();
  await mutate(app, 'cancelDataRun', { dataRunId: id });
});

it('says who has not confirmed to have stopped after a cancel', async () => {
  const id = await registered(app, await createWorkspace(app, 'stopped'), chain);
  await mutate(app, 'startDataRun', { dataRunId: id });
  const { page } = await open('stopped', id);
  await expect.poll(() => stepState(page, 'first').textContent()).toBe('ACTIVE');
  await page.getByRole('button', { name: 'Renew under my authority' }).waitFor();
  target.script.cancel = () => ({ is: 'unknown', message: 'nobody is there' });
  const names = await reachedByKeyboard(page);
  expect(names).toEqual(expect.arrayContaining(['Pause', 'Cancel', 'Renew under my authority', 'first', 'Sign out']));
  await page.getByRole('button', { name: 'Cancel', exact: true }).focus();
  await page.keyboard.press('Enter');
  await page.getByLabel('Reason').waitFor();
  await expectAccessible(page);
  await page.keyboard.type('wrong file');
  await page.keyboard.press('Enter');
  await expect.poll(() => stateOf(page).textContent()).toBe('CANCELLED');
  await page.getByRole('region', { name: 'Not confirmed stopped' }).waitFor();
  await page.getByText('Skipped: ').waitFor();
  expect(await page.locator('[data-timed] .bar').count()).toBe(1); // what was never begun took no time
});

it('names the faulty rows of a run that failed, at an address that names the dataset', async () => {
  const workspaceId = await createWorkspace(app, 'faulty');
  const schema = { fields: [{ name: 'id', type: 'integer' }], primaryKey: 'id' };
  const zip = await zipOf('faulty', [{ name: 'numbers', rows: 'id\n1\nmany\n"a, ""b"""\n', schema }]);
  const id = await register(app, workspaceId, await stage(app, workspaceId, zip));
  await mutate(app, 'startDataRun', { dataRunId: id });
  await expect.poll(async () => (await readRun(app, id)).state).toBe('FAILED');
  const { page } = await open('faulty', id, '?step=numbers');
  const faults = page.getByRole('region', { name: 'Faulty rows of numbers' });
  await expect.poll(() => faults.textContent()).toContain('many');
  await expectAccessible(page);
  const arriving = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download them as CSV' }).click();
  const file = await arriving;
  expect(file.suggestedFilename()).toBe('numbers-faults.csv');
  const { data } = await app.graphql('query ($id: ID!) { dataRun(id: $id) { failedStep { rowErrors { row field code message } } } }', {
    id,
  });
  const { rowErrors } = data.dataRun.failedStep;
  const records = parse(readFileSync(await file.path(), 'utf8'), { columns: true });
  expect(records).toEqual(rowErrors);
  expect(records).toHaveLength(2);
});

it('takes back what a run wrote, once, and says why', async () => {
  const workspaceId = await createWorkspace(app, 'undone');
  const schema = { fields: [{ name: 'id', type: 'integer' }], primaryKey: 'id' };
  const id = await register(
    app,
    workspaceId,
    await stage(app, workspaceId, await zipOf('undone', [{ name: 'numbers', rows: 'id\n1\n', schema }])),
  );
  await mutate(app, 'startDataRun', { dataRunId: id });
  await expect.poll(async () => (await readRun(app, id)).state).toBe('SUCCEEDED');
  const { page } = await open('undone', id);
  await press(page, 'Reset', 'wrong customer');
  await page.getByRole('cell', { name: 'wrong customer' }).waitFor();
  await expect.poll(() => page.getByRole('button', { name: 'Reset', exact: true }).count()).toBe(0);
  expect(await stateOf(page).textContent()).toBe('SUCCEEDED');
  const { data } = await app.graphql('{ workspace(slug: "undone") { datasets { edges { node { name } } } } }');
  expect(data.workspace.datasets.edges).toEqual([]);
});

it('shows when each dataset was at work, how fast it goes where that was measured, and what is left where there is a total', async () => {
  const id = await registered(app, await createWorkspace(app, 'timed'), chain);
  await mutate(app, 'startDataRun', { dataRunId: id });
  let done = 0n;
  let total: bigint | null = null;
  target.script.read = ({ id: job }) => ({
    is: 'job',
    report: { id: job, state: 'running', progress: { done, total, unit: 'rows' } },
  });
  const { page, elsewhere, faults } = await open('timed', id);
  const cells = async (dataset: string) => page.locator(`[data-timed="${dataset}"] td`).allTextContents();
  await expect.poll(async () => (await cells('first'))[2]).toContain('so far');
  expect((await cells('first')).slice(3)).toEqual(['', '']); // nothing was measured
  const going = setInterval(() => {
    done += 50n;
  }, 100);
  try {
    await expect.poll(async () => (await cells('first'))[3]).toMatch(/^\d.* rows\/s now$/);
    expect((await cells('first'))[4]).toBe(''); // of how many, nobody knows
    total = 1_000_000n;
    await expect.poll(async () => (await cells('first'))[4]).toMatch(/^about \d+ (min|h)$/);
  } finally {
    clearInterval(going);
  }
  await expectAccessible(page);
  expect(await page.locator('[data-timed="first"] .bar').count()).toBe(1);
  expect(await page.locator('[data-timed="second"] .bar').count()).toBe(0);
  expect(await reachedByKeyboard(page)).toContain('Timeline of the run');
  target.script = {};
  target.end('first', 'succeeded', {
    rows: { source: 5_000, loaded: 5_000, updated: 0, unchanged: 0, rejected: 0, blocked: 0, unprocessed: 0 },
  });
  await expect.poll(async () => (await cells('first'))[3]).toMatch(/^[\d.,]+ rows\/s$/);
  expect((await cells('first'))[4]).toBe('');
  await expect.poll(() => stepState(page, 'second').textContent()).toBe('ACTIVE');
  target.end('second', 'succeeded');
  await expect.poll(() => page.locator('[data-timed="second"] .bar').count()).toBe(1);
  expect({ elsewhere, faults }).toEqual({ elsewhere: [], faults: [] });
});
