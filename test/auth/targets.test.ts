// Authority on job targets: asked for at each call, for the datasets that the call would drive, and by no other permission replaced.

import { v7 as uuidv7 } from 'uuid';
import { beforeAll, expect, it } from 'vitest';
import { ownAuthority } from '../../src/auth/grants.ts';
import { everything, startApp } from '../support/app.ts';
import { createWorkspace, mutate, readRun, register, stage, zipOf } from '../support/story.ts';

// Nothing runs in the background: a child that was submitted stays active.
const app = await startApp({ worker: false });
const resource = (name: string) => ({ name, rows: 'id\n1\n', schema: { fields: [{ name: 'id', type: 'integer' }], primaryKey: 'id' } });
let workspace: string;
let without: string;
const withTarget: string[] = [];
beforeAll(async () => {
  workspace = await createWorkspace(app, 'targets');
  const permissions = everything.filter((permission) => !permission.startsWith('target:'));
  without = await app.token({ permissions: [...permissions, 'target:elsewhere', 'target:', 'target:stores', 'TARGET:*', 'store', '*'] });
  for (const target of ['target:store', 'target:*'])
    withTarget.push(await app.token({ permissions: ['workspace:read', 'data-run', target], workspaces: ['targets'] }));
});

async function newRun(name: string): Promise<string> {
  const packageId = await stage(app, workspace, await zipOf(name, [resource(`${name}-a`), resource(`${name}-b`)]));
  return register(app, workspace, packageId, { driving: 'ON_REQUEST' });
}
const refused = (dataset: string) => ({ __typename: 'ForbiddenError', code: 'FORBIDDEN', permission: 'target:store', dataset });

it('is missing for the first dataset that the call would drive, and the run stays as it was', async () => {
  const id = await newRun('held');
  expect(await mutate(app, 'startDataRun', { dataRunId: id }, without)).toMatchObject(refused('held-a'));
  expect((await readRun(app, id, without)).allowedActions).toEqual(['CANCEL']);
  await mutate(app, 'startDataRun', { dataRunId: id });
  expect(await mutate(app, 'advanceDataRun', { dataRunId: id }, without)).toMatchObject(refused('held-a'));
  expect(await mutate(app, 'cancelDataRun', { dataRunId: id }, without)).toMatchObject(refused('held-a'));
  expect(await mutate(app, 'cancelDataRun', { dataRunId: id, force: true }, without)).toMatchObject(refused('held-a'));
  expect(await readRun(app, id, without)).toMatchObject({ state: 'RUNNING', allowedActions: ['PAUSE'] });
  // To hold is not to drive.
  expect(await mutate(app, 'pauseDataRun', { dataRunId: id }, without)).toMatchObject({ __typename: 'DataRun', state: 'PAUSED' });
  expect(await mutate(app, 'resumeDataRun', { dataRunId: id }, without)).toMatchObject(refused('held-a'));
  expect(await mutate(app, 'startDataRun', { dataRunId: id }, without)).toMatchObject(refused('held-a'));
  expect((await readRun(app, id)).state).toBe('PAUSED');
  await mutate(app, 'cancelDataRun', { dataRunId: id });
});

it('is enough by the target’s name and by the star', async () => {
  for (const [at, token] of withTarget.entries()) {
    const id = await newRun(`free-${at}`);
    expect(await mutate(app, 'startDataRun', { dataRunId: id }, token)).toMatchObject({ __typename: 'DataRun', state: 'RUNNING' });
    expect(await mutate(app, 'advanceDataRun', { dataRunId: id }, token)).toMatchObject({ __typename: 'DataRun' });
    expect(await mutate(app, 'cancelDataRun', { dataRunId: id }, token)).toMatchObject({ __typename: 'DataRun', state: 'CANCELLED' });
  }
});

it('of a run that nobody drives is not needed to cancel it', async () => {
  const id = await newRun('idle');
  expect(await mutate(app, 'cancelDataRun', { dataRunId: id }, without)).toMatchObject({ __typename: 'DataRun', state: 'CANCELLED' });
});

it('is not one’s own any more once one’s token has run out, also in the middle of a pass', async () => {
  const viewer = { subject: 'ann', permissions: new Set(['target:*']), workspaces: '*', revoked: new Set<string>() } as const;
  const mayDrive = async (expiresAt: Date) => (await ownAuthority({ ...viewer, expiresAt }, uuidv7())(app.app.db.prisma)).mayDrive('store');
  expect(await mayDrive(new Date(Date.now() + 60_000))).toBe(true);
  expect(await mayDrive(new Date(Date.now() - 1))).toBe(false);
});
