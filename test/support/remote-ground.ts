// An app whose datasets go to a remote service in the test's own process.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll } from 'vitest';
import type { RemoteTarget } from '../../src/config-targets.ts';
import { startApp, type TestApp } from './app.ts';
import { type HttpChild, httpChild } from './http-child.ts';

/** Each target at the same service. Of the calling file. */
export async function remoteGround(
  targets: readonly Partial<RemoteTarget>[],
  env: Record<string, string> = {},
): Promise<{ readonly app: TestApp; readonly child: HttpChild; readonly env: Record<string, string> }> {
  const folder = mkdtempSync(path.join(tmpdir(), 'packhorse-targets-'));
  const child = await httpChild();
  afterAll(async () => {
    await child.close();
    rmSync(folder, { recursive: true });
  });
  const file = path.join(folder, 'targets.json');
  writeFileSync(file, JSON.stringify(targets.map((target) => ({ name: 'remote', idempotency: 'key', baseUrl: child.url, ...target }))));
  const all = { PACKHORSE_TARGETS: file, ...env };
  return { app: await startApp({ env: all }), child, env: all };
}
