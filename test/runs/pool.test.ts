// No connection is held while a target is called, and a pool that is used up says so (case C30).
import { expect, it } from 'vitest';
import { storeTarget } from '../../src/runs/targets/store.ts';
import type { Answer } from '../../src/runs/targets/target.ts';
import { startApp } from '../support/app.ts';
import { scriptedTarget } from '../support/scripted-target.ts';
import { chain, everythingOf, registered } from '../support/states.ts';
import { createWorkspace, mutate, readRun } from '../support/story.ts';

const target = scriptedTarget();
const app = await startApp({ targets: (db) => [storeTarget(db), target], worker: false, env: { PACKHORSE_POOL_SIZE: '2' } });
const workspaceId = await createWorkspace(app, 'pool');
const start = (dataRunId: string) => mutate(app, 'startDataRun', { dataRunId });

it('answers while ten passes wait for their target on a pool of two', async () => {
  const ids = await Promise.all(
    Array.from({ length: 10 }, () => registered(app, workspaceId, chain.slice(0, 1), { driving: 'ON_REQUEST' })),
  );
  const waiting: (() => void)[] = [];
  target.script.submit = (_submission, take) =>
    new Promise<Answer>((resolve) => {
      waiting.push(() => resolve({ is: 'job', report: take() }));
    });
  const starting = ids.map(start);
  await expect.poll(() => waiting.length).toBe(10);
  expect((await readRun(app, ids[0]!)).state).toBe('RUNNING');
  for (const answer of waiting) answer();
  for (const answered of await Promise.all(starting))
    expect(answered).toMatchObject({ __typename: 'DataRun', steps: [{ state: 'ACTIVE' }] });
  target.script = {};
});

it('says that it is busy where every connection is taken, and changes nothing', async () => {
  const id = await registered(app, workspaceId, chain, { driving: 'ON_REQUEST' });
  const before = await everythingOf(app, id);
  const taken = await Promise.all([1, 2].map(() => app.app.db.pool.connect()));
  const { errors } = await app.graphql('mutation ($id: ID!) { startDataRun(input: { dataRunId: $id }) { __typename } }', { id });
  expect(errors.map(({ extensions, message }) => [extensions?.code, message])).toEqual([
    ['BUSY', 'The database is busy. Try again in a moment.'],
  ]);
  for (const client of taken) client.release();
  expect(await everythingOf(app, id)).toBe(before);
  expect(await start(id)).toMatchObject({ __typename: 'DataRun' });
});
