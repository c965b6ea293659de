// The driver against a target whose every answer is decided here. The target's own ledger says what was really created.
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { inTransaction } from '../../src/db.ts';
import { moveRow, Stale } from '../../src/lifecycle/transition.ts';
import { pass } from '../../src/runs/driver.ts';
import { storeTarget } from '../../src/runs/targets/store.ts';
import type { Answer } from '../../src/runs/targets/target.ts';
import { driveInBackground } from '../../src/runs/tasks.ts';
import { startApp } from '../support/app.ts';
import { scriptedTarget } from '../support/scripted-target.ts';
import { chain, eventsOf, everythingOf, registered, uuidOf } from '../support/states.ts';
import { createWorkspace, mutate, reach, readRun } from '../support/story.ts';

const target = scriptedTarget();
const app = await startApp({
  targets: (db) => [storeTarget(db), target],
  env: { PACKHORSE_CANCEL_DEADLINE_MS: '500', PACKHORSE_DEADLINE_MS: '2000' },
});
const workspaceId = await createWorkspace(app, 'driver');
const [first, second] = [chain[0]!, chain[1]!];
const independent = [first, { ...first, name: 'other' }];

afterEach(() => {
  target.script = {};
  target.begins = 'running';
  target.stopsAs = 'cancelled';
});

const jobsOf = (id: string) => target.jobs.filter(({ key }) => key.includes(uuidOf(id)));
const stepOf = async (id: string, dataset: string) =>
  (await readRun(app, id)).steps.find((step: { dataset: string }) => step.dataset === dataset);
const actionsOf = async (id: string) =>
  (await eventsOf(app, id)).map(({ action, dataset }) => `${action}${dataset === null ? '' : ` ${dataset}`}`);

async function started(resources = chain, more: Record<string, unknown> = {}): Promise<string> {
  const id = await registered(app, workspaceId, resources, more);
  expect((await mutate(app, 'startDataRun', { dataRunId: id })).__typename).toBe('DataRun');
  return id;
}

async function active(resources = chain, more: Record<string, unknown> = {}): Promise<string> {
  const id = await started(resources, more);
  await expect
    .poll(async () => (await readRun(app, id)).activeChildren)
    .toBe(resources.filter((resource) => resource['packhorse:dependsOn'] === undefined).length);
  await expect.poll(async () => (await stepOf(id, 'first')).state).toBe('ACTIVE');
  return id;
}

it.each<[string, (take: () => unknown) => Answer | Promise<Answer>]>([
  [
    'is lost',
    (take) => {
      take();
      return { is: 'unknown', message: 'reset' };
    },
  ],
  [
    'never comes',
    (take) => {
      take();
      return new Promise<Answer>(() => {});
    },
  ],
  [
    'is an exception',
    (take) => {
      take();
      throw new Error('garbage');
    },
  ],
])('creates one child where the answer to an accepted submission %s', async (_what, answer) => {
  let calls = 0;
  target.script.submit = (_submission, take) => (calls++ === 0 ? answer(take) : null);
  const id = await started([first]);
  await expect.poll(async () => (await stepOf(id, 'first')).state).toBe('ACTIVE');
  target.end('first', 'succeeded');
  await reach(app, id, 'SUCCEEDED');
  expect(jobsOf(id)).toHaveLength(1);
  expect((await stepOf(id, 'first')).attempt).toBe(1);
});

it('sends a submission that never arrived again, with the same key', async () => {
  let calls = 0;
  target.script.submit = () => (calls++ < 2 ? { is: 'unknown', message: 'refused connection' } : null);
  const before = target.submissions.length;
  const id = await started([first]);
  await expect.poll(async () => (await stepOf(id, 'first')).state).toBe('ACTIVE');
  expect(new Set(target.submissions.slice(before).map(({ key }) => key)).size).toBe(1);
  expect(jobsOf(id)).toHaveLength(1);
  target.end('first', 'succeeded');
  await reach(app, id, 'SUCCEEDED');
});

it('has committed the intent, with its key, before the target hears of it', async () => {
  const seen: unknown[] = [];
  target.script.submit = async ({ key }, take): Promise<Answer> => {
    seen.push(...(await app.app.db.pool.query('SELECT state::text, attempt FROM data_run_step WHERE idempotency_key = $1', [key])).rows);
    return { is: 'job', report: take() };
  };
  const id = await active([first]);
  expect(seen).toEqual([{ state: 'SUBMITTING', attempt: 1 }]);
  await mutate(app, 'cancelDataRun', { dataRunId: id });
});

it('repeats the key of an intent whose process died before, or after, the call', async () => {
  for (const reached of [false, true]) {
    const id = await registered(app, workspaceId, [first], { driving: 'ON_REQUEST' });
    let died = true;
    target.script.submit = (_submission, take) => {
      if (!died) return null;
      if (reached) take();
      return { is: 'unknown', message: 'the process died here' };
    };
    await mutate(app, 'startDataRun', { dataRunId: id });
    expect((await stepOf(id, 'first')).state).toBe('SUBMITTING');
    died = false;
    await mutate(app, 'advanceDataRun', { dataRunId: id });
    expect(await stepOf(id, 'first')).toMatchObject({ state: 'ACTIVE', attempt: 1 });
    expect(jobsOf(id)).toHaveLength(1);
    await mutate(app, 'cancelDataRun', { dataRunId: id });
  }
});

it('fails the run by a definite refusal, names the dataset and skips what was pending', async () => {
  const failure = { code: 'SCHEMA_REFUSED', origin: 'target', phase: 'submitting', retryable: false, summary: 'No such table.' } as const;
  target.script.submit = () => ({ is: 'refused', failure });
  const id = await started(chain);
  const run = await reach(app, id, 'FAILED');
  expect(run.failure).toEqual({ code: failure.code, summary: failure.summary });
  expect(run.steps).toMatchObject([
    { dataset: 'first', state: 'FAILED' },
    { dataset: 'second', state: 'SKIPPED', skippedBecause: expect.stringContaining('first') },
  ]);
});

it('fails a step whose child was stopped by somebody else', async () => {
  const id = await active([first]);
  target.end('first', 'cancelled');
  const run = await reach(app, id, 'FAILED');
  expect(run.steps[0].failure.code).toBe('CHILD_CANCELLED');
});

it('fails once while another child runs, follows that one to its end, and changes nothing by it', async () => {
  const id = await active(independent);
  target.end('first', 'failed');
  await reach(app, id, 'FAILED');
  const settled = await eventsOf(app, id);
  target.end('other', 'succeeded');
  await expect.poll(async () => (await stepOf(id, 'other')).state).toBe('SUCCEEDED');
  expect((await actionsOf(id)).slice(settled.length)).toEqual(['LATE_RESULT other']);
  expect((await readRun(app, id)).state).toBe('FAILED');
});

it('blocks what needs a finally blocked dataset, and succeeds without being ready', async () => {
  const id = await active(chain);
  const blocker = {
    code: 'MISSING_REFERENCE',
    dataset: 'first',
    message: 'two rows point at nothing',
    count: 2,
    sampleKeys: ['7'],
    clearedBy: ['elsewhere'],
  };
  target.end('first', 'blocked', { blockers: [blocker] });
  const run = await reach(app, id, 'SUCCEEDED');
  expect(run.steps).toMatchObject([
    { state: 'BLOCKED', finallyBlocked: true, blockers: [{ code: 'MISSING_REFERENCE', count: '2' }] },
    { state: 'BLOCKED', finallyBlocked: true, attempt: 0, blockers: [{ code: 'DEPENDENCY_BLOCKED' }] },
  ]);
  expect(jobsOf(id)).toHaveLength(1);
});

it('tries a blocked dataset again, as the next attempt, once what it waited for has succeeded', async () => {
  const id = await active(independent);
  target.end('first', 'blocked', {
    blockers: [{ code: 'MISSING_REFERENCE', dataset: 'first', message: 'm', count: 1, sampleKeys: [], clearedBy: ['other'] }],
  });
  await expect.poll(async () => (await stepOf(id, 'first')).state).toBe('BLOCKED');
  expect((await readRun(app, id)).state).toBe('RUNNING');
  expect((await stepOf(id, 'first')).finallyBlocked).toBe(false);
  target.end('other', 'succeeded');
  await expect.poll(async () => (await stepOf(id, 'first')).attempt).toBe(2);
  await expect.poll(async () => (await stepOf(id, 'first')).state).toBe('ACTIVE');
  target.end('first', 'succeeded');
  await reach(app, id, 'SUCCEEDED');
  expect(jobsOf(id).map(({ key }) => key.split(':').at(-1))).toEqual(['1', '1', '2']);
});

it('holds submissions when authority has lapsed, says so, and goes on with a new grant', async () => {
  const id = await active(chain);
  await app.app.db.pool.query(`UPDATE run_grant SET expires_at = clock_timestamp() WHERE run_id = $1`, [uuidOf(id)]);
  target.end('first', 'succeeded');
  await expect.poll(async () => (await stepOf(id, 'first')).state).toBe('SUCCEEDED');
  await expect.poll(async () => (await readRun(app, id)).whyNotRunning).toEqual([{ code: 'AUTHORITY_LAPSED', subject: 'second' }]);
  expect(await readRun(app, id)).toMatchObject({ state: 'RUNNING', steps: [{}, { state: 'PENDING' }] });
  await mutate(app, 'pauseDataRun', { dataRunId: id });
  await mutate(app, 'resumeDataRun', { dataRunId: id });
  await expect.poll(async () => (await stepOf(id, 'second')).state).toBe('ACTIVE');
  target.end('second', 'succeeded');
  await reach(app, id, 'SUCCEEDED');
});

it('submits nothing to a target that the grant does not name', async () => {
  const id = await active(chain);
  await app.app.db.pool.query(`UPDATE run_grant SET targets = '{store}' WHERE run_id = $1`, [uuidOf(id)]);
  target.end('first', 'succeeded');
  await expect.poll(async () => (await stepOf(id, 'first')).state).toBe('SUCCEEDED');
  await driveInBackground({ ...app.tasks.runs, stop: new AbortController().signal }, uuidOf(id));
  expect(await readRun(app, id)).toMatchObject({
    whyNotRunning: [{ code: 'AUTHORITY_LAPSED', subject: 'second' }],
    steps: [{}, { state: 'PENDING' }],
  });
  expect(jobsOf(id)).toHaveLength(1);
  await mutate(app, 'cancelDataRun', { dataRunId: id });
});

it('drives on request only when asked, and reading is not asking', async () => {
  const id = await registered(app, workspaceId, chain, { driving: 'ON_REQUEST' });
  const answered = await mutate(app, 'startDataRun', { dataRunId: id });
  expect(answered.steps).toMatchObject([{ state: 'ACTIVE' }, { state: 'PENDING' }]); // submitted in the same call
  target.end('first', 'succeeded');
  for (let read = 0; read < 5; read++) await readRun(app, id);
  expect((await stepOf(id, 'first')).state).toBe('ACTIVE');
  const advanced = await mutate(app, 'advanceDataRun', { dataRunId: id });
  expect(advanced.steps).toMatchObject([{ state: 'SUCCEEDED' }, { state: 'ACTIVE' }]);
  target.end('second', 'succeeded');
  expect((await mutate(app, 'advanceDataRun', { dataRunId: id })).state).toBe('SUCCEEDED');
});

it('lets one pass through at a time, takes over from a dead one, and lets its zombie write nothing', async () => {
  const id = await registered(app, workspaceId, [first], { driving: 'ON_REQUEST' });
  let answerFirst: (answer: Answer) => void = () => {};
  let calls = 0;
  const slow: typeof target.script.submit = (_submission, take) => {
    if (calls++ > 0) return null;
    take();
    return new Promise<Answer>((resolve) => {
      answerFirst = resolve;
    });
  };
  target.script.submit = slow;
  const driver = { ...app.app.runs.driver, settings: { leaseMs: 60_000, deadlineMs: 60_000, retryMs: 20 } };
  const authorise = async () => ({ subject: 'ann', mayDrive: () => true });
  await app.app.db.pool.query(`UPDATE data_run SET state = 'RUNNING', started_at = now() WHERE id = $1`, [uuidOf(id)]);
  const zombie = pass(driver, uuidOf(id), { authorise, by: { actor: 'zombie' } });
  await expect.poll(() => calls).toBe(1);
  expect(await pass(driver, uuidOf(id), { authorise, by: { actor: 'early' } })).toBe(false);
  await app.app.db.pool.query(`UPDATE data_run SET lease_until = clock_timestamp() - interval '1 second' WHERE id = $1`, [uuidOf(id)]);
  expect(await pass(driver, uuidOf(id), { authorise, by: { actor: 'heir' } })).toBe(true);
  expect((await stepOf(id, 'first')).state).toBe('ACTIVE');
  target.end('first', 'succeeded');
  const before = await eventsOf(app, id);
  answerFirst({ is: 'job', report: { id: 'of the zombie', state: 'failed', progress: { done: 0n, total: null, unit: 'rows' } } });
  await zombie;
  expect(await eventsOf(app, id)).toEqual(before);
  expect(jobsOf(id)).toHaveLength(1);
  expect(second.name).toBe('second');
  await mutate(app, 'cancelDataRun', { dataRunId: id });
});

it('keeps its lease for as long as it goes on, however many calls it makes', async () => {
  const many = Array.from({ length: 5 }, (_, index) => ({
    ...first,
    name: `d${index}`,
    ...(index === 0 ? {} : { 'packhorse:dependsOn': [`d${index - 1}`] }),
  }));
  const id = await registered(app, workspaceId, many, { driving: 'ON_REQUEST' });
  const settings = { leaseMs: 4_000, deadlineMs: 60_000, retryMs: 20 };
  const driver = { ...app.app.runs.driver, settings };
  const authorise = async () => ({ subject: 'ann', mayDrive: () => true });
  const clock = async () => Number((await app.app.db.pool.query('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now')).rows[0].now);
  const others: boolean[] = [];
  target.begins = 'succeeded';
  target.script.submit = async (_submission, take): Promise<Answer> => {
    // Three tenths of a lease each, so that the last asks when the lease that was taken first has long run out.
    const from = await clock();
    await expect.poll(clock, { timeout: 10_000 }).toBeGreaterThan(from + 0.3 * settings.leaseMs);
    others.push(await pass(driver, uuidOf(id), { authorise, by: { actor: 'other' } }));
    return { is: 'job', report: take() };
  };
  await app.app.db.pool.query(`UPDATE data_run SET state = 'RUNNING', started_at = now() WHERE id = $1`, [uuidOf(id)]);
  expect(await pass(driver, uuidOf(id), { authorise, by: { actor: 'ann' } })).toBe(true);
  expect(others).toEqual([false, false, false, false, false]);
  expect((await readRun(app, id)).state).toBe('SUCCEEDED');
});

it('lets a pass that lost its lease write nothing, not even what still fits, and leaves the lease to its heir', async () => {
  const id = await registered(app, workspaceId, [first], { driving: 'ON_REQUEST' });
  const lease = async () =>
    (await app.app.db.pool.query(`SELECT fence, lease_owner, lease_until FROM data_run WHERE id = $1`, [uuidOf(id)])).rows[0];
  const open: ((answer: Answer) => void)[] = [];
  const hanging = () => new Promise<Answer>((resolve) => open.push(resolve));
  target.script = { submit: hanging, find: hanging };
  onTestFinished(() => {
    for (const answer of open) answer({ is: 'unknown', message: 'the test is over' }); // or the passes would keep the app from stopping
  });
  const driver = { ...app.app.runs.driver, settings: { leaseMs: 60_000, deadlineMs: 60_000, retryMs: 20 } };
  const authorise = async () => ({ subject: 'ann', mayDrive: () => true });
  await app.app.db.pool.query(`UPDATE data_run SET state = 'RUNNING', started_at = now() WHERE id = $1`, [uuidOf(id)]);
  const zombie = pass(driver, uuidOf(id), { authorise, by: { actor: 'zombie' } });
  await expect.poll(() => open.length).toBe(1);
  await app.app.db.pool.query(`UPDATE data_run SET lease_until = clock_timestamp() - interval '1 second' WHERE id = $1`, [uuidOf(id)]);
  const heir = pass(driver, uuidOf(id), { authorise, by: { actor: 'heir' } });
  await expect.poll(() => open.length).toBe(2);
  const held = await lease();
  const before = await everythingOf(app, id);
  // The step stands as it stood when the zombie submitted: its lost lease alone keeps the answer out.
  open[0]?.({ is: 'job', report: { id: 'of the zombie', state: 'failed', progress: { done: 0n, total: null, unit: 'rows' } } });
  await zombie;
  expect(await everythingOf(app, id)).toEqual(before);
  expect(await lease()).toEqual(held); // neither given back nor made longer
  expect(await pass(driver, uuidOf(id), { authorise, by: { actor: 'third' } })).toBe(false);
  target.script = {};
  open[1]?.({ is: 'none' });
  await heir;
  expect(jobsOf(id)).toHaveLength(1);
});

it('moves no step that is no longer as it was read, although the move is a legal one from where it is now', async () => {
  const id = await active([first]);
  const { db } = app.app;
  const step = await db.prisma.dataRunStep.findFirstOrThrow({ where: { runId: uuidOf(id) } });
  const table = { table: 'data_run_step', stateType: 'data_run_step_state' };
  await expect(inTransaction(db, (tx) => moveRow(tx, table, { id: step.id, state: 'SUBMITTING' }, 'FAILED', []))).rejects.toThrow(Stale);
  expect((await stepOf(id, 'first')).state).toBe('ACTIVE');
  await mutate(app, 'cancelDataRun', { dataRunId: id });
});

it('fails nothing by a refused look-up: only the answer to a submission ends a step', async () => {
  const id = await registered(app, workspaceId, [first], { driving: 'ON_REQUEST' });
  target.script.submit = (_submission, take) => {
    take();
    return { is: 'unknown', message: 'reset' };
  };
  const failure = { code: 'GONE', origin: 'target', phase: 'submitting', retryable: false, summary: 'No such thing.' } as const;
  await mutate(app, 'startDataRun', { dataRunId: id });
  for (const answer of [
    { is: 'forbidden', message: 'credentials are being changed' },
    { is: 'refused', failure },
  ] as const) {
    target.script.find = () => answer;
    await mutate(app, 'advanceDataRun', { dataRunId: id });
    expect((await stepOf(id, 'first')).state).toBe('SUBMITTING');
  }
  target.script = {};
  await mutate(app, 'advanceDataRun', { dataRunId: id });
  expect((await stepOf(id, 'first')).state).toBe('ACTIVE');
  await mutate(app, 'cancelDataRun', { dataRunId: id });
});

it('tries a blocked dataset again although one pass learnt of the block and of what clears it', async () => {
  const id = await registered(app, workspaceId, [{ ...first, name: 'other' }, first], { driving: 'ON_REQUEST' });
  await mutate(app, 'startDataRun', { dataRunId: id });
  target.end('other', 'succeeded');
  target.end('first', 'blocked', {
    blockers: [{ code: 'MISSING_REFERENCE', dataset: 'first', message: 'm', count: 1, sampleKeys: [], clearedBy: ['other'] }],
  });
  expect((await mutate(app, 'advanceDataRun', { dataRunId: id })).state).toBe('RUNNING');
  expect(await stepOf(id, 'first')).toMatchObject({ state: 'ACTIVE', attempt: 2 });
  await mutate(app, 'cancelDataRun', { dataRunId: id });
});

it('submits nothing more in a pass once its authority has ended', async () => {
  const many = Array.from({ length: 4 }, (_, index) => ({
    ...first,
    name: `d${index}`,
    ...(index === 0 ? {} : { 'packhorse:dependsOn': [`d${index - 1}`] }),
  }));
  const id = await registered(app, workspaceId, many);
  target.begins = 'succeeded';
  target.script.submit = async (_submission, take): Promise<Answer> => {
    await app.app.db.pool.query(`UPDATE run_grant SET ended_at = clock_timestamp() WHERE run_id = $1`, [uuidOf(id)]);
    return { is: 'job', report: take() };
  };
  await mutate(app, 'startDataRun', { dataRunId: id });
  await expect.poll(async () => (await readRun(app, id)).whyNotRunning).toEqual([{ code: 'AUTHORITY_LAPSED', subject: 'd1' }]);
  expect(jobsOf(id)).toHaveLength(1);
  await mutate(app, 'cancelDataRun', { dataRunId: id });
});

it.each<[string, object]>([
  ['has an id that cannot be stored', { id: 'a\0b' }],
  ['has a state that there is not', { state: 'sleeping' }],
  ['counts below nothing', { progress: { done: -1n, total: null, unit: 'rows' } }],
  ['is another job’s', { id: 'job-of-somebody-else' }],
])('holds nothing else up by an answer that %s', async (_what, wrong) => {
  const id = await active(independent);
  target.script.read = (job) =>
    job.dataset === 'first'
      ? ({ is: 'job', report: { id: job.id, state: 'running', progress: { done: 0n, total: null, unit: 'rows' }, ...wrong } } as Answer)
      : null;
  target.end('other', 'succeeded');
  await expect.poll(async () => (await stepOf(id, 'other')).state).toBe('SUCCEEDED');
  expect((await stepOf(id, 'first')).state).toBe('ACTIVE');
  target.script = {};
  target.end('first', 'succeeded');
  await reach(app, id, 'SUCCEEDED');
});

it('gives a child up that the target has not known for a minute, and none that it knows again', async () => {
  const id = await active([first]);
  target.script.read = () => ({ is: 'none' });
  const missing = async () =>
    (await app.app.db.pool.query(`SELECT missing_since FROM data_run_step WHERE run_id = $1`, [uuidOf(id)])).rows[0].missing_since;
  await expect.poll(missing).not.toBeNull();
  target.script = {};
  await expect.poll(missing).toBeNull();
  target.script.read = () => ({ is: 'none' });
  await expect.poll(missing).not.toBeNull();
  expect((await readRun(app, id)).state).toBe('RUNNING');
  await app.app.db.pool.query(`UPDATE data_run_step SET missing_since = clock_timestamp() - interval '61 seconds' WHERE run_id = $1`, [
    uuidOf(id),
  ]);
  const run = await reach(app, id, 'FAILED');
  expect(run.steps[0].failure.code).toBe('CHILD_LOST');
});

it('lets go of a child that the target does not know under a run that has ended', async () => {
  const id = await active(independent);
  target.script.read = (job) => (job.dataset === 'other' ? { is: 'none' } : null);
  target.script.cancel = (job) => (job.dataset === 'other' ? { is: 'none' } : null);
  target.end('first', 'failed');
  await reach(app, id, 'FAILED');
  await expect.poll(async () => (await stepOf(id, 'other')).state).toBe('CANCELLED');
  expect((await readRun(app, id)).activeChildren).toBe(0);
});

it('repeats a submission that was not received word for word, in the name of whoever goes on with the run', async () => {
  const id = await registered(app, workspaceId, [first], { driving: 'ON_REQUEST' });
  target.script.submit = () => ({ is: 'unknown', message: 'reset' });
  await mutate(app, 'startDataRun', { dataRunId: id }, await app.token({ subject: 'ann' }));
  await mutate(app, 'advanceDataRun', { dataRunId: id }, await app.token({ subject: 'bob' }));
  const sent = target.submissions.filter(({ runId }) => runId === uuidOf(id));
  expect(sent).toHaveLength(2);
  expect(sent[1]).toEqual({ ...sent[0], subject: 'bob' });
  await mutate(app, 'cancelDataRun', { dataRunId: id });
});

it('records late ends as late results, whatever they are, and leaves nothing open', async () => {
  for (const end of ['blocked', 'cancelled', 'failed'] as const) {
    const id = await active(independent);
    target.end('first', 'failed');
    await reach(app, id, 'FAILED');
    target.end('other', end);
    await expect.poll(async () => (await eventsOf(app, id)).at(-1)?.action).toBe('LATE_RESULT');
    const { rows } = await app.app.db.pool.query(`SELECT open_steps, open_targets, state FROM data_run WHERE id = $1`, [uuidOf(id)]);
    expect(rows).toEqual([{ open_steps: 0, open_targets: [], state: 'FAILED' }]);
  }
});

it('answers within its deadline, and leaves the rest to the next pass', async () => {
  const many = Array.from({ length: 8 }, (_, index) => ({
    ...first,
    name: `d${index}`,
    ...(index === 0 ? {} : { 'packhorse:dependsOn': [`d${index - 1}`] }),
  }));
  const id = await registered(app, workspaceId, many, { driving: 'ON_REQUEST' });
  target.begins = 'succeeded';
  await app.app.db.pool.query(`UPDATE data_run SET state = 'RUNNING', started_at = now() WHERE id = $1`, [uuidOf(id)]);
  const authorise = async () => ({ subject: 'ann', mayDrive: () => true });
  expect(await pass(app.app.runs.driver, uuidOf(id), { authorise, by: { actor: 'ann' }, until: Date.now() - 1 })).toBe(true);
  expect(jobsOf(id)).toHaveLength(0);
  expect((await mutate(app, 'advanceDataRun', { dataRunId: id })).state).toBe('SUCCEEDED');
});

it('says that it is busy where no pass could be had', async () => {
  const id = await registered(app, workspaceId, [first], { driving: 'ON_REQUEST' });
  await mutate(app, 'startDataRun', { dataRunId: id });
  await app.app.db.pool.query(`UPDATE data_run SET lease_until = clock_timestamp() + interval '1 hour' WHERE id = $1`, [uuidOf(id)]);
  const { errors } = await app.graphql('mutation ($id: ID!) { advanceDataRun(input: { dataRunId: $id }) { __typename } }', { id });
  expect(errors.map(({ extensions }) => extensions?.code)).toEqual(['BUSY']);
  await mutate(app, 'cancelDataRun', { dataRunId: id });
});

it('has another pass follow where there was news while one was under way', async () => {
  const id = await active([first]);
  // A pass that has asked the child before it ended, and is still under way.
  let answerLate: (answer: Answer) => void = () => {};
  let asked = 0;
  target.script.read = (job) => {
    if (asked++ > 0) return null;
    return new Promise<Answer>((resolve) => {
      const { id: jobId } = job;
      answerLate = () => resolve({ is: 'job', report: { id: jobId, state: 'running', progress: { done: 0n, total: null, unit: 'rows' } } });
    });
  };
  await expect.poll(() => asked).toBe(1);
  target.end('first', 'succeeded');
  const slow = { ...app.tasks.runs, stop: new AbortController().signal };
  await driveInBackground(slow, uuidOf(id)); // the wake that the child's end brings: it finds the pass under way
  const { rows } = await app.app.db.pool.query(`SELECT pass_wanted FROM data_run WHERE id = $1`, [uuidOf(id)]);
  expect(rows).toEqual([{ pass_wanted: true }]);
  answerLate({ is: 'none' });
  await expect
    .poll(async () => (await app.app.db.pool.query(`SELECT pass_wanted FROM data_run WHERE id = $1`, [uuidOf(id)])).rows[0].pass_wanted)
    .toBe(false);
  await reach(app, id, 'SUCCEEDED');
});
