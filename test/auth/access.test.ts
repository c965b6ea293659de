// Access that is taken back before a token expires. What every way into the graph then answers, the matrix says; here is what was begun before.
import { expect, it } from 'vitest';
import { leaveGrant, ownAuthority } from '../../src/auth/grants.ts';
import { holdAccess } from '../../src/auth/revocation.ts';
import { inTransaction } from '../../src/db.ts';
import { NotFoundError } from '../../src/errors.ts';
import { pass } from '../../src/runs/driver.ts';
import { storeTarget } from '../../src/runs/targets/store.ts';
import { everything, startApp } from '../support/app.ts';
import { untilBlocked } from '../support/holds.ts';
import { scriptedTarget } from '../support/scripted-target.ts';
import { chain, registered, uuidOf } from '../support/states.ts';
import { createWorkspace, depot, mutate, type Resource, reach, readRun, zipOf } from '../support/story.ts';
import { askAccess, setAccess } from './access-story.ts';

const target = scriptedTarget();
const app = await startApp({ targets: (db) => [storeTarget(db), target] });
const { db } = app.app;
const eve = await app.token({ subject: 'eve' });
const slugOf = 'query ($slug: String!) { workspace(slug: $slug) { slug } }';
const sees = async (slug: string, token: string) => (await app.graphql(slugOf, { slug }, token)).data.workspace !== null;

it('is gone for that subject in that workspace from the answer on, and comes back', async () => {
  const [here] = [await createWorkspace(app, 'here'), await createWorkspace(app, 'there')];
  const listed = async () =>
    (await app.graphql('{ workspaces(first: 50) { edges { node { slug } } } }', {}, eve)).data.workspaces.edges.map(
      (e: any) => e.node.slug,
    );
  const before = await listed();
  expect(await sees('here', eve)).toBe(true);
  await setAccess(app, 'revokeAccess', here, 'eve');
  expect([await sees('here', eve), await sees('there', eve), await sees('here', await app.token())]).toEqual([false, true, true]);
  expect(await listed()).toEqual(before.filter((slug: string) => slug !== 'here'));
  await setAccess(app, 'restoreAccess', here, 'eve');
  expect(await sees('here', eve)).toBe(true);
});

it('is asked for anew by each operation on a socket that was opened before', async () => {
  const workspaceId = await createWorkspace(app, 'socket');
  const socket = await app.socket(eve);
  const ask = async () => (await socket.iterate<any>({ query: slugOf, variables: { slug: 'socket' } }).next()).value.data;
  expect(await ask()).toEqual({ workspace: { slug: 'socket' } });
  await setAccess(app, 'revokeAccess', workspaceId, 'eve');
  expect(await ask()).toEqual({ workspace: null });
});

it('is shown with who took it back and why, to administrators only; doing it again changes nothing, and what was restored is remembered', async () => {
  const workspaceId = await createWorkspace(app, 'shown');
  const boss = await app.token({ subject: 'boss' });
  const revoked = await askAccess(app, 'revokeAccess', { workspaceId, subject: 'eve', reason: 'has left' }, boss);
  expect(revoked.revokedAccess).toEqual([{ subject: 'eve', reason: 'has left', revokedBy: 'boss', revokedAt: expect.any(String) }]);
  expect(await askAccess(app, 'revokeAccess', { workspaceId, subject: 'eve', reason: 'again' })).toEqual(revoked);
  const staff = await app.token({ permissions: ['workspace:read', 'data-run'] });
  const list = '{ workspace(slug: "shown") { revokedAccess { subject } } }';
  expect((await app.graphql(list, {}, staff)).data.workspace).toEqual({ revokedAccess: null });
  expect((await askAccess(app, 'restoreAccess', { workspaceId, subject: 'eve' })).revokedAccess).toEqual([]);
  expect((await askAccess(app, 'restoreAccess', { workspaceId, subject: 'eve' })).revokedAccess).toEqual([]);
  const rows = await db.prisma.accessRevocation.findMany({ where: { workspaceId: uuidOf(workspaceId) } });
  expect(rows).toMatchObject([{ subject: 'eve', revokedBy: 'boss', restoredBy: 'ann', restoredAt: expect.any(Date) }]);
});

it('is refused to be taken back in the order of answers', async () => {
  const workspaceId = await createWorkspace(app, 'order');
  const reason = 'x'.repeat(1_001);
  const other = await app.token({ workspaces: ['elsewhere'] });
  expect((await askAccess(app, 'revokeAccess', { workspaceId, subject: '', reason }, other)).code).toBe('NOT_FOUND');
  const staff = await app.token({ permissions: everything.filter((permission) => permission !== 'workspace:admin') });
  expect((await askAccess(app, 'revokeAccess', { workspaceId, subject: '', reason }, staff)).code).toBe('FORBIDDEN');
  expect(await askAccess(app, 'revokeAccess', { workspaceId, subject: '' })).toMatchObject({ code: 'INVALID_INPUT', field: 'subject' });
  expect(await askAccess(app, 'restoreAccess', { workspaceId, subject: 'a\0b' })).toMatchObject({ field: 'subject' });
  expect(await askAccess(app, 'revokeAccess', { workspaceId, subject: 'eve', reason })).toMatchObject({ field: 'reason' });
  expect(await db.prisma.accessRevocation.count({ where: { workspaceId: uuidOf(workspaceId) } })).toBe(0);
});

it('takes an upload with it that was announced before', async () => {
  const workspaceId = await createWorkspace(app, 'upload');
  const staging = `mutation ($input: StagePackageInput!) { stagePackage(input: $input) { ... on StagedPackage { uploadUrl } } }`;
  const { data } = await app.graphql(staging, { input: { workspaceId } }, eve);
  const put = async () =>
    (await fetch(data.stagePackage.uploadUrl, { method: 'PUT', body: new Uint8Array(await zipOf('late', depot)) })).status;
  await setAccess(app, 'revokeAccess', workspaceId, 'eve');
  expect(await put()).toBe(404);
  await setAccess(app, 'restoreAccess', workspaceId, 'eve');
  expect(await put()).toBe(201);
});

const scripted = (name: string, ...dependsOn: string[]): Resource => ({ ...chain[0]!, name, 'packhorse:dependsOn': dependsOn });

it('ends the grants that the subject left: the run is held and says so, nothing goes out in their name, and another person goes on', async () => {
  const workspaceId = await createWorkspace(app, 'grants');
  const id = await registered(app, workspaceId, [scripted('one'), scripted('two', 'one')]);
  expect((await mutate(app, 'startDataRun', { dataRunId: id }, eve)).state).toBe('RUNNING');
  await expect.poll(async () => (await readRun(app, id)).activeChildren).toBe(1);
  await setAccess(app, 'revokeAccess', workspaceId, 'eve');
  target.end('one', 'succeeded');
  const holds = async () => (await readRun(app, id)).whyNotRunning;
  await expect.poll(holds).toEqual([{ code: 'AUTHORITY_LAPSED', subject: 'two' }]);
  await setAccess(app, 'restoreAccess', workspaceId, 'eve');
  expect(await holds()).toEqual([{ code: 'AUTHORITY_LAPSED', subject: 'two' }]);
  expect((await readRun(app, id)).state).toBe('RUNNING');
  const bob = await app.token({ subject: 'bob' });
  await mutate(app, 'pauseDataRun', { dataRunId: id }, bob);
  await mutate(app, 'resumeDataRun', { dataRunId: id }, bob);
  await expect.poll(async () => (await readRun(app, id)).activeChildren).toBe(1);
  target.end('two', 'succeeded');
  await reach(app, id, 'SUCCEEDED');
  const ours = target.submissions.filter(({ runId }) => runId === uuidOf(id));
  expect(ours.map(({ dataset, subject }) => `${dataset.name} ${subject}`)).toEqual(['one eve', 'two bob']);
});

it('has a submission that nobody received go out in the name of whoever went on', async () => {
  const workspaceId = await createWorkspace(app, 'renamed');
  const id = await registered(app, workspaceId, [scripted('lost')]);
  target.script = { submit: () => ({ is: 'unknown', message: 'it did not get there' }) };
  await mutate(app, 'startDataRun', { dataRunId: id }, eve);
  const names = () => target.submissions.filter(({ runId }) => runId === uuidOf(id)).map(({ subject }) => subject);
  await expect.poll(() => names().length).toBeGreaterThan(0);
  await setAccess(app, 'revokeAccess', workspaceId, 'eve');
  await mutate(app, 'pauseDataRun', { dataRunId: id });
  await mutate(app, 'resumeDataRun', { dataRunId: id });
  await expect.poll(() => names().at(-1)).toBe('ann');
  const before = names().lastIndexOf('eve') + 1;
  target.script = {};
  await expect.poll(async () => (await readRun(app, id)).steps[0].state).toBe('ACTIVE');
  expect(new Set(names().slice(before))).toEqual(new Set(['ann']));
  expect(target.jobs.filter(({ key }) => key.includes(uuidOf(id)))).toHaveLength(1);
  target.end('lost', 'succeeded');
  await reach(app, id, 'SUCCEEDED');
});

it('is asked for at every turn of a pass that the subject makes', async () => {
  const workspaceId = await createWorkspace(app, 'pass');
  const id = await registered(app, workspaceId, [scripted('a'), scripted('b', 'a')], { driving: 'ON_REQUEST' });
  target.begins = 'succeeded';
  target.script = {
    async submit(_submission, take) {
      await setAccess(app, 'revokeAccess', workspaceId, 'eve'); // in the middle
      return { is: 'job', report: take() };
    },
  };
  const viewer = { subject: 'eve', permissions: new Set(everything), workspaces: '*', revoked: new Set<string>() } as const;
  await mutate(app, 'startDataRun', { dataRunId: id }, eve);
  target.begins = 'running';
  target.script = {};
  expect((await readRun(app, id)).steps.map(({ state }: { state: string }) => state)).toEqual(['SUCCEEDED', 'PENDING']);
  const authorise = ownAuthority({ ...viewer, expiresAt: new Date(Date.now() + 60_000) }, uuidOf(workspaceId));
  await pass(app.app.runs.driver, uuidOf(id), { authorise, by: { actor: 'eve' } });
  expect((await readRun(app, id)).steps[1].state).toBe('PENDING');
});

it('is asked for again before what a pass asks its children second', async () => {
  const workspaceId = await createWorkspace(app, 'second');
  const id = await registered(app, workspaceId, [scripted('fails'), scripted('lost')]);
  const cancelByKey = target.cancelByKey.bind(target);
  const named: string[] = [];
  try {
    target.cancelByKey = (key, caller, signal) => {
      named.push(caller.subject);
      return cancelByKey(key, caller, signal);
    };
    target.script = {
      submit: ({ dataset }) => (dataset.name === 'lost' ? { is: 'unknown', message: 'it did not get there' } : null),
      async find() {
        if ((await readRun(app, id)).state !== 'FAILED') return { is: 'unknown', message: 'not yet' };
        await setAccess(app, 'revokeAccess', workspaceId, 'eve'); // who was named in this question
        return { is: 'none' };
      },
    };
    await mutate(app, 'startDataRun', { dataRunId: id }, eve);
    await expect.poll(async () => (await readRun(app, id)).activeChildren).toBe(2);
    target.end('fails', 'failed');
    await expect.poll(() => named.length).toBeGreaterThan(0);
    expect(named[0]).toBe('driver');
  } finally {
    Object.assign(target, { cancelByKey, script: {} });
  }
});

it('leaves no grant behind, whichever of the two is first', async () => {
  const workspaceId = await createWorkspace(app, 'race');
  const id = await registered(app, workspaceId, [scripted('one')]);
  const run = { id: uuidOf(id), workspaceId: uuidOf(workspaceId) };
  const viewer = {
    subject: 'eve',
    permissions: new Set(everything),
    workspaces: '*',
    revoked: new Set<string>(),
    expiresAt: new Date(Date.now() + 60_000),
  } as const;
  let revoking: Promise<void> | undefined;
  await inTransaction(db, async (tx) => {
    await holdAccess(tx, run.workspaceId, 'eve', 'data run');
    revoking ??= setAccess(app, 'revokeAccess', workspaceId, 'eve');
    await untilBlocked(db, 1);
    await leaveGrant(tx, run, viewer, ['scripted'], 24, 'DRIVE');
  });
  await revoking;
  const inForce = () => db.prisma.grant.count({ where: { runId: run.id, endedAt: null } });
  expect(await db.prisma.grant.count({ where: { runId: run.id } })).toBe(1);
  expect(await inForce()).toBe(0);
  const second = inTransaction(db, (tx) => leaveGrant(tx, run, viewer, ['scripted'], 24, 'DRIVE'));
  await expect(second).rejects.toThrow(NotFoundError);
  expect(await inForce()).toBe(0);
});
