// Runs that stand still or will not stop, at a service that goes by no key: what whoever has looked there does about it in the browser.
import type { Page } from 'playwright-core';
import { afterEach, expect, it } from 'vitest';
import { everything } from '../support/app.ts';
import { expectAccessible, reachedByKeyboard, useChromium } from '../support/browser.ts';
import { remoteGround } from '../support/remote-ground.ts';
import { eventsOf, registered } from '../support/states.ts';
import { createWorkspace, mutate, type Resource, reach, readRun } from '../support/story.ts';

const { app, child } = await remoteGround([{ idempotency: 'none', timeoutMs: 3_000 }], { PACKHORSE_CANCEL_DEADLINE_MS: '3000' });
const visit = useChromium();
afterEach(() => {
  child.misbehave = null;
});

const first: Resource = { name: 'first', rows: 'id\n1\n', 'packhorse:target': 'remote' };

async function started(slug: string): Promise<string> {
  const id = await registered(app, await createWorkspace(app, slug), [first]);
  expect((await mutate(app, 'startDataRun', { dataRunId: id })).__typename).toBe('DataRun');
  return id;
}

/** The service takes the job or not, and its answer is lost. */
async function parked(slug: string, isTaken: boolean): Promise<string> {
  child.misbehave = ({ name, honest, response }) => {
    if (name !== 'submit') return false;
    if (isTaken) honest();
    response.destroy();
    return true;
  };
  const id = await started(slug);
  await expect.poll(async () => (await readRun(app, id)).whyNotRunning).toEqual([{ code: 'SUBMISSION_UNKNOWN', subject: 'first' }]);
  child.misbehave = null;
  return id;
}

const open = async (slug: string, id: string, without: readonly string[] = []) => {
  const token = await app.token({ permissions: everything.filter((permission) => !without.includes(permission)) });
  return visit(`${app.url}/workspaces/${slug}/runs/${id}#token=${token}`);
};
const stepState = (page: Page) => page.locator('[data-step="first"] [data-state]');
const form = (page: Page) => page.getByRole('form', { name: 'What became of first' });
const submitted = () => child.calls.filter(({ name }) => name === 'submit').length;

it('takes the job that a person found for the dataset’s, follows it, and keeps the reason', async () => {
  const id = await parked('found', true);
  const sent = submitted();
  const { page, elsewhere, faults } = await open('found', id);
  await form(page).waitFor();
  const settle = page.getByRole('button', { name: 'Settle first' });
  expect(await settle.isDisabled()).toBe(true);
  await page.getByRole('radio', { name: 'The job is there' }).click();
  expect(await settle.isDisabled()).toBe(true); // not without its id
  await page.getByLabel('The target’s id of the job').fill(child.job('first').id);
  expect(await reachedByKeyboard(page)).toEqual(expect.arrayContaining(['The job is there', 'The target’s id of the job', 'Settle first']));
  await expectAccessible(page);
  await settle.click();
  await page.getByLabel('Reason').fill('seen in its log');
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Settle it' }).click();
  await expect.poll(() => stepState(page).textContent()).toBe('ACTIVE');
  await expect.poll(() => form(page).count()).toBe(0);
  child.end('first', 'succeeded');
  await page.getByRole('cell', { name: 'seen in its log' }).waitFor();
  await expect.poll(() => stepState(page).textContent()).toBe('SUCCEEDED');
  expect(submitted()).toBe(sent);
  expect({ elsewhere, faults }).toEqual({ elsewhere: [], faults: [] });
});

it('sends again what was never there, once somebody says so, and says why where that is refused', async () => {
  const id = await parked('never', false);
  const sent = submitted();
  const { page } = await open('never', id, ['target:*']);
  await page.getByRole('radio', { name: 'No job of that key was ever created' }).click();
  await page.getByRole('button', { name: 'Settle first' }).click();
  await page.getByRole('button', { name: 'Settle it' }).click();
  await page.getByText('needs the permission target:remote').waitFor();
  expect(submitted()).toBe(sent);
  const { page: allowed } = await open('never', id);
  await allowed.getByRole('radio', { name: 'No job of that key was ever created' }).click();
  await allowed.getByRole('button', { name: 'Settle first' }).click();
  await allowed.getByText('with the same key').waitFor();
  await allowed.getByRole('button', { name: 'Settle it' }).click();
  await expect.poll(() => stepState(allowed).textContent()).toBe('ACTIVE');
  expect(submitted()).toBe(sent + 1);
  child.end('first', 'succeeded');
  await reach(app, id, 'SUCCEEDED');
});

it('asks nobody what was found who may not drive runs', async () => {
  const id = await parked('watched', false);
  const { page } = await open('watched', id, ['data-run', 'data-run:force']);
  await page.getByText('Why first waits').waitFor();
  await page.getByRole('button', { name: 'Menu' }).waitFor();
  expect(await form(page).count()).toBe(0);
  await mutate(app, 'cancelDataRun', { dataRunId: id });
});

it('is told of a run that has ended, too: there is a job to stop, or none', async () => {
  const id = await parked('over', true);
  await mutate(app, 'cancelDataRun', { dataRunId: id });
  const { page } = await open('over', id);
  await page.getByRole('radio', { name: 'The job is there' }).click();
  await page.getByLabel('The target’s id of the job').fill(child.job('first').id);
  await page.getByRole('button', { name: 'Settle first' }).click();
  await page.getByText('is asked to stop, until it has').waitFor();
  await page.getByRole('button', { name: 'Settle it' }).click();
  await expect.poll(() => stepState(page).textContent()).toBe('CANCELLED');
  expect(child.job('first').cancelAsked).toBeGreaterThan(0);
});

it('cancels a run although a child refuses, where that is ticked by who may', async () => {
  const id = await started('forced');
  await expect.poll(async () => (await readRun(app, id)).steps[0].state).toBe('ACTIVE');
  child.misbehave = ({ name, send }) => {
    if (name !== 'cancel') return false;
    send({ status: 403, body: null });
    return true;
  };
  const box = (page: Page) => page.getByRole('checkbox', { name: 'Although a child refuses' });
  const ask = async (page: Page) => {
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await page.getByLabel('Reason').fill('it is stuck');
  };
  const { page: weak } = await open('forced', id, ['data-run:force']);
  await ask(weak);
  expect(await box(weak).count()).toBe(0);
  const { page, elsewhere, faults } = await open('forced', id);
  await ask(page);
  await page.getByRole('button', { name: 'Cancel the run' }).click();
  await page.getByText('refused to be stopped, so the run goes on').waitFor();
  await box(page).check();
  await page.getByRole('button', { name: 'Leave it' }).click();
  await ask(page);
  expect(await box(page).isChecked()).toBe(false); // what was ticked for another asking does not stay
  await box(page).check();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Cancel the run' }).click();
  await expect.poll(() => page.locator('[data-state]').first().textContent()).toBe('CANCELLED');
  await page.getByRole('region', { name: 'Not confirmed stopped' }).waitFor();
  expect((await eventsOf(app, id)).find(({ action, dataset }) => action === 'CANCEL' && dataset === null)).toMatchObject({
    reason: 'it is stuck',
  });
  child.misbehave = null;
  await expect.poll(() => stepState(page).textContent()).toBe('CANCELLED');
  expect({ elsewhere, faults }).toEqual({ elsewhere: [], faults: [] });
});
