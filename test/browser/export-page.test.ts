// An export asked for in the browser, followed to its package, and fetched by a link.
import { expect, it } from 'vitest';
import type { PublicJwk } from '../../src/exports/archive/signing.ts';
import { verifyExport } from '../../src/exports/archive/verify.ts';
import { announced, answering, delivered, nobody } from '../exports/announced.ts';
import { loadedByHand } from '../exports/by-hand.ts';
import { mutateExport, request } from '../exports/story.ts';
import { launch, startApp, type TestApp } from '../support/app.ts';
import { expectAccessible, reachedByKeyboard, useChromium } from '../support/browser.ts';
import { freshDatabase } from '../support/database.ts';
import { uuidOf } from '../support/states.ts';
import { createWorkspace, depot, mutate, reach, register, stage, zipOf } from '../support/story.ts';

const app = await startApp();
const visit = useChromium();

async function load(by: TestApp, workspaceId: string): Promise<void> {
  const id = await register(by, workspaceId, await stage(by, workspaceId, await zipOf('depot', depot)));
  await mutate(by, 'startDataRun', { dataRunId: id });
  await reach(by, id, 'SUCCEEDED');
}

it('is asked for by a button, followed until it is published, downloaded, and holds what was signed', async () => {
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
  const download = await arriving;
  expect(download.suggestedFilename()).toMatch(/\.zip$/);
  const { keys } = (await (await fetch(`${app.url}/.well-known/packhorse-keys.json`)).json()) as { keys: PublicJwk[] };
  expect((await verifyExport(await download.path(), keys)).findings).toEqual([]);
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

it('says where it is in the queue, which moves by what others do', async () => {
  const env = { DATABASE_URL: await freshDatabase() };
  const idle = await startApp({ env, worker: false });
  const ids: string[] = [];
  const working = await launch({ ...env, PACKHORSE_HOME: idle.config.home });
  try {
    for (const slug of ['first', 'second', 'third', 'fourth']) {
      ids.push(await createWorkspace(idle, slug));
      await load(working, ids.at(-1) ?? '');
    }
  } finally {
    await working.stop();
  }
  const executions: string[] = [];
  for (const workspaceId of ids) executions.push(await request(idle, workspaceId));
  const [earliest = ''] = executions;
  const { page } = await visit(`${idle.url}/workspaces/fourth/exports/${executions.at(-1)}#token=${await idle.token()}`);
  await page.getByText('It is number 4 in the queue').waitFor();
  await mutateExport(idle, 'cancelExportExecution', { exportExecutionId: earliest });
  await page.getByText('It is number 3 in the queue').waitFor();
});

it('shows each attempt to tell a destination as it is made, and tells it again when it is asked to', async () => {
  const byHand = await startApp({ worker: false, env: { PACKHORSE_FETCH_HOSTS: '127.0.0.1' } });
  const workspaceId = await createWorkspace(byHand, 'told');
  await loadedByHand(byHand, workspaceId, depot);
  const crm = await answering(500, 410, 200);
  const { id, deliveries } = await announced(byHand, workspaceId, [{ name: 'crm', url: crm.url }, nobody]);
  const [toCrm = '', toNobody = ''] = deliveries;
  const open = async (token: string) => visit(`${byHand.url}/workspaces/told/exports/${id}#token=${token}`);
  const { page, elsewhere, faults } = await open(await byHand.token());
  const { page: looking } = await open(await byHand.token({ permissions: ['workspace:read'] }));
  const attempts = (name: string) => page.getByRole('region', { name: `Attempts to tell ${name}` }).getByRole('row');
  await expect.poll(() => page.getByText('Not tried yet.').count()).toBe(2);
  await delivered(byHand, toCrm);
  await delivered(byHand, toNobody);
  await attempts('crm').getByText('HTTP_500').waitFor();
  await attempts('nobody').getByRole('cell', { name: 'none', exact: true }).waitFor(); // no answer, so no status
  expect(await page.getByRole('button', { name: /again$/ }).count()).toBe(0); // both are still told
  await delivered(byHand, toCrm);
  await attempts('crm').getByText('GONE').waitFor();
  expect(await attempts('crm').count()).toBe(3); // the head
  await expectAccessible(page);
  expect(await reachedByKeyboard(page)).toEqual(expect.arrayContaining(['Deliver to crm again', 'Attempts to tell crm']));

  await page.getByRole('button', { name: 'Deliver to crm again' }).click();
  expect(crm.calls).toHaveLength(2);
  await page.getByRole('dialog').getByRole('button', { name: 'Deliver again' }).click();
  await expect.poll(() => page.locator('[data-delivery]').count()).toBe(3);
  const { data } = await byHand.graphql(
    'query ($id: ID!) { exportExecution(id: $id) { exportPackage { deliveries { id destination state } } } }',
    { id },
  );
  const again = data.exportExecution.exportPackage.deliveries.at(-1);
  expect(again).toMatchObject({ destination: 'crm', state: 'PENDING' });
  await delivered(byHand, uuidOf(again.id));
  await page.getByText('DELIVERED', { exact: true }).first().waitFor();
  expect(crm.calls.map(({ headers }) => headers['webhook-id'])).toEqual(Array(3).fill(crm.calls[0]?.headers['webhook-id']));
  await expect.poll(() => looking.locator('[data-delivery]').count()).toBe(3);
  expect(await looking.getByRole('button', { name: /again$/ }).count()).toBe(0);
  expect({ elsewhere, faults }).toEqual({ elsewhere: [], faults: [] });
});
