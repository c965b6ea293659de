// The campaign over HTTP: many runs of many datasets, a service that answers badly, and processes that are killed, and stopped beyond their
// lease, in the middle of calls. The service's own ledger is the judge (ledger-judge.ts).
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, expect } from 'vitest';
import type { TestApp } from './app.ts';
import { freshDatabase } from './database.ts';
import { type Front, frontOf } from './front.ts';
import { type HttpChild, httpChild } from './http-child.ts';
import { faulty } from './ledger-faults.ts';
import { judgeLedger, type Verdict } from './ledger-judge.ts';
import { countErrors, type Slot, strike } from './ledger-strike.ts';
import { type Nodes, nodesOn } from './nodes.ts';
import { patientClient } from './patient-client.ts';
import { seeded } from './random.ts';
import { uuidOf } from './states.ts';
import { createWorkspace, mutate, type Resource, register, stage, zipOf } from './story.ts';

export interface LedgerCampaign {
  /** Decides packages, faults, and what is done to whom; what the processes are at then is the machine's affair. */
  readonly seed: number;
  readonly steps: number;
  /** SIGKILLs. */
  readonly kills: number;
  /** SIGSTOPs that outlast the lease. */
  readonly stops: number;
}

export interface LedgerReport extends Verdict {
  readonly runs: number;
  readonly steps: number;
  readonly kills: number;
  readonly stops: number;
  /** By what the process was at. */
  readonly hits: Readonly<Record<string, number>>;
  readonly faults: Readonly<Record<string, number>>;
  /** What the callers had to ask again for, by what they were told. */
  readonly askedAgain: Readonly<Record<string, number>>;
  /** What the processes logged as errors, by message. */
  readonly logged: Readonly<Record<string, number>>;
  /** How long each part took. */
  readonly seconds: Readonly<Record<string, number>>;
}

export interface LedgerGround {
  readonly pool: pg.Pool;
  readonly nodes: Nodes;
  readonly child: HttpChild;
  readonly front: Front;
  readonly targets: string;
}

const leaseMs = 1_500;
const packages = 24;
const runners = 12;

/** Where a campaign takes place; of the calling file. */
export async function ledgerGround(): Promise<LedgerGround> {
  const databaseUrl = await freshDatabase();
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 8, application_name: 'test' });
  const child = await httpChild();
  const front = await frontOf(2);
  const folder = mkdtempSync(path.join(tmpdir(), 'packhorse-ledger-'));
  afterAll(async () => {
    await child.close();
    await front.close();
    await pool.end();
    rmSync(folder, { recursive: true });
  });
  const targets = path.join(folder, 'targets.json');
  const settings = { baseUrl: child.url, maxConcurrent: 16, timeoutMs: 300 };
  // By `lookup` only to a service that goes by the key all the same: whoever was stopped between intent and call sends it late.
  writeFileSync(targets, JSON.stringify(['key', 'lookup'].map((idempotency) => ({ name: `by-${idempotency}`, idempotency, ...settings }))));
  return { pool, nodes: nodesOn(databaseUrl), child, front, targets };
}

export async function ledgerCampaign(ground: LedgerGround, campaign: LedgerCampaign): Promise<LedgerReport> {
  const { pool, nodes, child, front, targets } = ground;
  const random = seeded(campaign.seed);
  const service = faulty(child, seeded(campaign.seed + 1));
  const common = {
    PACKHORSE_TARGETS: targets,
    PACKHORSE_PUBLIC_URL: front.url,
    PACKHORSE_LEASE_MS: String(leaseMs),
    PACKHORSE_RETRY_MS: '50',
    PACKHORSE_POOL_SIZE: '6',
    PACKHORSE_STORE_CONCURRENCY: '1',
    PACKHORSE_EXPORT_SLOTS: '1',
    PACKHORSE_LOG_LEVEL: 'error',
  };
  const logged: Record<string, number> = {};
  const seconds: Record<string, number> = {};
  let since = performance.now();
  const lap = (part: string) => {
    seconds[part] = Math.round((performance.now() - since) / 100) / 10;
    since = performance.now();
  };
  const slots = [
    ...front.ports.map((port) => ({ ...common, PACKHORSE_ROLE: 'api', PORT: String(port) })),
    ...[1, 2].map(() => ({ ...common, PACKHORSE_ROLE: 'worker' })),
  ].map((env): Slot => {
    const begin = () => nodes.start(env);
    return { node: begin(), begin, isUp: true, isStopped: false };
  });
  await Promise.all(slots.map(({ node }) => node.ready));
  lap('starting');
  const asking = { askedAgain: {} as Record<string, number> };
  const app = await patientClient(front.url, asking.askedAgain);
  const workspaces = await Promise.all(['one', 'two', 'three'].map((slug) => createWorkspace(app, slug)));
  const staged = await Promise.all(
    Array.from({ length: packages }, async (_, n) => {
      const workspaceId = workspaces[n % workspaces.length] ?? '';
      return { workspaceId, packageId: await stage(app, workspaceId, await zipOf(`package-${n}`, randomPackage(random, n))) };
    }),
  );

  lap('staging');
  const state = { steps: 0, runs: 0, isOver: false };
  const chaos = strike({ slots, service, random, logged, leaseMs }, campaign).finally(() => {
    state.isOver = true;
  });
  const cancelled = new Set<string>();
  const run = async (one: (typeof staged)[number]) => {
    const n = ++state.runs;
    const runId = await oneRun(app, pool, one, n, random, cancelled);
    const { rows } = await pool.query<{ steps: number }>('SELECT count(*)::int AS steps FROM data_run_step WHERE run_id = $1', [runId]);
    state.steps += rows[0]?.steps ?? 0;
  };
  const free = [...staged];
  await Promise.all([
    chaos,
    ...Array.from({ length: runners }, async (_, n) => {
      // Once there are steps enough, a few go on, so that whoever is struck is at something.
      while (state.steps < campaign.steps || (n < 4 && !state.isOver)) {
        const one = free.shift();
        if (one === undefined) throw new Error('fewer packages than runners');
        await run(one);
        free.push(one);
      }
    }),
  ]);
  const { kills, stops, hits } = await chaos;
  lap('running');
  await quiet(pool);
  lap('settling');
  const verdict = await judgeLedger(pool, child, service, cancelled);
  for (const { node } of slots) {
    node.signal('SIGTERM');
    expect(await node.exited, node.log).toEqual({ code: 0, signal: null });
    countErrors(node, logged);
  }
  return { ...verdict, runs: state.runs, steps: state.steps, kills, stops, hits, faults: service.faults, ...asking, logged, seconds };
}

/** Up to twelve datasets, each needing up to three of those before it. */
function randomPackage(random: () => number, n: number): Resource[] {
  const target = n % 4 === 3 ? 'by-lookup' : 'by-key';
  return Array.from({ length: 8 + Math.floor(random() * 5) }, (_, at) => {
    const needs = at === 0 ? [] : Array.from({ length: Math.floor(random() * 4) }, () => `d${Math.floor(random() * at)}`);
    return { name: `d${at}`, rows: 'id\n1\n', 'packhorse:target': target, 'packhorse:dependsOn': [...new Set(needs)] };
  });
}

/** Register, start, and at times pause or cancel; until it has settled. Every call carries a key, so each may be made again. */
async function oneRun(
  app: TestApp,
  pool: pg.Pool,
  { workspaceId, packageId }: { workspaceId: string; packageId: string },
  n: number,
  random: () => number,
  cancelled: Set<string>,
): Promise<string> {
  const driving = random() < 0.1 ? 'ON_REQUEST' : 'BACKGROUND';
  const dataRunId = await register(app, workspaceId, packageId, { driving, idempotencyKey: `register-${n}` });
  const runId = uuidOf(dataRunId);
  const ask = (name: string) => mutate(app, name, { dataRunId, idempotencyKey: `${name}-${n}` });
  const isSettled = async () =>
    ((await pool.query('SELECT FROM data_run WHERE id = $1 AND settled_at IS NOT NULL', [runId])).rowCount ?? 0) > 0;
  const started = await ask('startDataRun');
  expect(started.__typename, JSON.stringify(started)).toBe('DataRun');
  const plan = random();
  if (plan < 0.3) await pause(random() * 1_500);
  if (plan < 0.15) {
    for (;;) {
      const answer = await ask('cancelDataRun');
      if (answer.__typename === 'DataRun') cancelled.add(runId);
      if (answer.__typename !== 'ConflictError') break; // another cancel, of which this is the repetition, is still under way
      await pause(100);
    }
  } else if (plan < 0.3) {
    await ask('pauseDataRun');
    await pause(random() * 500);
    await ask('resumeDataRun');
  }
  const until = Date.now() + 600_000;
  while (!(await isSettled())) {
    if (Date.now() > until) throw new Error(`the run ${runId} does not settle`);
    await pause(100);
    if (driving === 'ON_REQUEST') await mutate(app, 'advanceDataRun', { dataRunId });
  }
  return runId;
}

/** Everything has settled, and no child is left that somebody would still have to look after. */
async function quiet(pool: pg.Pool): Promise<void> {
  const open = `SELECT r.state::text AS run, s.state::text, s.child_job_id, s.idempotency_key, s.cancel_answer, s.missing_since, r.fruitless_passes, r.put_off_until
    FROM data_run r JOIN data_run_step s ON s.run_id = r.id
    WHERE r.settled_at IS NULL OR s.state IN ('SUBMITTING', 'ACTIVE', 'CANCELLING') OR s.overdue_since IS NOT NULL LIMIT 5`;
  await expect.poll(async () => (await pool.query(open)).rows, { timeout: 120_000, interval: 100 }).toEqual([]);
}
