// An export whose archive is not in storage any more, or never came there: published again by a button of its page.
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { publish } from '../../src/exports/publish.ts';
import { expirePackages } from '../../src/exports/retention.ts';
import { announced, nobody } from '../exports/announced.ts';
import { generatedByHand, goingOn, loadedByHand, rowsOf } from '../exports/by-hand.ts';
import { mutateExport, readExport } from '../exports/story.ts';
import { startApp, storageRoot } from '../support/app.ts';
import { expectAccessible, reachedByKeyboard, useChromium } from '../support/browser.ts';
import { uuidOf } from '../support/states.ts';
import { createWorkspace, depot } from '../support/story.ts';

const app = await startApp({ worker: false, env: { PACKHORSE_FETCH_HOSTS: '127.0.0.1' } });
const { publisher, storage } = app.tasks.exports;
const visit = useChromium();

async function loadedWorkspace(slug: string): Promise<string> {
  const id = await createWorkspace(app, slug);
  await loadedByHand(app, id, depot);
  return id;
}

const open = async (slug: string, id: string, token?: string) =>
  visit(`${app.url}/workspaces/${slug}/exports/${id}#token=${token ?? (await app.token())}`);
const packageState = (page: Page) => page.getByRole('region', { name: 'Package' }).locator('[data-state]').first().textContent();
const again = (page: Page) => page.getByRole('button', { name: 'Publish again' });

async function confirmed(page: Page): Promise<void> {
  await again(page).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Publish it' }).click();
}

it('stores an archive again that has expired, and shows when it is published, without a refresh', async () => {
  const { id, packageId } = await announced(app, await loadedWorkspace('expired'), [nobody]);
  const { page, elsewhere, faults } = await open('expired', id);
  const { page: looking } = await open('expired', id, await app.token({ permissions: ['workspace:read'] }));
  await page.getByRole('button', { name: 'Make a link' }).click();
  await page.getByRole('link', { name: 'Download' }).waitFor();
  expect(await again(page).count()).toBe(0); // it is there
  const { digest } = (await readExport(app, id)).exportPackage;
  await rowsOf(app, `UPDATE export_package SET expires_at = now() - interval '1 second' WHERE id = $1`, packageId);
  await expirePackages(app.app.db, storage);

  await again(page).waitFor();
  expect(await reachedByKeyboard(page)).toContain('Publish again');
  await again(page).click();
  await page.getByRole('dialog').getByText('its destinations are told of it: nobody.').waitFor();
  await expectAccessible(page);
  await page.getByRole('dialog').getByRole('button', { name: 'Publish it' }).click();
  await expect.poll(() => packageState(page)).toBe('PENDING');
  expect(await again(page).count()).toBe(0); // it is under way
  await publish(publisher, uuidOf(id), goingOn);
  for (const one of [page, looking]) await expect.poll(() => packageState(one)).toBe('PUBLISHED');
  await page.getByText(digest).waitFor();
  expect(await page.getByRole('link', { name: 'Download' }).count()).toBe(0); // that led to what has expired
  await page.getByRole('button', { name: 'Make a link' }).waitFor();
  await expectAccessible(page);
  expect({ elsewhere, faults }).toEqual({ elsewhere: [], faults: [] });
});

it('stores again what could not be stored, says where somebody else was first, and offers it only to whoever may', async () => {
  const id = await generatedByHand(app, await loadedWorkspace('unstored'));
  const folder = path.join(storageRoot(app), 'exports');
  mkdirSync(folder, { recursive: true });
  renameSync(folder, `${folder}-away`);
  writeFileSync(folder, 'a file');
  await publish({ ...publisher, attempts: 1 }, uuidOf(id), goingOn);
  rmSync(folder);
  renameSync(`${folder}-away`, folder);
  const { page, faults } = await open('unstored', id);
  const { page: looking } = await open('unstored', id, await app.token({ permissions: ['workspace:read'] }));
  for (const one of [page, looking]) await expect.poll(() => packageState(one)).toBe('FAILED');
  await again(page).waitFor();
  expect(await again(looking).count()).toBe(0);
  await mutateExport(app, 'republishExport', { exportExecutionId: id }); // which makes no event
  await confirmed(page);
  await page.getByRole('dialog').getByRole('alert').getByText('Its package is PENDING: there is nothing to republish.').waitFor();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Leave it' }).click();
  await publish(publisher, uuidOf(id), goingOn);
  for (const one of [page, looking]) await expect.poll(() => packageState(one)).toBe('PUBLISHED');
  expect(await again(page).count()).toBe(0);
  expect(faults).toEqual([]);
});
