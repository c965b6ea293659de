import { defineConfig } from 'vitest/config';

export default defineConfig({
  // Vite would give our sources graphql/index.mjs while Pothos and Yoga, loaded by Node, get index.js: two realms.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/gate/**', 'test/browser/**'],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    // One more than the two cores: what was measured was asleep, over a poll, a lease, Postgres or a process, for two thirds of its time.
    maxWorkers: 3,
    // How long a loaded machine may take, not how long a test does: what waits ends as soon as its condition holds. A clock of ours that a test
    // must not wait for (a poll, a lease) is set to ten minutes, so that it is longer than all of these.
    testTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
    hookTimeout: 120_000,
    teardownTimeout: 60_000,
    // .ci/run counts what passed from the file.
    reporters: process.env.CI ? ['default', 'json'] : ['default'],
    outputFile: { json: '.cache/test-results.json' },
  },
});
