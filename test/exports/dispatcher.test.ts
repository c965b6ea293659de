// Slots for the whole cluster: never more at once than there are, in the order of the requests, and told to whoever waits.
import { setTimeout as pause } from 'node:timers/promises';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type Claim, claimNext, ensureSlots, fail, keepClaim } from '../../src/exports/dispatcher.ts';
import { type Runner, runNext } from '../../src/exports/runner.ts';
import { launch, startApp } from '../support/app.ts';
import { freshDatabase } from '../support/database.ts';
import { exportEvents, holdGenerating, numbered, poolOn, runnersOn, storyOf, takenSlots } from '../support/exports.ts';
import { watchSlots } from '../support/slots.ts';
import { uuidOf } from '../support/states.ts';
import { createWorkspace } from '../support/story.ts';
import { loaded, mutateExport, reachExport, readExport, request } from './story.ts';

const databaseUrl = await freshDatabase();
const pool = poolOn(databaseUrl);
const newRunner = runnersOn(databaseUrl);
const count = 24;
// Admits, and dispatches nothing.
const api = await startApp({ worker: false, env: { DATABASE_URL: databaseUrl, PACKHORSE_EXPORT_SLOTS: '1' } });

const worker = (env: Record<string, string> = {}) => launch({ PACKHORSE_HOME: api.config.home, DATABASE_URL: databaseUrl, ...env });

const workspaces: string[] = [];
beforeEach(async () => {
  if (workspaces.length > 0) return;
  const app = await worker();
  for (let n = 0; n < count; n++) {
    workspaces.push(await createWorkspace(app, `w${n}`));
    await loaded(app, workspaces[n] ?? '', [numbered('things', 20, `of ${n}`)]);
  }
  await app.stop();
});

const requestAll = async (some = workspaces) => {
  const ids: string[] = [];
  for (const workspaceId of some) ids.push(await request(api, workspaceId));
  return ids;
};

const failure = { code: 'INTERNAL_ERROR', origin: 'system', phase: 'writing', retryable: true, summary: 'The test ends it.' } as const;
const cancel = (id: string) => mutateExport(api, 'cancelExportExecution', { exportExecutionId: id });
/** As if it had been requested so many minutes before. */
const age = (id: string, minutes: number) =>
  pool.query('UPDATE export_execution SET requested_at = clock_timestamp() - make_interval(mins => $2) WHERE id = $1', [
    uuidOf(id),
    minutes,
  ]);
const claimed = async (runner: Runner): Promise<Claim> => {
  const claim = await claimNext(runner.generator.db, runner.dispatch, runner.owner);
  if (claim === null) throw new Error('nothing could be claimed');
  return claim;
};

describe.each([1, 3])('with %i slot(s) and four dispatchers', (slots) => {
  it(`runs ${count} executions, never more than ${slots} at once`, { timeout: 300_000 }, async () => {
    const runners = Array.from({ length: 4 }, () => newRunner({ slots }));
    await ensureSlots(api.app.db, slots);
    const watch = await watchSlots(pool);
    const ids = await requestAll();
    const { signal } = new AbortController();
    const ran: string[] = [];
    await Promise.all(
      runners.map(async (runner) => {
        while (ran.length < count) {
          const one = await runNext(runner, signal);
          if (one === null) await pause(2);
          else {
            expect(one.succeeded).toBe(true);
            ran.push(one.executionId);
          }
        }
      }),
    );
    await watch.stop();
    expect(watch.most.looks).toBeGreaterThan(20);
    expect(watch.most.running).toBeLessThanOrEqual(slots);
    expect(watch.most.taken).toBeLessThanOrEqual(slots);
    expect(watch.disagreements).toEqual([]);
    expect([...ran].sort()).toEqual(ids.map(uuidOf).sort());
    for (const id of ids) expect(await storyOf(pool, id)).toEqual(['REQUEST', 'DISPATCH', 'SUCCEED']);
    expect(await takenSlots(pool)).toBe(0);
    // A slot goes from one execution to the next only by being given back.
    const changes = await watch.changes();
    expect(changes).toHaveLength(2 * count);
    // By the log: a look every few milliseconds may miss the moment at which all are taken.
    let taken = 0;
    expect(Math.max(...changes.map(({ execution }) => (taken += execution === null ? -1 : 1)))).toBe(slots);
    for (let slot = 1; slot <= slots; slot++) {
      const own = changes.filter((change) => change.slot === slot);
      expect(own.filter(({ execution }, index) => (index % 2 === 0) === (execution === null))).toEqual([]);
    }
    const begun = changes.flatMap(({ execution }) => execution ?? []);
    if (slots === 1) expect(begun).toEqual(ids.map(uuidOf));
  });
});

it('lets the older go first, however two dispatchers interleave', async () => {
  const two = [0, 1].map(() => newRunner());
  for (let round = 0; round < 30; round++) {
    const [one = '', other = ''] = await requestAll(workspaces.slice(0, 2));
    // By the time of the request, and not as the rows happen to lie.
    if (round % 2 === 1) await age(other, 1);
    const claims = await Promise.all(two.map((runner) => claimNext(runner.generator.db, runner.dispatch, runner.owner)));
    expect(claims.flatMap((claim) => claim?.execution.id ?? [])).toEqual([uuidOf(round % 2 === 1 ? other : one)]);
    for (const id of [one, other]) await cancel(id);
  }
});

it('fills all slots at once when a worker comes, without a turn of the reaper for each', async () => {
  const some = workspaces.slice(0, 3);
  const holds = await Promise.all(some.map((workspaceId) => holdGenerating(databaseUrl, workspaceId, 'things')));
  const ids = await requestAll(some);
  const app = await worker({ PACKHORSE_EXPORT_SLOTS: '3', PACKHORSE_POLL_MS: '600000' });
  onTestFinished(() => app.stop());
  for (const id of ids) await reachExport(app, id, ({ state }) => state, 'RUNNING');
  for (const hold of holds) await hold.release();
  for (const id of ids) await reachExport(app, id, ({ state }) => state, 'SUCCEEDED');
});

it('tells whoever waits its place and why, and nobody who would be next', async () => {
  const runner = newRunner();
  const [first, second, third] = (await requestAll(workspaces.slice(0, 3))) as [string, string, string];
  expect((await readExport(api, first)).whyNotRunning).toEqual([]);
  expect((await readExport(api, second)).whyNotRunning).toMatchObject([{ code: 'WAITING_FOR_SLOT' }]);
  const claim = await claimed(runner);
  expect((await readExport(api, first)).whyNotRunning).toEqual([]);
  const message = (n: number) => `It is number ${n} in the queue, and the only slot for exports is taken.`;
  expect((await readExport(api, second)).whyNotRunning).toEqual([{ code: 'WAITING_FOR_SLOT', message: message(1) }]);
  expect((await readExport(api, third)).whyNotRunning).toEqual([{ code: 'WAITING_FOR_SLOT', message: message(2) }]);
  await cancel(second);
  expect((await readExport(api, second)).whyNotRunning).toEqual([]);
  expect((await readExport(api, third)).whyNotRunning).toEqual([{ code: 'WAITING_FOR_SLOT', message: message(1) }]);
  await fail(runner.generator.db, claim, failure);
  expect((await readExport(api, third)).whyNotRunning).toEqual([]);
  expect((await claimed(runner)).execution.id).toBe(uuidOf(third));
  await cancel(third);
});

it('tells of a runner that is silent, and of no other', async () => {
  await ensureSlots(api.app.db, 2);
  const [other = '', id = ''] = await requestAll(workspaces.slice(0, 2));
  await claimed(newRunner({ slots: 2 }));
  const runner = newRunner({ slots: 2, leaseMs: 1 });
  const claim = await claimed(runner);
  await reachExport(api, id, ({ whyNotRunning }) => whyNotRunning.map(({ code }: { code: string }) => code), ['RUNNER_SILENT']);
  expect((await readExport(api, other)).whyNotRunning).toEqual([]);
  expect(await keepClaim(runner.generator.db, claim, { leaseMs: 30_000 }, { phase: 'writing', progress: [] })).toBe(true);
  expect((await readExport(api, id)).whyNotRunning).toEqual([]);
  for (const each of [id, other]) await cancel(each);
});

it('takes the slots of its own setting, where processes differ in it', async () => {
  const few = newRunner({ slots: 1 });
  const many = newRunner({ slots: 3 });
  await ensureSlots(few.generator.db, 3);
  const ids = await requestAll(workspaces.slice(0, 5));
  const claim = (runner: Runner) => claimNext(runner.generator.db, runner.dispatch, runner.owner);
  const one = await claimed(few);
  expect(await claim(few)).toBeNull();
  const two = await claimed(many);
  await claimed(many);
  expect(await claim(many)).toBeNull();
  expect(await takenSlots(pool)).toBe(3);
  // Lowered: the second slot is free, and not for whoever has but one. What runs beyond goes on.
  expect(await fail(many.generator.db, two, failure)).toBe(true);
  expect(await claim(few)).toBeNull();
  expect(await fail(few.generator.db, one, failure)).toBe(true);
  expect((await claimed(few)).execution.id).toBe(uuidOf(ids[3] ?? ''));
  expect(await takenSlots(pool)).toBe(2);
  // Raised again by a process that comes, which makes the rows that are not there.
  await pool.query('DELETE FROM export_slot WHERE n > 3');
  await ensureSlots(many.generator.db, 4);
  await ensureSlots(many.generator.db, 2);
  expect((await pool.query<{ n: number }>('SELECT n FROM export_slot ORDER BY n')).rows.map(({ n }) => n)).toEqual([1, 2, 3, 4]);
  expect((await claimed(many)).execution.id).toBe(uuidOf(ids[4] ?? ''));
  for (const id of ids.slice(2)) await cancel(id);
  await cancel(ids[0] ?? '');
  expect(await takenSlots(pool)).toBe(0);
});

it('fails what has waited too long, and nothing blocks the workspace', async () => {
  const [held, late, waiting] = (await requestAll(workspaces.slice(0, 3))) as [string, string, string];
  await claimed(newRunner());
  await age(waiting, 59);
  await age(late, 61);
  const app = await worker({ PACKHORSE_EXPORT_SLOTS: '1', PACKHORSE_QUEUE_HOURS: '1' });
  onTestFinished(() => app.stop());
  const { failure: why } = await reachExport(app, late, ({ state }) => state, 'FAILED');
  expect(why).toMatchObject({ code: 'QUEUE_EXPIRED', origin: 'system', phase: 'queued' });
  const [, event] = await exportEvents(pool, late);
  expect(event).toMatchObject({ action: 'FAIL', from_state: 'QUEUED', to_state: 'FAILED', cause: 'QUEUE_EXPIRED', actor: 'dispatcher' });
  expect((await readExport(app, waiting)).state).toBe('QUEUED');
  const next = await request(app, workspaces[1] ?? '');
  await cancel(held);
  for (const id of [waiting, next]) await reachExport(app, id, ({ state }) => state, 'SUCCEEDED');
});
