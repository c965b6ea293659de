// Cancelling an export: from either state, once, at once, and nothing of it is left.
import pg from 'pg';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Claim, claimNext, fail, succeed } from '../../src/exports/dispatcher.ts';
import { launch, startApp, type TestApp } from '../support/app.ts';
import { freshDatabase } from '../support/database.ts';
import { cancelRounds } from '../support/export-races.ts';
import {
  copying,
  exportEvents,
  hasFolder,
  holdGenerating,
  measured,
  numbered,
  poolOn,
  runnersOn,
  storyOf,
  takenSlots,
} from '../support/exports.ts';
import { uuidOf } from '../support/states.ts';
import { createWorkspace } from '../support/story.ts';
import { loaded, mutateExport, published, reachExport, readExport, request } from './story.ts';

const databaseUrl = await freshDatabase();
const pool = poolOn(databaseUrl);
const newRunner = runnersOn(databaseUrl);
const api = await startApp({ worker: false, env: { DATABASE_URL: databaseUrl } });

let small = '';
let large = '';
beforeEach(async () => {
  if (small !== '') return;
  await withWorker(async (app) => {
    [small, large] = [await createWorkspace(app, 'small'), await createWorkspace(app, 'large')];
    await loaded(app, small, [numbered('alpha', 30), measured('gamma', 20)]);
    await loaded(app, large, [numbered('rows', 200_000)]);
  });
});

async function withWorker<T>(work: (app: TestApp) => Promise<T>): Promise<T> {
  const app = await launch({ PACKHORSE_HOME: api.config.home, DATABASE_URL: databaseUrl });
  try {
    return await work(app);
  } finally {
    await app.stop();
  }
}

const cancel = (id: string, more: Record<string, unknown> = {}, token?: string) =>
  mutateExport(api, 'cancelExportExecution', { exportExecutionId: id, ...more }, token);

const claimed = async (): Promise<Claim> => {
  const { generator, dispatch, owner } = newRunner();
  const claim = await claimNext(generator.db, dispatch, owner);
  if (claim === null) throw new Error('nothing could be claimed');
  return claim;
};

it('ends a queued one, once, and lets the next in', async () => {
  const id = await request(api, small);
  const reader = await api.token({ permissions: ['workspace:read'] });
  expect(await cancel(id, {}, reader)).toMatchObject({ __typename: 'ForbiddenError', permission: 'data-export:execute' });
  const answers = await Promise.all(Array.from({ length: 8 }, () => cancel(id, { reason: 'too many' })));
  expect(answers.filter(({ __typename }) => __typename === 'ExportExecution')).toMatchObject([
    { state: 'CANCELLED', failure: null, allowedActions: [] },
  ]);
  const refused = { __typename: 'InvalidTransitionError', from: 'CANCELLED', action: 'CANCEL', allowed: [] };
  expect(answers.filter(({ __typename }) => __typename !== 'ExportExecution')).toMatchObject(Array.from({ length: 7 }, () => refused));
  expect(await cancel(id)).toMatchObject(refused);
  expect(await exportEvents(pool, id)).toMatchObject([
    { action: 'REQUEST' },
    { action: 'CANCEL', from_state: 'QUEUED', to_state: 'CANCELLED', actor: 'ann', reason: 'too many' },
  ]);
  await cancel(await request(api, small));
});

describe('while it is generated', () => {
  it.each([
    ['waits for rows to copy', 'gamma', 'CSV'],
    ['looks for what is missing in texts', 'alpha', 'CSV'],
    ['looks for the types of Parquet', 'alpha', 'PARQUET'],
  ])('stops and leaves nothing, also where it %s', async (_what, dataset, format) => {
    await mutateExport(api, 'updateExportSettings', { workspaceId: small, format });
    await withWorker(async (app) => {
      const hold = await holdGenerating(databaseUrl, small, dataset);
      const id = await request(app, small);
      await expect.poll(() => hold.waiting(), { interval: 5 }).not.toBeNull();
      expect(hasFolder(app.config.workDir, id)).toBe(true);
      expect((await cancel(id)).state).toBe('CANCELLED');
      expect(await takenSlots(pool)).toBe(0);
      const next = await request(app, small); // admitted though the first may still be at work
      await expect.poll(() => hasFolder(app.config.workDir, id), { interval: 10 }).toBe(false);
      await cancel(next);
      await expect.poll(() => copying(pool), { interval: 10 }).toEqual([]);
      const last = await request(app, small);
      await hold.release();
      await published(app, last);
      expect(await storyOf(pool, id)).toEqual(['REQUEST', 'DISPATCH', 'CANCEL']);
      expect(await readExport(app, id)).toMatchObject({ state: 'CANCELLED', exportPackage: null, counts: [], manifestDigest: null });
    });
  });

  it('stops in the middle of its rows', async () => {
    await withWorker(async (app) => {
      // One that had succeeded before it was seen to copy is let be, and tried again.
      const begun = async (id: string) => (await copying(pool)).length > 0 || (await storyOf(pool, id)).includes('SUCCEED');
      await cancelRounds(app, pool, large, 6, (id) => expect.poll(() => begun(id), { interval: 2 }).toBe(true));
      await published(app, await request(app, large));
    });
  });
});

describe('against what settles it', () => {
  const rounds = 50;

  /** Both wait for the row, the one that is named in front. */
  async function atOnce(id: string, sides: { cancel: () => Promise<any>; settle: () => Promise<boolean> }, first: 'cancel' | 'settle') {
    const holder = new pg.Client({ connectionString: databaseUrl, application_name: 'test' });
    await holder.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT FROM export_execution WHERE id = $1 FOR UPDATE', [uuidOf(id)]);
    const waiting = async () =>
      (
        await pool.query<{ n: number }>(
          `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'packhorse' AND wait_event_type = 'Lock'`,
        )
      ).rows[0]?.n;
    const begun: Partial<Record<'cancel' | 'settle', Promise<any>>> = { [first]: sides[first]() };
    await expect.poll(waiting, { interval: 2 }).toBe(1);
    const second = first === 'cancel' ? 'settle' : 'cancel';
    begun[second] = sides[second]();
    await expect.poll(waiting, { interval: 2 }).toBe(2);
    await holder.query('COMMIT');
    await holder.end();
    return { answer: await begun.cancel, settled: await begun.settle };
  }

  it.each(['succeed', 'fail'] as const)(`ends once in ${rounds} rounds against %s`, { timeout: 300_000 }, async (way) => {
    const seen = new Set<string>();
    const result = {
      succeed: (claim: Claim) => succeed(api.app.db, claim, { counts: [], manifestDigest: 'of the race', progress: [] }),
      fail: (claim: Claim) =>
        fail(api.app.db, claim, { code: 'INTERNAL_ERROR', origin: 'system', phase: 'writing', retryable: true, summary: 'It is over.' }),
    }[way];
    for (let round = 0; round < rounds; round++) {
      const id = await request(api, small);
      const claim = await claimed();
      const first = round % 2 === 0 ? 'cancel' : 'settle';
      const { answer, settled } = await atOnce(id, { cancel: () => cancel(id), settle: () => result(claim) }, first);
      const { state } = await readExport(api, id);
      expect((await storyOf(pool, id)).slice(2)).toHaveLength(1);
      expect(settled).toBe(state !== 'CANCELLED');
      if (settled) expect(answer).toMatchObject({ __typename: 'InvalidTransitionError', from: state });
      else expect(answer).toMatchObject({ state: 'CANCELLED' });
      expect(await takenSlots(pool)).toBe(0);
      seen.add(state);
    }
    expect([...seen].sort()).toEqual(['CANCELLED', way === 'succeed' ? 'SUCCEEDED' : 'FAILED']);
  });
});

it('is told of while it runs: phases in order, rows and bytes of each dataset, and an end', async () => {
  const client = await api.socket();
  const seen: any[] = [];
  const hold = await holdGenerating(databaseUrl, large, 'rows');
  const id = await request(api, large);
  const query = `subscription ($id: ID!) { exportExecutionProgress(id: $id) { state phase progress { done total } datasets { dataset bytes progress { done total } } } }`;
  const asked = performance.now();
  let last = asked;
  const stream = client.iterate<any>({ query, variables: { id } });
  const note = ({ data, errors }: any) => {
    expect(errors).toBeUndefined();
    seen.push(data.exportExecutionProgress);
    last = performance.now();
  };
  // Nobody is at work until it was told of as queued, nor can it end until as running: a quick machine does both between two looks.
  note((await stream.next()).value);
  expect(seen[0].state).toBe('QUEUED');
  await withWorker(async () => {
    for await (const value of stream) {
      note(value);
      if (seen.at(-1).state === 'RUNNING') await hold.release();
    }
  });
  const phases = [...new Set(seen.map(({ phase }) => phase))];
  const order = ['queued', 'writing', 'packing', 'finished'];
  expect(phases).toEqual(order.filter((phase) => phases.includes(phase)));
  expect(seen.at(-1)).toMatchObject({
    state: 'SUCCEEDED',
    phase: 'finished',
    datasets: [{ dataset: 'rows', progress: { done: '200000', total: '200000' } }],
  });
  const [count] = (await reachExport(api, id, ({ state }) => state, 'SUCCEEDED')).counts;
  expect(seen.at(-1).datasets[0].bytes).toBe(count.bytes);
  const done = seen.map(({ progress }) => Number(progress.done));
  expect(done).toEqual([...done].sort((a, b) => a - b));
  expect(seen.length).toBeLessThanOrEqual(2 + (2 * (last - asked)) / 1_000);
  expect(seen.length).toBeGreaterThan(2);
});
