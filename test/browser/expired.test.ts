// A page that was away for longer than events are kept: it reads everything anew, and is live from then on.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { pruneEvents } from '../../src/events/retention.ts';
import { launch } from '../support/app.ts';
import { useChromium } from '../support/browser.ts';
import { freshDatabase } from '../support/database.ts';
import { createWorkspace, depot, mutate, register, stage, zipOf } from '../support/story.ts';

const visit = useChromium();

it('shows what became of everything although the events between were deleted, and follows what comes', async () => {
  const home = mkdtempSync(path.join(tmpdir(), 'packhorse-test-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const env = { PACKHORSE_HOME: home, DATABASE_URL: await freshDatabase() };
  const other = await launch(env);
  onTestFinished(() => other.stop());
  const first = await launch({ ...env, PACKHORSE_ROLE: 'api' });
  const workspaceId = await createWorkspace(other, 'asleep');
  const packageId = await stage(other, workspaceId, await zipOf('depot', depot));
  const id = await register(other, workspaceId, packageId);
  const { page, faults } = await visit(`${first.url}/workspaces/asleep#token=${await other.token()}`);
  const state = (run: string) => page.locator(`[data-run="${run}"] [data-state]`).textContent();
  const connection = () => page.locator('[data-connection]').getAttribute('data-connection');
  await expect.poll(() => state(id)).toBe('REGISTERED');
  await expect.poll(connection).toBe('live');

  await first.stop();
  await expect.poll(connection).toBe('reconnecting');
  await mutate(other, 'cancelDataRun', { dataRunId: id });
  expect(await pruneEvents(other.app.db, { days: 0, stop: new AbortController().signal })).toBeGreaterThan(0);
  const again = await launch({ ...env, PACKHORSE_ROLE: 'api', PORT: new URL(first.url).port });
  onTestFinished(() => again.stop());

  await expect.poll(() => state(id)).toBe('CANCELLED');
  const next = await register(other, workspaceId, packageId);
  await expect.poll(() => state(next)).toBe('REGISTERED');
  await expect.poll(connection).toMatch(/^(live|resumed)$/);
  expect(await page.getByRole('alert').count()).toBe(0);
  expect(faults).toEqual([]);
});
