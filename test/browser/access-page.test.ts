// Taking somebody's access to a workspace back in the browser, and giving it again.
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { setAccess } from '../auth/access-story.ts';
import { everything, startApp } from '../support/app.ts';
import { expectAccessible, reachedByKeyboard, useChromium } from '../support/browser.ts';
import { createWorkspace } from '../support/story.ts';

const app = await startApp();
const visit = useChromium();

const open = async (slug: string, token: string) => visit(`${app.url}/workspaces/${slug}#token=${token}`);
const lines = (page: Page) => page.getByRole('region', { name: 'Whose access was taken back' }).getByRole('row');

async function sees(slug: string, subject: string): Promise<boolean> {
  const token = await app.token({ subject });
  const { data } = await app.graphql('query ($slug: String!) { workspace(slug: $slug) { id } }', { slug }, token);
  return data.workspace !== null;
}

async function takeBack(page: Page, subject: string, reason: string): Promise<void> {
  await page.getByLabel('Subject').fill(subject);
  await page.getByRole('button', { name: 'Take access back' }).click();
  await page.getByLabel('Reason').fill(reason);
}

it('is taken back with a reason, shown with who did it, and given back', async () => {
  await createWorkspace(app, 'guarded');
  const { page, elsewhere, faults } = await open('guarded', await app.token());
  await page.getByRole('link', { name: 'Access' }).click();
  await page.getByText('Nobody’s access is taken back').waitFor();
  const button = page.getByRole('button', { name: 'Take access back' });
  expect(await button.isDisabled()).toBe(true);
  await takeBack(page, 'eve', 'has left');
  await page.getByText('their open streams end within seconds').waitFor();
  await expectAccessible(page);
  expect(await sees('guarded', 'eve')).toBe(true); // it was only asked for
  await page.getByRole('button', { name: 'Take it back' }).click();
  await page.getByRole('cell', { name: 'has left' }).waitFor();
  expect(await lines(page).last().allTextContents()).toEqual([expect.stringMatching(/^eve.*annhas left/)]);
  expect(await sees('guarded', 'eve')).toBe(false);
  expect(await page.getByLabel('Subject').inputValue()).toBe('');
  await expectAccessible(page);
  expect(await reachedByKeyboard(page)).toEqual(expect.arrayContaining(['Subject', 'Give access back to eve']));
  await page.getByRole('button', { name: 'Give access back to eve' }).click();
  expect(await sees('guarded', 'eve')).toBe(false);
  await page.getByRole('dialog').getByRole('button', { name: 'Give it back' }).click();
  await page.getByText('Nobody’s access is taken back').waitFor();
  expect(await sees('guarded', 'eve')).toBe(true);
  expect({ elsewhere, faults }).toEqual({ elsewhere: [], faults: [] });
});

it('warns who is about to lose their own', async () => {
  await createWorkspace(app, 'own');
  const { page } = await open('own', await app.token({ subject: 'boss' }));
  await page.getByRole('link', { name: 'Access' }).click();
  await takeBack(page, 'boss', 'by mistake');
  await page.getByText('That is you').waitFor();
  await page.getByRole('button', { name: 'Leave it' }).click();
  expect(await sees('own', 'boss')).toBe(true);
});

it('is shown and offered to administrators only', async () => {
  const workspaceId = await createWorkspace(app, 'hidden');
  await setAccess(app, 'revokeAccess', workspaceId, 'mallory');
  const { page } = await open(
    'hidden',
    await app.token({ permissions: everything.filter((permission) => permission !== 'workspace:admin') }),
  );
  await page.getByRole('link', { name: 'Load a package' }).waitFor();
  await page.getByRole('button', { name: 'Menu' }).waitFor();
  expect(await page.getByRole('link', { name: 'Access' }).count()).toBe(0);
  await page.goto(`${app.url}/workspaces/hidden/access`);
  await page.getByText('workspace:admin').waitFor();
  expect(await page.getByLabel('Subject').count()).toBe(0);
  expect(await page.getByText('mallory').count()).toBe(0);
  await expectAccessible(page);
});
