// Events for as long as it takes: everything at once that may lose one, and readers that have stopped reading.
import { expect, it } from 'vitest';
import { eventCampaign, eventGround } from '../support/event-campaign.ts';
import { stalledSockets } from '../support/stalled.ts';

const ground = await eventGround();
const seed = Number(process.env['EVENT_SEED'] ?? Date.now() % 1_000_000);

it(`tells every client what was committed, in order and once, whatever is dropped and killed (EVENT_SEED=${seed})`, {
  timeout: 3_600_000,
}, async () => {
  const asked = { events: 100_000, kills: 100, drops: 200, hangUps: 400 };
  const report = await eventCampaign(ground, { seed, ...asked });
  console.log(JSON.stringify({ seed, ...report }));
  expect(report).toMatchObject(asked);
  expect(report.rollbacks / (report.commits + report.rollbacks)).toBeCloseTo(0.1, 3);
});

it('serves the others within a second while 50 sockets have stopped reading', async () => {
  const report = await stalledSockets(ground, { stalled: 50, events: 10_000, batch: 10 });
  console.log(JSON.stringify(report));
  expect(report.growthMiB).toBeLessThan(64);
  expect(report.p99Ms).toBeLessThan(1_000);
});
