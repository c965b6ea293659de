// Random packages driven through random commands, against a service whose ledger says what stood when each submission came.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { storeTarget } from '../../src/runs/targets/store.ts';
import { startApp } from '../support/app.ts';
import { storyFaults } from '../support/ledger-judge.ts';
import { scriptedTarget } from '../support/scripted-target.ts';
import { eventsOf, registered, uuidOf } from '../support/states.ts';
import { createWorkspace, mutate, type Resource, readRun } from '../support/story.ts';

const target = scriptedTarget();
// Nothing in the background: each pass is one that a command asked for.
const app = await startApp({ targets: (db) => [storeTarget(db), target], worker: false });
const workspaceId = await createWorkspace(app, 'random');

const commands = fc.constantFrom(
  'advance',
  'advance',
  'advance twice at once',
  'end',
  'end',
  'end',
  'fail',
  'block',
  'pause',
  'resume',
  'lose an answer',
);
const cases = fc.record({
  needs: fc.array(fc.array(fc.nat(), { maxLength: 3 }), { minLength: 1, maxLength: 7 }),
  script: fc.array(fc.tuple(commands, fc.nat()), { minLength: 5, maxLength: 25 }),
});

it('submits nothing before what it needs has succeeded, nothing after a failure, and nothing while it is paused (40 runs)', async () => {
  let submissions = 0;
  await fc.assert(
    fc.asyncProperty(cases, async ({ needs, script }) => {
      const resources = needs.map(
        (of, at): Resource => ({
          name: `d${at}`,
          rows: 'id\n1\n',
          'packhorse:target': 'scripted',
          'packhorse:dependsOn': at === 0 ? [] : [...new Set(of.map((n) => `d${n % at}`))],
        }),
      );
      const id = await registered(app, workspaceId, resources, { driving: 'ON_REQUEST' });
      const ours = () => target.jobs.filter(({ key }) => key.includes(uuidOf(id)));
      const needed = new Map(resources.map(({ name, ...one }) => [name, one['packhorse:dependsOn'] as string[]]));
      let isPaused = false;
      let losesAnswers = false;
      let recordedFailure = false;
      target.script.submit = ({ dataset }, take) => {
        submissions++;
        expect(isPaused, `${dataset.name} while paused`).toBe(false);
        expect(recordedFailure, `${dataset.name} after a failure`).toBe(false);
        for (const need of needed.get(dataset.name) ?? []) {
          expect(ours().findLast((job) => job.dataset === need)?.state, `${need}, which ${dataset.name} needs`).toBe('succeeded');
        }
        if (!losesAnswers) return null;
        take();
        return { is: 'unknown', message: 'the answer was lost' };
      };
      const ask = (name: string) => mutate(app, name, { dataRunId: id });
      await ask('startDataRun');
      const end = (pick: number, state: 'succeeded' | 'failed' | 'blocked') => {
        const open = ours().filter((job) => job.state === 'running');
        const job = open[pick % Math.max(open.length, 1)];
        if (job !== undefined) job.state = state;
      };
      for (const [command, pick] of script) {
        if (command === 'advance') await ask('advanceDataRun');
        if (command === 'advance twice at once') await Promise.all([ask('advanceDataRun'), ask('advanceDataRun')]);
        if (command === 'end') end(pick, 'succeeded');
        if (command === 'fail') end(pick, 'failed');
        if (command === 'block') end(pick, 'blocked');
        if (command === 'lose an answer') losesAnswers = !losesAnswers;
        if (command === 'pause') isPaused = (await ask('pauseDataRun')).__typename === 'DataRun' || isPaused;
        if (command === 'resume') {
          isPaused = false;
          await ask('resumeDataRun');
        }
        recordedFailure ||= (await eventsOf(app, id)).some(({ to_state }) => to_state === 'FAILED');
      }
      // To its end, with everything that is left succeeding.
      isPaused = false;
      losesAnswers = false;
      await ask('resumeDataRun');
      for (let turn = 0; turn < 30 && (await readRun(app, id)).state === 'RUNNING'; turn++) {
        for (const job of ours()) if (job.state === 'running') job.state = 'succeeded';
        await ask('advanceDataRun');
      }
      const { rows: steps } = await app.app.db.pool.query(
        'SELECT dataset, depends_on, state::text, attempt FROM data_run_step WHERE run_id = $1',
        [uuidOf(id)],
      );
      const events = await eventsOf(app, id);
      expect(storyFaults(id, events.length, events, steps)).toEqual([]);
      expect((await readRun(app, id)).state).toBe(events.some(({ to_state }) => to_state === 'FAILED') ? 'FAILED' : 'SUCCEEDED');
      expect(new Set(ours().map(({ key }) => key)).size).toBe(ours().length);
    }),
    { numRuns: 40 },
  );
  expect(submissions).toBeGreaterThan(40);
}, 240_000);
