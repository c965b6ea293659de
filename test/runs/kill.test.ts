import { expect, it } from 'vitest';
import { killCampaign } from '../support/kills.ts';

const seed = Number(process.env['KILL_SEED'] ?? Date.now() % 1_000_000);

it(`loads everything once although its processes are killed and outlast their leases (KILL_SEED=${seed})`, { timeout: 120_000 }, async () => {
  const report = await killCampaign({ seed, kills: 10, zombies: 2, rows: 40_000 });
  console.log(JSON.stringify({ seed, ...report }));
  expect(report).toMatchObject({ kills: 10, zombies: 2 });
});
