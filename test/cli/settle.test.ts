// Saying from the command line what became of a submission whose answer was lost.
import { expect, it, vi } from 'vitest';
import { startApp } from '../support/app.ts';
import { jsonLines, packhorse } from '../support/command-line.ts';
import { scriptedTarget } from '../support/scripted-target.ts';
import { eventsOf, registered } from '../support/states.ts';
import { createWorkspace, mutate, type Resource, reach, readRun } from '../support/story.ts';

vi.setConfig({ testTimeout: 300_000 }); // processes start slowly where much else runs

const target = scriptedTarget('none', { idempotency: 'none' });
const app = await startApp({ targets: () => [target] });
const env = { PACKHORSE_URL: app.url, PACKHORSE_TOKEN: await app.token() };

const on = (name: string): Resource => ({ name, rows: 'id\n1\n', 'packhorse:target': 'none' });

it('names the job that is there, or says that there never was one', async () => {
  target.script.submit = ({ dataset }, take) => {
    if (dataset.name === 'there') take();
    return { is: 'unknown', message: 'the connection was reset' };
  };
  const id = await registered(app, await createWorkspace(app, 'settled'), [on('there'), on('gone')]);
  expect(await packhorse(['settle', id, '--never-created'], env)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('[SUBMISSION_NOT_UNKNOWN]'),
  });
  await mutate(app, 'startDataRun', { dataRunId: id });
  await expect.poll(async () => (await readRun(app, id)).whyNotRunning).toHaveLength(2);
  target.script = {};
  expect(await packhorse(['settle', id], env)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--created JOB, or --never-created'),
  });
  expect(await packhorse(['settle', id, '--never-created'], env)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--dataset: there, gone'),
  });
  const both = await packhorse(['settle', id, '--never-created', '--created', 'x', '--dataset', 'gone'], env);
  expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining('cannot be used with') });
  const job = target.job('there').id;
  const found = await packhorse(['settle', id, '--dataset', 'there', '--created', job, '--reason', 'seen in its log'], env);
  expect(found).toMatchObject({ code: 0, stdout: 'there is ACTIVE\n' });
  expect((await eventsOf(app, id)).find(({ action }) => action === 'ACCEPT')).toMatchObject({ reason: 'seen in its log', actor: 'ann' });
  const never = await packhorse(['settle', id, '--never-created', '--json'], env); // of the one that is left
  expect(never.code, never.stderr).toBe(0);
  expect(jsonLines(never.stdout)).toMatchObject([{ dataset: 'gone' }]);
  await expect.poll(async () => (await readRun(app, id)).steps.map(({ state }: { state: string }) => state)).toEqual(['ACTIVE', 'ACTIVE']);
  const again = await packhorse(['settle', id, '--never-created', '--dataset', 'gone'], env);
  expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('[SUBMISSION_NOT_UNKNOWN]') });
  target.end('there', 'succeeded');
  target.end('gone', 'succeeded');
  await reach(app, id, 'SUCCEEDED');
});
