// Races: many at once, one winner, one terminal event, and answers that agree with the row.
import { afterEach, describe, expect, it } from 'vitest';
import { pass } from '../../src/runs/driver.ts';
import { storeTarget } from '../../src/runs/targets/store.ts';
import { startApp } from '../support/app.ts';
import { type ScriptedTarget, scriptedTarget } from '../support/scripted-target.ts';
import { chain, eventsOf, registered, uuidOf } from '../support/states.ts';
import { createWorkspace, depot, mutate, reach, readRun, register, stage, zipOf } from '../support/story.ts';

const target: ScriptedTarget = scriptedTarget();
const app = await startApp({ targets: (db) => [storeTarget(db), target] });
const workspaceId = await createWorkspace(app, 'races');

afterEach(() => {
  target.begins = 'running';
  target.script = {};
});

const times = (count: number) => Array.from({ length: count }, (_, index) => index);
const terminal = (event: { to_state: string; dataset: string | null }) =>
  event.dataset === null && ['SUCCEEDED', 'FAILED', 'CANCELLED'].includes(event.to_state);

it('admits one of 32 registrations of one package, and names it to the others', async () => {
  const packageId = await stage(app, workspaceId, await zipOf('contested', chain));
  const answers = await Promise.all(times(32).map(() => mutate(app, 'registerDataRun', { workspaceId, packageId, driving: 'ON_REQUEST' })));
  const made = answers.filter(({ __typename }) => __typename === 'DataRun');
  expect(made).toHaveLength(1);
  for (const answer of answers) {
    if (answer !== made[0])
      expect(answer).toMatchObject({ __typename: 'ConflictError', code: 'UNFINISHED_RUN_EXISTS', conflictingId: made[0].id });
  }
  expect(await eventsOf(app, made[0].id)).toHaveLength(1);
});

it('gives 20 registrations with one key one answer, and a conflict to other input', async () => {
  const packageId = await stage(app, workspaceId, await zipOf('keyed', chain));
  const other = await stage(app, workspaceId, await zipOf('keyed-other', chain));
  const input = { workspaceId, packageId, driving: 'ON_REQUEST', idempotencyKey: 'k-1' };
  const answers = await Promise.all(times(20).map(() => mutate(app, 'registerDataRun', input)));
  expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
  expect(answers[0].__typename).toBe('DataRun');
  expect(await mutate(app, 'registerDataRun', { ...input, packageId: other })).toMatchObject({
    __typename: 'ConflictError',
    code: 'IDEMPOTENCY_KEY_REUSED',
  });
  // The replay shows the subject as it is now.
  await mutate(app, 'cancelDataRun', { dataRunId: answers[0].id });
  expect(await mutate(app, 'registerDataRun', input)).toMatchObject({ id: answers[0].id, state: 'CANCELLED' });
});

it('keeps a key apart for each subject, and forgets it after its time', async () => {
  const packages = await Promise.all(['of-ann', 'of-bob', 'later'].map(async (name) => stage(app, workspaceId, await zipOf(name, chain))));
  const ask = (index: number, token?: string) =>
    mutate(app, 'registerDataRun', { workspaceId, packageId: packages[index], driving: 'ON_REQUEST', idempotencyKey: 'k-mine' }, token);
  const ann = await ask(0);
  const bob = await ask(1, await app.token({ subject: 'bob' }));
  expect([ann.__typename, bob.__typename]).toEqual(['DataRun', 'DataRun']);
  expect(bob.id).not.toBe(ann.id);
  expect(await ask(2)).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' });
  await app.app.db.pool.query(`UPDATE idempotency_key SET expires_at = clock_timestamp() - interval '1 second' WHERE key = 'k-mine'`);
  const later = await ask(2);
  expect(later.__typename).toBe('DataRun');
  expect((await ask(2)).id).toBe(later.id);
  for (const { id } of [ann, bob, later]) await mutate(app, 'cancelDataRun', { dataRunId: id });
});

it.each(['BACKGROUND', 'ON_REQUEST'])('lets one of 16 starts through (%s), and submits each dataset once', async (driving) => {
  const id = await registered(app, workspaceId, chain, { driving });
  const answers = await Promise.all(times(16).map(() => mutate(app, 'startDataRun', { dataRunId: id })));
  expect(answers.filter(({ __typename }) => __typename === 'DataRun')).toHaveLength(1);
  expect(answers.filter(({ __typename, code }) => __typename === 'InvalidTransitionError' && code === 'INVALID_TRANSITION')).toHaveLength(
    15,
  );
  await expect.poll(async () => (await readRun(app, id)).steps[0].state).toBe('ACTIVE');
  expect(target.jobs.filter(({ key }) => key.includes(uuidOf(id)))).toHaveLength(1);
  await mutate(app, 'cancelDataRun', { dataRunId: id });
});

it.each(['startDataRun', 'pauseDataRun', 'cancelDataRun'])(
  'gives %s, sent five times at once with one key, one effect',
  async (mutation) => {
    const id = await registered(app, workspaceId, chain, { driving: 'ON_REQUEST' });
    if (mutation !== 'startDataRun') await mutate(app, 'startDataRun', { dataRunId: id });
    const answers = await Promise.all(times(5).map(() => mutate(app, mutation, { dataRunId: id, idempotencyKey: 'once' })));
    expect(answers.map(({ __typename }) => __typename)).toEqual(times(5).map(() => 'DataRun'));
    const action = mutation.replace('DataRun', '').toUpperCase();
    expect((await eventsOf(app, id)).filter((event) => event.dataset === null && event.action === action)).toHaveLength(1);
    await mutate(app, 'cancelDataRun', { dataRunId: id });
  },
);

describe('cancel against settle', () => {
  const rounds = 70;

  /** The answer, the row and the last event agree, and there is one terminal event. */
  async function agree(id: string, answer: { __typename: string; from?: string }): Promise<string> {
    await expect.poll(async () => ['SUCCEEDED', 'FAILED', 'CANCELLED'].includes((await readRun(app, id)).state)).toBe(true);
    await expect
      .poll(async () => (await readRun(app, id)).steps.some((step: { state: string }) => step.state === 'CANCELLING'))
      .toBe(false);
    const { state } = await readRun(app, id);
    const ends = (await eventsOf(app, id)).filter(terminal);
    expect(ends.map(({ to_state }) => to_state)).toEqual([state]);
    if (answer.__typename === 'DataRun') expect(state).toBe('CANCELLED');
    else expect(answer).toMatchObject({ __typename: 'InvalidTransitionError', from: state });
    return state;
  }

  it(`settles once in ${rounds} rounds over the built-in loader, from running`, { timeout: 300_000 }, async () => {
    const seen = new Set<string>();
    const zip = await zipOf('raced-running', depot);
    const packageId = await stage(app, workspaceId, zip);
    for (const round of times(rounds)) {
      const id = await register(app, workspaceId, packageId);
      await mutate(app, 'startDataRun', { dataRunId: id });
      // Later and later into the load, so that every moment is met.
      const last = ['depots', 'tools', 'routes'][round % 3];
      if (round % 4 > 0)
        await expect
          .poll(async () => (await readRun(app, id)).steps.find((step: { dataset: string }) => step.dataset === last).state, {
            interval: 2,
          })
          .not.toBe('PENDING');
      seen.add(await agree(id, await mutate(app, 'cancelDataRun', { dataRunId: id })));
    }
    expect([...seen].sort()).toContain('CANCELLED');
  });

  it(`settles once in ${rounds} rounds, cancelled in the moment that the pass settles it`, { timeout: 300_000 }, async () => {
    const seen = new Set<string>();
    for (const round of times(rounds)) {
      const id = await registered(app, workspaceId, chain.slice(0, 1), { driving: 'ON_REQUEST' });
      await mutate(app, 'startDataRun', { dataRunId: id });
      target.end('first', round % 2 === 0 ? 'succeeded' : 'failed');
      // Sent together, or when the pass has just asked the child, or a moment after: so either side wins at times.
      let looked: () => void = () => {};
      const looking = new Promise<void>((resolve) => {
        looked = resolve;
      });
      target.script.read = () => {
        looked();
        return null;
      };
      const advancing = mutate(app, 'advanceDataRun', { dataRunId: id });
      if (round % 3 > 0) await looking;
      if (round % 3 === 2) await readRun(app, id);
      const cancelled = await mutate(app, 'cancelDataRun', { dataRunId: id });
      await advancing;
      seen.add(await agree(id, cancelled));
    }
    expect(seen.size).toBeGreaterThan(1); // both sides won at times, or it was no race
  });

  it(`settles once in ${rounds} rounds from registered and paused, against start and resume`, { timeout: 300_000 }, async () => {
    for (const round of times(rounds)) {
      const id = await registered(app, workspaceId, chain, { driving: 'ON_REQUEST' });
      if (round % 2 === 1) {
        await mutate(app, 'startDataRun', { dataRunId: id });
        target.end('first', 'succeeded');
        await mutate(app, 'pauseDataRun', { dataRunId: id });
      }
      const [cancelled, other] = await Promise.all([
        mutate(app, 'cancelDataRun', { dataRunId: id }),
        mutate(app, round % 2 === 0 ? 'startDataRun' : 'resumeDataRun', { dataRunId: id }),
      ]);
      expect(['DataRun', 'InvalidTransitionError', 'ConflictError']).toContain(other.__typename);
      expect(await agree(id, cancelled)).toBe('CANCELLED');
      const events = await eventsOf(app, id);
      const end = events.findIndex(terminal);
      expect(events.slice(end + 1).filter(({ action }) => action === 'SUBMIT')).toEqual([]);
    }
  });
});

it('submits nothing after a pause was answered, in 30 rounds with two drivers busy', async () => {
  const many = times(12).map((index) => ({
    ...chain[0]!,
    name: `d${index}`,
    ...(index < 2 ? {} : { 'packhorse:dependsOn': [`d${index - 2}`] }),
  }));
  for (const _ of times(30)) {
    const id = await registered(app, workspaceId, many);
    target.begins = 'succeeded';
    await mutate(app, 'startDataRun', { dataRunId: id });
    const authorise = async () => ({ subject: 'ann', mayDrive: () => true });
    const driving = times(4).map(() => pass(app.app.runs.driver, uuidOf(id), { authorise, by: { actor: 'ann' } }));
    const paused = await mutate(app, 'pauseDataRun', { dataRunId: id });
    await Promise.all(driving);
    target.begins = 'running';
    if (paused.__typename === 'DataRun') {
      const events = await eventsOf(app, id);
      const at = events.findIndex(({ action, dataset }) => action === 'PAUSE' && dataset === null);
      expect(events.slice(at).filter(({ action }) => action === 'SUBMIT')).toEqual([]);
    } else expect(paused.from).toBe('SUCCEEDED');
    await mutate(app, 'cancelDataRun', { dataRunId: id });
  }
  expect(new Set(target.jobs.map(({ key }) => key)).size).toBe(target.jobs.length);
});

it('keeps a paused run whose children have ended paused', async () => {
  const id = await registered(app, workspaceId, chain.slice(0, 1));
  await mutate(app, 'startDataRun', { dataRunId: id });
  await expect.poll(async () => (await readRun(app, id)).activeChildren).toBe(1);
  await mutate(app, 'pauseDataRun', { dataRunId: id });
  target.end('first', 'succeeded');
  await expect.poll(async () => (await readRun(app, id)).steps[0].state).toBe('SUCCEEDED');
  const run = await readRun(app, id);
  expect(run).toMatchObject({ state: 'PAUSED', activeChildren: 0, whyNotRunning: [{ code: 'PAUSED' }] });
  await mutate(app, 'resumeDataRun', { dataRunId: id });
  await reach(app, id, 'SUCCEEDED');
});

it('pauses a run whose row moves on all the time', async () => {
  const id = await registered(app, workspaceId, chain, { driving: 'ON_REQUEST' });
  await mutate(app, 'startDataRun', { dataRunId: id });
  let busy = true;
  const moving = (async () => {
    while (busy) await app.app.db.pool.query(`UPDATE data_run SET revision = revision + 1 WHERE id = $1`, [uuidOf(id)]);
  })();
  expect(await mutate(app, 'pauseDataRun', { dataRunId: id })).toMatchObject({ __typename: 'DataRun', state: 'PAUSED' });
  busy = false;
  await moving;
  await mutate(app, 'cancelDataRun', { dataRunId: id });
});
