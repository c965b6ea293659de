// Exports for as long as it takes: admissions that race, cancels at any moment, and processes that are killed.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { loaded, published, request } from '../exports/story.ts';
import { launch, startApp } from '../support/app.ts';
import { freshDatabase } from '../support/database.ts';
import { exportKillCampaign } from '../support/export-kills.ts';
import { admissionRounds, cancelRounds } from '../support/export-races.ts';
import { noisy, numbered, poolOn } from '../support/exports.ts';
import { nodesOn } from '../support/nodes.ts';
import { createWorkspace } from '../support/story.ts';

const databaseUrl = await freshDatabase();
const pool = poolOn(databaseUrl);
const [one, two] = await Promise.all([0, 1].map(() => startApp({ worker: false, env: { DATABASE_URL: databaseUrl } })));
if (one === undefined || two === undefined) throw new Error('both were started');
const campaignUrl = await freshDatabase();
const campaignPool = poolOn(campaignUrl);
const home = mkdtempSync(path.join(tmpdir(), 'packhorse-exports-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));
const nodes = nodesOn(campaignUrl);

it('admits one of 32 requests to two servers in 200 rounds, and publishes nothing of 100 exports cancelled at random', async () => {
  const app = await launch({ PACKHORSE_HOME: one.config.home, DATABASE_URL: databaseUrl });
  try {
    const workspaceId = await createWorkspace(app, 'contested');
    await loaded(app, workspaceId, [numbered('alpha', 100_000), noisy('beta', 100_000)]);
    await published(app, await request(app, workspaceId)); // warm
    const began = performance.now();
    await published(app, await request(app, workspaceId));
    const wholeMs = performance.now() - began;
    const report = await cancelRounds(app, pool, workspaceId, 100, () => pause(Math.random() * wholeMs));
    console.log(JSON.stringify({ wholeMs, ...report }));
    expect(report.slowestMs).toBeLessThan(2_000);
    await published(app, await request(app, workspaceId));
    await app.stop();
    await admissionRounds([one, two], pool, workspaceId, 200);
  } finally {
    await app.stop();
  }
});

it('exports everything once, or gives up as configured, through 40 kills', async () => {
  const report = await exportKillCampaign({ pool: campaignPool, nodes, home }, { kills: 40, rows: 200_000, takeovers: 3 });
  console.log(JSON.stringify(report));
  expect(report.kills).toBe(40);
  expect(report.takeovers).toBeGreaterThan(10);
  expect(report.ends['SUCCEEDED']).toBeGreaterThan(0);
});
