// The dashboard over 10,000 runs, and over one run of 200 datasets that changes meanwhile: how long what a person does takes until it shows, by
// the browser's own event timing. Chromium is as a person has it, on the same machine as everything else.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Browser, Page } from 'playwright-core';
import { launchChromium } from '../scripts/chromium.ts';
import { globalId } from '../src/graphql/builder.ts';
import type { PostgresServer } from '../src/postgres/embedded.ts';
import { openEventWriter } from './event-writer.ts';
import { freshDatabase, median, packhorse, seedRuns, token } from './support.ts';

const runs = 10_000;
const datasets = 200;
const changesEveryMs = 500;

interface Timing {
  readonly name: string;
  readonly duration: number;
}

/** What the page notes of itself: events that took longer than a frame, and stretches of more than 50 ms in which nothing else could happen. */
interface Noted extends Window {
  timings: Timing[];
  tasks: number[];
}

export async function benchDashboard(postgres: PostgresServer, home: string): Promise<void> {
  const url = await freshDatabase(postgres, 'bench_dashboard');
  await seedRuns(url, runs, 4);
  const [wide = ''] = await seedRuns(url, 1, datasets);
  await chained(url, wide);
  const server = await packhorse(url, home);
  const browser = await launchChromium();
  try {
    const page = await open(browser, `${server.url}/workspaces/bench#token=${await token()}`);
    await page.getByRole('table').waitFor();
    await tell(page, `the list of ${runs.toLocaleString('en')} runs`, () => list(page));
    await page.goto(`${server.url}/workspaces/bench/runs/${encodeURIComponent(globalId('DataRun', wide))}`);
    await page
      .getByRole('row', { name: `dataset-${datasets - 1}` })
      .first()
      .waitFor();
    const changing = changes(url, wide);
    await tell(page, `a run of ${datasets} datasets, changed every ${changesEveryMs} ms`, () => wideRun(page));
    await changing.stop();
  } finally {
    await browser.close();
    await server.stop();
  }
}

/** Each dataset rests on the one twenty before it: twenty chains of ten. */
async function chained(url: string, run: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`UPDATE data_run_step SET depends_on = ARRAY['dataset-' || (position - 20)] WHERE run_id = $1 AND position >= 20`, [
    run,
  ]);
  await client.end();
}

// As text: what tsx makes of a function calls helpers that a page does not have.
const notes = `
  window.timings = [];
  window.tasks = [];
  new PerformanceObserver((found) => {
    for (const { name, duration } of found.getEntries()) window.timings.push({ name, duration });
  }).observe({ type: 'event', durationThreshold: 16 });
  new PerformanceObserver((found) => {
    for (const { duration } of found.getEntries()) window.tasks.push(duration);
  }).observe({ type: 'longtask' });
`;

async function open(browser: Browser, url: string): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1_280, height: 900 } });
  await page.addInitScript({ content: notes });
  await page.goto(url);
  return page;
}

async function list(page: Page): Promise<void> {
  for (let n = 0; n < 10; n++) {
    const first = await page.getByRole('row').nth(1).getAttribute('data-run');
    await page
      .getByRole('button', { name: /next/i })
      .or(page.getByRole('link', { name: /next/i }))
      .first()
      .click();
    await page.waitForFunction((was) => document.querySelector('[data-run]')?.getAttribute('data-run') !== was, first);
    await page.mouse.wheel(0, 600);
  }
  for (const state of ['PAUSED', 'RUNNING', 'PAUSED', 'RUNNING']) await page.getByText(state, { exact: true }).first().click();
  await page.getByLabel('Package').pressSequentially('p4-77', { delay: 30 });
  await page.keyboard.press('Enter');
  await sleep(500); // what was pressed last shows
}

async function wideRun(page: Page): Promise<void> {
  for (let n = 0; n < 20; n++) await page.mouse.wheel(0, 400);
  for (const index of [1, 50, 100, 150, 199])
    await page
      .getByRole('row', { name: `dataset-${index}` })
      .first()
      .click();
  for (let n = 0; n < 20; n++) await page.keyboard.press('Tab');
  for (let n = 0; n < 10; n++) await page.keyboard.press('PageUp');
  await sleep(3 * changesEveryMs);
}

async function tell(page: Page, what: string, act: () => Promise<void>): Promise<void> {
  const reset = () => Object.assign(window as unknown as Noted, { timings: [], tasks: [] });
  await page.evaluate(reset);
  await act();
  const { timings, tasks } = await page.evaluate(() => {
    const { timings: ts, tasks: ls } = window as unknown as Noted;
    return { timings: ts, tasks: ls };
  });
  const longest = timings.reduce((most, timing) => (timing.duration > most.duration ? timing : most), { name: 'none', duration: 0 });
  const middle = timings.length === 0 ? 0 : median(timings.map(({ duration }) => duration));
  console.log(
    `  ${what}: of ${timings.length} events that took over 16 ms until they showed the longest took ${longest.duration} ms (${longest.name}), the median ${middle} ms; ${tasks.length} tasks over 50 ms, the longest ${Math.round(Math.max(0, ...tasks))} ms`,
  );
}

/** Writes an event of the run again and again: each is one that the page answers by asking anew. */
function changes(url: string, run: string): { stop(): Promise<void> } {
  const writer = openEventWriter(url, run);
  let stopped = false;
  const loop = async () => {
    for (let n = 0; !stopped; n++) {
      await writer.write(`dataset-${n % datasets}`);
      await sleep(changesEveryMs);
    }
  };
  const running = loop();
  return {
    async stop() {
      stopped = true;
      await running;
      await writer.close();
    },
  };
}
