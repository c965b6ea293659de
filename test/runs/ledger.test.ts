// Runs over HTTP through faults, kills and stops: a small campaign. The whole figures are those of test/gate/targets.test.ts.
import { expect, it } from 'vitest';
import { ledgerCampaign, ledgerGround } from '../support/ledger-campaign.ts';

const ground = await ledgerGround();
const seed = Number(process.env['LEDGER_SEED'] ?? Date.now() % 1_000_000);

it(`creates each child once, loses none and leaves none behind, through faults, kills and stops (LEDGER_SEED=${seed})`, {
  timeout: 180_000,
}, async () => {
  const report = await ledgerCampaign(ground, { seed, steps: 150, kills: 5, stops: 3 });
  expect(report, JSON.stringify(report)).toMatchObject({
    kills: 5,
    stops: 3,
    duplicated: [],
    lost: [],
    orphaned: [],
    stale: [],
    wrongEnds: [],
  });
});
