// Cancel with children at work: mark, ask, settle; and the duties that are left.
import { afterEach, expect, it } from 'vitest';
import { storeTarget } from '../../src/runs/targets/store.ts';
import type { Answer } from '../../src/runs/targets/target.ts';
import { startApp } from '../support/app.ts';
import { scriptedTarget } from '../support/scripted-target.ts';
import { chain, eventsOf, everythingOf, registered, uuidOf } from '../support/states.ts';
import { createWorkspace, mutate, reach, readRun } from '../support/story.ts';

const target = scriptedTarget();
const app = await startApp({ targets: (db) => [storeTarget(db), target], env: { PACKHORSE_CANCEL_DEADLINE_MS: '800' } });
/** Waits for a child's answer as long as a test lets it. */
const patient = await startApp({
  targets: (db) => [storeTarget(db), target],
  env: { PACKHORSE_CANCEL_DEADLINE_MS: '600000', PACKHORSE_DEADLINE_MS: '600000', PACKHORSE_LEASE_MS: '1800000' },
});
const workspaceId = await createWorkspace(app, 'cancel');
const first = chain[0]!;
const independent = [first, { ...first, name: 'other' }];

afterEach(() => {
  target.script = {};
  target.stopsAs = 'cancelled';
});

async function active(resources = chain): Promise<string> {
  const id = await registered(app, workspaceId, resources);
  await mutate(app, 'startDataRun', { dataRunId: id });
  await expect.poll(async () => (await readRun(app, id)).steps[0].state).toBe('ACTIVE');
  if (resources === independent) await expect.poll(async () => (await readRun(app, id)).steps[1].state).toBe('ACTIVE');
  return id;
}

const extra = async (id: string, on = app) => {
  const { data } = await on.graphql(
    `query ($id: ID!) { dataRun(id: $id) { cancelRequestedAt outstandingCancellations { dataset cancelAnswer } workspace { outstandingChildren { dataset } } steps { state cancelAnswer lateResult } } }`,
    { id },
  );
  return data.dataRun;
};

it('cancels a child that agrees, skips what was pending, and keeps nothing outstanding', async () => {
  const id = await active();
  const answered = await mutate(app, 'cancelDataRun', { dataRunId: id, reason: 'wrong file' });
  expect(answered).toMatchObject({ state: 'CANCELLED', steps: [{ state: 'CANCELLED' }, { state: 'SKIPPED' }] });
  expect((await eventsOf(app, id)).slice(-4).map(({ action, dataset, reason }) => [action, dataset, reason])).toEqual([
    ['CANCEL_REQUEST', 'first', 'wrong file'],
    ['CANCEL', 'first', 'wrong file'],
    ['SKIP', 'second', 'wrong file'],
    ['CANCEL', null, 'wrong file'],
  ]);
  expect((await extra(id)).outstandingCancellations).toEqual([]);
});

it('refuses the whole cancel where a child refuses access, and the run goes on', async () => {
  const id = await active(independent);
  target.script.cancel = (job) => (job.dataset === 'first' ? { is: 'forbidden', message: 'not yours' } : null);
  const answered = await mutate(app, 'cancelDataRun', { dataRunId: id });
  expect(answered).toMatchObject({
    __typename: 'ForbiddenError',
    code: 'CHILD_REFUSED_CANCEL',
    dataset: 'first',
    permission: 'target:scripted',
  });
  expect(await extra(id)).toMatchObject({ cancelRequestedAt: null });
  // The one that had agreed really stopped: its step fails by that.
  const run = await reach(app, id, 'FAILED');
  expect(run.steps[1]).toMatchObject({ state: 'FAILED', failure: { code: 'CHILD_CANCELLED' } });
});

it('cancels by force although a child refuses, with its own permission, and the duty stays', async () => {
  const id = await active([first]);
  target.script.cancel = () => ({ is: 'forbidden', message: 'not yours' });
  const weak = await app.token({ permissions: ['workspace:read', 'data-run', 'target:*'] });
  expect(await mutate(app, 'cancelDataRun', { dataRunId: id, force: true }, weak)).toMatchObject({
    __typename: 'ForbiddenError',
    permission: 'data-run:force',
  });
  expect(await mutate(app, 'cancelDataRun', { dataRunId: id, force: true })).toMatchObject({
    state: 'CANCELLED',
    steps: [{ state: 'CANCELLING' }],
  });
  expect(await extra(id)).toMatchObject({
    outstandingCancellations: [{ dataset: 'first', cancelAnswer: 'refused' }],
    workspace: { outstandingChildren: expect.arrayContaining([{ dataset: 'first' }]) },
  });
  target.script.cancel = () => null;
  await expect.poll(async () => (await readRun(app, id)).steps[0].state).toBe('CANCELLED');
});

it.each<[string, () => Answer | Promise<Answer>]>([
  ['answers 503', () => ({ is: 'unknown', message: '503' })],
  ['never answers', () => new Promise<Answer>(() => {})],
])('cancels within the deadline where the child %s, and asks again until it is confirmed', async (_what, answer) => {
  const id = await active([first]);
  target.script.cancel = answer;
  expect(await mutate(app, 'cancelDataRun', { dataRunId: id })).toMatchObject({ state: 'CANCELLED', steps: [{ state: 'CANCELLING' }] });
  expect(await extra(id)).toMatchObject({ steps: [{ cancelAnswer: 'unreachable' }] });
  const asked = target.job('first').cancelAsked;
  await expect.poll(() => target.job('first').cancelAsked).toBeGreaterThan(asked + 1);
  target.script.cancel = () => null;
  await expect.poll(async () => (await readRun(app, id)).steps[0].state).toBe('CANCELLED');
});

it('records how a child really ended after the cancel, and leaves the run as it is', async () => {
  const id = await active([first]);
  target.stopsAs = 'running';
  await mutate(app, 'cancelDataRun', { dataRunId: id });
  const settled = await everythingOf(app, id);
  expect(settled).toContain('CANCELLING');
  target.end('first', 'succeeded');
  await expect.poll(async () => (await readRun(app, id)).steps[0].state).toBe('SUCCEEDED');
  expect((await eventsOf(app, id)).at(-1)).toMatchObject({
    action: 'LATE_RESULT',
    from_state: 'CANCELLING',
    to_state: 'SUCCEEDED',
    dataset: 'first',
  });
  expect(await readRun(app, id)).toMatchObject({ state: 'CANCELLED' });
  expect(await extra(id)).toMatchObject({ steps: [{ lateResult: 'succeeded' }] });
});

it('counts what is left of a cancelled run, by which the reaper finds the duty when no wake does', async () => {
  const id = await active(chain);
  target.script.cancel = () => ({ is: 'unknown', message: '503' });
  await mutate(app, 'cancelDataRun', { dataRunId: id });
  const { rows } = await app.app.db.pool.query(
    `SELECT open_steps, active_children, cancelling_steps, open_targets, active_targets FROM data_run WHERE id = $1`,
    [uuidOf(id)],
  );
  expect(rows).toEqual([{ open_steps: 0, active_children: 0, cancelling_steps: 1, open_targets: [], active_targets: [] }]);
  target.script = {};
  await expect.poll(async () => (await readRun(app, id)).steps[0].state).toBe('CANCELLED');
});

it('counts a child that the target does not know as stopped', async () => {
  const id = await active([first]);
  target.script.cancel = () => ({ is: 'none' });
  expect(await mutate(app, 'cancelDataRun', { dataRunId: id })).toMatchObject({ state: 'CANCELLED', steps: [{ state: 'CANCELLED' }] });
});

it('leaves a tombstone for a submission still on its way', async () => {
  const id = await registered(app, workspaceId, [first], { driving: 'ON_REQUEST' });
  let arrive: () => void = () => {};
  target.script.submit = (_submission, take) =>
    new Promise<Answer>((resolve) => {
      arrive = () => resolve({ is: 'job', report: take() });
    });
  const starting = mutate(app, 'startDataRun', { dataRunId: id });
  await expect.poll(async () => (await readRun(app, id)).steps[0].state).toBe('SUBMITTING');
  expect(await mutate(app, 'cancelDataRun', { dataRunId: id })).toMatchObject({ state: 'CANCELLED' });
  arrive();
  await starting;
  expect(target.jobs.filter(({ key }) => key.includes(uuidOf(id))).map(({ state }) => state)).toEqual(['cancelled']);
  await expect.poll(async () => (await readRun(app, id)).steps[0].state).toBe('CANCELLED');
});

it('refuses start, pause, resume and another cancel while one is under way, and shows it', async () => {
  const id = await registered(patient, await createWorkspace(patient, 'patient'), [first]);
  await mutate(patient, 'startDataRun', { dataRunId: id });
  await expect.poll(async () => (await readRun(patient, id)).steps[0].state).toBe('ACTIVE');
  let agree: (answer: Answer) => void = () => {};
  target.script.cancel = (job) =>
    new Promise<Answer>((resolve) => {
      agree = () => {
        job.state = 'cancelled';
        resolve({ is: 'none' });
      };
    });
  const cancelling = mutate(patient, 'cancelDataRun', { dataRunId: id });
  await expect.poll(async () => (await extra(id, patient)).cancelRequestedAt).not.toBeNull();
  for (const mutation of ['startDataRun', 'pauseDataRun', 'resumeDataRun', 'cancelDataRun']) {
    expect(await mutate(patient, mutation, { dataRunId: id }), mutation).toMatchObject({
      __typename: 'ConflictError',
      code: 'CANCEL_IN_PROGRESS',
      conflictingId: id,
    });
  }
  expect(await readRun(patient, id)).toMatchObject({ allowedActions: [], whyNotRunning: [{ code: 'CANCEL_IN_PROGRESS' }] });
  await expect.poll(() => target.job('first').cancelAsked).toBe(1);
  agree({ is: 'none' });
  expect(await cancelling).toMatchObject({ state: 'CANCELLED' });
});

/** The mark as a canceller leaves it that dies before it has asked; with the grant and the key that it left. */
async function markAndDie(id: string, grant = true, key: string | null = null): Promise<void> {
  const input = [uuidOf(id), 'why', false];
  const once = { workspaceId: uuidOf(workspaceId), subject: 'cleo', mutation: 'cancelDataRun', key, input };
  if (grant) {
    await app.app.db.pool.query(
      `INSERT INTO run_grant (id, run_id, workspace_id, purpose, subject, targets, expires_at) VALUES (gen_random_uuid(), $1, $2, 'CANCEL', 'cleo', '{scripted}', now() + interval '1 hour')`,
      [uuidOf(id), uuidOf(workspaceId)],
    );
  }
  await app.app.db.pool.query(
    `UPDATE data_run SET revision = revision + 1, cancel_requested_at = clock_timestamp() - interval '1 minute', cancel_requested_by = 'cleo', cancel_reason = 'why', cancel_key = $2 WHERE id = $1`,
    [uuidOf(id), JSON.stringify(once)],
  );
}

it('goes on with a cancel whose process died after the mark, and keeps its result under its key', async () => {
  const id = await active(chain);
  await markAndDie(id, true, 'k-died');
  const run = await reach(app, id, 'CANCELLED');
  expect(run.steps).toMatchObject([{ state: 'CANCELLED' }, { state: 'SKIPPED' }]);
  expect((await eventsOf(app, id)).at(-1)).toMatchObject({ action: 'CANCEL', actor: 'cleo', reason: 'why', cause: 'CANCEL_RESUMED' });
  const cleo = await app.token({ subject: 'cleo' });
  expect(await mutate(app, 'cancelDataRun', { dataRunId: id, reason: 'why', idempotencyKey: 'k-died' }, cleo)).toMatchObject({
    __typename: 'DataRun',
    state: 'CANCELLED',
  });
});

it('does not go on with a cancel whose grant is gone: the run goes on', async () => {
  const id = await active([first]);
  const asked = target.job('first').cancelAsked;
  await markAndDie(id, false);
  await expect.poll(async () => (await extra(id)).cancelRequestedAt).toBeNull();
  expect(target.job('first').cancelAsked).toBe(asked);
  target.end('first', 'succeeded');
  await reach(app, id, 'SUCCEEDED');
});

it('leaves the grant that the run is driven under alone, also when a child refuses', async () => {
  const id = await active(chain);
  target.script.cancel = () => ({ is: 'forbidden', message: 'not yours' });
  const bob = await app.token({ subject: 'bob' });
  expect(await mutate(app, 'cancelDataRun', { dataRunId: id }, bob)).toMatchObject({ __typename: 'ForbiddenError' });
  const { rows } = await app.app.db.pool.query(`SELECT purpose, subject FROM run_grant WHERE run_id = $1 AND ended_at IS NULL`, [
    uuidOf(id),
  ]);
  expect(rows).toEqual([{ purpose: 'DRIVE', subject: 'ann' }]);
  target.end('first', 'succeeded');
  await expect.poll(async () => (await readRun(app, id)).steps[1].state).toBe('ACTIVE');
  expect(target.submissions.at(-1)).toMatchObject({ subject: 'ann' });
  target.script = {};
  await mutate(app, 'cancelDataRun', { dataRunId: id });
});

it('keeps the duty although an older look found no such job', async () => {
  const id = await registered(app, workspaceId, [first], { driving: 'ON_REQUEST' });
  target.script.submit = () => ({ is: 'unknown', message: 'on its way' });
  await mutate(app, 'startDataRun', { dataRunId: id });
  let late: (answer: Answer) => void = () => {};
  let looked = 0;
  target.script.find = () => {
    looked++;
    return new Promise<Answer>((resolve) => {
      late = resolve;
    });
  };
  const advancing = mutate(app, 'advanceDataRun', { dataRunId: id });
  await expect.poll(() => looked).toBe(1);
  target.script.bury = () => ({ is: 'unknown', message: 'unreachable' });
  expect(await mutate(app, 'cancelDataRun', { dataRunId: id })).toMatchObject({ state: 'CANCELLED', steps: [{ state: 'CANCELLING' }] });
  late({ is: 'none' });
  await advancing;
  expect((await readRun(app, id)).steps[0].state).toBe('CANCELLING');
  target.script = {};
  await expect.poll(async () => (await readRun(app, id)).steps[0].state).toBe('CANCELLED');
});

it('does not take a child that the cancel stopped for one that somebody else did', async () => {
  const id = await registered(app, workspaceId, [first], { driving: 'ON_REQUEST' });
  await mutate(app, 'startDataRun', { dataRunId: id });
  let look: (() => void) | null = null;
  target.script.read = (job) =>
    new Promise<Answer>((resolve) => {
      look = () => resolve({ is: 'job', report: { id: job.id, state: job.state, progress: { done: 0n, total: null, unit: 'rows' } } });
    });
  let agree: () => void = () => {};
  target.script.cancel = (job) =>
    new Promise<Answer>((resolve) => {
      agree = () => resolve({ is: 'job', report: { id: job.id, state: 'cancelled', progress: { done: 0n, total: null, unit: 'rows' } } });
      job.state = 'cancelled';
    });
  const advancing = mutate(app, 'advanceDataRun', { dataRunId: id });
  await expect.poll(() => look).not.toBeNull();
  const cancelling = mutate(app, 'cancelDataRun', { dataRunId: id });
  await expect.poll(() => target.job('first').state).toBe('cancelled');
  (look as unknown as () => void)();
  await advancing;
  agree();
  expect(await cancelling).toMatchObject({ state: 'CANCELLED', steps: [{ state: 'CANCELLED', failure: null }] });
});

it('does not take an older look at a child for its answer to the cancel', async () => {
  const id = await registered(app, workspaceId, [first], { driving: 'ON_REQUEST' });
  await mutate(app, 'startDataRun', { dataRunId: id });
  let late: (() => void) | null = null;
  target.script.read = (job) =>
    new Promise<Answer>((resolve) => {
      late = () => resolve({ is: 'job', report: { id: job.id, state: 'running', progress: { done: 0n, total: null, unit: 'rows' } } });
    });
  const advancing = mutate(app, 'advanceDataRun', { dataRunId: id });
  await expect.poll(() => late).not.toBeNull();
  target.script.cancel = () => ({ is: 'forbidden', message: 'not yours' });
  expect(await mutate(app, 'cancelDataRun', { dataRunId: id, force: true })).toMatchObject({ state: 'CANCELLED' });
  target.script.cancel = () => new Promise<Answer>(() => {}); // nobody who asks again has an answer soon
  (late as unknown as () => void)();
  await advancing;
  expect((await extra(id)).steps[0].cancelAnswer).toBe('refused');
  target.script = {};
  await expect.poll(async () => (await readRun(app, id)).steps[0].state).toBe('CANCELLED');
});

it.each<[string, Answer, string]>([
  ['is refused', { is: 'forbidden', message: 'not yours' }, 'ForbiddenError'],
  ['is agreed to', { is: 'none' }, 'InvalidTransitionError'],
])('leaves the mark of another cancel alone where its own is gone and it %s', async (_what, answer, refusal) => {
  const id = await active([first]);
  let agree: (() => void) | null = null;
  target.script.cancel = () =>
    new Promise<Answer>((resolve) => {
      agree = () => resolve(answer);
    });
  const cancelling = mutate(app, 'cancelDataRun', { dataRunId: id });
  await expect.poll(() => agree).not.toBeNull();
  // Its own mark was cleared by another process that went on with it, and somebody else has set one since.
  await app.app.db.pool.query(
    `UPDATE data_run SET revision = revision + 1, cancel_requested_at = clock_timestamp(), cancel_requested_by = 'bob' WHERE id = $1`,
    [uuidOf(id)],
  );
  (agree as unknown as () => void)();
  expect(await cancelling).toMatchObject({ __typename: refusal });
  const { rows } = await app.app.db.pool.query(`SELECT state, cancel_requested_by FROM data_run WHERE id = $1`, [uuidOf(id)]);
  expect(rows).toEqual([{ state: 'RUNNING', cancel_requested_by: 'bob' }]);
  target.script = {};
  await reach(app, id, 'CANCELLED');
});

it('shows what a child last said to the cancel', async () => {
  const id = await active([first]);
  target.script.cancel = () => ({ is: 'unknown', message: '503' });
  await mutate(app, 'cancelDataRun', { dataRunId: id });
  const said = async () => (await extra(id)).steps[0].cancelAnswer;
  expect(await said()).toBe('unreachable');
  target.script.cancel = () => ({ is: 'forbidden', message: 'not yours' });
  await expect.poll(said).toBe('refused');
  target.script = {};
  await expect.poll(said).toBe('confirmed');
});
