// Chromium as a person has it, for the calling test file; what its pages ask of others than our server, and what goes wrong in them, is noted.
import { AxeBuilder } from '@axe-core/playwright';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { launchChromium } from '../../scripts/chromium.ts';

export interface Opened {
  readonly page: Page;
  /** What was asked of another origin. */
  readonly elsewhere: string[];
  /** Exceptions, and what the page’s policy stopped. */
  readonly faults: string[];
}

export function useChromium(): (url: string, options?: BrowserContextOptions) => Promise<Opened> {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser.close());
  return async (url, options = {}) => {
    const context = await browser.newContext(options); // each its own storage, as other people have
    const page = await context.newPage();
    const elsewhere: string[] = [];
    const faults: string[] = [];
    const { host } = new URL(url);
    const note = (asked: string) => {
      if (!/^(data|blob):/.test(asked) && new URL(asked).host !== host) elsewhere.push(asked);
    };
    page.on('request', (request) => note(request.url()));
    page.on('websocket', (socket) => note(socket.url()));
    page.on('pageerror', (error) => faults.push(error.message));
    page.on('console', (message) => {
      if (/content security policy/i.test(message.text())) faults.push(message.text());
    });
    await page.goto(url);
    return { page, elsewhere, faults };
  };
}

/** That nothing on the page keeps people out: what axe calls serious or worse. */
export async function expectAccessible(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  const grave = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  expect(grave.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' · ')}`)).toEqual([]);
}

/** What the Tab key comes by, as people hear it, until it is back at the beginning. */
export async function reachedByKeyboard(page: Page, most = 60): Promise<string[]> {
  const names: string[] = [];
  // From the top: a blur alone goes on from where the focus was.
  await page.evaluate(() => {
    document.body.tabIndex = -1;
    document.body.focus();
    document.body.removeAttribute('tabindex');
  });
  for (let presses = 0; presses < most; presses++) {
    await page.keyboard.press('Tab');
    const name = await page.evaluate(() => {
      const element = document.activeElement;
      if (element === null || element === document.body) return null;
      const label = (element as HTMLInputElement).labels?.[0]?.textContent;
      return (element.getAttribute('aria-label') ?? label ?? element.textContent ?? '').trim();
    });
    if (name === null) break;
    names.push(name);
  }
  return names;
}
