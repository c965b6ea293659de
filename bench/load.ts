// 1,000,000 rows from a staged package into a workspace, against `psql \copy` of the same file into a typed table with the same key; planned
// before, and taken back, once as new rows and once as rows that replaced others.
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdirSync } from 'node:fs';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import pg from 'pg';
import { packFolder } from '../src/packages/pack.ts';
import type { PostgresServer } from '../src/postgres/embedded.ts';
import { clientOf, type LoadSeconds } from './client.ts';
import { freshDatabase, median, packhorse } from './support.ts';

const rows = 1_000_000;
const rounds = 3;

/** A package of one dataset with a key: a million flights. */
export async function writePackage(folder: string, name = 'flights', count = rows, delay = 0): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const file = createWriteStream(path.join(folder, 'flights.csv'));
  file.write('flight_id,date,delay,distance,origin,destination\n');
  for (let id = 1; id <= count; id += 5_000) {
    const lines = Array.from({ length: Math.min(5_000, count) }, (_, at) => {
      const n = id + at;
      const letters = (seed: number) => String.fromCharCode(65 + (seed % 26), 65 + ((seed >> 3) % 26), 65 + ((seed >> 6) % 26));
      return `${n},2001-${String(1 + (n % 12)).padStart(2, '0')}-${String(1 + (n % 28)).padStart(2, '0')}T10:${String(n % 60).padStart(2, '0')}:00Z,${delay + ((n * 7) % 300)},${100 + ((n * 13) % 2_500)},${letters(n)},${letters(n * 31)}\n`;
    });
    if (!file.write(lines.join(''))) await once(file, 'drain');
  }
  file.end();
  await once(file, 'finish');
  const field = (name: string, type: string, required = false) => ({ name, type, ...(required ? { constraints: { required } } : {}) });
  const schema = {
    fields: [
      field('flight_id', 'integer', true),
      field('date', 'datetime', true),
      field('delay', 'integer'),
      field('distance', 'integer'),
      field('origin', 'string', true),
      field('destination', 'string', true),
    ],
    primaryKey: ['flight_id'],
  };
  const descriptor = createWriteStream(path.join(folder, 'datapackage.json'));
  descriptor.end(JSON.stringify({ name: `bench-${name}`, resources: [{ name, path: 'flights.csv', schema }] }));
  await once(descriptor, 'finish');
}

export async function benchLoad(postgres: PostgresServer, home: string): Promise<void> {
  const folder = path.join(home, 'flights');
  await writePackage(folder);
  const archive = await buffer(await packFolder(folder));
  const changedFolder = path.join(home, 'flights-changed');
  await writePackage(changedFolder, 'changed', rows, 1);
  const changed = await buffer(await packFolder(changedFolder));
  const ours: number[] = [];
  const theirs: number[] = [];
  const plannedNew: number[] = [];
  const plannedOver: number[] = [];
  const removed: number[] = [];
  const restored: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const { fresh, over, restoring, removing } = await loadAndReset(postgres, home, archive, changed);
    ours.push(fresh.loaded);
    plannedNew.push(fresh.planned / fresh.loaded);
    plannedOver.push(over.planned / over.loaded);
    removed.push(removing / fresh.loaded);
    restored.push(restoring / over.loaded);
    theirs.push(await copy(postgres, path.join(folder, 'flights.csv')));
  }
  const [a, b] = [median(ours), median(theirs)];
  console.log(
    `  packhorse ${a.toFixed(1)} s (${(rows / a / 1_000).toFixed(0)} k rows/s), psql \\copy ${b.toFixed(1)} s: ratio ${(a / b).toFixed(2)}`,
  );
  console.log(
    `  planned in ${median(plannedNew).toFixed(2)} of the time that new rows took to load, in ${median(plannedOver).toFixed(2)} of it where they replaced others`,
  );
  console.log(
    `  taken back in ${median(removed).toFixed(2)} of the time that new rows took to load, in ${median(restored).toFixed(2)} of it where they had replaced others`,
  );
}

interface Seconds {
  readonly fresh: LoadSeconds;
  readonly over: LoadSeconds;
  readonly restoring: number;
  readonly removing: number;
}

/** The file into an empty workspace, one with the same keys and other values over it, and both taken back. */
async function loadAndReset(postgres: PostgresServer, home: string, archive: Buffer, changed: Buffer): Promise<Seconds> {
  const url = await freshDatabase(postgres, 'bench_load');
  const server = await packhorse(url, home);
  try {
    const client = await clientOf(server.url);
    const workspaceId = await client.workspace('bench');
    const fresh = await client.load(workspaceId, archive);
    const over = await client.load(workspaceId, changed);
    return { fresh, over, restoring: await client.reset(workspaceId), removing: await client.reset(workspaceId) };
  } finally {
    await server.stop();
  }
}

async function copy(postgres: PostgresServer, file: string): Promise<number> {
  const client = new pg.Client({ connectionString: postgres.url() });
  await client.connect();
  await client.query(`DROP TABLE IF EXISTS bench_copy`);
  await client.query(
    `CREATE TABLE bench_copy (flight_id numeric PRIMARY KEY, date text COLLATE "C" NOT NULL, delay numeric, distance numeric, origin text COLLATE "C" NOT NULL, destination text COLLATE "C" NOT NULL)`,
  );
  const began = performance.now();
  const { status, stderr } = spawnSync('psql', [postgres.url(), '-c', `\\copy bench_copy FROM '${file}' (FORMAT csv, HEADER)`], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`psql is needed for this benchmark: ${stderr}`);
  const seconds = (performance.now() - began) / 1_000;
  await client.end();
  return seconds;
}
