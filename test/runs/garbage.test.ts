// A service that answers with garbage, each kind of it to each call of a run, and a process of its own that it is given to: the steps say what
// is the matter, nothing ends by it, and nothing of it is kept.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { freshDatabase } from '../support/database.ts';
import { type CallName, httpChild } from '../support/http-child.ts';
import { nodesOn } from '../support/nodes.ts';
import { registered } from '../support/states.ts';
import { createWorkspace, mutate } from '../support/story.ts';
import { worthless } from './http-answers.ts';

const nodes = nodesOn(await freshDatabase());
const child = await httpChild();
const folder = mkdtempSync(path.join(tmpdir(), 'packhorse-garbage-'));
afterAll(async () => {
  await child.close();
  rmSync(folder, { recursive: true });
});
// A target for each kind: one that has answered with garbage five times is left alone.
const kinds = Object.values(worthless).map((give, n) => ({ name: `t${n}`, give }));
const file = path.join(folder, 'targets.json');
writeFileSync(file, JSON.stringify(kinds.map(({ name }) => ({ name, idempotency: 'key', baseUrl: child.url, timeoutMs: 300 }))));

it('says on each step what is the matter, ends none by it, and goes on once it is answered', async () => {
  const node = nodes.start({ PACKHORSE_TARGETS: file, PACKHORSE_RETRY_MS: '50' });
  await node.ready;
  const workspaceId = await createWorkspace(node.app, 'garbage');
  const resources = kinds.map(({ name }) => ({ name, rows: 'id\n1\n', 'packhorse:target': name }));
  const id = await registered(node.app, workspaceId, resources);
  const before = node.rssMiB();
  const got = new Set<string>();
  let bad: readonly CallName[] = ['submit', 'find'];
  child.misbehave = ({ name, job, honest, body, response }) => {
    if (!bad.includes(name)) return false;
    const dataset: string = name === 'submit' ? JSON.parse(body).dataset.name : (job?.submission.dataset.name ?? '');
    const kind = kinds.find((one) => one.name === dataset);
    if (kind === undefined) return false;
    const answer = honest();
    got.add(`${name} of ${dataset}`);
    kind.give({ response, good: answer.status, job: { ...answer.body } });
    return true;
  };
  const shown = async (): Promise<{ state: string; cancelAnswer: string | null; whyNotRunning: { code: string }[] }[]> =>
    (await node.app.graphql('query ($id: ID!) { dataRun(id: $id) { steps { state cancelAnswer whyNotRunning { code } } } }', { id })).data
      .dataRun.steps;
  const all = (one: string) => Array(kinds.length).fill(one);
  const told = async (name: CallName) =>
    expect.poll(() => kinds.every((kind) => got.has(`${name} of ${kind.name}`)), { timeout: 60_000 }).toBe(true);

  await mutate(node.app, 'startDataRun', { dataRunId: id });
  await told('submit');
  expect((await shown()).map(({ state }) => state)).toEqual(all('SUBMITTING'));
  expect((await shown()).map(({ whyNotRunning }) => whyNotRunning[0]?.code)).toEqual(all('SUBMISSION_UNANSWERED'));
  bad = ['read'];
  await expect.poll(async () => (await shown()).map(({ state }) => state), { timeout: 60_000 }).toEqual(all('ACTIVE'));
  await told('read');
  expect((await shown()).map(({ state }) => state)).toEqual(all('ACTIVE'));
  bad = ['cancel', 'read']; // an empty 202 is a consent, and how it stands is then asked for
  expect((await mutate(node.app, 'cancelDataRun', { dataRunId: id })).state).toBe('CANCELLED');
  await told('cancel');
  expect((await shown()).map(({ state, cancelAnswer }) => `${state} ${cancelAnswer}`)).toEqual(all('CANCELLING unreachable'));
  bad = [];
  await expect.poll(async () => (await shown()).map(({ state }) => state), { timeout: 60_000 }).toEqual(all('CANCELLED'));
  expect(child.jobs).toHaveLength(kinds.length);
  expect(node.isAlive, node.log).toBe(true);
  expect(node.peakMiB() - before).toBeLessThan(200); // among the garbage is a body of 256 MiB, in 256 KiB
}, 240_000);
