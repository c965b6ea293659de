import { expect, it } from 'vitest';
import { killCampaign, killGround } from '../support/kills.ts';

const ground = await killGround();
const seed = Number(process.env['KILL_SEED'] ?? Date.now() % 1_000_000);

it(`loads everything once through 50 kills (KILL_SEED=${seed})`, { timeout: 900_000 }, async () => {
  const report = await killCampaign(ground, { seed, kills: 50, zombies: 6, rows: 200_000 });
  console.log(JSON.stringify({ seed, ...report }));
  expect(report).toMatchObject({ kills: 50, zombies: 6 });
});
