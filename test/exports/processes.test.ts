// Processes that generate, and are killed, stopped beyond their lease, or told to end.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { freshDatabase } from '../support/database.ts';
import { exportKillCampaign } from '../support/export-kills.ts';
import { hasFolder, holdGenerating, measured, numbered, poolOn, storyOf, takenSlots } from '../support/exports.ts';
import { type Node, nodesOn } from '../support/nodes.ts';
import { uuidOf } from '../support/states.ts';
import { createWorkspace } from '../support/story.ts';
import { loaded, published, request } from './story.ts';

const databaseUrl = await freshDatabase();
const pool = poolOn(databaseUrl);
const home = mkdtempSync(path.join(tmpdir(), 'packhorse-exports-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));
const nodes = nodesOn(databaseUrl);

const ownerOf = async (id: string) =>
  (
    await pool.query<{ fence: number; owner: string | null }>(
      'SELECT e.fence, s.lease_owner AS owner FROM export_execution e LEFT JOIN export_slot s ON s.execution_id = e.id WHERE e.id = $1',
      [uuidOf(id)],
    )
  ).rows[0] ?? { fence: 0, owner: null };
const has = async (node: Node, id: string) => (await ownerOf(id)).owner?.includes(`:${node.pid}:`) === true;

async function ended(...some: Node[]): Promise<void> {
  for (const node of some) {
    node.signal('SIGTERM');
    expect(await node.exited, node.log).toEqual({ code: 0, signal: null });
  }
}

it('takes over from a process that is stopped beyond its lease, and what that one still writes is nothing', {
  timeout: 300_000,
}, async () => {
  const first = nodes.start({ PACKHORSE_HOME: home });
  await first.ready;
  const workspaceId = await createWorkspace(first.app, 'stopped');
  await loaded(first.app, workspaceId, [numbered('alpha', 300), measured('gamma', 200)]);
  const undisturbed = await published(first.app, await request(first.app, workspaceId));

  const hold = await holdGenerating(databaseUrl, workspaceId, 'gamma');
  const id = await request(first.app, workspaceId);
  await expect.poll(() => hold.waiting(), { interval: 5 }).not.toBeNull();
  expect(await has(first, id)).toBe(true);
  first.signal('SIGSTOP');
  const second = nodes.start({ PACKHORSE_HOME: home });
  await second.ready;
  await expect.poll(() => has(second, id)).toBe(true);
  expect((await ownerOf(id)).fence).toBe(2);
  // It goes on while its heir is still at work in the same folder, and must leave that alone.
  first.signal('SIGCONT');
  await expect.poll(async () => (await first.app.graphql('{ __typename }')).status).toBe(200);
  expect(hasFolder(path.join(home, 'work'), id)).toBe(true);
  await hold.release();
  const done = await published(second.app, id);
  expect(done).toMatchObject({ manifestDigest: undisturbed.manifestDigest, counts: undisturbed.counts });
  expect(await storyOf(pool, id)).toEqual(['REQUEST', 'DISPATCH', 'TAKE_OVER LEASE_LOST', 'SUCCEED', 'PUBLISH']);
  expect((await pool.query('SELECT FROM export_package WHERE execution_id = $1', [uuidOf(id)])).rowCount).toBe(1);
  expect(await takenSlots(pool)).toBe(0);
  await ended(first, second);
});

it.each(['alpha', 'gamma'])('hands over at once when told to end (SIGTERM), while %s is read', { timeout: 300_000 }, async (dataset) => {
  // Whoever waited for a lease, or for the reaper's turn, would be seen waiting.
  const slow = { PACKHORSE_HOME: home, PACKHORSE_LEASE_MS: '1200000', PACKHORSE_HEARTBEAT_MS: '300000', PACKHORSE_POLL_MS: '600000' };
  const first = nodes.start(slow);
  await first.ready;
  const workspaceId = await createWorkspace(first.app, `told-${dataset}`);
  await loaded(first.app, workspaceId, [numbered('alpha', 300), measured('gamma', 200)]);
  const hold = await holdGenerating(databaseUrl, workspaceId, dataset);
  const id = await request(first.app, workspaceId);
  await expect.poll(() => hold.waiting(), { interval: 5 }).not.toBeNull();
  const second = nodes.start(slow);
  await second.ready;
  first.signal('SIGTERM');
  await expect.poll(() => has(second, id), { interval: 5 }).toBe(true);
  expect(await first.exited, first.log).toEqual({ code: 0, signal: null });
  await hold.release();
  await published(second.app, id);
  expect(await storyOf(pool, id)).toEqual(['REQUEST', 'DISPATCH', 'TAKE_OVER HANDED_OVER', 'SUCCEED', 'PUBLISH']);
  expect((await pool.query('SELECT takeovers FROM export_execution WHERE id = $1', [uuidOf(id)])).rows).toEqual([{ takeovers: 0 }]);
  await ended(second);
});

it('exports everything once although its processes are killed', { timeout: 300_000 }, async () => {
  const report = await exportKillCampaign({ pool, nodes, home }, { kills: 6, rows: 200_000, takeovers: 100 });
  expect(report, JSON.stringify(report)).toMatchObject({ kills: 6, ends: { SUCCEEDED: report.exports } });
});
