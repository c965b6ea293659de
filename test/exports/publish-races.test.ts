// Publishers that meet, are stopped, or lose what they rely on in the middle.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Db } from '../../src/db.ts';
import { type Publisher, publish } from '../../src/exports/publish.ts';
import { s3Storage } from '../../src/storage/s3.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { door } from '../storage/door.ts';
import { bucket, startS3 } from '../storage/s3-server.ts';
import { startApp } from '../support/app.ts';
import { freshDatabase } from '../support/database.ts';
import { uuidOf } from '../support/states.ts';
import { createWorkspace } from '../support/story.ts';
import { eventsOf, generatedByHand, goingOn, hasWork, loadedByHand, objects, packagesOf, rowsOf } from './by-hand.ts';
import { linkOf, mutateExport, readExport } from './story.ts';

process.env['AWS_ACCESS_KEY_ID'] = 'S3RVER';
process.env['AWS_SECRET_ACCESS_KEY'] = 'the-secret-of-the-tests';

const shared = mkdtempSync(path.join(tmpdir(), 'packhorse-shared-'));
afterAll(() => rmSync(shared, { recursive: true }));
const env = {
  DATABASE_URL: await freshDatabase(),
  PACKHORSE_JWT_SECRET: 'a secret that both machines share',
  PACKHORSE_STORAGE: `file:${shared}`,
};
// Two machines: one storage, and a work folder each.
const app = await startApp({ worker: false, env });
const other = await startApp({ worker: false, env });
const { publisher } = app.tasks.exports;
const s3 = await startS3();

let workspaceId: string;
beforeAll(async () => {
  workspaceId = await createWorkspace(app);
  const noise = Array.from({ length: 3_000 }, (_, n) => `${n},${randomBytes(48).toString('hex')}\n`).join('');
  const schema = { fields: ['id', 'noise'].map((name) => ({ name, type: 'string' })), primaryKey: 'id' };
  await loadedByHand(app, workspaceId, [{ name: 'noise', rows: `id,noise\n${noise}`, schema }]);
});

interface Gate {
  readonly storage: Storage;
  /** Settled when somebody stands before it. */
  readonly reached: Promise<void>;
  open(): void;
}

/** The storage, where whoever has stored a whole object waits before they re-read it. */
function gate(storage: Storage): Gate {
  let arrive = () => {};
  let open = () => {};
  const reached = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const size: Storage['size'] = async (key) => {
    arrive();
    await opened;
    return storage.size(key);
  };
  return { storage: { ...storage, size }, reached, open };
}

const at = (id: string, by: Partial<Publisher> = {}, stop = goingOn, machine = publisher) =>
  publish({ ...machine, ...by }, uuidOf(id), stop);

const told = ['REQUEST', 'DISPATCH', 'SUCCEED'];

async function isPublishedOnce(id: string): Promise<void> {
  const packages = await packagesOf(app, id);
  expect(packages).toMatchObject([{ state: 'PUBLISHED' }]);
  expect(await eventsOf(app, id)).toEqual([...told, 'PUBLISH']);
  const own = (await objects(app)).map(({ key }) => key).filter((key) => key.includes(packages[0]!.id));
  expect(own).toEqual([packages[0]!.storageKey]);
  const answer = await fetch(await linkOf(app, (await readExport(app, id)).exportPackage.id));
  expect([answer.status, (await answer.arrayBuffer()).byteLength]).toEqual([200, Number(packages[0]!.bytes)]);
}

describe('two publishers', () => {
  it('that begin at once on two machines publish one archive', async () => {
    const id = await generatedByHand(app, workspaceId);
    await Promise.all([at(id), at(id, {}, goingOn, other.tasks.exports.publisher)]);
    await isPublishedOnce(id);
  });

  it.each([
    ['this machine', publisher],
    ['another machine', other.tasks.exports.publisher],
  ])('of which one outlives its lease leave what the later one on %s stored, and nothing else', async (_name, machine) => {
    const id = await generatedByHand(app, workspaceId);
    const held = gate(publisher.storage);
    // Silent for longer than its lease: as a process that is stopped, and goes on later.
    const late = at(id, { storage: held.storage, leaseMs: 50, heartbeatMs: 600_000 });
    await held.reached;
    await expect.poll(() => at(id, {}, goingOn, machine).then(() => packagesOf(app, id))).toMatchObject([{ state: 'PUBLISHED', fence: 2 }]);
    const [winner] = await packagesOf(app, id);
    held.open();
    await late;
    expect(await packagesOf(app, id)).toEqual([winner]);
    await isPublishedOnce(id);
  });

  it('do not meet while the one at work keeps its lease', async () => {
    const id = await generatedByHand(app, workspaceId);
    const held = gate(publisher.storage);
    const first = at(id, { storage: held.storage, leaseMs: 3_000, heartbeatMs: 30 });
    await held.reached;
    const [{ leaseUntil } = { leaseUntil: null }] = await packagesOf(app, id);
    await expect.poll(() => Date.now() > leaseUntil!.getTime() + 100).toBe(true);
    await at(id, {}, goingOn, other.tasks.exports.publisher);
    expect(await packagesOf(app, id)).toMatchObject([{ state: 'PENDING', fence: 1 }]);
    held.open();
    await first;
    await isPublishedOnce(id);
  });

  it('of which one has lost its lease publish nothing by it, before the other has either', async () => {
    const id = await generatedByHand(app, workspaceId);
    const [early, later] = [gate(publisher.storage), gate(publisher.storage)];
    const late = at(id, { storage: early.storage, leaseMs: 60, heartbeatMs: 600_000 });
    await early.reached;
    const lapsed = () => rowsOf(app, 'SELECT FROM export_package WHERE execution_id = $1 AND lease_until < clock_timestamp()', uuidOf(id));
    await expect.poll(lapsed).toHaveLength(1);
    const second = at(id, { storage: later.storage });
    await later.reached;
    early.open();
    await late;
    expect(await packagesOf(app, id)).toMatchObject([{ state: 'PENDING', fence: 2, attempts: 2 }]);
    later.open();
    await second;
    await isPublishedOnce(id);
  });
});

describe('a publisher', () => {
  it('that is told to stop hands over at once, and its attempt does not count', async () => {
    const id = await generatedByHand(app, workspaceId);
    const held = gate(publisher.storage);
    const stop = new AbortController();
    const leaving = at(id, { storage: held.storage }, stop.signal);
    await held.reached;
    stop.abort(new Error('the process goes'));
    held.open();
    await leaving;
    expect(await packagesOf(app, id)).toMatchObject([{ state: 'PENDING', attempts: 0, leaseUntil: null }]);
    expect((await objects(app)).filter(({ key }) => key.includes(uuidOf(id)))).toEqual([]);
    expect(hasWork(app, id)).toBe(true);
    await at(id, {}, stop.signal); // it begins nothing any more
    expect(await packagesOf(app, id)).toMatchObject([{ state: 'PENDING', attempts: 0, fence: 1 }]);
    await at(id, {}, goingOn, other.tasks.exports.publisher);
    expect(await packagesOf(app, id)).toMatchObject([{ attempts: 1, fence: 2 }]);
    await isPublishedOnce(id);
  });

  it('keeps what it has published where the database’s answer to that was lost', async () => {
    const id = await generatedByHand(app, workspaceId);
    await at(id, { generator: { ...publisher.generator, db: losingAnswer(publisher.generator.db, id) } });
    expect(await packagesOf(app, id)).toMatchObject([{ attempts: 1, leaseUntil: null }]);
    await isPublishedOnce(id);
  });

  it('counts no attempt where the database went, and makes one more', async () => {
    const id = await generatedByHand(app, workspaceId);
    const size = () => Promise.reject(new Error('Connection terminated unexpectedly'));
    await at(id, { storage: { ...publisher.storage, size }, retryMs: 1, attempts: 1 });
    expect(await packagesOf(app, id)).toMatchObject([{ state: 'PENDING', attempts: 0, leaseUntil: null }]);
    await expect.poll(() => at(id).then(() => packagesOf(app, id))).toMatchObject([{ state: 'PUBLISHED', attempts: 1 }]);
    await isPublishedOnce(id);
  });
});

/** Commits, and then says that the connection was lost: once, when the package is published. */
function losingAnswer(db: Db, id: string): Db {
  let isLost = false;
  const prisma = new Proxy(db.prisma, {
    get(target, name) {
      if (name !== '$transaction') return Reflect.get(target, name, target);
      return async (work: Parameters<Db['prisma']['$transaction']>[0]) => {
        const result = await target.$transaction(work as never);
        const [row] = await packagesOf(app, id);
        if (row?.state !== 'PUBLISHED' || isLost) return result;
        isLost = true;
        throw new Error('Connection terminated unexpectedly');
      };
    },
  });
  return { ...db, prisma };
}

describe('in S3, a package', () => {
  const through = (endpoint: string) =>
    s3Storage({ kind: 's3', bucket, prefix: 'p', endpoint, region: 'us-east-1' }, { connectMs: 1_000, idleMs: 2_000 });
  const kept = () =>
    readdirSync(s3.folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.name.endsWith('zip._S3rver_object'));

  it.each<[string, (way: Awaited<ReturnType<typeof door>>) => void]>([
    ['nobody answers', (way) => way.refuse(1_000)],
    ['every connection is reset after 64 kB', (way) => Object.assign(way.lets, { up: 65_536 })],
    ['nothing comes back whole', (way) => Object.assign(way.lets, { down: 65_536 })],
  ])('is given up where %s, leaves nothing, and is republished when it is mended', async (_name, spoil) => {
    const way = await door(s3.port);
    spoil(way);
    const storage = through(way.endpoint);
    const id = await generatedByHand(app, workspaceId);
    for (let attempt = 1; attempt <= 3; attempt++) {
      await expect
        .poll(() => at(id, { storage, retryMs: 1, attempts: 3 }).then(() => packagesOf(app, id)))
        .toMatchObject([{ attempts: attempt }]);
    }
    expect(await packagesOf(app, id)).toMatchObject([{ state: 'FAILED', failure: { code: 'STORAGE_UNAVAILABLE', origin: 'storage' } }]);
    expect(await eventsOf(app, id)).toEqual([...told, 'PUBLISH_FAIL PUBLICATION_FAILED']);
    expect(kept()).toEqual([]);
    await mutateExport(app, 'republishExport', { exportExecutionId: id });
    const direct = through(`http://127.0.0.1:${s3.port}`);
    await at(id, { storage: direct });
    const [, made] = await packagesOf(app, id);
    expect(made).toMatchObject({ state: 'PUBLISHED', attempts: 1 });
    expect(await direct.size(made!.storageKey!)).toBe(Number(made!.bytes));
    await direct.delete(made!.storageKey!);
  });
});
