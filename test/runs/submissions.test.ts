// What may be sent twice, and what may not: targets declared key, lookup and none; and children that outlive their target's deadline.
import { afterEach, describe, expect, it } from 'vitest';
import { type Answer, ask, deadlineIn } from '../../src/runs/targets/target.ts';
import { driveInBackground } from '../../src/runs/tasks.ts';
import { type Grant, startApp } from '../support/app.ts';
import { scriptedTarget } from '../support/scripted-target.ts';
import { eventsOf, everythingOf, registered, uuidOf } from '../support/states.ts';
import { createWorkspace, mutate, type Resource, reach, readRun } from '../support/story.ts';

const none = scriptedTarget('none', { idempotency: 'none' });
const lookup = scriptedTarget('lookup', { idempotency: 'lookup' });
const hasty = scriptedTarget('hasty', { stepDeadlineMs: 1 });
const all = [none, lookup, hasty];
const deadlineMs = 300;
const app = await startApp({ targets: () => all, env: { PACKHORSE_CANCEL_DEADLINE_MS: String(deadlineMs) } });
const workspaceId = await createWorkspace(app, 'submissions');

afterEach(() => {
  for (const target of all) Object.assign(target, { script: {}, stopsAs: 'cancelled', begins: 'running' });
});

const on = (target: string, name = 'first'): Resource => ({ name, rows: 'id\n1\n', 'packhorse:target': target });
const lost = { is: 'unknown', message: 'the connection was reset' } as const;

async function started(resources: readonly Resource[], more: Record<string, unknown> = {}): Promise<string> {
  const id = await registered(app, workspaceId, resources, more);
  expect((await mutate(app, 'startDataRun', { dataRunId: id })).__typename).toBe('DataRun');
  return id;
}

interface Shown {
  readonly id: string;
  readonly state: string;
  readonly attempt: number;
  readonly childJobId: string | null;
  readonly cancelAnswer: string | null;
  readonly lateResult: string | null;
  readonly failure: { code: string } | null;
  readonly whyNotRunning: { code: string; remedy: string }[];
}

async function stepOf(id: string, dataset = 'first'): Promise<Shown> {
  const { data } = await app.graphql(
    `query ($id: ID!) { dataRun(id: $id) { steps { id dataset state attempt childJobId cancelAnswer lateResult failure { code } whyNotRunning { code remedy } } } }`,
    { id },
  );
  return data.dataRun.steps.find((step: { dataset: string }) => step.dataset === dataset);
}

async function settle(input: Record<string, unknown>, grant: Grant = {}): Promise<any> {
  const { data, errors } = await app.graphql(
    `mutation ($input: SettleSubmissionInput!) { settleSubmission(input: $input) {
       __typename ... on DataRunStep { state attempt childJobId } ... on Error { code } ... on ForbiddenError { permission } } }`,
    { input },
    await app.token(grant),
  );
  expect(errors).toEqual([]);
  return data.settleSubmission;
}

const held = async (id: string) => (await stepOf(id)).whyNotRunning.map(({ code }) => code);
const sentTo = (target: typeof none, id: string) => target.submissions.filter(({ runId }) => runId === uuidOf(id)).length;
/** One more pass of the driver, whatever the timers do. */
const drive = (id: string) => driveInBackground(app.tasks.runs, uuidOf(id));

/** A run whose only submission was taken by the target, or not, and never answered. */
async function parked(taken: boolean, more: Record<string, unknown> = {}): Promise<string> {
  none.script.submit = (_submission, take) => {
    if (taken) take();
    return lost;
  };
  const id = await started([on('none')], more);
  await expect.poll(() => held(id)).toEqual(['SUBMISSION_UNKNOWN']);
  none.script = {};
  return id;
}

describe('a target that goes by no key', () => {
  it('is never sent a submission twice whose answer was lost, and the run says what a person has to do', async () => {
    const id = await parked(true);
    for (let pass = 0; pass < 3; pass++) await drive(id);
    expect(sentTo(none, id)).toBe(1);
    const step = await stepOf(id);
    expect(step).toMatchObject({ state: 'SUBMITTING', attempt: 1 });
    expect(step.whyNotRunning[0]?.remedy).toContain(`ph:${uuidOf(id)}:0:1`);
    expect((await readRun(app, id)).whyNotRunning).toEqual([{ code: 'SUBMISSION_UNKNOWN', subject: 'first' }]);
    const settled = { dataRunStepId: step.id, outcome: 'CREATED', childJobId: none.job('first').id, reason: 'seen in its log' };
    expect(await settle(settled)).toMatchObject({ __typename: 'DataRunStep', state: 'ACTIVE', childJobId: none.job('first').id });
    none.end('first', 'succeeded');
    await reach(app, id, 'SUCCEEDED');
    expect((await eventsOf(app, id)).find(({ action }) => action === 'ACCEPT')).toMatchObject({
      actor: 'ann',
      reason: 'seen in its log',
      cause: 'SETTLED_BY_PERSON',
    });
    expect(none.jobs.filter(({ key }) => key.includes(uuidOf(id)))).toHaveLength(1);
  });

  it('is sent it again, the same attempt with the same key, once a person says that it never had it', async () => {
    const id = await parked(false);
    expect(await settle({ dataRunStepId: (await stepOf(id)).id, outcome: 'NEVER_CREATED' })).toMatchObject({
      __typename: 'DataRunStep',
      attempt: 1,
    });
    await expect.poll(async () => (await stepOf(id)).state).toBe('ACTIVE');
    expect(new Set(none.submissions.filter(({ runId }) => runId === uuidOf(id)).map(({ key }) => key)).size).toBe(1);
    expect(sentTo(none, id)).toBe(2);
    none.end('first', 'succeeded');
    await reach(app, id, 'SUCCEEDED');
  });

  it('is sent again what is known not to have gone out, without asking anybody', async () => {
    let calls = 0;
    none.script.submit = () => (calls++ < 3 ? { is: 'unsent', message: 'nobody listens' } : null);
    const id = await started([on('none')]);
    await expect.poll(async () => (await stepOf(id)).state).toBe('ACTIVE');
    expect(calls).toBe(4);
    none.end('first', 'succeeded');
    await reach(app, id, 'SUCCEEDED');
  });

  it('parks an intent whose process died, since it may have gone out', async () => {
    const id = await registered(app, workspaceId, [on('none')], { driving: 'ON_REQUEST' });
    none.script.submit = () => new Promise(() => {});
    await mutate(app, 'startDataRun', { dataRunId: id });
    await mutate(app, 'advanceDataRun', { dataRunId: id });
    expect(sentTo(none, id)).toBe(1);
    expect((await readRun(app, id)).whyNotRunning.map(({ code }: { code: string }) => code)).toContain('SUBMISSION_UNKNOWN');
    await mutate(app, 'cancelDataRun', { dataRunId: id });
  });

  it('leaves the duty to stop a child that may be there to a person, too', async () => {
    const [there, gone] = [await parked(true), await parked(false)];
    for (const id of [there, gone]) {
      expect((await mutate(app, 'cancelDataRun', { dataRunId: id })).state).toBe('CANCELLED');
      await drive(id);
      expect(await stepOf(id)).toMatchObject({
        state: 'CANCELLING',
        cancelAnswer: 'unreachable',
        whyNotRunning: [{ code: 'SUBMISSION_UNKNOWN' }],
      });
    }
    const job = none.jobs.find(({ key }) => key.includes(uuidOf(there)))!;
    expect(await settle({ dataRunStepId: (await stepOf(there)).id, outcome: 'CREATED', childJobId: job.id })).toMatchObject({
      state: 'CANCELLING',
    });
    await expect.poll(async () => (await stepOf(there)).state).toBe('CANCELLED');
    expect(job.cancelAsked).toBeGreaterThan(0);
    expect(await settle({ dataRunStepId: (await stepOf(gone)).id, outcome: 'NEVER_CREATED' })).toMatchObject({ state: 'CANCELLED' });
  });

  it('is settled once, in words that fit, by whoever has authority on it', async () => {
    const id = await parked(false);
    const dataRunStepId = (await stepOf(id)).id;
    const before = await everythingOf(app, id);
    const withoutTarget = { permissions: ['workspace:read', 'data-run', 'target:store'] };
    expect(await settle({ dataRunStepId, outcome: 'NEVER_CREATED' }, withoutTarget)).toMatchObject({ permission: 'target:none' });
    expect(await settle({ dataRunStepId, outcome: 'NEVER_CREATED' }, { workspaces: ['elsewhere'] })).toMatchObject({ code: 'NOT_FOUND' });
    expect(await settle({ dataRunStepId, outcome: 'CREATED' })).toMatchObject({ __typename: 'InvalidInputError' });
    expect(await settle({ dataRunStepId, outcome: 'CREATED', childJobId: 'x'.repeat(501) })).toMatchObject({
      __typename: 'InvalidInputError',
    });
    expect(await settle({ dataRunStepId, outcome: 'NEVER_CREATED', childJobId: 'x' })).toMatchObject({ __typename: 'InvalidInputError' });
    expect(await everythingOf(app, id)).toBe(before);
    none.script.submit = () => ({
      is: 'refused',
      failure: { code: 'NO', origin: 'target', phase: 'submitting', retryable: false, summary: 'No.' },
    });
    const once = { dataRunStepId, outcome: 'NEVER_CREATED', idempotencyKey: 'once' };
    expect((await settle(once)).__typename).toBe('DataRunStep');
    await reach(app, id, 'FAILED');
    expect((await settle(once)).__typename).toBe('DataRunStep');
    expect(await settle({ dataRunStepId, outcome: 'NEVER_CREATED' })).toMatchObject({ code: 'SUBMISSION_NOT_UNKNOWN' });
  });
});

describe('a target that only looks up', () => {
  it('is asked by key, and sent the submission again only once one on its way would have arrived', async () => {
    const sent: number[] = [];
    lookup.script.submit = () => {
      sent.push(performance.now());
      return sent.length === 1 ? lost : null;
    };
    const id = await started([on('lookup')]);
    await expect.poll(async () => (await stepOf(id)).state).toBe('ACTIVE');
    expect(sent).toHaveLength(2);
    expect(sent[1]! - sent[0]!).toBeGreaterThanOrEqual(2 * deadlineMs - 1);
    lookup.end('first', 'succeeded');
    await reach(app, id, 'SUCCEEDED');
  });

  it('is not sent again what it has', async () => {
    lookup.script.submit = (_submission, take) => {
      take();
      return lost;
    };
    const id = await started([on('lookup')]);
    await expect.poll(async () => (await stepOf(id)).state).toBe('ACTIVE');
    expect(sentTo(lookup, id)).toBe(1);
    lookup.end('first', 'succeeded');
    await reach(app, id, 'SUCCEEDED');
  });
});

it('takes the same job for two datasets for a fault of the target, and settles neither twice', async () => {
  lookup.script.submit = (_submission, take) => ({ is: 'job', report: { ...take(), id: 'one-for-all' } });
  lookup.script.find = () => ({
    is: 'job',
    report: { id: 'one-for-all', state: 'running', progress: { done: 0n, total: null, unit: 'rows' } },
  });
  const id = await started([on('lookup'), on('lookup', 'second')], { driving: 'ON_REQUEST' });
  await mutate(app, 'advanceDataRun', { dataRunId: id });
  const steps = [await stepOf(id), await stepOf(id, 'second')];
  expect(new Set(steps.map(({ state, childJobId }) => `${state} ${childJobId}`))).toEqual(
    new Set(['ACTIVE one-for-all', 'SUBMITTING null']),
  );
});

describe('a child over its target’s deadline', () => {
  it('is asked to stop, and its dataset fails with a reason', async () => {
    const id = await started([on('hasty')]);
    await reach(app, id, 'FAILED');
    expect(await stepOf(id)).toMatchObject({ state: 'FAILED', failure: { code: 'STEP_DEADLINE' }, cancelAnswer: 'confirmed' });
    expect(hasty.job('first')).toMatchObject({ cancelAsked: 1, state: 'cancelled' });
  });

  it('is asked, and seen, until it has stopped, although its run has long failed', async () => {
    hasty.script.cancel = () => lost;
    const id = await started([on('hasty')]);
    await reach(app, id, 'FAILED');
    const outstanding = async () => {
      const query =
        'query ($id: ID!) { dataRun(id: $id) { outstandingCancellations { dataset } workspace { outstandingChildren { dataset } } } }';
      const { data } = await app.graphql(query, { id });
      return [data.dataRun.outstandingCancellations.length, data.dataRun.workspace.outstandingChildren.length];
    };
    expect(await stepOf(id)).toMatchObject({ state: 'FAILED', cancelAnswer: 'unreachable' });
    expect((await outstanding())[0]).toBe(1);
    expect((await outstanding())[1]).toBeGreaterThan(0);
    hasty.script = {};
    hasty.stopsAs = 'running';
    await expect.poll(async () => (await stepOf(id)).cancelAnswer).toBe('requested');
    expect((await outstanding())[0]).toBe(1);
    hasty.end('first', 'succeeded'); // too late: the step has failed
    await expect.poll(async () => (await stepOf(id)).cancelAnswer).toBe('confirmed');
    expect(await stepOf(id)).toMatchObject({ state: 'FAILED', failure: { code: 'STEP_DEADLINE' }, lateResult: 'succeeded' });
    expect((await outstanding())[0]).toBe(0);
    expect((await eventsOf(app, id)).at(-1)).toMatchObject({
      action: 'LATE_RESULT',
      dataset: 'first',
      from_state: 'FAILED',
      to_state: 'FAILED',
    });
  });

  it('that ends just then ends as it says', async () => {
    hasty.script.cancel = (job) => {
      job.state = 'succeeded';
      return null;
    };
    const id = await started([on('hasty')]);
    await reach(app, id, 'SUCCEEDED');
  });
});

it('hears from a target that knows at the deadline that nothing had gone out', async () => {
  using deadline = deadlineIn(10);
  const waiting = (signal: AbortSignal) =>
    new Promise<Answer>((resolve) => {
      signal.addEventListener('abort', () => resolve({ is: 'unsent', message: 'it waited for its turn' }));
    });
  expect(await ask(waiting, deadline)).toEqual({ is: 'unsent', message: 'it waited for its turn' });
});
