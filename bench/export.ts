// Exports of 1,000,000 rows, against `psql \copy` of the very same select to a plain file; two datasets at once against one after the other;
// how soon the first byte comes; and what memory it takes with a small heap.
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import pg from 'pg';
import { csv } from '../src/exports/formats/csv.ts';
import { ndjson } from '../src/exports/formats/ndjson.ts';
import { type PlannedDataset, planOf } from '../src/exports/plan.ts';
import { packFolder } from '../src/packages/pack.ts';
import type { PostgresServer } from '../src/postgres/embedded.ts';
import { primaryKeyOf } from '../src/records/table.ts';
import { type BenchClient, clientOf } from './client.ts';
import { writePackage } from './load.ts';
import { freshDatabase, median, packhorse } from './support.ts';

const rounds = 5;
const names = ['flights', 'flights-again'];

interface Settled {
  readonly id: string;
  /** From the dispatch, and from the admission, to the settled execution. */
  readonly seconds: number;
  readonly sinceRequest: number;
}

async function exportOnce(client: BenchClient, workspaceId: string, settings: object): Promise<Settled> {
  await client.ask(
    'mutation ($i: UpdateExportSettingsInput!) { updateExportSettings(input: $i) { __typename ... on Error { message } } }',
    {
      i: { workspaceId, ...settings },
    },
  );
  const { requestWorkspaceExport: made } = await client.ask(
    'mutation ($i: RequestWorkspaceExportInput!) { requestWorkspaceExport(input: $i) { __typename ... on ExportExecution { id } ... on Error { message } } }',
    { i: { workspaceId } },
  );
  for (;;) {
    const { exportExecution: now } = await client.ask(
      'query ($id: ID!) { exportExecution(id: $id) { id state failure { summary } requestedAt startedAt settledAt exportPackage { state } } }',
      { id: made.id },
    );
    // Published too, so that the next one does not share the machine with it.
    if (now.state === 'SUCCEEDED' && now.exportPackage?.state === 'PUBLISHED') {
      const since = (from: string) => (Date.parse(now.settledAt) - Date.parse(from)) / 1_000;
      return { id: now.id, seconds: since(now.startedAt), sinceRequest: since(now.requestedAt) };
    }
    if (now.state === 'FAILED') throw new Error(JSON.stringify(now));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The select that the newest export of the dataset ran, to a plain file. */
async function psqlCopy(url: string, home: string, dataset: string, format: 'CSV' | 'NDJSON'): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ plan: PlannedDataset[]; snapshot: string }>(
    'SELECT plan, cutoff_snapshot AS snapshot FROM export_execution ORDER BY id DESC LIMIT 1',
  );
  await client.end();
  const [row] = rows;
  const planned = planOf({ plan: row?.plan as never }).find(({ name }) => name === dataset);
  if (row === undefined || planned === undefined) throw new Error('nothing was exported yet');
  const asOf = { table: planned.table, columns: planned.columns, primaryKey: primaryKeyOf(planned.schema) };
  const statement = format === 'CSV' ? csv.copy(asOf, row.snapshot, [''], true) : ndjson.copy(asOf, row.snapshot, [], true);
  const file = path.join(home, 'psql.out');
  const began = performance.now();
  const meta = `\\${statement.replace(/^COPY/, 'copy').replace('TO STDOUT', `TO '${file}'`)}`;
  const { status, stderr } = spawnSync('psql', [url, '-qX', '-c', meta], {
    encoding: 'utf8',
    env: { ...process.env, PGOPTIONS: '-c timezone=UTC' },
  });
  if (status !== 0) throw new Error(`psql is needed for this benchmark: ${stderr}`);
  const seconds = (performance.now() - began) / 1_000;
  rmSync(file);
  return seconds;
}

const peakMiB = (pid: number) => Math.round(Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024);

export async function benchExport(postgres: PostgresServer, home: string): Promise<void> {
  const url = await freshDatabase(postgres, 'bench_export');
  let server = await packhorse(url, home);
  try {
    let client = await clientOf(server.url);
    const workspaceId = await client.workspace('bench');
    for (const name of names) {
      const folder = path.join(home, name);
      await writePackage(folder, name);
      await client.load(workspaceId, await buffer(await packFolder(folder)));
    }
    for (const format of ['CSV', 'NDJSON'] as const) {
      const [ours, theirs]: [number[], number[]] = [[], []];
      for (let round = 0; round < rounds; round++) {
        ours.push((await exportOnce(client, workspaceId, { format, datasets: ['flights'] })).seconds);
        theirs.push(await psqlCopy(url, home, 'flights', format));
      }
      const [a, b] = [median(ours), median(theirs)];
      console.log(`  ${format}: packhorse ${a.toFixed(2)} s (hashed, zipped), psql \\copy ${b.toFixed(2)} s: ratio ${(a / b).toFixed(2)}`);
    }
    const [together, apart]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      together.push((await exportOnce(client, workspaceId, { format: 'CSV', datasets: names })).seconds);
      const [one, two] = [
        await exportOnce(client, workspaceId, { datasets: names.slice(0, 1) }),
        await exportOnce(client, workspaceId, { datasets: names.slice(1) }),
      ];
      apart.push(one.seconds + two.seconds);
    }
    const [a, b] = [median(together), median(apart)];
    console.log(`  two datasets at once ${a.toFixed(2)} s, one after the other ${b.toFixed(2)} s: ratio ${(a / b).toFixed(2)}`);
    await firstByte(client, home);
    await server.stop();
    server = await packhorse(url, home, { NODE_OPTIONS: '--max-old-space-size=192' });
    client = await clientOf(server.url);
    for (const format of ['CSV', 'NDJSON', 'PARQUET']) {
      await exportOnce(client, workspaceId, { format, datasets: ['flights'] });
      console.log(`  peak memory of a server with a heap of 192 MB, after ${format}: ${peakMiB(server.pid)} MiB`);
    }
  } finally {
    await server.stop();
  }
}

/** Of a workspace so small that its first byte and its last are one moment: an upper bound. */
async function firstByte(client: BenchClient, home: string): Promise<void> {
  const workspaceId = await client.workspace('small');
  const folder = path.join(home, 'small');
  await writePackage(folder, 'small', 5);
  await client.load(workspaceId, await buffer(await packFolder(folder)));
  const times: number[] = [];
  for (let round = 0; round < 40; round++) times.push((await exportOnce(client, workspaceId, {})).sinceRequest * 1_000);
  console.log(`  from admission to a whole small export, median of ${times.length}: ${median(times).toFixed(0)} ms`);
}
