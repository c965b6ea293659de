import { expect, it } from 'vitest';
import { eventGround } from '../support/event-campaign.ts';
import { stalledSockets } from '../support/stalled.ts';

const ground = await eventGround();

it('outlives 50 sockets that have stopped reading, in little memory, while others have every event', { timeout: 400_000 }, async () => {
  const report = await stalledSockets(ground, { stalled: 50, events: 10_000, batch: 50 });
  console.log(JSON.stringify(report));
  expect(report.growthMiB).toBeLessThan(64);
});
