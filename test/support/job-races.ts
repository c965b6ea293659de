// Races between a cancel and a remote job, for as many rounds as a test has time for. The service's ledger says what became of the jobs.
import { expect } from 'vitest';
import type { TestApp } from './app.ts';
import type { ChildCall, HttpChild } from './http-child.ts';
import { eventsOf, registered, uuidOf } from './states.ts';
import { mutate, type Resource, readRun } from './story.ts';

const times = (count: number) => Array.from({ length: count }, (_, index) => index);
const ends = ['SUCCEEDED', 'FAILED', 'CANCELLED'];

async function started(app: TestApp, workspaceId: string, target: string): Promise<string> {
  const resource: Resource = { name: 'only', rows: 'id\n1\n', 'packhorse:target': target };
  const id = await registered(app, workspaceId, [resource]);
  expect((await mutate(app, 'startDataRun', { dataRunId: id })).__typename).toBe('DataRun');
  return id;
}

/** Settled, with one terminal event, and no child that somebody would still have to look after. Returns how. */
async function settledOnce(app: TestApp, id: string): Promise<string> {
  await expect
    .poll(async () => {
      const { state, steps } = await readRun(app, id);
      return ends.includes(state) && ['SUCCEEDED', 'FAILED', 'CANCELLED', 'SKIPPED'].includes(steps[0].state);
    })
    .toBe(true);
  const { state } = await readRun(app, id);
  const events = await eventsOf(app, id);
  expect(events.filter(({ dataset, to_state }) => dataset === null && ends.includes(to_state)).map(({ to_state }) => to_state)).toEqual([
    state,
  ]);
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
  return state;
}

/** Cancels while the service holds the answer to a submission, which it has taken or not, until before, with or after the cancel's answer. */
export async function cancelsInFlight(app: TestApp, child: HttpChild, workspaceId: string, target: string, rounds: number): Promise<void> {
  const seen = new Set<string>();
  for (const round of times(rounds)) {
    const held = new Promise<ChildCall>((resolve) => {
      child.misbehave = (call) => {
        if (call.name !== 'submit') return false;
        resolve(call);
        return true;
      };
    });
    const id = await started(app, workspaceId, target);
    const { honest, send } = await held;
    const before = child.calls.length;
    child.misbehave = null; // a repetition is answered as it should be
    const taken = round % 2 === 0 ? honest() : null;
    const cancelling = mutate(app, 'cancelDataRun', { dataRunId: id });
    if (round % 3 === 1)
      await expect.poll(() => child.calls.slice(before).some(({ name }) => name.startsWith('cancel')), { interval: 1 }).toBe(true);
    if (round % 3 === 2) await cancelling;
    send(taken ?? honest());
    expect((await cancelling).__typename).toBe('DataRun');
    expect(await settledOnce(app, id)).toBe('CANCELLED');
    const jobs = child.jobs.filter(({ submission }) => submission.runId === uuidOf(id));
    expect(jobs.length).toBeLessThanOrEqual(1);
    for (const { state, cancelAsked } of jobs) {
      expect(state).toBe('cancelled');
      seen.add(cancelAsked > 0 ? 'asked to stop' : 'buried before it came');
    }
  }
  expect([...seen].sort()).toEqual(['asked to stop', 'buried before it came']); // both happened, or it was no race
}

/** Two cancels, and the job's own end with a callback, at once. */
export async function cancelsAndAnEnd(app: TestApp, child: HttpChild, workspaceId: string, target: string, rounds: number): Promise<void> {
  const seen = new Set<string>();
  for (const round of times(rounds)) {
    const id = await started(app, workspaceId, target);
    await expect.poll(async () => (await readRun(app, id)).steps[0].state, { interval: 5 }).toBe('ACTIVE');
    const job = child.job('only');
    const cancel = () => mutate(app, 'cancelDataRun', { dataRunId: id });
    const end = async () => {
      if (job.state === 'running') child.end('only', round % 2 === 0 ? 'succeeded' : 'failed');
      await fetch(job.submission.callbackUrl, { method: 'POST' });
    };
    // The end first at times, else the cancels always win.
    if (round % 3 > 0) await end();
    if (round % 3 === 2) await expect.poll(async () => (await readRun(app, id)).steps[0].state, { interval: 1 }).not.toBe('PENDING');
    const [one, two] = await Promise.all([cancel(), cancel(), end()]);
    const state = await settledOnce(app, id);
    seen.add(state);
    const won = [one, two].filter(({ __typename }) => __typename === 'DataRun');
    expect(won).toHaveLength(state === 'CANCELLED' ? 1 : 0);
  }
  expect(seen.size).toBeGreaterThan(1);
}
