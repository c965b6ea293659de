// How long staged bytes are kept, and what a package knows of itself once it was loaded.
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { discardExpired } from '../../src/packages/tasks.ts';
import { registerDataRun } from '../../src/runs/register.ts';
import { startApp, storageRoot } from '../support/app.ts';
import { uuidOf } from '../support/states.ts';
import { createWorkspace, depot, mutate, reach, register, stage, zipOf } from '../support/story.ts';

const app = await startApp();
const workspaceId = await createWorkspace(app, 'staged');

const expire = (packageId: string) =>
  app.app.db.pool.query(`UPDATE data_package SET expires_at = clock_timestamp() - interval '1 second' WHERE id = $1`, [uuidOf(packageId)]);
const stored = (packageId: string) =>
  readdirSync(path.join(storageRoot(app), 'packages', uuidOf(packageId)), { withFileTypes: true }).filter((entry) => entry.isFile()).length;

it('keeps the bytes while a run needs them, discards them a day after, and says so to who comes too late', async () => {
  const packageId = await stage(app, workspaceId, await zipOf('kept', depot));
  const id = await register(app, workspaceId, packageId);
  await expire(packageId);
  expect(await discardExpired(app.app.packages)).toBe(0);
  await mutate(app, 'startDataRun', { dataRunId: id });
  await reach(app, id, 'SUCCEEDED');

  // Registered again, the day begins anew.
  const again = await register(app, workspaceId, packageId);
  await mutate(app, 'cancelDataRun', { dataRunId: again });
  expect(await discardExpired(app.app.packages)).toBe(0);
  expect(stored(packageId)).toBe(1);

  await expire(packageId);
  expect(await discardExpired(app.app.packages)).toBe(1);
  expect(stored(packageId)).toBe(0);
  expect(await mutate(app, 'registerDataRun', { workspaceId, packageId })).toMatchObject({
    __typename: 'ConflictError',
    code: 'PACKAGE_NOT_UPLOADED',
  });
});

it('registers nothing whose bytes were discarded while it was looked at', async () => {
  const packageId = await stage(app, workspaceId, await zipOf('late', depot));
  const { db, runs, packages } = app.app;
  const { storage } = packages;
  // Housekeeping comes in between: the package is sound, and its day over, when the run is to be written.
  const discarding = {
    ...storage,
    async get(...args: Parameters<typeof storage.get>) {
      await db.pool.query(`UPDATE data_package SET discarded_at = clock_timestamp() WHERE id = $1`, [uuidOf(packageId)]);
      return storage.get(...args);
    },
  };
  const viewer = {
    subject: 'ann',
    permissions: new Set(['data-run']),
    workspaces: '*',
    revoked: new Set<string>(),
    expiresAt: new Date(Date.now() + 60_000),
  } as const;
  const input = {
    workspaceId: uuidOf(workspaceId),
    packageId: uuidOf(packageId),
    driving: 'ON_REQUEST',
    onInvalidRow: 'FAIL',
    onMissingReference: 'BLOCK',
    onHashMismatch: 'FAIL',
  } as const;
  const registering = registerDataRun(runs, { ...packages, storage: discarding }, { viewer, requestId: 'r' }, input);
  await expect(registering).rejects.toMatchObject({ code: 'PACKAGE_NOT_UPLOADED' });
  expect(await db.prisma.dataRun.count({ where: { packageId: uuidOf(packageId) } })).toBe(0);
});

it('keeps the bytes while a child of a run that has ended is still at work, or still to be stopped', async () => {
  const packageId = await stage(app, workspaceId, await zipOf('at-work', depot));
  const id = await register(app, workspaceId, packageId);
  await mutate(app, 'cancelDataRun', { dataRunId: id });
  await discardExpired(app.app.packages); // what earlier tests have left
  for (const counter of ['active_children', 'cancelling_steps']) {
    await app.app.db.pool.query(`UPDATE data_run SET ${counter} = 1 WHERE id = $1`, [uuidOf(id)]);
    await expire(packageId);
    expect(await discardExpired(app.app.packages), counter).toBe(0);
    expect(stored(packageId)).toBe(1);
    await app.app.db.pool.query(`UPDATE data_run SET ${counter} = 0 WHERE id = $1`, [uuidOf(id)]);
  }
  expect(await discardExpired(app.app.packages)).toBe(1);
});

it('makes up for a deletion that failed, and lets it keep no other', async () => {
  const ids = [await stage(app, workspaceId, await zipOf('a', depot)), await stage(app, workspaceId, await zipOf('b', depot))];
  for (const id of ids) await expire(id);
  const { storage } = app.app.packages;
  let failing = true;
  const broken = {
    ...storage,
    delete: (key: string) =>
      failing && key.includes(uuidOf(ids[0]!)) ? Promise.reject(new Error('the disk is away')) : storage.delete(key),
  };
  await expect(discardExpired({ db: app.app.db, storage: broken })).rejects.toThrow('the disk is away');
  expect(ids.map(stored)).toEqual([1, 0]);
  failing = false;
  expect(await discardExpired({ db: app.app.db, storage: broken })).toBe(1);
  expect(ids.map(stored)).toEqual([0, 0]);
});

it('tells a package’s rows once they were counted', async () => {
  const packageId = await stage(app, workspaceId, await zipOf('counted', depot));
  const id = await register(app, workspaceId, packageId);
  const rows = async () => {
    const { data } = await app.graphql(
      'query ($id: ID!) { dataRun(id: $id) { package { name digest resources { name rows dependsOn } } } }',
      { id },
    );
    return data.dataRun.package.resources.map((resource: { rows: string | null }) => resource.rows);
  };
  expect(await rows()).toEqual([null, null, null]);
  await mutate(app, 'startDataRun', { dataRunId: id });
  await reach(app, id, 'SUCCEEDED');
  expect(await rows()).toEqual(['2', '1', '3']);
});

it('is another attempt of a settled run of the same package only', async () => {
  const packageId = await stage(app, workspaceId, await zipOf('attempts', depot));
  const other = await register(app, workspaceId, await stage(app, workspaceId, await zipOf('others', depot)));
  await mutate(app, 'cancelDataRun', { dataRunId: other });
  const first = await register(app, workspaceId, packageId);
  const again = (previousRunId: string) => mutate(app, 'registerDataRun', { workspaceId, packageId, previousRunId });
  expect(await again(first)).toMatchObject({ __typename: 'InvalidInputError', field: 'previousRunId' });
  await mutate(app, 'cancelDataRun', { dataRunId: first });
  expect(await again(other)).toMatchObject({ __typename: 'InvalidInputError', field: 'previousRunId' });
  const second = await again(first);
  expect(second).toMatchObject({ __typename: 'DataRun', state: 'REGISTERED' });
  const { data } = await app.graphql('query ($id: ID!) { dataRun(id: $id) { previousRun { id } } }', { id: second.id });
  expect(data.dataRun.previousRun.id).toBe(first);
});
