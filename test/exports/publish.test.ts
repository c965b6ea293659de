import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Publisher, publish } from '../../src/exports/publish.ts';
import { reapExports } from '../../src/exports/tasks.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { startApp, storageRoot } from '../support/app.ts';
import { uuidOf } from '../support/states.ts';
import { createWorkspace, depot } from '../support/story.ts';
import { entriesOf, jsonIn } from './archives.ts';
import { eventsOf, executionOf, generatedByHand, goingOn, hasWork, loadedByHand, objects, packagesOf, rowsOf, workOf } from './by-hand.ts';
import { linkOf, mutateExport, readExport } from './story.ts';

const app = await startApp({ worker: false });
const { publisher } = app.tasks.exports;
const { storage } = publisher;
let workspaceId: string;
beforeAll(async () => {
  workspaceId = await createWorkspace(app);
  await loadedByHand(app, workspaceId, depot);
});

const published = (id: string, by: Partial<Publisher> = {}) => publish({ ...publisher, ...by }, uuidOf(id), goingOn);

/** Until it is no longer due to be tried again. */
async function publishedAtLast(id: string, by: Partial<Publisher>): Promise<void> {
  for (;;) {
    await published(id, { retryMs: 1, ...by });
    const [held] = (await packagesOf(app, id)).slice(-1);
    if (held?.state !== 'PENDING') return;
    await expect
      .poll(() => rowsOf(app, 'SELECT FROM export_package WHERE id = $1 AND next_attempt_at <= clock_timestamp()', held.id))
      .toHaveLength(1);
  }
}

/** The storage with another `put`. */
const putting = (put: Storage['put']): Partial<Publisher> => ({ storage: { ...storage, put } });

const placeOf = (key: string) => path.join(storageRoot(app), key);

function flipBit(file: string): void {
  const bytes = readFileSync(file);
  bytes[Math.floor(bytes.length / 2)]! ^= 1;
  writeFileSync(file, bytes);
}

/** Fetches the archive by a link, and compares it with what package and execution say of it. */
async function fetched(id: string): Promise<Buffer> {
  const { exportPackage, manifestDigest } = await readExport(app, id);
  expect(exportPackage).toMatchObject({ state: 'PUBLISHED', failure: null });
  const answer = await fetch(await linkOf(app, exportPackage.id));
  expect(answer.status).toBe(200);
  const zip = Buffer.from(await answer.arrayBuffer());
  expect(`sha256:${createHash('sha256').update(zip).digest('hex')}`).toBe(exportPackage.digest);
  expect(exportPackage.bytes).toBe(String(zip.length));
  expect(jsonIn(await entriesOf(zip), 'packhorse-export.json').manifestDigest).toBe(manifestDigest);
  return zip;
}

async function readPackage(id: string): Promise<{ attempts: number }> {
  const { data } = await app.graphql('query ($id: ID!) { exportExecution(id: $id) { exportPackage { attempts } } }', { id });
  return data.exportExecution.exportPackage;
}

const settled = ['REQUEST', 'DISPATCH', 'SUCCEED'];

describe('an export that has succeeded', () => {
  it('has no package by that, and one when it is published', async () => {
    const id = await generatedByHand(app, workspaceId);
    const before = await executionOf(app, id);
    expect([before.state, await packagesOf(app, id), await objects(app)]).toEqual(['SUCCEEDED', [], []]);
    expect((await readExport(app, id)).exportPackage).toBeNull();
    await published(id);
    await fetched(id);
    const after = await executionOf(app, id);
    const facts = { revision: 0, lastSequence: 0, lastPosition: 0n };
    expect({ ...after, ...facts }).toEqual({ ...before, ...facts });
    expect(await eventsOf(app, id)).toEqual([...settled, 'PUBLISH']);
    const [held] = await packagesOf(app, id);
    expect(held).toMatchObject({ state: 'PUBLISHED', attempts: 1, leaseUntil: null });
    expect((await objects(app)).map(({ key }) => key)).toEqual([held?.storageKey]);
    expect(hasWork(app, id)).toBe(false);
    await published(id);
    expect(await packagesOf(app, id)).toEqual([held]);
  });

  it('is found by the reaper, whoever has forgotten it', async () => {
    const id = await generatedByHand(app, workspaceId);
    const jobs = () => rowsOf<{ key: string }>(app, `SELECT key FROM graphile_worker.jobs WHERE key = $1`, `publish:${uuidOf(id)}`);
    await reapExports(app.tasks.exports);
    expect(await jobs()).toEqual([]); // whoever generated it is about to
    await expect.poll(async () => reapExports(app.tasks.exports).then(jobs)).toHaveLength(1);
    await published(id);
    await fetched(id);
  });

  it('is begun once by any number at once, and published once', async () => {
    const id = await generatedByHand(app, workspaceId);
    await Promise.all(Array.from({ length: 6 }, () => published(id)));
    expect(await packagesOf(app, id)).toMatchObject([{ state: 'PUBLISHED', attempts: 1, fence: 1 }]);
    expect(await eventsOf(app, id)).toEqual([...settled, 'PUBLISH']);
    await fetched(id);
  });
});

describe('publishing', () => {
  it('fails with a code after its attempts where the storage cannot be written, and is mended by republishing', async () => {
    const id = await generatedByHand(app, workspaceId);
    const before = await executionOf(app, id);
    const folder = path.join(storageRoot(app), 'exports');
    renameSync(folder, `${folder}-away`);
    writeFileSync(folder, 'a file');
    await published(id, { retryMs: 60_000 });
    const [row] = await packagesOf(app, id);
    expect(row).toMatchObject({ state: 'PENDING', attempts: 1, leaseUntil: null });
    expect(row!.nextAttemptAt.getTime() - Date.now()).toBeGreaterThan(50_000);
    expect(hasWork(app, id)).toBe(true);
    await published(id); // before its time
    expect((await readPackage(id)).attempts).toBe(1);
    await rowsOf(app, 'UPDATE export_package SET next_attempt_at = now() WHERE id = $1', row!.id);
    await publishedAtLast(id, { attempts: 4 });
    const { exportPackage: failed, ...shown } = await readExport(app, id);
    expect(shown).toMatchObject({ state: 'SUCCEEDED', failure: null });
    expect(failed).toMatchObject({ state: 'FAILED', failure: { code: 'STORAGE_UNAVAILABLE' }, digest: null });
    expect(await packagesOf(app, id)).toMatchObject([{ attempts: 4 }]);
    expect(await eventsOf(app, id)).toEqual([...settled, 'PUBLISH_FAIL PUBLICATION_FAILED']);
    const { state, settledAt, counts, manifestDigest, failure } = await executionOf(app, id);
    expect(before).toMatchObject({ state, settledAt, counts, manifestDigest, failure });
    rmSync(folder);
    renameSync(`${folder}-away`, folder);
    await published(id); // it has ended: nothing happens by itself
    expect(await packagesOf(app, id)).toHaveLength(1);

    const again = await mutateExport(app, 'republishExport', { exportExecutionId: id });
    expect(again.exportPackage).toMatchObject({ state: 'PENDING', failure: null });
    expect(again.exportPackage.id).not.toBe(failed.id);
    await published(id);
    await fetched(id);
    const { data } = await app.graphql('query ($id: ID!) { node(id: $id) { ... on ExportPackage { state failure { code } } } }', {
      id: failed.id,
    });
    expect(data.node).toEqual({ state: 'FAILED', failure: { code: 'STORAGE_UNAVAILABLE' } });
  });

  it('generates the same archive again where the one on this disk is gone, whatever was loaded meanwhile', async () => {
    const id = await generatedByHand(app, workspaceId);
    const kept = createHash('sha256')
      .update(readFileSync(`${workOf(app, id)}/package.zip`))
      .digest('hex');
    rmSync(workOf(app, id), { recursive: true });
    await loadedByHand(app, workspaceId, [{ ...depot[0]!, rows: `id,city\n2,Turin\n${Math.random()},Rome\n` }]);
    await published(id);
    expect((await readExport(app, id)).exportPackage.digest).toBe(`sha256:${kept}`);
    await fetched(id);
  });

  it.each<[string, (work: string) => void]>([
    ['its archive', (work) => flipBit(`${work}/package.zip`)],
    ['the digests of its blocks', (work) => alterRecord(work, () => ({ blocks: Buffer.alloc(32).toString('base64') }))],
    [
      'how many blocks it has',
      (work) =>
        alterRecord(work, ({ blocks }) => ({
          blocks: Buffer.concat([Buffer.from(blocks, 'base64'), Buffer.alloc(32)]).toString('base64'),
        })),
    ],
    ['its digest', (work) => alterRecord(work, () => ({ sha256: '0'.repeat(64) }))],
    ['its size', (work) => alterRecord(work, () => ({ bytes: 17 }))],
    ['its manifest digest', (work) => alterRecord(work, () => ({ manifestDigest: 'another' }))],
    ['its record', (work) => writeFileSync(`${work}/package.json`, '{')],
  ])('sees that %s was altered on this disk, and generates it again', async (_name, alter) => {
    const id = await generatedByHand(app, workspaceId);
    const digest = createHash('sha256')
      .update(readFileSync(`${workOf(app, id)}/package.zip`))
      .digest('hex');
    alter(workOf(app, id));
    await published(id);
    expect((await readExport(app, id)).exportPackage.digest).toBe(`sha256:${digest}`);
    expect(await packagesOf(app, id)).toMatchObject([{ attempts: 1 }]);
    await fetched(id);
  });

  it.each<[string, (file: string) => void]>([
    ['with a bit flipped', flipBit],
    ['cut off', (file) => writeFileSync(file, readFileSync(file).subarray(0, -1))],
    ['with a byte too many', (file) => writeFileSync(file, Buffer.concat([readFileSync(file), Buffer.from('x')]))],
    ['not at all', (file) => rmSync(file)],
  ])('never publishes what the storage keeps %s', async (_name, spoil) => {
    const id = await generatedByHand(app, workspaceId);
    let times = 0;
    const spoiling = putting(async (key, body) => {
      const stored = await storage.put(key, body);
      if (times++ < 2) spoil(placeOf(key));
      return stored;
    });
    const before = (await objects(app)).length;
    await published(id, { ...spoiling, retryMs: 1 });
    expect(await packagesOf(app, id)).toMatchObject([{ state: 'PENDING', attempts: 1 }]);
    expect(await objects(app)).toHaveLength(before);
    await publishedAtLast(id, spoiling);
    expect(await packagesOf(app, id)).toMatchObject([{ state: 'PUBLISHED', attempts: 3 }]);
    expect(await objects(app)).toHaveLength(before + 1);
    await fetched(id);
  });

  it('says so where the disk of this machine is what cannot be used', async () => {
    const id = await generatedByHand(app, workspaceId);
    const { workDir } = app.config;
    rmSync(workDir, { recursive: true });
    writeFileSync(workDir, 'a file');
    await published(id, { attempts: 1 });
    rmSync(workDir);
    const [held] = await packagesOf(app, id);
    expect(held).toMatchObject({ state: 'FAILED', failure: { code: 'STORAGE_UNAVAILABLE', origin: 'storage', phase: 'publishing' } });
    expect((held!.failure as { summary: string }).summary).toContain('The disk that exports are written to');
    await mutateExport(app, 'republishExport', { exportExecutionId: id });
    await published(id);
    await fetched(id);
  });

  it('fails at once where what is generated again is not what was recorded', async () => {
    const own = await createWorkspace(app);
    await loadedByHand(app, own, [{ name: 'one', rows: 'a\nx\n', schema: { fields: [{ name: 'a', type: 'string' }] } }]);
    const id = await generatedByHand(app, own);
    const [dataset] = await rowsOf<{ table: string; columns: { column: string }[] }>(
      app,
      'SELECT table_name AS table, columns FROM dataset WHERE workspace_id = $1',
      uuidOf(own),
    );
    const set = (value: string) => rowsOf(app, `UPDATE records.${dataset!.table} SET ${dataset!.columns[0]!.column} = '${value}'`);
    await set('tampered');
    rmSync(workOf(app, id), { recursive: true });
    const before = (await objects(app)).length;
    await published(id);
    expect(await packagesOf(app, id)).toMatchObject([
      { state: 'FAILED', attempts: 1, failure: { code: 'DIGEST_CHANGED', phase: 'publishing' } },
    ]);
    expect([(await executionOf(app, id)).state, (await objects(app)).length]).toEqual(['SUCCEEDED', before]);
    await set('x');
    await mutateExport(app, 'republishExport', { exportExecutionId: id });
    await published(id);
    await fetched(id);
  });
});

function alterRecord(work: string, change: (record: { readonly blocks: string }) => object): void {
  const file = `${work}/package.json`;
  expect(existsSync(file)).toBe(true);
  const record = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, JSON.stringify({ ...record, ...change(record) }));
}
