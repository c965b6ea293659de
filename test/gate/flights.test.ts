// Three million real rows with two foreign keys, loaded by a server process whose memory is watched.
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import pg from 'pg';
import { afterAll, expect, it } from 'vitest';
import { packFolder } from '../../src/packages/pack.ts';
import { freshDatabase } from '../support/database.ts';
import { shared } from '../support/folders.ts';
import { nodesOn } from '../support/nodes.ts';
import { storedDatasets } from '../support/source.ts';
import { createWorkspace, mutate, readRun, register, stage } from '../support/story.ts';

const flights = 3_000_000;
const airports = 3_376;
const csvBytes = 131_672_640;

/** Made once a machine; null and why where it cannot be had. The packages are data only, and no dependencies of the project. */
function flightsFolder(): { folder: string } | { missing: string } {
  const tool = shared('tools', 'make-flights.mjs');
  if (!existsSync(tool)) return { missing: `there is no ${tool}` };
  const scratch = path.join(tmpdir(), 'packhorse-flights');
  const folder = path.join(scratch, 'out');
  const made = path.join(folder, 'flights.csv');
  if (existsSync(made) && statSync(made).size === csvBytes && existsSync(path.join(folder, 'datapackage.json'))) return { folder };
  mkdirSync(scratch, { recursive: true });
  try {
    writeFileSync(path.join(scratch, 'package.json'), '{}');
    const wanted = ['vega-datasets@3.2.1', 'hyparquet@1', 'hyparquet-compressors@1'];
    execFileSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', ...wanted], {
      cwd: scratch,
      stdio: 'pipe',
      timeout: 120_000,
    });
  } catch (error) {
    return { missing: `npm could not install the flights: ${String(error).split('\n')[0]}` };
  }
  copyFileSync(tool, path.join(scratch, 'make-flights.mjs')); // it finds its packages beside itself
  execFileSync(process.execPath, ['make-flights.mjs', folder], { cwd: scratch, stdio: 'pipe', timeout: 180_000 });
  return { folder };
}

const databaseUrl = await freshDatabase();
const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 });
afterAll(() => pool.end());
const nodes = nodesOn(databaseUrl);

const phases: [string, RegExp][] = [
  ['read', /^COPY/],
  ['analyse', /^ANALYZE/],
  ['check', /^(INSERT INTO fault|SELECT)/],
  ['references', /^(INSERT INTO held|CREATE TEMP TABLE|CREATE INDEX ON)/],
  ['write', /^INSERT INTO records/],
  ['index', /^CREATE UNIQUE INDEX/],
  ['commit', /^COMMIT/],
];

it('loads 3,000,000 flights in less than 400 MiB of a server process', { timeout: 600_000 }, async ({ skip }) => {
  const source = flightsFolder();
  if ('missing' in source) return skip(source.missing);
  // The leases of production; memory is what it is with a server that has uploaded, hashed and loaded.
  const node = nodes.start({ PACKHORSE_LEASE_MS: '30000', PACKHORSE_HEARTBEAT_MS: '10000', PACKHORSE_POLL_MS: '1000' });
  await node.ready;
  const idle = node.rssMiB();
  const zip = await buffer(await packFolder(source.folder));
  const timed = async <T>(work: Promise<T>): Promise<[T, number]> => {
    const from = performance.now();
    return [await work, (performance.now() - from) / 1_000];
  };
  const workspaceId = await createWorkspace(node.app);
  const [packageId, upload] = await timed(stage(node.app, workspaceId, zip));
  const [id, registered] = await timed(register(node.app, workspaceId, packageId));
  const afterRegistration = node.peakMiB();
  await mutate(node.app, 'startDataRun', { dataRunId: id });

  const seconds: Record<string, number> = {};
  let [last, highest] = [performance.now(), 0];
  const from = last;
  let run: any;
  await expect
    .poll(
      async () => {
        highest = Math.max(highest, node.rssMiB());
        const { rows } = await pool.query<{ query: string }>(
          `SELECT query FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'packhorse' AND state = 'active'`,
        );
        const now = performance.now();
        const phase = phases.find(([, pattern]) => rows.some(({ query }) => pattern.test(query)))?.[0] ?? 'other';
        seconds[phase] = (seconds[phase] ?? 0) + (now - last) / 1_000;
        last = now;
        run = await readRun(node.app, id);
        return run.state;
      },
      { timeout: 500_000, interval: 100 },
    )
    .not.toBe('RUNNING');
  const took = (performance.now() - from) / 1_000;
  const peak = node.peakMiB();
  const rounded = Object.fromEntries(
    Object.entries({ upload, register: registered, ...seconds, load: took }).map(([name, s]) => [name, Number(s.toFixed(1))]),
  );
  console.log(
    JSON.stringify({
      idleMiB: Math.round(idle),
      afterRegistrationMiB: Math.round(afterRegistration),
      highestSampleMiB: Math.round(highest),
      peakMiB: Math.round(peak),
      seconds: rounded,
      rowsPerSecond: Math.round((flights + airports) / took),
    }),
  );

  expect(run.state, JSON.stringify(run.steps)).toBe('SUCCEEDED');
  expect(run.steps.map(({ dataset, rows }: any) => [dataset, rows.source, rows.loaded])).toEqual([
    ['flights', String(flights), String(flights)],
    ['airports', String(airports), String(airports)],
  ]);
  const stored = await storedDatasets(pool, workspaceId);
  const of = (dataset: string, field: string) => {
    const found = stored.get(dataset);
    return { table: `records.${found?.table}`, column: found?.columns.find(({ name }) => name === field)?.column ?? 'none' };
  };
  const live = 'replaced_xid IS NULL';
  const distance = of('flights', 'distance');
  const sums = await pool.query(
    `SELECT count(*)::text AS rows, sum(${distance.column})::text AS distance, count(DISTINCT ${of('flights', 'flight_id').column})::text AS ids FROM ${distance.table} WHERE ${live}`,
  );
  expect(sums.rows).toEqual([{ rows: String(flights), distance: '2194861208', ids: String(flights) }]);
  const iata = of('airports', 'iata');
  for (const field of ['origin', 'destination']) {
    const { table, column } = of('flights', field);
    const { rows } = await pool.query(
      `SELECT count(*)::int AS orphans FROM ${table} f WHERE f.${live} AND NOT EXISTS (SELECT FROM ${iata.table} a WHERE a.${live} AND a.${iata.column} = f.${column})`,
    );
    expect(rows).toEqual([{ orphans: 0 }]);
  }
  expect(peak).toBeLessThan(400);
  await node.kill();
});
