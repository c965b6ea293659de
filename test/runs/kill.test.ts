import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { freshDatabase } from '../support/database.ts';
import { holdReading, holdWriting } from '../support/holds.ts';
import { killCampaign, killGround } from '../support/kills.ts';
import { nodesOn } from '../support/nodes.ts';
import { chainOf, storedContents } from '../support/source.ts';
import { uuidOf } from '../support/states.ts';
import { createWorkspace, mutate, reach, register, stage } from '../support/story.ts';

const ground = await killGround();
const seed = Number(process.env['KILL_SEED'] ?? Date.now() % 1_000_000);

it(`loads everything once although its processes are killed and outlast their leases (KILL_SEED=${seed})`, {
  timeout: 300_000,
}, async () => {
  const report = await killCampaign(ground, { seed, kills: 10, zombies: 2, rows: 40_000 });
  expect(report, JSON.stringify(report)).toMatchObject({ kills: 10, zombies: 2 });
});

const databaseUrl = await freshDatabase();
const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 });
afterAll(() => pool.end());
const nodes = nodesOn(databaseUrl);

describe('a process told to end (SIGTERM) in the middle of a load', () => {
  // Whoever waited for a lease, or for the reaper's turn, would be seen waiting.
  const slow = { PACKHORSE_LEASE_MS: '1200000', PACKHORSE_HEARTBEAT_MS: '300000', PACKHORSE_POLL_MS: '600000' };

  it.each(['reading', 'writing'])('hands it over at once and is gone (%s)', { timeout: 300_000 }, async (place) => {
    const first = nodes.start(slow);
    await first.ready;
    const workspaceId = await createWorkspace(first.app, place);
    const source = await chainOf(place, 5_000, 0);
    const id = await register(first.app, workspaceId, await stage(first.app, workspaceId, source.zip));
    const hold = place === 'reading' ? await holdReading(databaseUrl) : await holdWriting(databaseUrl, workspaceId, 'regions');
    await mutate(first.app, 'startDataRun', { dataRunId: id });
    await expect.poll(() => hold.waiting(), { interval: 5 }).not.toBeNull();
    const holder = await hold.waiting();
    const second = nodes.start(slow);
    await second.ready;

    first.signal('SIGTERM');
    // The other has the job, and waits at the same place.
    await expect.poll(async () => ![null, holder].includes(await hold.waiting()), { interval: 10 }).toBe(true);
    expect(await first.exited, first.log).toEqual({ code: 0, signal: null });
    await hold.release();
    await reach(second.app, id, 'SUCCEEDED');
    expect(await storedContents(pool, workspaceId)).toEqual(source.contents);
    const { rows } = await pool.query('SELECT max(fence) AS claims, count(*)::int AS jobs FROM store_job WHERE run_id = $1', [uuidOf(id)]);
    expect(rows).toEqual([{ claims: 2, jobs: 4 }]);
    second.signal('SIGTERM');
    expect(await second.exited, second.log).toEqual({ code: 0, signal: null });
  });
});
