import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, it } from 'vitest';
import { startApp } from '../support/app.ts';
import { freshDatabase } from '../support/database.ts';
import { deliveryStorm } from './storm.ts';

const shared = mkdtempSync(path.join(tmpdir(), 'packhorse-shared-'));
afterAll(() => rmSync(shared, { recursive: true }));
const env = {
  DATABASE_URL: await freshDatabase(),
  PACKHORSE_JWT_SECRET: 'a secret that all processes share',
  PACKHORSE_STORAGE: `file:${shared}`,
  PACKHORSE_FETCH_HOSTS: '127.0.0.1',
  PACKHORSE_RETRY_MS: '1',
  PACKHORSE_POLL_MS: '100',
};
const app = await startApp({ env });

it('loses no delivery, and repeats them with the same id only', { timeout: 300_000 }, () =>
  deliveryStorm(app, env, { exports: 3, destinations: 20, passing: 1 }),
);
