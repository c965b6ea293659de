// The lifecycles as they are drawn, and a run that moves through its own.
import { expect, it } from 'vitest';
import { startApp } from '../support/app.ts';
import { expectAccessible, reachedByKeyboard, useChromium } from '../support/browser.ts';
import { createWorkspace, depot, mutate, register, stage, zipOf } from '../support/story.ts';

const app = await startApp();
const visit = useChromium();

it('are reached from the menu, and show every state and every move that the API has', async () => {
  const { page, elsewhere, faults } = await visit(`${app.url}/#token=${await app.token()}`);
  await page.getByRole('button', { name: 'Menu' }).focus();
  await page.keyboard.press('Enter');
  const link = page.getByRole('link', { name: 'Lifecycles' });
  await expect.poll(() => link.evaluate((one) => one === document.activeElement)).toBe(true);
  await expectAccessible(page);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Lifecycles' }).waitFor();
  const { data } = await app.graphql('{ lifecycles { name states { name } transitions { from to action } } }');
  for (const { name, states, transitions } of data.lifecycles) {
    const drawn = page.getByRole('region', { name: `Drawing of ${name}` });
    await drawn.waitFor();
    const boxes = await drawn.locator('[data-drawn]').evaluateAll((all) => all.map((one) => one.getAttribute('data-drawn')));
    expect(new Set(boxes)).toEqual(new Set(states.map((state: { name: string }) => state.name)));
    const lines = await page
      .getByRole('region', { name: `Moves of ${name}` })
      .getByRole('row')
      .allTextContents();
    expect(lines).toHaveLength(transitions.length + 1);
    for (const { from, action, to } of transitions) {
      expect(
        lines.some((line) => line.startsWith(`${from ?? 'made'}${action}${to}`)),
        `${from} ${action} ${to}`,
      ).toBe(true);
      await expect.poll(() => drawn.locator('.action').allTextContents()).toContain(action);
    }
  }
  await expectAccessible(page);
  expect(await reachedByKeyboard(page)).toEqual(expect.arrayContaining(['Menu', 'Drawing of DataRun', 'Moves of ExportExecution']));
  expect({ elsewhere, faults }).toEqual({ elsewhere: [], faults: [] });
});

it('mark where a run is, and follow it', async () => {
  const workspaceId = await createWorkspace(app, 'moving');
  const id = await register(app, workspaceId, await stage(app, workspaceId, await zipOf('depot', depot)));
  const { page } = await visit(`${app.url}/workspaces/moving/runs/${id}#token=${await app.token()}`);
  await page.getByRole('link', { name: 'Lifecycle' }).click();
  const marked = page.locator('[aria-current=true]');
  await expect.poll(() => marked.textContent()).toContain('REGISTERED now');
  expect(await page.locator('[data-drawn][data-tone=now]').textContent()).toBe('REGISTERED');
  await expectAccessible(page);
  await mutate(app, 'startDataRun', { dataRunId: id });
  await expect.poll(() => marked.textContent()).toContain('SUCCEEDED now');
  expect(await page.locator('[data-drawn][data-tone=now]').textContent()).toBe('SUCCEEDED');
  await page.getByRole('link', { name: 'To the run of depot' }).click();
  await page.getByRole('region', { name: 'Datasets of the run' }).waitFor();
});
