// What an export meets that is no fault of its own: a full disk, one that cannot be written, a database that drops its connections.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { launch, startApp, type TestApp } from '../support/app.ts';
import { freshDatabase } from '../support/database.ts';
import { copying, holdGenerating, noisy, numbered, poolOn, storyOf, takenSlots } from '../support/exports.ts';
import { nodesOn } from '../support/nodes.ts';
import { createWorkspace } from '../support/story.ts';
import { loaded, mutateExport, published, reachExport, readExport, request } from './story.ts';

const databaseUrl = await freshDatabase();
const pool = poolOn(databaseUrl);
const nodes = nodesOn(databaseUrl);
const api = await startApp({ worker: false, env: { DATABASE_URL: databaseUrl } });
const home = api.config.home;

const mounted: string[] = [];
afterAll(() => {
  for (const folder of mounted) {
    execFileSync('umount', [folder]);
    rmSync(folder, { recursive: true });
  }
});

const mount = (folder: string, options: string) =>
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder], { stdio: 'ignore' });

/** A file system of its own; null where this machine does not let us mount one. */
function smallDisk(size: string): string | null {
  const folder = mkdtempSync(path.join(tmpdir(), 'packhorse-small-'));
  try {
    mount(folder, `size=${size}`);
  } catch {
    rmSync(folder, { recursive: true });
    return null;
  }
  mounted.push(folder);
  return folder;
}

const disk = smallDisk('1m');
const apps: TestApp[] = [];
afterEach(async () => {
  for (const app of apps.splice(0)) await app.stop();
});

async function worker(env: Record<string, string> = {}): Promise<TestApp> {
  const app = await launch({ PACKHORSE_HOME: home, DATABASE_URL: databaseUrl, ...env });
  apps.push(app);
  return app;
}

let small = '';
let large = '';
beforeEach(async () => {
  if (small !== '') return;
  const app = await worker();
  [small, large] = [await createWorkspace(app, 'small'), await createWorkspace(app, 'large')];
  await loaded(app, small, [numbered('alpha', 30)]);
  await loaded(app, large, [numbered('alpha', 30), noisy('beta', 100_000)]);
  await apps.pop()?.stop(); // else it would take what the others are to fail at
});

async function failed(app: TestApp, workspaceId: string, failure: Record<string, unknown>): Promise<string> {
  const id = await request(app, workspaceId);
  const found = await reachExport(app, id, ({ state }) => ['QUEUED', 'RUNNING'].includes(state), false);
  expect(found).toMatchObject({ state: 'FAILED', failure, exportPackage: null, counts: [] });
  expect(await storyOf(pool, id)).toEqual(['REQUEST', 'DISPATCH', 'FAIL GENERATION_FAILED']);
  expect(await takenSlots(pool)).toBe(0);
  return id;
}

describe.skipIf(disk === null)('on a full disk', () => {
  it('fails with a code, leaves no file, and the next one works: a smaller one, or with more room', async () => {
    const work = disk ?? '';
    const app = await worker({ PACKHORSE_WORK_DIR: work });
    await failed(app, large, { code: 'STORAGE_FULL', origin: 'storage', phase: 'writing' });
    expect(readdirSync(work)).toEqual([]);
    await published(app, await request(app, small));
    mount(work, 'remount,size=64m');
    await published(app, await request(app, large));
    await expect.poll(() => readdirSync(work)).toEqual([]);
  });

  it('says in which phase the room ran out', async () => {
    const work = disk ?? '';
    const app = await worker({ PACKHORSE_WORK_DIR: work });
    // Room for the parts, and not once more for the archive.
    const { exportPackage } = await published(app, await request(app, large));
    await expect.poll(() => readdirSync(work)).toEqual([]);
    mount(work, `remount,size=${Math.ceil(Number(exportPackage.bytes) * 1.4)}`);
    await failed(app, large, { code: 'STORAGE_FULL', phase: 'packing' });
    expect(readdirSync(work)).toEqual([]);
    mount(work, 'remount,size=64m');
  });

  it('cannot write where the file system is read-only, and says so', async () => {
    const work = disk ?? '';
    mount(work, 'remount,ro');
    onTestFinished(() => void mount(work, 'remount,rw,size=64m'));
    await failed(await worker({ PACKHORSE_WORK_DIR: work }), small, { code: 'STORAGE_UNAVAILABLE', origin: 'storage' });
  });
});

it('fails where the work folder is a file, and holds no slot', async () => {
  const file = path.join(home, 'no-folder');
  writeFileSync(file, '');
  await failed(await worker({ PACKHORSE_WORK_DIR: file }), small, { code: 'STORAGE_UNAVAILABLE', origin: 'storage' });
  await apps.pop()?.stop();
  await worker();
  await published(api, await request(api, small));
});

it('counts a file that may not become so large as a full disk (EFBIG)', async () => {
  const node = nodes.start({ PACKHORSE_ROLE: 'worker', PACKHORSE_WORK_DIR: path.join(home, 'limited') });
  await node.ready;
  // Of the process alone, in bytes; Node ignores SIGXFSZ, so a write is refused.
  execFileSync('prlimit', ['--pid', String(node.pid), `--fsize=${256 * 1_024}`]);
  const id = await request(api, large);
  const found = await reachExport(api, id, ({ state }) => ['QUEUED', 'RUNNING'].includes(state), false);
  expect(found, node.log).toMatchObject({ state: 'FAILED', failure: { code: 'STORAGE_FULL', phase: 'writing' } });
  expect(readdirSync(path.join(home, 'limited'))).toEqual([]);
  await node.kill();
});

it('is taken over, and not failed, where the database ends the connection under it', async () => {
  const app = await worker();
  const hold = await holdGenerating(databaseUrl, small, 'alpha');
  const id = await request(app, small);
  await expect.poll(() => hold.waiting(), { interval: 5 }).not.toBeNull();
  for (const pid of await copying(pool)) await pool.query('SELECT pg_terminate_backend($1)', [pid]);
  await reachExport(app, id, ({ state }) => state, 'RUNNING');
  await hold.release();
  await published(app, id);
  expect(await storyOf(pool, id)).toEqual(['REQUEST', 'DISPATCH', 'TAKE_OVER LEASE_LOST', 'SUCCEED', 'PUBLISH']);
  expect((await readExport(app, id)).failure).toBeNull();
  expect(await mutateExport(app, 'cancelExportExecution', { exportExecutionId: id })).toMatchObject({ from: 'SUCCEEDED' });
});
