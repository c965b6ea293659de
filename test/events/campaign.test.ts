import { expect, it } from 'vitest';
import { eventCampaign, eventGround } from '../support/event-campaign.ts';

const ground = await eventGround();
const seed = Number(process.env['EVENT_SEED'] ?? Date.now() % 1_000_000);

it(`tells every client what was committed, in order and once, whatever is dropped and killed (EVENT_SEED=${seed})`, {
  timeout: 400_000,
}, async () => {
  const asked = { events: 10_000, kills: 10, drops: 20, hangUps: 40 };
  const report = await eventCampaign(ground, { seed, ...asked });
  console.log(JSON.stringify({ seed, ...report }));
  expect(report).toMatchObject(asked);
  expect(report.rollbacks / (report.commits + report.rollbacks)).toBeCloseTo(0.1, 2);
  expect(report.reconnects).toBeGreaterThan(asked.kills + asked.hangUps);
});
