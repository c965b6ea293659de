// Fields that pick steps of a run, whatever else is asked of those.
import { expect, it } from 'vitest';
import { startApp } from '../support/app.ts';
import { scriptedTarget } from '../support/scripted-target.ts';
import { inState } from '../support/states.ts';
import { mutate } from '../support/story.ts';

const target = scriptedTarget();
const app = await startApp({ targets: () => [target], worker: false });

async function shown(id: string): Promise<any> {
  const query = 'query ($id: ID!) { dataRun(id: $id) { failedStep { attempt } outstandingCancellations { attempt } } }';
  return (await app.graphql(query, { id })).data.dataRun;
}

it('names the dataset that failed', async () => {
  expect(await shown(await inState(app, target, 'FAILED'))).toEqual({ failedStep: { attempt: 1 }, outstandingCancellations: [] });
});

it('names the child that has not stopped yet', async () => {
  const id = await inState(app, target, 'RUNNING');
  target.stopsAs = 'running';
  await mutate(app, 'cancelDataRun', { dataRunId: id });
  expect(await shown(id)).toEqual({ failedStep: null, outstandingCancellations: [{ attempt: 1 }] });
});
