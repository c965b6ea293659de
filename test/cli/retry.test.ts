// `packhorse retry`: the package of a run that has ended, loaded once more from what the server keeps.
import { afterEach, expect, it, vi } from 'vitest';
import { discardExpired } from '../../src/packages/tasks.ts';
import { storeTarget } from '../../src/runs/targets/store.ts';
import { startApp } from '../support/app.ts';
import { expectOneLine, jsonLines, packhorse } from '../support/command-line.ts';
import { scriptedTarget } from '../support/scripted-target.ts';
import { registered, uuidOf } from '../support/states.ts';
import { createWorkspace, depot, mutate, type Resource, reach } from '../support/story.ts';

vi.setConfig({ testTimeout: 300_000 }); // processes start slowly where much else runs

const target = scriptedTarget();
const app = await startApp({ targets: (db) => [storeTarget(db), target] });
const env = { PACKHORSE_URL: app.url, PACKHORSE_TOKEN: await app.token() };
afterEach(() => {
  target.begins = 'running';
});

const [depots] = depot as [Resource, ...Resource[]];
const late: Resource = { name: 'late', rows: 'id\n1\n', 'packhorse:target': 'scripted', 'packhorse:dependsOn': ['depots'] };

async function cancelled(slug: string): Promise<string> {
  const id = await registered(app, await createWorkspace(app, slug), [depots]);
  await mutate(app, 'cancelDataRun', { dataRunId: id });
  return id;
}

async function readPolicies(id: unknown) {
  const { data } = await app.graphql(
    'query ($id: ID!) { dataRun(id: $id) { state driving onInvalidRow onMissingReference onHashMismatch package { id } previousRun { id } } }',
    { id },
  );
  return data.dataRun;
}

it('loads the package of a run that failed once more under its policies, and what succeeded is not written twice', async () => {
  const policies = { driving: 'ON_REQUEST', onInvalidRow: 'REJECT', onMissingReference: 'FAIL', onHashMismatch: 'WARN' };
  // Not as long as it says, which is let pass.
  const id = await registered(app, await createWorkspace(app, 'failed'), [{ ...depots, bytes: 1 }, late], policies);
  target.begins = 'failed';
  await mutate(app, 'startDataRun', { dataRunId: id });
  await expect.poll(async () => (await mutate(app, 'advanceDataRun', { dataRunId: id })).state).toBe('FAILED');
  target.begins = 'succeeded';
  const { code, stdout, stderr } = await packhorse(['retry', id, '--watch'], env);
  expect(code, stderr).toBe(0);
  expect(stdout).toMatch(/^depots +SUCCEEDED +2 +0 +0 +2 +0$/m);
  expect(stdout).toMatch(/\nSUCCEEDED, ready\n$/);
  const [, again] = /^run (\S+) of \S+ is RUNNING in workspace failed$/m.exec(stderr) ?? [];
  const { package: kept } = await readPolicies(id);
  expect(await readPolicies(again)).toEqual({ ...policies, state: 'SUCCEEDED', package: kept, previousRun: { id } });
});

it('tells what it would do, and starts nothing', async () => {
  const id = await cancelled('foreseen');
  const { code, stdout, stderr } = await packhorse(['retry', id, '--plan'], env);
  expect(code, stderr).toBe(0);
  expect(stdout).toMatch(/^depots +SUCCEEDED +2 +0 +2 +0 +0$/m);
  const [, again] = /\nrun (\S+) would succeed, ready\n$/.exec(stdout) ?? [];
  expect(await readPolicies(again)).toMatchObject({ state: 'REGISTERED', previousRun: { id } });
});

it('begins one run for an idempotency key, however often it is asked', async () => {
  const id = await cancelled('once');
  const args = ['retry', id, '--json', '--idempotency-key', 'monday'];
  const first = await packhorse(args, env);
  expect(first.code, first.stderr).toBe(0);
  const [started] = jsonLines(first.stdout) as [{ run: { id: string } }];
  expect(started).toMatchObject({ type: 'started', run: { state: 'RUNNING' } });
  await reach(app, started.run.id, 'SUCCEEDED');
  const second = await packhorse(['retry', id, '--idempotency-key', 'monday'], env);
  expect(second).toMatchObject({ code: 0, stdout: `${started.run.id}\n` });
});

it('says in whose way it would be, that the run goes on, or that there is nothing left to load', async () => {
  const id = await cancelled('refused');
  const reading = await packhorse(['retry', id, '--token', await app.token({ permissions: ['workspace:read'] })], env);
  expect(reading).toMatchObject({ code: 2, stdout: '' });
  expect(reading.stderr).toMatch(/\[FORBIDDEN\]\n +missing permission: data-run\n/);
  const held = await packhorse(['retry', id, '--plan', '--json'], env);
  const [{ dataRunId: holder }] = jsonLines(held.stdout) as [{ dataRunId: string }];
  const occupied = await packhorse(['retry', id], env);
  expect(occupied).toMatchObject({ code: 2, stdout: '' });
  expect(occupied.stderr).toMatch(new RegExp(`\\[UNFINISHED_RUN_EXISTS\\]\\n +in the way: ${holder}\\n`));
  const going = await packhorse(['retry', holder], env);
  expect(going).toMatchObject({ code: 2, stdout: '' });
  expect(going.stderr).toMatch(/The previous run is REGISTERED: another attempt begins when it has settled\. \[INVALID_INPUT\]/);
  await mutate(app, 'cancelDataRun', { dataRunId: holder });

  await app.app.db.pool.query(
    `UPDATE data_package SET expires_at = clock_timestamp() - interval '1 second' WHERE id = (SELECT package_id FROM data_run WHERE id = $1)`,
    [uuidOf(id)],
  );
  expect(await discardExpired(app.app.packages)).toBe(1);
  const gone = await packhorse(['retry', id], env);
  expect(gone).toMatchObject({ code: 2, stdout: '' });
  expectOneLine(gone.stderr, /no longer kept.*\[PACKAGE_NOT_UPLOADED\]/);
  const unknown = await packhorse(['retry', 'nonsense'], env);
  expect(unknown).toMatchObject({ code: 2, stdout: '' });
  expectOneLine(unknown.stderr, /no such data run.*\[NOT_FOUND\]/);
});
