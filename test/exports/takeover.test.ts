// A runner that is lost, or goes: another has its slot and its work, and what the first still writes is nothing.
import { copyFileSync, mkdirSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Claim, claimNext, ensureSlots, fail, giveBack, keepClaim, succeed } from '../../src/exports/dispatcher.ts';
import { type Runner, runNext } from '../../src/exports/runner.ts';
import { launch, startApp } from '../support/app.ts';
import { freshDatabase } from '../support/database.ts';
import { folderOfExport, holdGenerating, measured, numbered, poolOn, runnersOn, storyOf, takenSlots } from '../support/exports.ts';
import { uuidOf } from '../support/states.ts';
import { createWorkspace } from '../support/story.ts';
import { exported, loaded, readExport, request } from './story.ts';

const databaseUrl = await freshDatabase();
const pool = poolOn(databaseUrl);
const newRunner = runnersOn(databaseUrl);
const api = await startApp({ worker: false, env: { DATABASE_URL: databaseUrl } });
await ensureSlots(api.app.db, 1);

let workspaceId = '';
let undisturbed: any;
beforeEach(async () => {
  if (workspaceId !== '') return;
  const app = await launch({ PACKHORSE_HOME: api.config.home, DATABASE_URL: databaseUrl });
  workspaceId = await createWorkspace(app, 'taken-over');
  // By name parts 0 to 2; by size alpha and beta are first.
  await loaded(app, workspaceId, [numbered('alpha', 3_000), numbered('beta', 2_000), measured('gamma', 1_000)]);
  undisturbed = (await exported(app, workspaceId)).execution;
  await app.stop();
});

const claim = (runner: Runner) => claimNext(runner.generator.db, runner.dispatch, runner.owner);
const claimed = async (runner: Runner): Promise<Claim> => {
  const one = await claim(runner);
  if (one === null) throw new Error('nothing could be claimed');
  return one;
};

const failure = { code: 'INTERNAL_ERROR', origin: 'system', phase: 'writing', retryable: true, summary: 'A zombie says so.' } as const;
const rowsOf = async (id: string) =>
  (
    await pool.query(
      `SELECT to_jsonb(e) AS execution, to_jsonb(s) AS slot, (SELECT count(*)::int FROM lifecycle_event v WHERE v.export_execution_id = e.id) AS events
       FROM export_execution e LEFT JOIN export_slot s ON s.execution_id = e.id WHERE e.id = $1`,
      [uuidOf(id)],
    )
  ).rows;

/** Ends the lease of whoever has the slot, as time would. */
const lapse = () =>
  pool.query(`UPDATE export_slot SET lease_until = clock_timestamp() - interval '1 second' WHERE execution_id IS NOT NULL`);

const generated = { counts: [], manifestDigest: 'a zombie’s', progress: [] };
const { signal: never } = new AbortController();

it('gives a lapsed slot to another, in the same state and under the next number; the first changes nothing any more', async () => {
  const [zombie, heir] = [newRunner(), newRunner()];
  const id = await request(api, workspaceId);
  const lost = await claimed(zombie);
  expect(await claim(heir)).toBeNull();
  await lapse();
  const taken = await claimed(heir);
  expect(taken).toMatchObject({ fence: lost.fence + 1, execution: { id: uuidOf(id), state: 'RUNNING', takeovers: 1 } });
  expect(await storyOf(pool, id)).toEqual(['REQUEST', 'DISPATCH', 'TAKE_OVER LEASE_LOST']);

  const before = await rowsOf(id);
  const { db } = zombie.generator;
  expect(await keepClaim(db, lost, { leaseMs: 600_000 }, { phase: 'packing', progress: [] })).toBe(false);
  expect(await succeed(db, lost, generated)).toBe(false);
  expect(await fail(db, lost, failure)).toBe(false);
  await giveBack(db, lost);
  expect(await rowsOf(id)).toEqual(before);
  // The heir's lease lapses too, and a zombie that keeps the first claim must not renew it.
  await lapse();
  expect(await keepClaim(db, lost, { leaseMs: 600_000 }, { phase: 'packing', progress: [] })).toBe(false);
  const third = await claimed(newRunner());
  expect(third.fence).toBe(taken.fence + 1);
  expect(await fail(db, third, failure)).toBe(true);
  expect(await takenSlots(pool)).toBe(0);
  // Nor does who had it when it settled.
  const settled = await rowsOf(id);
  expect(await keepClaim(db, third, { leaseMs: 600_000 }, { phase: 'packing', progress: [] })).toBe(false);
  expect(await succeed(db, third, generated)).toBe(false);
  expect(await fail(db, third, failure)).toBe(false);
  await giveBack(db, third);
  expect(await rowsOf(id)).toEqual(settled);
});

it('lets one of eight dispatchers take over, in 20 rounds', async () => {
  const runners = Array.from({ length: 8 }, () => newRunner({ takeovers: 100 }));
  const id = await request(api, workspaceId);
  let last = await claimed(newRunner());
  for (let round = 0; round < 20; round++) {
    await lapse();
    const claims = (await Promise.all(runners.map(claim))).filter((one) => one !== null);
    expect(claims.map(({ fence }) => fence)).toEqual([last.fence + 1]);
    [last] = claims as [Claim];
  }
  expect((await storyOf(pool, id)).filter((told) => told === 'TAKE_OVER LEASE_LOST')).toHaveLength(20);
  await fail(api.app.db, last, failure);
});

it('leaves the slot with a runner that was only late', async () => {
  const runner = newRunner();
  await request(api, workspaceId);
  const late = await claimed(runner);
  await lapse();
  expect(await keepClaim(runner.generator.db, late, runner.dispatch, { phase: 'writing', progress: [] })).toBe(true);
  expect(await claim(newRunner())).toBeNull();
  await fail(runner.generator.db, late, failure);
});

it('fails what has lost its runner too often, in the phase it was in, and takes what is next', async () => {
  const runner = newRunner({ takeovers: 2 });
  const id = await request(api, workspaceId);
  let last = await claimed(runner);
  for (let lost = 1; lost <= 2; lost++) {
    // Handed over on purpose, it does not count.
    await giveBack(runner.generator.db, last);
    last = await claimed(runner);
    await lapse();
    last = await claimed(runner);
    expect(last.execution.takeovers).toBe(lost);
  }
  expect(await keepClaim(runner.generator.db, last, runner.dispatch, { phase: 'packing', progress: [] })).toBe(true);
  await lapse();
  expect(await claim(runner)).toBeNull();
  expect(await storyOf(pool, id)).toEqual([
    'REQUEST',
    'DISPATCH',
    ...Array.from({ length: 2 }, () => ['TAKE_OVER HANDED_OVER', 'TAKE_OVER LEASE_LOST']).flat(),
    'FAIL LEASE_LOST',
  ]);
  const failed = await readExport(api, id);
  expect(failed).toMatchObject({ state: 'FAILED', failure: { code: 'RUNNER_LOST', origin: 'system', phase: 'packing' } });
  expect(failed.failure.summary).toContain('lost 3 times');
  expect(await takenSlots(pool)).toBe(0);
  const next = await request(api, workspaceId);
  expect((await claimed(runner)).execution.id).toBe(uuidOf(next));
  await lapse();
  await fail(api.app.db, await claimed(runner), failure);
});

describe('parts that a runner left on this machine', () => {
  const partOf = (runner: Runner, id: string, n: number) => path.join(folderOfExport(runner.generator.work, id), `${n}.part`);
  const inode = (file: string) => {
    const { ino, mtimeMs } = statSync(file);
    return [ino, mtimeMs];
  };

  /** A runner that was stopped with two of three parts whole. */
  async function leftHalfWay(): Promise<{ id: string; runner: Runner }> {
    const runner = newRunner();
    const hold = await holdGenerating(databaseUrl, workspaceId, 'gamma');
    const id = await request(api, workspaceId);
    const stop = new AbortController();
    const running = runNext(runner, stop.signal);
    await expect.poll(() => hold.waiting(), { interval: 5 }).not.toBeNull();
    for (const n of [0, 1]) await expect.poll(() => statSync(`${partOf(runner, id, n)}.json`, { throwIfNoEntry: false })).toBeDefined();
    stop.abort();
    expect(await running).toEqual({ executionId: uuidOf(id), succeeded: false });
    await hold.release();
    return { id, runner };
  }

  async function finished(id: string, runner: Runner) {
    expect(await runNext(runner, never)).toEqual({ executionId: uuidOf(id), succeeded: true });
    expect(await storyOf(pool, id)).toEqual(['REQUEST', 'DISPATCH', 'TAKE_OVER HANDED_OVER', 'SUCCEED']);
    const { manifestDigest, counts } = await readExport(api, id);
    expect({ manifestDigest, counts }).toEqual({ manifestDigest: undisturbed.manifestDigest, counts: undisturbed.counts });
  }

  it('are not written again, and the digest is that of an undisturbed export', async () => {
    const { id, runner } = await leftHalfWay();
    const before = [0, 1].map((n) => inode(partOf(runner, id, n)));
    await finished(id, runner);
    expect([0, 1].map((n) => inode(partOf(runner, id, n)))).toEqual(before);
  });

  it('are written again where they are damaged', async () => {
    const { id, runner } = await leftHalfWay();
    const [alpha, beta] = [partOf(runner, id, 0), partOf(runner, id, 1)];
    truncateSync(alpha, statSync(alpha).size - 1);
    const before = [alpha, beta].map(inode);
    await finished(id, runner);
    const after = [alpha, beta].map(inode);
    expect(after[0]).not.toEqual(before[0]);
    expect(after[1]).toEqual(before[1]);
  });

  it('are written again where they are whole, and of another dataset', async () => {
    const { id, runner } = await leftHalfWay();
    const [alpha, beta] = [partOf(runner, id, 0), partOf(runner, id, 1)];
    for (const more of ['', '.json']) copyFileSync(`${beta}${more}`, `${alpha}${more}`);
    const before = inode(alpha);
    await finished(id, runner);
    expect(inode(alpha)).not.toEqual(before);
  });

  it('stay, where one who was taken over meets a fault before it knows', async () => {
    const [first, heir] = [newRunner(), newRunner()];
    const hold = await holdGenerating(databaseUrl, workspaceId, 'gamma');
    const id = await request(api, workspaceId);
    const running = runNext(first, never);
    await expect.poll(() => hold.waiting(), { interval: 5 }).not.toBeNull();
    for (const n of [0, 1]) await expect.poll(() => statSync(`${partOf(first, id, n)}.json`, { throwIfNoEntry: false })).toBeDefined();
    const before = [0, 1].map((n) => inode(partOf(first, id, n)));
    await lapse();
    const taken = await claimed(heir);
    mkdirSync(path.join(folderOfExport(first.generator.work, id), '2.1.draft')); // so that it cannot write the part
    await hold.release();
    expect(await running).toEqual({ executionId: uuidOf(id), succeeded: false });
    expect([0, 1].map((n) => inode(partOf(first, id, n)))).toEqual(before);
    expect(await storyOf(pool, id)).toEqual(['REQUEST', 'DISPATCH', 'TAKE_OVER LEASE_LOST']);
    await fail(heir.generator.db, taken, failure);
  });

  it('are all that is left of runners before: what these had only begun is removed', async () => {
    const { id, runner } = await leftHalfWay();
    const folder = folderOfExport(runner.generator.work, id);
    for (const name of ['2.1.draft', '0.1.draft.json', 'package.1.zip']) writeFileSync(path.join(folder, name), 'begun');
    await finished(id, runner);
    expect(readdirSync(folder).sort()).toEqual([
      '0.part',
      '0.part.json',
      '1.part',
      '1.part.json',
      '2.part',
      '2.part.json',
      'package.json',
      'package.zip',
    ]);
  });
});
