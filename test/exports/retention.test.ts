// How long packages are kept, what is stored again, and what is swept.
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { beforeAll, describe, expect, it } from 'vitest';
import { publish } from '../../src/exports/publish.ts';
import { deleteOrphans, expirePackages } from '../../src/exports/retention.ts';
import { tidyExports } from '../../src/exports/tasks.ts';
import { StorageError } from '../../src/storage/storage.ts';
import { startApp, storageRoot } from '../support/app.ts';
import { uuidOf } from '../support/states.ts';
import { createWorkspace, depot } from '../support/story.ts';
import { eventsOf, executionOf, generatedByHand, goingOn, hasWork, loadedByHand, objects, packagesOf, rowsOf } from './by-hand.ts';
import { linkOf, mutateExport, readExport, request } from './story.ts';

const app = await startApp({ worker: false });
const { storage, publisher } = app.tasks.exports;
const { db } = app.app;
let workspaceId: string;
beforeAll(async () => {
  workspaceId = await createWorkspace(app);
  await loadedByHand(app, workspaceId, depot);
});

const placeOf = (key: string) => path.join(storageRoot(app), key);
const dayAgo = (more: number) => new Date(Date.now() - 86_400_000 + more);
const published = (id: string) => publish(publisher, uuidOf(id), goingOn);
const republished = (id: string, more: object = {}, token?: string) =>
  mutateExport(app, 'republishExport', { exportExecutionId: id, ...more }, token);

async function publishedExport(): Promise<{ id: string; packageId: string; key: string }> {
  const id = await generatedByHand(app, workspaceId);
  await published(id);
  const [held] = await packagesOf(app, id);
  return { id, packageId: held!.id, key: held!.storageKey! };
}

const passed = (packageId: string) =>
  rowsOf(app, `UPDATE export_package SET expires_at = now() - interval '1 second' WHERE id = $1`, packageId);

const told = ['REQUEST', 'DISPATCH', 'SUCCEED', 'PUBLISH'];

describe('a package', () => {
  it('is kept for as many days as the settings said that the execution copied', async () => {
    await mutateExport(app, 'updateExportSettings', { workspaceId, retentionDays: 3 });
    const id = await generatedByHand(app, workspaceId);
    await mutateExport(app, 'updateExportSettings', { workspaceId, retentionDays: 300 });
    await published(id);
    const [held] = await packagesOf(app, id);
    expect(held!.expiresAt!.getTime() - held!.publishedAt!.getTime()).toBe(3 * 86_400_000);
    expect(Math.abs(held!.publishedAt!.getTime() - Date.now())).toBeLessThan(600_000);
  });

  it('expires once, in however many processes at once, and its archive is deleted', async () => {
    const { id, packageId, key } = await publishedExport();
    const other = await publishedExport();
    const link = await linkOf(app, (await readExport(app, id)).exportPackage.id);
    await expirePackages(db, storage);
    expect(existsSync(placeOf(key))).toBe(true); // not yet
    await passed(packageId);
    const client = await db.pool.connect();
    await client.query('BEGIN');
    await client.query('SELECT FROM export_execution WHERE id = $1 FOR UPDATE', [uuidOf(id)]);
    const expiring = Promise.all(Array.from({ length: 3 }, () => expirePackages(db, storage)));
    // All have seen that its time has come, and wait for it.
    await expect
      .poll(() => rowsOf(app, `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`))
      .toHaveLength(3);
    await client.query('ROLLBACK');
    client.release();
    await expiring;
    expect(await eventsOf(app, id)).toEqual([...told, 'EXPIRE RETENTION_OVER']);
    expect(await packagesOf(app, id)).toMatchObject([
      { state: 'EXPIRED', storageKey: null, blocks: null, digest: expect.stringMatching(/^sha256:/) },
    ]);
    expect(existsSync(placeOf(key))).toBe(false);
    expect((await fetch(link)).status).toBe(410);
    expect((await executionOf(app, id)).state).toBe('SUCCEEDED');
    expect((await readExport(app, other.id)).exportPackage.state).toBe('PUBLISHED');
    expect(existsSync(placeOf(other.key))).toBe(true);
  });

  it('whose deletion fails is deleted the next time, and keeps no other', async () => {
    const [first, second] = [await publishedExport(), await publishedExport()];
    for (const { packageId } of [first, second]) await passed(packageId);
    const failing = {
      ...storage,
      delete: (key: string) =>
        key === first.key ? Promise.reject(new StorageError('STORAGE_UNAVAILABLE', 'not now')) : storage.delete(key),
    };
    await expect(expirePackages(db, failing)).rejects.toThrow('not now');
    expect([first, second].map(({ key }) => existsSync(placeOf(key)))).toEqual([true, false]);
    expect((await readExport(app, first.id)).exportPackage.state).toBe('EXPIRED'); // no link is given meanwhile
    await expirePackages(db, storage);
    expect(existsSync(placeOf(first.key))).toBe(false);
    expect(await eventsOf(app, first.id)).toEqual([...told, 'EXPIRE RETENTION_OVER']);
  });
});

describe('republishing', () => {
  it('stores an expired export again, from its cutoff and with its digest', async () => {
    const { id, packageId } = await publishedExport();
    const before = await readExport(app, id);
    await passed(packageId);
    await expirePackages(db, storage);
    await loadedByHand(app, workspaceId, [{ ...depot[0]!, rows: `id,city\n1,${Math.random()}\n` }]);
    const made = await republished(id);
    expect(made.exportPackage).toMatchObject({ state: 'PENDING', bytes: null, digest: null });
    await published(id);
    const after = await readExport(app, id);
    expect(after.exportPackage).toMatchObject({ id: made.exportPackage.id, state: 'PUBLISHED', digest: before.exportPackage.digest });
    expect(after.manifestDigest).toBe(before.manifestDigest);
    const answer = await fetch(await linkOf(app, after.exportPackage.id));
    expect([answer.status, String((await answer.arrayBuffer()).byteLength)]).toEqual([200, after.exportPackage.bytes]);
    const { data } = await app.graphql('query ($id: ID!) { node(id: $id) { ... on ExportPackage { state digest } } }', {
      id: before.exportPackage.id,
    });
    expect(data.node).toEqual({ state: 'EXPIRED', digest: before.exportPackage.digest });
    expect(await eventsOf(app, id)).toEqual([...told, 'EXPIRE RETENTION_OVER', 'PUBLISH']);
  });

  it('gives the first result again by the same key, and makes one package for any number at once', async () => {
    const { id, packageId } = await publishedExport();
    await passed(packageId);
    await expirePackages(db, storage);
    const answers = await Promise.all(Array.from({ length: 5 }, () => republished(id, { idempotencyKey: `again-${id}` })));
    expect(new Set(answers.map((one) => one.exportPackage.id)).size).toBe(1);
    expect(await packagesOf(app, id)).toHaveLength(2);
    expect(await republished(id)).toMatchObject({ __typename: 'ConflictError', code: 'PACKAGE_PENDING' });
    const other = await publishedExport();
    expect(await republished(other.id, { idempotencyKey: `again-${id}` })).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' });
    await published(id);
    expect(await republished(id, { idempotencyKey: `again-${id}` })).toMatchObject({ exportPackage: { state: 'PUBLISHED' } });
    expect(await packagesOf(app, id)).toHaveLength(2);
  });

  it('is refused while there is a package, or none can come', async () => {
    const refused = async (id: string, code: string) => expect(await republished(id)).toMatchObject({ __typename: 'ConflictError', code });
    const fresh = await generatedByHand(app, workspaceId);
    await refused(fresh, 'PACKAGE_PENDING');
    expect(await packagesOf(app, fresh)).toEqual([]);
    await published(fresh);
    const { exportPackage } = await readExport(app, fresh);
    expect(await republished(fresh)).toMatchObject({ code: 'PACKAGE_PUBLISHED', conflictingId: exportPackage.id });
    const id = await request(app, workspaceId);
    await refused(id, 'EXPORT_NOT_SUCCEEDED');
    await rowsOf(app, `UPDATE export_execution SET state = 'RUNNING' WHERE id = $1`, uuidOf(id));
    await refused(id, 'EXPORT_NOT_SUCCEEDED');
    await mutateExport(app, 'cancelExportExecution', { exportExecutionId: id });
    await refused(id, 'EXPORT_NOT_SUCCEEDED');
    const failed = await request(app, workspaceId);
    await rowsOf(
      app,
      `UPDATE export_execution SET state = 'FAILED', settled_at = now(), failure = '{"code":"X"}' WHERE id = $1`,
      uuidOf(failed),
    );
    await refused(failed, 'EXPORT_NOT_SUCCEEDED');
    expect(await packagesOf(app, failed)).toEqual([]);
  });

  it('is not for whom the workspace is hidden from, or who may not export', async () => {
    const { id } = await publishedExport();
    expect(await republished(id, {}, await app.token({ workspaces: ['other'] }))).toMatchObject({ __typename: 'NotFoundError' });
    const reader = await app.token({ permissions: ['workspace:read', 'workspace:admin'] });
    expect(await republished(id, {}, reader)).toMatchObject({ __typename: 'ForbiddenError', permission: 'data-export:execute' });
  });
});

describe('the sweep', () => {
  const put = async (key: string, age: Date) => {
    await storage.put(key, Readable.from([Buffer.from('x')]));
    utimesSync(placeOf(key), age, age);
  };

  it('deletes what nobody owns once it is a day old, and nothing that is younger or owned or not an export’s', async () => {
    const { key } = await publishedExport();
    utimesSync(placeOf(key), dayAgo(-3_600_000), dayAgo(-3_600_000));
    await put('exports/w/p/1.zip', dayAgo(-60_000));
    await put('exports/w/p/2.zip', dayAgo(60_000));
    await put('packages/old.zip', dayAgo(-86_400_000));
    await deleteOrphans(db, storage);
    expect(existsSync(placeOf('packages/old.zip'))).toBe(true);
    const left = (await objects(app)).map((object) => object.key);
    expect(left).toContain(key);
    expect(left).toContain('exports/w/p/2.zip');
    expect(left).not.toContain('exports/w/p/1.zip');
  });

  it('goes on after one that cannot be deleted', async () => {
    const keys = ['exports/w/q/1.zip', 'exports/w/q/2.zip', 'exports/w/q/3.zip'];
    for (const key of keys) await put(key, dayAgo(-60_000));
    const failing = {
      ...storage,
      delete: (key: string) => (key === keys[0] ? Promise.reject(new Error('not this one')) : storage.delete(key)),
    };
    await expect(deleteOrphans(db, failing)).rejects.toThrow('not this one');
    expect(keys.map((key) => existsSync(placeOf(key)))).toEqual([true, false, false]);
  });

  it('removes the work of executions that need none, and keeps what is still to be stored', async () => {
    const done = await publishedExport();
    const waiting = await generatedByHand(app, workspaceId);
    const failed = await generatedByHand(app, workspaceId);
    const folder = placeOf('exports');
    renameSync(folder, `${folder}-away`);
    writeFileSync(folder, 'a file');
    await publish({ ...publisher, attempts: 1 }, uuidOf(failed), goingOn);
    await publish({ ...publisher, retryMs: 3_600_000 }, uuidOf(waiting), goingOn);
    rmSync(folder);
    renameSync(`${folder}-away`, folder);
    const unpublished = await generatedByHand(app, workspaceId);
    for (const name of [uuidOf(done.id), 'not-ours', '00000000-0000-7000-8000-000000000000'])
      mkdirSync(path.join(app.config.workDir, name), { recursive: true });
    await tidyExports(app.tasks.exports);
    expect([waiting, unpublished].map((id) => hasWork(app, id))).toEqual([true, true]);
    expect(hasWork(app, failed)).toBe(false);
    expect(readdirSync(app.config.workDir).sort()).toEqual([uuidOf(waiting), uuidOf(unpublished), 'not-ours'].sort());
  });
});
