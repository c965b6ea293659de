// The campaign against crashes of whoever generates: killed at random moments of an export, until enough have died.
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { expect } from 'vitest';
import { verifyExport } from '../../src/exports/archive/verify.ts';
import { loaded, published, readExport, request } from '../exports/story.ts';
import { noisy, numbered, storyOf, takenSlots } from './exports.ts';
import type { Node, Nodes } from './nodes.ts';
import { uuidOf } from './states.ts';
import { createWorkspace } from './story.ts';

export interface ExportCampaign {
  readonly kills: number;
  readonly rows: number;
  /** Losses after which an export fails. */
  readonly takeovers: number;
}

export interface ExportReport {
  readonly exports: number;
  readonly kills: number;
  /** How many exports ended as what. */
  readonly ends: Readonly<Record<string, number>>;
  /** How many takeovers there were, of all together. */
  readonly takeovers: number;
}

/** Where a campaign takes place. `home` is where its processes keep work and storage. */
export interface ExportGround {
  readonly pool: pg.Pool;
  readonly nodes: Nodes;
  readonly home: string;
}

async function running(pool: pg.Pool, id: string): Promise<{ state: string; fence: number; pid: number | null }> {
  const { rows } = await pool.query<{ state: string; fence: number; owner: string | null }>(
    `SELECT state::text, fence, (SELECT lease_owner FROM export_slot WHERE execution_id = e.id) AS owner FROM export_execution e WHERE id = $1`,
    [uuidOf(id)],
  );
  const [row] = rows;
  if (row === undefined) throw new Error(`there is no export ${id}`);
  return { state: row.state, fence: row.fence, pid: row.owner === null ? null : Number(row.owner.split(':')[1]) };
}

export async function exportKillCampaign(ground: ExportGround, { kills, rows, takeovers }: ExportCampaign): Promise<ExportReport> {
  const { pool, nodes, home } = ground;
  const env = { PACKHORSE_HOME: home, PACKHORSE_MAX_TAKEOVERS: String(takeovers), PACKHORSE_EXPORT_SLOTS: '2' };
  // One that answers and is never killed; two that work.
  const api = nodes.start({ ...env, PACKHORSE_ROLE: 'api' });
  const begin = () => nodes.start({ ...env, PACKHORSE_ROLE: 'worker' });
  const workers: Node[] = [begin(), begin()];
  await Promise.all([api, ...workers].map(({ ready }) => ready));
  const workspaceId = await createWorkspace(api.app, 'campaign');
  await loaded(api.app, workspaceId, [numbered('alpha', rows / 4), noisy('beta', rows / 2), numbered('gamma', rows / 4)]);
  const undisturbed = await published(api.app, await request(api.app, workspaceId));

  let killed = 0;
  let told = 0;
  const ends: Record<string, number> = {};
  const ids: string[] = [];
  while (killed < kills) {
    const id = await request(api.app, workspaceId);
    ids.push(id);
    let seen = 0;
    for (;;) {
      const { state, fence, pid } = await running(pool, id);
      if (state !== 'QUEUED' && state !== 'RUNNING') break;
      const victim = workers.findIndex((worker) => worker.pid === pid);
      if (state === 'RUNNING' && fence > seen && victim >= 0 && killed < kills) {
        seen = fence;
        if (Math.random() < 0.4) continue; // this one may end it
        await pause(Math.random() * 600);
        await workers[victim]?.kill();
        killed++;
        workers[victim] = begin(); // takes part as soon as it is up; meanwhile the other takes over
      }
      await pause(5);
    }
    told += await judge(ground, api, id, undisturbed, ends);
  }
  await Promise.all(workers.map(({ ready }) => ready));
  expect(await takenSlots(pool)).toBe(0);
  await published(api.app, await request(api.app, workspaceId)); // and the workspace is free
  await nothingIsLeft(ground);
  return { exports: ids.length, kills: killed, ends, takeovers: told };
}

/** An export that has settled: whole and published, or given up as configured. Returns how often it was taken over. */
async function judge({ pool, home }: ExportGround, api: Node, id: string, undisturbed: any, ends: Record<string, number>): Promise<number> {
  const found = await readExport(api.app, id);
  const story = await storyOf(pool, id);
  const taken = story.filter((event) => event === 'TAKE_OVER LEASE_LOST').length;
  if (found.state === 'FAILED') {
    expect(found).toMatchObject({ failure: { code: 'RUNNER_LOST' }, exportPackage: null });
    ends['RUNNER_LOST'] = (ends['RUNNER_LOST'] ?? 0) + 1;
    return taken;
  }
  expect(found).toMatchObject({ state: 'SUCCEEDED', manifestDigest: undisturbed.manifestDigest, counts: undisturbed.counts });
  ends['SUCCEEDED'] = (ends['SUCCEEDED'] ?? 0) + 1;
  const { exportPackage } = await published(api.app, id);
  const { rows } = await pool.query<{ key: string; digest: string }>(
    'SELECT storage_key AS key, digest FROM export_package WHERE execution_id = $1',
    [uuidOf(id)],
  );
  expect(rows).toHaveLength(1);
  const verified = await verifyExport(path.join(home, 'storage', rows[0]?.key ?? ''), null);
  expect(verified).toMatchObject({ holds: true, manifestDigest: undisturbed.manifestDigest });
  expect(rows[0]?.digest).toBe(exportPackage.digest);
  expect((await storyOf(pool, id)).filter((event) => event === 'SUCCEED' || event === 'PUBLISH')).toEqual(['SUCCEED', 'PUBLISH']);
  return taken;
}

/** In storage, the published packages, and what a killed process had begun, which no package names. */
async function nothingIsLeft({ pool }: ExportGround): Promise<void> {
  const { rows } = await pool.query(
    `SELECT FROM export_package p JOIN export_execution e ON e.id = p.execution_id WHERE p.state <> 'PUBLISHED' OR e.state <> 'SUCCEEDED'`,
  );
  expect(rows).toEqual([]);
}
