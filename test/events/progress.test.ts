import { expect, it } from 'vitest';
import { encodeCursor } from '../../src/events/cursor.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { createWorkspace, mutate, reach, register, stage, zipOf } from '../support/story.ts';
import { type RawMessage, rawSocket } from './raw-socket.ts';
import { openTestDb, ringing, upTo } from './reading.ts';
import { makeYard, move, runId, write } from './writing.ts';

const app = await startApp();
const still = await startApp({ worker: false });
const { db, bell } = still.app;
const events = `subscription ($id: ID!, $after: String) { dataRunEvents(id: $id, after: $after) { sequence action to } }`;
const progress = `subscription ($id: ID!) { dataRunProgress(id: $id) { state progress { done total } steps { dataset state progress { done } } } }`;

interface Arrival {
  /** Since it was asked for. */
  readonly afterMs: number;
  readonly message: RawMessage;
}

/** What arrives for an operation, and when. */
async function watching(id: string, variables: Record<string, unknown>, query: string, at: TestApp = still) {
  const raw = await rawSocket(at);
  const arrivals: Arrival[] = [];
  const asked = performance.now();
  raw.socket.on('message', (data: Buffer) =>
    arrivals.push({ afterMs: performance.now() - asked, message: JSON.parse(data.toString()) as RawMessage }),
  );
  raw.subscribe(id, query, variables);
  return { raw, arrivals, next: () => arrivals.filter(({ message }) => message.type === 'next') };
}

const shown = ({ message }: Arrival) => message.payload.data.dataRunProgress;

/** As they left the server, so all the time since it was asked: on a busy machine two messages arrive closer together than they were sent. */
function expectTwiceASecond(arrivals: readonly Arrival[]): void {
  const last = arrivals.at(-1);
  if (last === undefined) throw new Error('nothing arrived');
  expect(arrivals.length).toBeLessThanOrEqual(1 + Math.ceil((last.afterMs + 50) / 500));
}

it('opens with what is, then shows the newest at most twice a second, and completes when the run has settled', async () => {
  const { workspaceId, runs } = await makeYard(db, 2);
  const [id = '', other = ''] = runs;
  await db.prisma.dataRunStep.create({
    data: { runId: id, position: 1, dataset: 'd', dependsOn: [], target: 'store', progressTotal: 1_000_000n },
  });
  await move(db, id, 'START', 'RUNNING');
  const watch = await watching('1', { id: runId(id) }, progress);
  const following = await watching('1', { id: runId(id), after: encodeCursor(workspaceId, 0n) }, events);
  await watch.raw.reach(({ type }) => type === 'next');
  let done = 0;
  // A storm: as many changes as the database takes, with transitions of this run and of another among them.
  while (watch.next().length < 5) {
    done++;
    await db.pool.query(`UPDATE data_run_step SET progress_done = $2 WHERE run_id = $1`, [id, done]);
    db.announce(`progress:${id}`);
    if (done % 10 === 0) await write(db, id, `n${done}`);
    if (done % 10 === 5) await write(db, other, `n${done}`);
  }
  await db.pool.query(`UPDATE data_run_step SET progress_done = 1000000 WHERE run_id = $1`, [id]);
  await move(db, id, 'CANCEL', 'CANCELLED');
  await watch.raw.reach(({ type }) => type === 'complete');
  const all = watch.next().map(shown);
  expectTwiceASecond(watch.next());
  expect(all[0]).toMatchObject({ state: 'RUNNING', progress: { done: '0', total: '1000000' } });
  expect(all.at(-1)).toMatchObject({
    state: 'CANCELLED',
    progress: { done: '1000000' },
    steps: [{ dataset: 'd', progress: { done: '1000000' } }],
  });
  const steps = all.map((value) => Number(value.progress.done));
  expect(steps).toEqual(steps.toSorted((a, b) => a - b));
  expect(done).toBeGreaterThan(3 * all.length); // or there was no storm
  // Events are not progress: none was left out.
  await following.raw.reach(({ payload }) => payload?.data?.dataRunEvents.to === 'CANCELLED');
  const sequences = following.next().map(({ message }) => message.payload.data.dataRunEvents.sequence);
  const { lastSequence } = await db.prisma.dataRun.findUniqueOrThrow({ where: { id } });
  expect(sequences).toEqual(upTo(lastSequence));
  following.raw.complete('1');
  await expect.poll(() => bell.waiting()).toBe(0);
});

it('says nothing where nothing changes, however busy the workspace is', { timeout: 300_000 }, async () => {
  const { runs } = await makeYard(db, 2);
  const [id = '', other = ''] = runs;
  const neighbour = ringing(openTestDb(still.config.databaseUrl ?? ''), bell); // its own pool, so that ours shows the looks
  const watch = await watching('1', { id: runId(id) }, progress);
  await watch.raw.reach(({ type }) => type === 'next');
  let looks = 0;
  const count = () => looks++;
  db.pool.on('acquire', count);
  const began = performance.now();
  for (let n = 0; n < 300; n++) await write(neighbour, other, `n${n}`);
  const lasted = performance.now() - began;
  db.pool.off('acquire', count);
  expect(watch.next()).toHaveLength(1);
  expect(looks).toBeLessThanOrEqual(2 * (1 + Math.ceil(lasted / 500)));
  await move(db, id, 'CANCEL', 'CANCELLED');
  await watch.raw.reach(({ type }) => type === 'complete');
  expect(watch.next()).toHaveLength(2);
});

it('answers for a run that has settled with one message and completes', async () => {
  const { runs } = await makeYard(db, 1);
  const [id = ''] = runs;
  await move(db, id, 'CANCEL', 'CANCELLED');
  const watch = await watching('1', { id: runId(id) }, progress);
  await watch.raw.reach(({ type }) => type === 'complete');
  expect(watch.next().map(shown)).toMatchObject([{ state: 'CANCELLED' }]);
  await expect.poll(() => bell.waiting()).toBe(0);
});

it('follows the built-in loader to the end of a real load, and drops no transition meanwhile', async () => {
  const workspaceId = await createWorkspace(app);
  const rows = `id,text\n${upTo(30_000)
    .map((n) => `${n},row number ${n}\n`)
    .join('')}`;
  const fields = ['id', 'text'].map((name) => ({ name, type: 'string' }));
  const bytes = await zipOf('large', [{ name: 'large', rows, schema: { fields, primaryKey: 'id' } }]);
  const id = await register(app, workspaceId, await stage(app, workspaceId, bytes));
  const watch = await watching('1', { id }, progress, app);
  const following = await watching('1', { id }, events, app);
  await watch.raw.reach(({ type }) => type === 'next');
  await expect.poll(() => app.app.bell.waiting()).toBe(2);
  // Held where it has read the file and is about to write rows.
  const holder = await app.app.db.pool.connect();
  await holder.query('BEGIN; LOCK TABLE dataset IN SHARE MODE');
  await mutate(app, 'startDataRun', { dataRunId: id });
  await watch.raw.reach(({ payload }) => BigInt(payload?.data?.dataRunProgress.progress.done ?? 0) > 0n);
  await holder.query('COMMIT');
  holder.release();
  await reach(app, id, 'SUCCEEDED');
  await watch.raw.reach(({ type }) => type === 'complete');
  const all = watch.next().map(shown);
  expect(all[0]).toMatchObject({ state: 'REGISTERED', progress: { done: '0' } });
  expect(all.find(({ progress: { done } }) => done !== '0')).toMatchObject({ state: 'RUNNING', steps: [{ state: 'ACTIVE' }] });
  expect(all.at(-1)).toMatchObject({ state: 'SUCCEEDED', steps: [{ dataset: 'large', state: 'SUCCEEDED' }] });
  expect(all.at(-1).progress.done).toBe(all.at(-1).progress.total);
  expectTwiceASecond(watch.next());
  await following.raw.reach(({ payload }) => payload?.data?.dataRunEvents.to === 'SUCCEEDED' && payload.data.dataRunEvents.sequence === 6);
  expect(following.next().map(({ message }) => message.payload.data.dataRunEvents.action)).toEqual([
    'START',
    'SUBMIT',
    'ACCEPT',
    'SUCCEED',
    'SUCCEED',
  ]);
});
