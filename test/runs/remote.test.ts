// Runs whose datasets are loaded by a remote service that does what services do. The service's own ledger is the judge.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { jobLinks } from '../../src/runs/targets/links.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { type ChildCall, httpChild } from '../support/http-child.ts';
import { registered, uuidOf } from '../support/states.ts';
import { createWorkspace, mutate, type Resource, reach, readRun } from '../support/story.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'packhorse-targets-'));
const child = await httpChild();
afterAll(async () => {
  await child.close();
  rmSync(folder, { recursive: true });
});
const file = path.join(folder, 'targets.json');
const kinds = ['key', 'lookup', 'none'] as const;
// An answer that comes too late from a target that goes by no key parks its dataset for a person: no loaded machine may be as late as that.
const timeoutMs = { key: 300, lookup: 300, none: 3_000 };
writeFileSync(
  file,
  JSON.stringify(
    kinds.map((idempotency) => ({ name: `by-${idempotency}`, baseUrl: child.url, idempotency, timeoutMs: timeoutMs[idempotency] })),
  ),
);
const env = { PACKHORSE_TARGETS: file, PACKHORSE_CANCEL_DEADLINE_MS: '400' };
const app = await startApp({ env });
const quiet = await startApp({ env: { ...env, PACKHORSE_POLL_MS: '600000' } });
const workspaceId = await createWorkspace(app, 'remote');

afterEach(() => {
  child.misbehave = null;
  child.begins = 'running';
});

const on = (target: string, name = 'first'): Resource => ({ name, rows: 'id\n1\n2\n', 'packhorse:target': target });
const several = (target: string, count: number) => Array.from({ length: count }, (_, n) => on(target, `d${n + 1}`));

async function started(resources: readonly Resource[], at: TestApp = app, where = workspaceId): Promise<string> {
  const id = await registered(at, where, resources);
  expect((await mutate(at, 'startDataRun', { dataRunId: id })).__typename).toBe('DataRun');
  return id;
}
const jobsOf = (id: string) => child.jobs.filter(({ submission }) => submission.runId === uuidOf(id));
const states = async (id: string) => (await readRun(app, id)).steps.map(({ state }: { state: string }) => state);
async function oneActive(id: string) {
  await expect.poll(() => states(id)).toEqual(['ACTIVE']);
  return jobsOf(id)[0]!;
}
const told = async (url: string, init?: RequestInit) => {
  const response = await fetch(url, init);
  const body = await response.text();
  return [response.status, body === '' ? '' : (JSON.parse(body).code as string)];
};

describe('the data of a job', () => {
  it('are there under its URL while its dataset waits for it, and no longer', async () => {
    const id = await started([on('by-key')]);
    const job = await oneActive(id);
    const { url } = job.submission.data;
    const response = await fetch(url);
    expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([200, 'text/csv', 'id\n1\n2\n']);
    expect(job.submission.dataset).toMatchObject({ name: 'first', bytes: 7, format: 'csv' });
    expect(await told(url, { method: 'PUT' })).toEqual([405, 'METHOD_NOT_ALLOWED']);
    child.end('first', 'succeeded');
    await reach(app, id, 'SUCCEEDED');
    expect(await told(url)).toEqual([410, 'JOB_ENDED']);
  });

  it('are given to nobody whose link was not made for it, or has expired', async () => {
    const id = await started([on('by-key')]);
    const { submission } = await oneActive(id);
    const { url } = submission.data;
    for (const other of [
      url.replace(/expires=\d/, 'expires=9'),
      url.replace('/1/data', '/2/data'),
      url.replace(/signature=./, 'signature=-'),
      `${url}&more=1`,
      submission.callbackUrl.replace('/callback?', '/data?expires=1&'),
      url.replace(submission.stepId, submission.runId),
    ])
      expect(await told(other), other).toEqual([404, 'NOT_FOUND']);
    const { secret, publicUrl } = app.app.packages;
    const old = jobLinks(
      { secret, publicUrl },
      { stepId: submission.stepId, attempt: 1, submittedAt: new Date(Date.now() - 8 * 86_400_000) },
    );
    expect(await told(old.data.url)).toEqual([410, 'LINK_EXPIRED']);
    const next = jobLinks({ secret, publicUrl }, { stepId: submission.stepId, attempt: 2, submittedAt: new Date() });
    expect(await told(next.data.url)).toEqual([410, 'JOB_ENDED']);
    child.end('first', 'succeeded');
    await reach(app, id, 'SUCCEEDED');
  });
});

it('has a run looked at when its job rings, and believes nothing that is said there', async () => {
  const id = await started([on('by-key')], quiet, await createWorkspace(quiet, 'quiet'));
  await expect.poll(() => jobsOf(id).length).toBe(1);
  const { callbackUrl } = jobsOf(id)[0]!.submission;
  const reads = () => child.calls.filter(({ name }) => name === 'read').length;
  const before = reads();
  expect(await told(callbackUrl, { method: 'POST', body: '{"state":"succeeded"}' })).toEqual([202, '']);
  await expect.poll(reads).toBeGreaterThan(before);
  expect((await readRun(quiet, id)).state).toBe('RUNNING');
  child.end('first', 'succeeded');
  expect(await told(callbackUrl, { method: 'POST' })).toEqual([202, '']);
  await reach(quiet, id, 'SUCCEEDED');
  expect(await told(callbackUrl.replace(/signature=./, 'signature=-'), { method: 'POST' })).toEqual([404, 'NOT_FOUND']);
  expect(await told(callbackUrl)).toEqual([405, 'METHOD_NOT_ALLOWED']);
});

/** Does the work, and then answers like this. */
const afterAccepting: Readonly<Record<string, (call: ChildCall) => void>> = {
  'an error': ({ response }) => void response.writeHead(500).end(),
  'nothing, ever': () => {},
  'a reset': ({ response }) => void response.socket?.resetAndDestroy(),
  'half of it': ({ response }) => {
    response.writeHead(201, { 'content-length': 1_000 }).write('{"id":"job-');
    response.socket?.end();
  },
};

it.each(['by-key', 'by-lookup'])('creates each child once at %s, however the answers to accepted submissions are lost', async (target) => {
  const faults = Object.values(afterAccepting);
  let submissions = 0;
  child.misbehave = (call) => {
    if (call.name !== 'submit' || submissions++ % 2 === 1) return false;
    call.honest();
    faults[(submissions >> 1) % faults.length]?.(call);
    return true;
  };
  const id = await started(several(target, 8));
  await expect.poll(() => states(id), { timeout: 20_000 }).toEqual(Array(8).fill('ACTIVE'));
  expect(new Set(jobsOf(id).map(({ key }) => key)).size).toBe(8);
  expect(jobsOf(id)).toHaveLength(8);
  for (const { submission } of jobsOf(id)) child.end(submission.dataset.name, 'succeeded');
  const run = await reach(app, id, 'SUCCEEDED');
  expect(run.steps.map(({ attempt }: { attempt: number }) => attempt)).toEqual(Array(8).fill(1));
});

it('parks each submission to a target that goes by no key whose answer was lost, and sends none twice', async () => {
  const faults = Object.values(afterAccepting);
  let submissions = 0;
  child.misbehave = (call) => {
    if (call.name !== 'submit') return false;
    call.honest();
    faults[submissions++ % faults.length]?.(call);
    return true;
  };
  const id = await started(several('by-none', 4));
  const holds = async () => (await readRun(app, id)).whyNotRunning.map(({ code }: { code: string }) => code);
  await expect.poll(holds, { timeout: 20_000 }).toEqual(Array(4).fill('SUBMISSION_UNKNOWN'));
  expect(jobsOf(id)).toHaveLength(4);
  child.misbehave = null;
  await mutate(app, 'cancelDataRun', { dataRunId: id });
});

it.each(['by-key', 'by-lookup', 'by-none'])(
  'loses nothing at %s while the service is away, and goes on when it is back',
  async (target) => {
    await child.goDown();
    child.begins = 'succeeded';
    const id = await started(several(target, 12));
    const { rows } = await app.app.db.pool.query<{ fence: number }>('SELECT fence FROM data_run WHERE id = $1', [uuidOf(id)]);
    const passes = async () =>
      (await app.app.db.pool.query<{ fence: number }>('SELECT fence FROM data_run WHERE id = $1', [uuidOf(id)])).rows[0]!.fence -
      rows[0]!.fence;
    await expect.poll(passes, { timeout: 20_000 }).toBeGreaterThan(3);
    expect(await states(id)).toEqual(Array(12).fill('SUBMITTING'));
    await child.comeBack();
    await reach(app, id, 'SUCCEEDED', 30_000);
    expect(jobsOf(id)).toHaveLength(12);
  },
  60_000,
);

it('takes the first end that it hears of for the end', async () => {
  const id = await started([on('by-key'), on('by-key', 'second')]);
  await expect.poll(() => states(id)).toEqual(['ACTIVE', 'ACTIVE']);
  child.end('first', 'succeeded');
  await expect.poll(() => states(id)).toEqual(['SUCCEEDED', 'ACTIVE']);
  child.end('first', 'running');
  child.end('second', 'failed', { failure: { code: 'DISK_FULL', summary: 'No room.' } });
  expect(await reach(app, id, 'FAILED')).toMatchObject({
    steps: [{ state: 'SUCCEEDED' }, { state: 'FAILED', failure: { code: 'DISK_FULL' } }],
  });
});

it('takes no other job for the one that it follows', async () => {
  const id = await started([on('by-key')]);
  const job = await oneActive(id);
  let asked = 0;
  child.misbehave = ({ name, send }) => {
    if (name !== 'read') return false;
    asked++;
    send({ status: 200, body: { id: 'another', state: 'succeeded' } });
    return true;
  };
  await expect.poll(() => asked).toBeGreaterThan(3);
  expect(await states(id)).toEqual(['ACTIVE']);
  child.misbehave = null;
  child.end('first', 'succeeded');
  await reach(app, id, 'SUCCEEDED');
  expect(job.cancelAsked).toBe(0);
});

it('cancels the child of a cancelled run, through faults, until it has stopped', async () => {
  const id = await started([on('by-key')]);
  const job = await oneActive(id);
  let faults = 0;
  child.misbehave = ({ name, response }) => {
    if (name !== 'cancel' || faults++ > 4) return false;
    response.writeHead(500).end();
    return true;
  };
  expect((await mutate(app, 'cancelDataRun', { dataRunId: id })).state).toBe('CANCELLED');
  await expect.poll(() => states(id), { timeout: 20_000 }).toEqual(['CANCELLED']);
  expect(job.state).toBe('cancelled');
});

it('serves the public half of what its calls are signed with, and no secret', async () => {
  const answer = await (await fetch(`${app.url}/.well-known/packhorse-call-keys.json`)).json();
  expect(answer).toEqual({
    keys: [{ kty: 'OKP', crv: 'Ed25519', x: expect.any(String), kid: expect.any(String), use: 'sig', alg: 'EdDSA' }],
  });
});
