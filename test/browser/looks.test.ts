// Every page on the smallest screen and the largest, light and dark: nothing sticks out at the side, and nothing keeps people out.
import { expect, it } from 'vitest';
import { published, request } from '../exports/story.ts';
import { startApp } from '../support/app.ts';
import { expectAccessible, useChromium } from '../support/browser.ts';
import { createWorkspace, depot, mutate, reach, readRun, register, stage, zipOf } from '../support/story.ts';

const app = await startApp();
const visit = useChromium();

const long = 'a name that somebody has made as long as a name may be, '.repeat(3).trim();
const id = [{ name: 'id', type: 'string' }];
let made: Promise<string[]> | undefined;
/** One of each page, with what is longest in it. Made once, in the first test: polling belongs to one. */
const allPages = () => {
  made ??= makePages();
  return made;
};
async function makePages(): Promise<string[]> {
  const workspaceId = await createWorkspace(app, 'seen');
  const start = async (zip: Buffer) => {
    const run = await register(app, workspaceId, await stage(app, workspaceId, zip));
    await mutate(app, 'startDataRun', { dataRunId: run });
    return run;
  };
  const wide = Array.from({ length: 40 }, (_, n) => ({ name: `field ${n} ${long}`, type: 'string' }));
  const row = ['1', ...wide.map(({ name }) => `"${name} ${'x'.repeat(300)}"`)].join(',');
  const rows = `${['id', ...wide.map(({ name }) => `"${name}"`)].join(',')}\n${row}\n`;
  const good = await start(await zipOf('good', [...depot, { name: 'wide', rows, schema: { fields: [...id, ...wide], primaryKey: 'id' } }]));
  await reach(app, good, 'SUCCEEDED');
  const numbers = { fields: [{ name: 'id', type: 'integer' }], primaryKey: 'id' };
  const faulty = await start(await zipOf('faulty', [{ name: 'numbers', rows: `id\n${'many'.repeat(200)}\n`, schema: numbers }]));
  await expect.poll(async () => (await readRun(app, faulty)).state).toBe('FAILED');
  const execution = await request(app, workspaceId);
  await published(app, execution);
  return [
    '/',
    '/lifecycles',
    '/workspaces/seen',
    ...['exports', 'datasets', 'events'].map((tab) => `/workspaces/seen?tab=${tab}`),
    ...[good, faulty].map((run) => `/workspaces/seen/runs/${run}`),
    `/workspaces/seen/runs/${good}/lifecycle`,
    `/workspaces/seen/exports/${execution}`,
    `/workspaces/seen/exports/${execution}/lifecycle`,
    '/workspaces/seen/export-settings',
    '/workspaces/seen/access',
    '/workspaces/seen/load',
    '/workspaces/seen/datasets/wide',
    '/workspaces/seen/datasets/wide?row=%221%22',
    ...['datasets', 'runs', 'exports'].map((list) => `/workspaces/seen/${list}/none`),
  ];
}

it.each([
  ['the smallest screen', { viewport: { width: 360, height: 640 }, colorScheme: 'light' }],
  ['the smallest screen in the dark', { viewport: { width: 360, height: 640 }, colorScheme: 'dark' }],
  ['the largest screen in the dark', { viewport: { width: 3_840, height: 2_160 }, colorScheme: 'dark' }],
] as const)(
  'fits %s',
  async (_, options) => {
    const { page, elsewhere, faults } = await visit(`${app.url}/#token=${await app.token()}`, options);
    for (const path of await allPages()) {
      await page.goto(app.url + path);
      await page.getByRole('heading').first().waitFor();
      await expect.poll(() => page.getByText(/^Loading .*…$/).count(), { message: path }).toBe(0);
      const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(beyond, path).toBeLessThanOrEqual(0);
      const cut = await page.getByRole('alert').evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth).length);
      expect(cut, `alerts of ${path} whose words are cut off`).toBe(0);
      await expectAccessible(page);
    }
    expect({ elsewhere, faults }).toEqual({ elsewhere: [], faults: [] });
  },
  180_000,
);
