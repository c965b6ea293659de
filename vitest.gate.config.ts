import { defineConfig } from 'vitest/config';
import base from './vitest.config.ts';

const { test, ...rest } = base;

// What takes minutes: killed processes, large files, many nodes. Alone on the machine, so one file at a time.
export default defineConfig({
  ...rest,
  test: {
    ...test,
    include: ['test/gate/**/*.test.ts'],
    exclude: [],
    maxWorkers: 1,
    testTimeout: 600_000,
    hookTimeout: 120_000,
    outputFile: { json: '.cache/gate-results.json' },
  },
});
