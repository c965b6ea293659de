// Remote job targets for as long as it takes: the campaign by the service's ledger, and cancels that race with jobs.
import { expect, it } from 'vitest';
import { cancelsAndAnEnd, cancelsInFlight } from '../support/job-races.ts';
import { ledgerCampaign, ledgerGround } from '../support/ledger-campaign.ts';
import { remoteGround } from '../support/remote-ground.ts';
import { createWorkspace } from '../support/story.ts';

const ground = await ledgerGround();
const { app, child } = await remoteGround([{}]);
const seed = Number(process.env['LEDGER_SEED'] ?? Date.now() % 1_000_000);

it('leaves no job at work whose submission was under way when its run was cancelled, in 300 rounds', async () => {
  await cancelsInFlight(app, child, await createWorkspace(app, 'in-flight'), 'remote', 300);
  expect(child.jobs.every(({ state }) => state === 'cancelled')).toBe(true);
}, 1_800_000);

it('settles once by two cancels and the job’s own end at once, in 200 rounds', async () => {
  await cancelsAndAnEnd(app, child, await createWorkspace(app, 'at-once'), 'remote', 200);
}, 1_800_000);

it(`creates each of 5,000 children once through 200 kills and 100 stops (LEDGER_SEED=${seed})`, { timeout: 3_600_000 }, async () => {
  const report = await ledgerCampaign(ground, { seed, steps: 5_000, kills: 200, stops: 100 });
  console.log(JSON.stringify({ seed, ...report }));
  expect(report).toMatchObject({ kills: 200, stops: 100, duplicated: [], lost: [], orphaned: [], stale: [], wrongEnds: [] });
  expect(report.steps).toBeGreaterThanOrEqual(5_000);
});
