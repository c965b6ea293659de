// A cancel against a remote job: some rounds of what test/gate/targets.test.ts does for longer.
import { expect, it } from 'vitest';
import { cancelsAndAnEnd, cancelsInFlight } from '../support/job-races.ts';
import { remoteGround } from '../support/remote-ground.ts';
import { createWorkspace } from '../support/story.ts';

const { app, child } = await remoteGround([{}]);

it('leaves no job at work whose submission was under way when its run was cancelled, in 30 rounds', async () => {
  await cancelsInFlight(app, child, await createWorkspace(app, 'in-flight'), 'remote', 30);
  expect(child.jobs.every(({ state }) => state === 'cancelled')).toBe(true);
}, 120_000);

it('settles once by two cancels and the job’s own end at once, in 20 rounds', async () => {
  await cancelsAndAnEnd(app, child, await createWorkspace(app, 'at-once'), 'remote', 20);
}, 120_000);
