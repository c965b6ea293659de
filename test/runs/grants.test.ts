// The authority that a run is driven under: seen, given anew and taken back, while the run goes on.
import { expect, it } from 'vitest';
import { endGrants } from '../../src/auth/grants.ts';
import { storeTarget } from '../../src/runs/targets/store.ts';
import { everything, startApp } from '../support/app.ts';
import { untilBlocked } from '../support/holds.ts';
import { scriptedTarget } from '../support/scripted-target.ts';
import { inState, registered, uuidOf } from '../support/states.ts';
import { createWorkspace, mutate, reach, readRun } from '../support/story.ts';

const target = scriptedTarget();
const app = await startApp({ targets: (db) => [storeTarget(db), target], env: { PACKHORSE_GRANT_HOURS: '3' } });
const { db } = app.app;
const workspaceId = await createWorkspace(app, 'grants');
const bob = await app.token({ subject: 'bob' });

const fields = 'grant { subject targets grantedAt expiresAt endedAt }';
const grantOf = async (id: string) => (await app.graphql(`query ($id: ID!) { dataRun(id: $id) { ${fields} } }`, { id })).data.dataRun.grant;
async function ask(mutation: 'renewDataRunGrant' | 'revokeDataRunGrant', input: object, token?: string): Promise<any> {
  const type = mutation === 'renewDataRunGrant' ? 'RenewDataRunGrantInput' : 'RevokeDataRunGrantInput';
  const { data, errors } = await app.graphql(
    `mutation ($input: ${type}!) { ${mutation}(input: $input) { __typename ... on DataRun { ${fields} } ... on Error { code } ... on ForbiddenError { permission dataset } } }`,
    { input },
    token,
  );
  expect(errors).toEqual([]);
  return data[mutation];
}
const submissionsOf = (id: string) => target.submissions.filter(({ runId }) => runId === uuidOf(id));
const waitFor = (id: string, dataset: string) =>
  expect.poll(async () => (await readRun(app, id)).steps.find((step: any) => step.dataset === dataset).state).toBe('ACTIVE');
const count = (id: string) => db.prisma.grant.count({ where: { runId: uuidOf(id), purpose: 'DRIVE' } });

it('is shown with whose it is, for which targets, and until when', async () => {
  const id = await registered(app, workspaceId);
  expect(await grantOf(id)).toBeNull();
  await mutate(app, 'startDataRun', { dataRunId: id }, bob);
  const grant = await grantOf(id);
  expect(grant).toMatchObject({ subject: 'bob', targets: ['scripted'], endedAt: null });
  expect(Date.parse(grant.expiresAt) - Date.parse(grant.grantedAt)).toBe(3 * 3_600_000);
  await mutate(app, 'cancelDataRun', { dataRunId: id });
});

it('taken back holds the run until another is given, which goes on at once and in its own name', async () => {
  const id = await registered(app, workspaceId);
  await mutate(app, 'startDataRun', { dataRunId: id });
  await waitFor(id, 'first');
  const taken = await ask('revokeDataRunGrant', { dataRunId: id });
  expect(taken).toMatchObject({ __typename: 'DataRun', grant: { subject: 'ann', endedAt: expect.any(String) } });
  expect(await ask('revokeDataRunGrant', { dataRunId: id })).toEqual(taken);
  target.end('first', 'succeeded');
  await expect.poll(async () => (await readRun(app, id)).whyNotRunning).toEqual([{ code: 'AUTHORITY_LAPSED', subject: 'second' }]);
  const key = { dataRunId: id, idempotencyKey: 'once' };
  expect(await ask('renewDataRunGrant', key, bob)).toMatchObject({ grant: { subject: 'bob', endedAt: null } });
  await ask('renewDataRunGrant', key, bob);
  expect(await count(id)).toBe(2);
  await waitFor(id, 'second');
  target.end('second', 'succeeded');
  await reach(app, id, 'SUCCEEDED');
  expect(submissionsOf(id).map(({ dataset, subject }) => `${dataset.name} ${subject}`)).toEqual(['first ann', 'second bob']);
});

it('is given only with authority on what remains, and only to a run that is open', async () => {
  const weak = await app.token({ subject: 'cat', permissions: everything.filter((permission) => permission !== 'target:*') });
  const paused = await inState(app, target, 'PAUSED', workspaceId);
  expect(await ask('renewDataRunGrant', { dataRunId: paused }, weak)).toMatchObject({
    __typename: 'ForbiddenError',
    permission: 'target:scripted',
    dataset: 'first',
  });
  expect(await ask('renewDataRunGrant', { dataRunId: paused })).toMatchObject({ grant: { subject: 'ann', endedAt: null } });
  await mutate(app, 'cancelDataRun', { dataRunId: paused });
  for (const state of ['REGISTERED', 'SUCCEEDED', 'CANCELLED'] as const) {
    const id = await inState(app, target, state, workspaceId);
    const before = await count(id);
    expect(await ask('renewDataRunGrant', { dataRunId: id })).toMatchObject({ __typename: 'ConflictError', code: 'RUN_NOT_OPEN' });
    expect(await count(id)).toBe(before);
    if (state === 'REGISTERED') await mutate(app, 'cancelDataRun', { dataRunId: id });
  }
});

it('is taken back after whoever holds the run has let go of it, so that nothing is intended under it after the answer', async () => {
  const id = await inState(app, target, 'RUNNING', workspaceId);
  let answered = false;
  let revoking: Promise<void> | undefined;
  await db.prisma.$transaction(async (sql) => {
    await sql.$queryRaw`SELECT id FROM data_run WHERE id = ${uuidOf(id)}::uuid FOR UPDATE`;
    revoking = ask('revokeDataRunGrant', { dataRunId: id }).then(() => {
      answered = true;
    });
    await untilBlocked(db, 1);
    expect(answered).toBe(false);
    await endGrants(sql, uuidOf(id), 'CANCEL'); // another purpose's are none of this
  });
  await revoking;
  expect((await grantOf(id)).endedAt).not.toBeNull();
  await mutate(app, 'cancelDataRun', { dataRunId: id });
});
