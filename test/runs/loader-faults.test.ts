// What can happen to the built-in loader in the middle of its work, each at a place where it is held.
import { randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { createLog } from '../../src/log.ts';
import { startPackhorse } from '../../src/main.ts';
import { storeTarget } from '../../src/runs/targets/store.ts';
import { runStoreJob } from '../../src/runs/targets/store-loader.ts';
import type { Submission } from '../../src/runs/targets/target.ts';
import { reapRuns } from '../../src/runs/tasks.ts';
import { startApp, storageRoot } from '../support/app.ts';
import { type Hold, holdReading, holdWriting } from '../support/holds.ts';
import { chainOf, storedContents } from '../support/source.ts';
import { eventsOf, uuidOf } from '../support/states.ts';
import { createWorkspace, mutate, type Resource, reach, readRun, register, stage, zipOf } from '../support/story.ts';

const app = await startApp();
/** Without background work: a job lies where it is put. */
const idle = await startApp({ worker: false });
const { pool } = app.app.db;
const databaseUrl = app.config.databaseUrl ?? '';
const all = async (text: string, values: unknown[] = []) => (await pool.query(text, values)).rows;

const schema = {
  fields: [
    { name: 'id', type: 'integer' },
    { name: 'label', type: 'string' },
  ],
  primaryKey: 'id',
};
const crates: Resource = { name: 'crates', rows: 'id,label\n1,a\n2,b\n', schema };
const lids: Resource = { name: 'lids', rows: 'id,label\n1,a\n', schema, 'packhorse:dependsOn': ['crates'] };

interface Story {
  readonly workspaceId: string;
  readonly packageId: string;
  readonly id: string;
}

/** A registered run of two datasets, one after the other, in a workspace of its own. */
async function registered(more: Record<string, unknown> = {}, on = app): Promise<Story> {
  const workspaceId = await createWorkspace(on);
  const packageId = await stage(on, workspaceId, await zipOf('crates', [crates, lids]));
  return { workspaceId, packageId, id: await register(on, workspaceId, packageId, more) };
}

const start = (id: string, on = app) => mutate(on, 'startDataRun', { dataRunId: id });
const jobsOf = (id: string) => all('SELECT dataset, state, fence, rows FROM store_job WHERE run_id = $1 ORDER BY created_at', [uuidOf(id)]);
const datasetsIn = (workspaceId: string) => all('SELECT name FROM dataset WHERE workspace_id = $1', [uuidOf(workspaceId)]);
const staging = () => all(`SELECT relname FROM pg_class WHERE relpersistence = 't' AND relkind = 'r'`);

async function heldAt(hold: Hold): Promise<number> {
  await expect.poll(() => hold.waiting(), { interval: 5 }).not.toBeNull();
  return (await hold.waiting()) ?? 0;
}

const places: [string, (workspaceId: string) => Promise<Hold>][] = [
  ['while it reads', () => holdReading(databaseUrl)],
  ['in the transaction that writes', (workspaceId) => holdWriting(databaseUrl, workspaceId, 'crates')],
];

/** Every new load fails in its transaction with this SQLSTATE, `times` times. */
async function failing(sqlstate: string, times: number): Promise<{ mended(): Promise<void> }> {
  await pool.query(`
    CREATE SEQUENCE faults;
    CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF nextval('faults') <= ${times} THEN RAISE EXCEPTION 'relation 16384 of /var/lib' USING ERRCODE = '${sqlstate}'; END IF;
      RETURN NEW;
    END $$;
    CREATE TRIGGER fault BEFORE INSERT ON dataset_load FOR EACH ROW EXECUTE FUNCTION fault()`);
  return {
    async mended() {
      await pool.query('DROP TRIGGER fault ON dataset_load; DROP FUNCTION fault; DROP SEQUENCE faults');
    },
  };
}

describe('a fault that would only repeat itself fails the dataset and leaves nothing', () => {
  it.each([
    ['the disk is full', '53100', 'DATABASE_FULL'],
    ['the database has no memory', '53200', 'DATABASE_FULL'],
    ['something that nobody foresaw', 'XX000', 'INTERNAL_ERROR'],
  ])('%s', async (_, sqlstate, code) => {
    const { id, workspaceId, packageId } = await registered();
    const fault = await failing(sqlstate, 1_000);
    try {
      await start(id);
      const run = await reach(app, id, 'FAILED');
      expect(run.failure.code).toBe(code);
      expect(run.failure.summary).not.toMatch(/16384|var/);
      expect(run.steps.map(({ state, attempt }: any) => [state, attempt])).toEqual([
        ['FAILED', 1],
        ['SKIPPED', 0],
      ]);
      expect(await datasetsIn(workspaceId)).toEqual([]);
    } finally {
      await fault.mended();
    }
    // The same package in a new run, now that there is room.
    const again = await register(app, workspaceId, packageId, { previousRunId: id });
    await start(again);
    expect((await reach(app, again, 'SUCCEEDED')).steps[0].rows.loaded).toBe('2');
  });

  const file = async (packageId: string) => {
    const [held] = await all('SELECT storage_key AS key FROM data_package WHERE id = $1', [uuidOf(packageId)]);
    return path.join(storageRoot(app), held.key);
  };

  it.each<[string, (packageId: string) => Promise<unknown>, string]>([
    ['the stored package is gone', async (id) => rmSync(await file(id)), 'NO_SUCH_OBJECT'],
    ['the stored package is no longer a zip', async (id) => writeFileSync(await file(id), 'not a zip'), 'NOT_A_ZIP'],
    [
      'the package was discarded',
      (id) => pool.query('UPDATE data_package SET discarded_at = now() WHERE id = $1', [uuidOf(id)]),
      'PACKAGE_DISCARDED',
    ],
  ])('%s', async (_, spoil, code) => {
    const { id, workspaceId, packageId } = await registered();
    await spoil(packageId);
    await start(id);
    const run = await reach(app, id, 'FAILED');
    expect(run.failure).toMatchObject({ code });
    expect(run.steps[0]).toMatchObject({ state: 'FAILED', failure: { code } });
    expect(await datasetsIn(workspaceId)).toEqual([]);
  });
});

describe('a fault that passes is no failure: the job is tried again, as the same attempt', () => {
  async function succeeded({ id, workspaceId }: Story, claims: number): Promise<void> {
    const run = await reach(app, id, 'SUCCEEDED');
    expect(run.steps.map(({ attempt, rows }: any) => [attempt, rows.loaded])).toEqual([
      [1, '2'],
      [1, '1'],
    ]);
    const [first] = await jobsOf(id);
    expect(first).toMatchObject({ dataset: 'crates', state: 'succeeded', fence: claims });
    expect(await datasetsIn(workspaceId)).toHaveLength(2);
    expect((await eventsOf(app, id)).filter(({ dataset }) => dataset === 'crates').map(({ action }) => action)).toEqual([
      'SUBMIT',
      'ACCEPT',
      'SUCCEED',
    ]);
  }

  it.each(places)('the connection is lost %s', async (_, holdAt) => {
    const story = await registered();
    const hold = await holdAt(story.workspaceId);
    await start(story.id);
    const backend = await heldAt(hold);
    await pool.query('SELECT pg_terminate_backend($1)', [backend]);
    await expect.poll(() => hold.waiting().then((pid) => pid !== null && pid !== backend)).toBe(true);
    await hold.release();
    await succeeded(story, 2);
  });

  it.each([
    ['a deadlock', '40P01'],
    ['a session ended for idling', '25P03'],
    ['a lock not had in time', '55P03'],
    ['a server that has no connection left', '53300'],
  ])('%s', async (_, sqlstate) => {
    const story = await registered();
    const fault = await failing(sqlstate, 2);
    try {
      await start(story.id);
      await succeeded(story, 3);
    } finally {
      await fault.mended();
    }
  });

  it('the connection is lost while the file’s bytes are on their way', async () => {
    const source = await chainOf('copied', 150_000, 0);
    const workspaceId = await createWorkspace(app);
    const id = await register(app, workspaceId, await stage(app, workspaceId, source.zip));
    await start(id);
    const cut = async () =>
      (await pool.query('SELECT pg_terminate_backend(pid) FROM pg_stat_progress_copy WHERE tuples_processed > 0')).rowCount;
    await expect.poll(cut, { interval: 1 }).toBe(1);
    const run = await reach(app, id, 'SUCCEEDED');
    expect(run.steps.map(({ attempt }: any) => attempt)).toEqual([1, 1, 1, 1]);
    expect(Math.max(...(await jobsOf(id)).map(({ fence }) => fence))).toBe(2);
    expect(await storedContents(pool, workspaceId)).toEqual(source.contents);
  });
});

describe('a cancel', () => {
  it.each(places)('reaches the loader %s: no rows, no staging', async (_, holdAt) => {
    const { id, workspaceId } = await registered();
    const hold = await holdAt(workspaceId);
    await start(id);
    await heldAt(hold);
    const cancelled = await mutate(app, 'cancelDataRun', { dataRunId: id });
    expect(cancelled, JSON.stringify(cancelled)).toMatchObject({ __typename: 'DataRun', state: 'CANCELLED' });
    await expect.poll(async () => (await readRun(app, id)).steps[0].state, { interval: 20 }).toBe('CANCELLED');
    await expect.poll(() => hold.waiting(), { interval: 20 }).toBeNull();
    await hold.release();
    await expect.poll(staging, { interval: 20 }).toEqual([]);
    expect((await readRun(app, id)).steps.map(({ state }: any) => state)).toEqual(['CANCELLED', 'SKIPPED']);
    expect(await datasetsIn(workspaceId)).toEqual([]);
    expect(await jobsOf(id)).toMatchObject([{ state: 'cancelled', fence: 1, rows: null }]);
    // Nobody takes it up again, and the name is free for another run.
    expect(await all(`SELECT FROM store_job WHERE state IN ('queued', 'running')`)).toEqual([]);
  });

  it('that came in the last moment, and that no heartbeat has seen, still leaves no rows', async () => {
    const { id, workspaceId } = await registered();
    const hold = await holdWriting(databaseUrl, workspaceId, 'crates');
    await start(id);
    await heldAt(hold);
    const lease = async () => (await all('SELECT lease_until FROM store_job WHERE run_id = $1', [uuidOf(id)]))[0].lease_until.getTime();
    const before = await lease();
    await expect.poll(lease, { interval: 5 }).not.toBe(before);
    // A heartbeat has just been: from here to the next one only the loader's own last statement can see the mark.
    await all('UPDATE store_job SET cancel_requested_at = clock_timestamp() WHERE run_id = $1', [uuidOf(id)]);
    await hold.release();
    await expect.poll(async () => (await jobsOf(id))[0].state).toBe('cancelled');
    expect(await datasetsIn(workspaceId)).toEqual([]);
    await reach(app, id, 'FAILED'); // stopped without the run having been cancelled
  });
});

describe('a cancel by key', () => {
  it('leaves a tombstone: a submission that comes after it finds a cancelled job and starts nothing', async () => {
    const { db } = idle.app;
    const target = storeTarget(db);
    const { id, workspaceId, packageId } = await registered({ driving: 'ON_REQUEST' }, idle);
    const { signal } = new AbortController();
    const key = `ph:${uuidOf(id)}:0:1`;
    expect(await target.cancelByKey(key, { subject: 'ann' }, signal)).toMatchObject({ is: 'job', report: { state: 'cancelled' } });
    const submission = {
      key,
      runId: uuidOf(id),
      stepId: randomUUID(),
      attempt: 1,
      workspaceId: uuidOf(workspaceId),
      packageId: uuidOf(packageId),
      dataset: { name: 'crates', bytes: 20 },
      onInvalidRow: 'FAIL',
      onMissingReference: 'BLOCK',
      subject: 'ann',
    } as Submission;
    expect(await target.submit(submission, signal)).toMatchObject({ is: 'job', report: { state: 'cancelled' } });
    const { rows } = await db.pool.query('SELECT id, state FROM store_job WHERE idempotency_key = $1', [key]);
    expect(rows).toMatchObject([{ state: 'cancelled' }]);
    await runStoreJob(idle.tasks.runs.loader, rows[0].id, signal);
    expect((await db.pool.query('SELECT FROM dataset WHERE workspace_id = $1', [uuidOf(workspaceId)])).rowCount).toBe(0);
  });
});

describe('jobs and processes', () => {
  it('of many that race for one job, one loads it', async () => {
    const quiet = idle.app.db.pool;
    const { id } = await registered({ driving: 'ON_REQUEST' }, idle);
    await start(id, idle);
    const { rows: jobs } = await quiet.query('SELECT id FROM store_job WHERE run_id = $1', [uuidOf(id)]);
    expect(jobs).toHaveLength(1);
    const rival = await startPackhorse({ ...idle.config, role: 'api' }, createLog(idle.config));
    try {
      const loaders = [idle.tasks.runs.loader, rival.tasks.runs.loader, idle.tasks.runs.loader, rival.tasks.runs.loader];
      await Promise.all(loaders.map((loader) => runStoreJob(loader, jobs[0].id, new AbortController().signal)));
    } finally {
      await rival.stop();
    }
    expect((await quiet.query('SELECT state, fence FROM store_job WHERE run_id = $1', [uuidOf(id)])).rows).toEqual([
      { state: 'succeeded', fence: 1 },
    ]);
    expect((await quiet.query('SELECT count(*)::int AS loads FROM dataset_load WHERE run_id = $1', [uuidOf(id)])).rows).toEqual([
      { loads: 1 },
    ]);
  });

  it('a load whose process died, and for which no task is left, is found by the reaper', async () => {
    const quiet = idle.app.db.pool;
    const { id } = await registered({ driving: 'ON_REQUEST' }, idle);
    await start(id, idle);
    const { rows } = await quiet.query('SELECT id FROM store_job WHERE run_id = $1', [uuidOf(id)]);
    const tasks = async () => (await quiet.query('SELECT FROM graphile_worker.jobs WHERE key = $1', [`load:${rows[0].id}`])).rowCount;
    const reap = () =>
      reapRuns({ ...idle.tasks.runs, stop: new AbortController().signal }, (error) => {
        throw error;
      });
    await quiet.query('SELECT graphile_worker.complete_jobs(array_agg(id)) FROM graphile_worker.jobs');
    await quiet.query(`UPDATE store_job SET state = 'running', lease_until = now() + interval '1 hour' WHERE id = $1`, [rows[0].id]);
    await reap();
    expect(await tasks()).toBe(0); // somebody holds it
    await quiet.query(`UPDATE store_job SET lease_until = now() - interval '1 second' WHERE id = $1`, [rows[0].id]);
    await reap();
    expect(await tasks()).toBe(1);
  });

  it('a load that takes longer than its lease keeps it, and nobody takes it over', async () => {
    const { id } = await registered();
    const hold = await holdReading(databaseUrl);
    await start(id);
    const backend = await heldAt(hold);
    // Twice the lease by the database's clock: the reaper has looked many times by then.
    const lapsed = 'SELECT clock_timestamp() > created_at + make_interval(secs => $2) AS lapsed FROM store_job WHERE run_id = $1';
    const twice = (2 * app.tasks.runs.loader.leaseMs) / 1_000;
    await expect.poll(async () => (await all(lapsed, [uuidOf(id), twice]))[0].lapsed).toBe(true);
    expect(await hold.waiting()).toBe(backend);
    expect(await jobsOf(id)).toMatchObject([{ state: 'running', fence: 1 }]);
    await hold.release();
    await reach(app, id, 'SUCCEEDED');
    expect((await jobsOf(id)).map(({ fence }) => fence)).toEqual([1, 1]);
  });

  it('a loader that lost its job writes nothing, although no heartbeat has told it yet', async () => {
    const { id, workspaceId } = await registered();
    const hold = await holdWriting(databaseUrl, workspaceId, 'crates');
    await start(id);
    await heldAt(hold);
    const lease = async () => (await all('SELECT lease_until FROM store_job WHERE run_id = $1', [uuidOf(id)]))[0].lease_until.getTime();
    const before = await lease();
    await expect.poll(lease, { interval: 5 }).not.toBe(before);
    await all('UPDATE store_job SET fence = fence + 1 WHERE run_id = $1', [uuidOf(id)]); // as whoever takes it over does
    await hold.release();
    await reach(app, id, 'SUCCEEDED');
    // Neither of the first two had it when it was settled: the one that took it over never came, and a third did it.
    expect((await jobsOf(id))[0]).toMatchObject({ state: 'succeeded', fence: 3 });
  });

  it('a loader whose job was taken over gives up at its next heartbeat, and keeps no lease that is not its own', async () => {
    const quiet = idle.app.db.pool;
    const { id } = await registered({ driving: 'ON_REQUEST' }, idle);
    await start(id, idle);
    const { rows } = await quiet.query('SELECT id FROM store_job WHERE run_id = $1', [uuidOf(id)]);
    const hold = await holdReading(idle.config.databaseUrl ?? '');
    const loading = runStoreJob(idle.tasks.runs.loader, rows[0].id, new AbortController().signal);
    await heldAt(hold);
    await quiet.query(`UPDATE store_job SET fence = fence + 1, lease_until = '2100-01-01' WHERE id = $1`, [rows[0].id]);
    await expect.poll(() => hold.waiting(), { interval: 20 }).toBeNull();
    await hold.release();
    await loading;
    expect(
      (await quiet.query(`SELECT state, fence, lease_until = '2100-01-01' AS kept FROM store_job WHERE id = $1`, [rows[0].id])).rows,
    ).toEqual([{ state: 'running', fence: 2, kept: true }]);
  });

  it('a cancelled job whose loader died is confirmed stopped by whoever finds it', async () => {
    const quiet = idle.app.db.pool;
    const { id } = await registered({ driving: 'ON_REQUEST' }, idle);
    await start(id, idle);
    // As a process leaves it that was killed while it loaded.
    await quiet.query(
      `UPDATE store_job SET state = 'running', fence = 1, lease_until = clock_timestamp() - interval '1 second' WHERE run_id = $1`,
      [uuidOf(id)],
    );
    expect(await mutate(idle, 'cancelDataRun', { dataRunId: id })).toMatchObject({ state: 'CANCELLED' });
    expect((await readRun(idle, id)).steps[0].state).toBe('CANCELLING');
    const worker = await startPackhorse({ ...idle.config, role: 'worker' }, createLog(idle.config));
    try {
      await expect.poll(async () => (await readRun(idle, id)).steps[0].state).toBe('CANCELLED');
    } finally {
      await worker.stop();
    }
  });

  it('a process that is ending hands its load over at once, lease and task', async () => {
    const quiet = idle.app.db.pool;
    const { id } = await registered({ driving: 'ON_REQUEST' }, idle);
    await start(id, idle);
    const { rows } = await quiet.query('SELECT id FROM store_job WHERE run_id = $1', [uuidOf(id)]);
    await quiet.query(`SELECT graphile_worker.complete_jobs(array_agg(id)) FROM graphile_worker.jobs`);
    const hold = await holdReading(idle.config.databaseUrl ?? '');
    const stop = new AbortController();
    const loading = runStoreJob({ ...idle.tasks.runs.loader, leaseMs: 60_000 }, rows[0].id, stop.signal);
    await heldAt(hold);
    stop.abort();
    await loading;
    await hold.release();
    expect(
      (await quiet.query(`SELECT state, lease_until <= clock_timestamp() AS free FROM store_job WHERE id = $1`, [rows[0].id])).rows,
    ).toEqual([{ state: 'running', free: true }]);
    expect((await quiet.query('SELECT FROM graphile_worker.jobs WHERE key = $1', [`load:${rows[0].id}`])).rowCount).toBe(1);
  });

  it('a process that is ending begins no load', async () => {
    const { id } = await registered({ driving: 'ON_REQUEST' }, idle);
    await start(id, idle);
    const { rows } = await idle.app.db.pool.query('SELECT id FROM store_job WHERE run_id = $1', [uuidOf(id)]);
    await runStoreJob(idle.tasks.runs.loader, rows[0].id, AbortSignal.abort());
    expect((await idle.app.db.pool.query('SELECT state, fence FROM store_job WHERE id = $1', [rows[0].id])).rows).toEqual([
      { state: 'queued', fence: 0 },
    ]);
  });
});

it('gives a job up that was begun again and again, each time by a process that went away', async () => {
  const { id } = await registered({ driving: 'ON_REQUEST' }, idle);
  await start(id, idle);
  const [job] = await idle.app.db.prisma.storeJob.findMany({ where: { runId: uuidOf(id) } });
  await idle.app.db.prisma.storeJob.update({ where: { id: job!.id }, data: { fence: 50 } });
  await runStoreJob(idle.tasks.runs.loader, job!.id, new AbortController().signal);
  await mutate(idle, 'advanceDataRun', { dataRunId: id });
  expect(await readRun(idle, id)).toMatchObject({ state: 'FAILED', failure: { code: 'LOADER_LOST' } });
});
