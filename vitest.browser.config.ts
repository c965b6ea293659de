import { defineConfig } from 'vitest/config';
import base from './vitest.config.ts';

const { test, ...rest } = base;

// The dashboard and GraphiQL in Chromium: one file at a time, they share the two cores with the browser.
export default defineConfig({
  ...rest,
  test: {
    ...test,
    include: ['test/browser/**/*.test.ts'],
    exclude: [],
    maxWorkers: 1,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    outputFile: { json: '.cache/browser-results.json' },
  },
});
