// The campaign against crashes: processes are killed, and stopped beyond their lease, at random moments of a run, until enough have died.
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, expect } from 'vitest';
import { freshDatabase } from './database.ts';
import { type Node, type Nodes, nodesOn } from './nodes.ts';
import { seeded } from './random.ts';
import { chainOf, type Source, storedContents } from './source.ts';
import { uuidOf } from './states.ts';
import { createWorkspace, mutate, register, stage } from './story.ts';

export interface Campaign {
  /** The same seed draws the same moments; what the processes are doing then is the machine's affair. */
  readonly seed: number;
  /** SIGKILLs in all. */
  readonly kills: number;
  /** How many times a process is stopped until its lease has gone to another, then goes on. */
  readonly zombies: number;
  readonly rows: number;
}

export interface Report {
  readonly runs: number;
  readonly kills: number;
  readonly zombies: number;
  /** By what was going on when a process was hit. */
  readonly hits: Readonly<Record<string, number>>;
  /** How many claims of a job it took at most. */
  readonly mostClaims: number;
}

const doing = (pattern: string) =>
  `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'packhorse' AND state <> 'idle' AND query ~ '${pattern}'`;

/** Moments that are worth dying at: found in what the database sees, since a clock alone seldom meets them. */
const moments: Record<string, string> = {
  reading: doing('^COPY stage'),
  checking: doing('^(ANALYZE stage|INSERT INTO fault)'),
  writing: doing('^(INSERT INTO records|UPDATE records|CREATE TEMP TABLE pairing)'),
  indexing: doing('^CREATE UNIQUE INDEX'),
  settling: doing('^(UPDATE store_job SET state|UPDATE dataset SET|COMMIT)'),
  settled: `SELECT FROM store_job j JOIN data_run_step s ON s.idempotency_key = j.idempotency_key WHERE j.state = 'succeeded' AND s.state <> 'SUCCEEDED'`,
  submitted: `SELECT FROM store_job WHERE state = 'queued'`,
};

export interface Ground {
  readonly pool: pg.Pool;
  readonly nodes: Nodes;
}

/** Where a campaign takes place; of the calling file, so that what is still running when it fails ends with the file. */
export async function killGround(): Promise<Ground> {
  const databaseUrl = await freshDatabase();
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 3, application_name: 'test' });
  afterAll(() => pool.end());
  return { pool, nodes: nodesOn(databaseUrl) };
}

export async function killCampaign({ pool, nodes }: Ground, { seed, kills, zombies, rows }: Campaign): Promise<Report> {
  const random = seeded(seed);
  const hits: Record<string, number> = {};
  const state = { killed: 0, woken: 0, mostClaims: 0 };
  let node = nodes.start();
  await node.ready;
  const workspaceId = await createWorkspace(node.app, 'campaign');

  let runs = 0;
  while (state.killed < kills || state.woken < zombies) {
    runs++;
    const source = await chainOf('chain', rows, runs - 1);
    if (!node.isAlive) node = nodes.start();
    await node.ready;
    const id = await begun(node, workspaceId, source);
    const runId = uuidOf(id);
    for (;;) {
      const wantsZombie = state.woken < zombies && (state.killed >= kills || random() < zombies / (kills + zombies));
      const moment = await aMoment(pool, runId, random);
      if (await hasSettled(pool, runId)) break;
      if (state.killed >= kills && !wantsZombie) break;
      hits[moment] = (hits[moment] ?? 0) + 1;
      if (wantsZombie) {
        node = await outlastLease(nodes, node, pool, runId, random);
        state.woken++;
      } else {
        await node.kill();
        state.killed++;
        node = nodes.start();
        // Now and then it does not even come to listen.
        if (random() < 0.85) await node.ready;
        else await pause(random() * 800);
      }
    }
    await node.ready;
    await judge(pool, workspaceId, runId, source, runs, node);
    const { rows: claims } = await pool.query<{ most: number }>('SELECT max(fence) AS most FROM store_job');
    state.mostClaims = Math.max(state.mostClaims, claims[0]?.most ?? 0);
  }
  node.signal('SIGTERM');
  expect(await node.exited, node.log).toEqual({ code: 0, signal: null });
  return { runs, kills: state.killed, zombies: state.woken, hits, mostClaims: state.mostClaims };
}

async function begun({ app }: Node, workspaceId: string, source: Source): Promise<string> {
  const packageId = await stage(app, workspaceId, source.zip);
  const id = await register(app, workspaceId, packageId);
  const started = await mutate(app, 'startDataRun', { dataRunId: id });
  expect(started.__typename, JSON.stringify(started)).toBe('DataRun');
  return id;
}

const hasSettled = async (pool: pg.Pool, runId: string) =>
  ((await pool.query(`SELECT FROM data_run WHERE id = $1 AND settled_at IS NOT NULL`, [runId])).rowCount ?? 0) > 0;

/** Waits for one of the moments, or a while; returns what it was. Ends early with the run. */
async function aMoment(pool: pg.Pool, runId: string, random: () => number): Promise<string> {
  const names = ['time', ...Object.keys(moments)];
  const name = names[Math.floor(random() * names.length)] ?? 'time';
  const until = performance.now() + (name === 'time' ? random() * 1_500 : 4_000);
  const happening = moments[name];
  while (performance.now() < until) {
    if (happening !== undefined && ((await pool.query(happening)).rowCount ?? 0) > 0) return name;
    if (await hasSettled(pool, runId)) return 'end';
    await pause(random() * 4);
  }
  return 'time';
}

/** The process is stopped until another has its work, then goes on believing that it holds it. Returns the one that stays. */
async function outlastLease(nodes: Nodes, node: Node, pool: pg.Pool, runId: string, random: () => number): Promise<Node> {
  await node.ready;
  node.signal('SIGSTOP');
  const { rows } = await pool.query<{ id: string; fence: number }>(
    `SELECT id, fence FROM store_job WHERE run_id = $1 AND state = 'running'`,
    [runId],
  );
  const other = nodes.start();
  await other.ready;
  // It may have been stopped between two loads: then the other simply goes on. Stopped with a lock in its hands, it keeps the other waiting
  // until Postgres ends its session (idle_in_transaction_session_timeout, 30 s).
  await expect
    .poll(
      async () => {
        const now = await pool.query<{ id: string; fence: number; state: string }>(
          'SELECT id, fence, state FROM store_job WHERE run_id = $1',
          [runId],
        );
        return rows.every(({ id, fence }) => now.rows.some((job) => job.id === id && (job.fence > fence || job.state !== 'running')));
      },
      { timeout: 90_000, interval: 10 },
    )
    .toBe(true);
  if (random() < 0.5) await aMoment(pool, runId, random);
  node.signal('SIGCONT');
  await aMoment(pool, runId, random);
  const [leaving, staying] = random() < 0.5 ? [node, other] : [other, node];
  if (random() < 0.5) await leaving.kill();
  else {
    leaving.signal('SIGTERM');
    expect(await leaving.exited, leaving.log).toEqual({ code: 0, signal: null });
  }
  return staying;
}

/** Everything that must hold of a settled run, however often its processes died. */
async function judge(pool: pg.Pool, workspaceId: string, runId: string, source: Source, runs: number, node: Node): Promise<void> {
  await expect.poll(() => hasSettled(pool, runId), { timeout: 60_000, interval: 50 }).toBe(true);
  const all = async (text: string, values: unknown[] = [runId]) => (await pool.query(text, values)).rows;
  const datasets = Object.keys(source.contents).sort();
  expect(await all('SELECT state::text, failure FROM data_run WHERE id = $1'), node.log).toEqual([{ state: 'SUCCEEDED', failure: null }]);
  expect(await storedContents(pool, workspaceId)).toEqual(source.contents);
  expect(
    await all('SELECT dataset, state::text, attempt, rows_source::int AS rows FROM data_run_step WHERE run_id = $1 ORDER BY dataset'),
  ).toEqual(datasets.map((dataset) => ({ dataset, state: 'SUCCEEDED', attempt: 1, rows: source.contents[dataset]?.rows })));
  // One load of each dataset, by the one job of its key.
  expect(
    await all(
      `SELECT d.name, count(*)::int AS loads, count(DISTINCT j.id)::int AS jobs FROM dataset_load l JOIN dataset d ON d.id = l.dataset_id
       JOIN store_job j ON j.id = l.store_job_id AND j.run_id = l.run_id AND j.state = 'succeeded' WHERE l.run_id = $1 GROUP BY 1 ORDER BY 1`,
    ),
  ).toEqual(datasets.map((name) => ({ name, loads: 1, jobs: 1 })));
  expect(await all(`SELECT count(*)::int AS jobs, count(DISTINCT idempotency_key)::int AS keys FROM store_job WHERE run_id = $1`)).toEqual([
    { jobs: datasets.length, keys: datasets.length },
  ]);
  const events = await all('SELECT sequence AS seq, action, dataset FROM lifecycle_event WHERE data_run_id = $1 ORDER BY sequence');
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  const told = events.map(({ action, dataset }) => `${action} ${dataset ?? 'run'}`);
  expect(told.sort()).toEqual(
    [
      'REGISTER run',
      'START run',
      'SUCCEED run',
      ...datasets.flatMap((name) => [`SUBMIT ${name}`, `ACCEPT ${name}`, `SUCCEED ${name}`]),
    ].sort(),
  );
  // Every row version was written by one of the loads that there are, and as many loads as runs.
  for (const { table, id } of await all('SELECT id, table_name AS table FROM dataset WHERE workspace_id = $1', [uuidOf(workspaceId)])) {
    expect(
      await all(`SELECT FROM records.${table} WHERE written_by NOT IN (SELECT id FROM dataset_load WHERE dataset_id = $1) LIMIT 1`, [id]),
    ).toEqual([]);
    expect(await all('SELECT count(*)::int AS loads FROM dataset_load WHERE dataset_id = $1', [id])).toEqual([{ loads: runs }]);
  }
  // Nothing of the dead is left: no table without a dataset, no staging but that of whoever is at work.
  expect(
    await all(
      `SELECT relname FROM pg_class c WHERE relnamespace = 'records'::regnamespace AND relkind = 'r' AND NOT EXISTS (SELECT FROM dataset WHERE table_name = relname)`,
      [],
    ),
  ).toEqual([]);
  await expect.poll(() => all(`SELECT relname FROM pg_class WHERE relpersistence = 't' AND relkind = 'r'`, [])).toEqual([]);
}
