// The demo, on a database that is there already: `npm run demo` itself starts one.
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import { jsonLines, packhorse } from '../support/command-line.ts';
import { freshDatabase } from '../support/database.ts';

vi.setConfig({ testTimeout: 300_000 }); // processes start slowly where much else runs

const database = await freshDatabase();
const home = mkdtempSync(path.join(tmpdir(), 'packhorse-demo-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));
const args = ['demo', '--once', '--database-url', database];
const env = { PACKHORSE_HOME: home, NODE_NO_WARNINGS: '1' };

it('loads its package, takes it out and loads that, and again on the same home, where nothing changes', async () => {
  const first = await packhorse(args, { ...env, PORT: '0' });
  expect(first.code, first.stderr).toBe(0);
  expect(first.stdout).toMatch(/^cities +SUCCEEDED +24,323 +24,323 +0 +0 +0$/m);
  expect(first.stdout.match(/^✓ /gm)).toHaveLength(10);
  const digests = [...first.stdout.matchAll(/^demo(?:-copy)? +29,003 +(sha256:[0-9a-f]{64})$/gm)].map(([, digest]) => digest);
  expect(digests).toEqual([digests[0], digests[0]]);
  expect(first.stdout).toMatch(/\n[\w-]+\.[\w-]+\.[\w-]+\n$/);
  expect(first.stderr).toMatch(/^cities +SUCCEEDED +\d+ of \d+ bytes \(100%\)$/m);

  const second = await packhorse([...args, '--json'], { ...env, PORT: '0' });
  expect(second.code, second.stderr).toBe(0);
  const [result] = jsonLines(second.stdout) as {
    run: { steps: { rows: { source: string; unchanged: string } }[] };
    datasets: unknown[];
    exports: { digests: { digest: string }[] };
  }[];
  expect(result?.datasets).toHaveLength(6);
  expect(result?.exports.digests.map(({ digest }) => digest)).toEqual(digests);
  for (const { rows } of result?.run.steps ?? []) expect(rows.unchanged).toBe(rows.source);
});

it('takes a free port where its own is in use', async () => {
  const holder = createServer();
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
  const address = holder.address();
  const port = String(address !== null && typeof address === 'object' ? address.port : 0);
  const { code, stdout, stderr } = await packhorse(args, { ...env, PORT: port });
  holder.close();
  expect(code, stderr).toBe(0);
  expect(stderr).toContain(`Port ${port} is in use: taking a free one.\n`);
  expect(stdout).not.toContain(`:${port}/`);
});
