// `npm run screenshots`: the pictures of the README, taken in Chromium of the demo while it runs.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { launchChromium } from './chromium.ts';

const root = path.resolve(import.meta.dirname, '..');

interface Demo {
  readonly dashboard: string;
  readonly url: string;
  stop(): Promise<void>;
}

async function startDemo(home: string): Promise<Demo> {
  const env = { ...process.env, PACKHORSE_HOME: home, PORT: '0', DATABASE_URL: '' };
  const child = spawn(process.execPath, ['bin/packhorse.mjs', 'demo', '--json'], { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    said += String(chunk);
    // Two spaces or none: the last line is the result, whole once it can be read.
    const line = said.split('\n').find((one) => one.startsWith('{') && one.includes('"dashboard"'));
    if (line === undefined || !said.includes(`${line}\n`)) continue;
    const { dashboard, url } = JSON.parse(line) as { dashboard: string; url: string };
    child.stdout.resume();
    return {
      dashboard,
      url,
      async stop() {
        const exited = once(child, 'exit');
        child.kill('SIGINT');
        await exited;
      },
    };
  }
  throw new Error('the demo ended before it said where it is');
}

async function take(page: Page, name: string): Promise<void> {
  await page.evaluate(() => document.fonts.ready);
  await page.screenshot({ path: path.join(root, 'docs', `${name}.png`) });
  console.log(`docs/${name}.png`);
}

const home = mkdtempSync(path.join(tmpdir(), 'packhorse-screenshots-'));
const demo = await startDemo(home);
const browser = await launchChromium();
try {
  const page = await browser.newPage({ viewport: { width: 1_280, height: 800 }, colorScheme: 'light' });
  await page.goto(demo.dashboard);
  await page.goto(`${demo.url}/workspaces/demo`);
  await page.locator('[data-connection="live"]').waitFor();
  await page.locator('[data-run] [data-state="SUCCEEDED"]').or(page.getByText('SUCCEEDED')).first().waitFor();
  await take(page, 'workspace');
  await page.locator('[data-run] a').first().click();
  await page.locator('.react-flow__node').first().waitFor();
  await take(page, 'run');
  await page.goto(`${demo.url}/workspaces/demo?tab=exports`);
  await page.locator('[data-export] a').first().click();
  await page
    .getByRole('button', { name: /download|link/i })
    .first()
    .waitFor();
  await take(page, 'export');
} finally {
  await browser.close();
  await demo.stop();
  rmSync(home, { recursive: true, force: true });
}
