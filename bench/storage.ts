// Typed columns against one jsonb per row: from the staging table into the dataset's, then out again in key order. Decision 0002.
//   npx tsx bench/storage.ts [rows]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { startPostgres } from '../src/postgres/embedded.ts';

const rows = Number(process.argv[2] ?? 1_000_000);
const rounds = 3;
const home = mkdtempSync(path.join(tmpdir(), 'packhorse-bench-'));
const server = await startPostgres({ home, settings: { autovacuum: 'off', shared_buffers: '256MB' } });
const client = new pg.Client({ connectionString: server.url() });
await client.connect();

const versioned =
  'row_id bigint GENERATED ALWAYS AS IDENTITY (CACHE 1000), written_by bigint NOT NULL, written_xid xid8 NOT NULL DEFAULT pg_current_xact_id(), replaced_by bigint, replaced_xid xid8';
const variants = {
  typed: {
    table:
      'c1 text COLLATE "C", c2 text COLLATE "C", c3 numeric, c4 numeric, c5 text COLLATE "C", c6 date, c7 boolean, c8 text COLLATE "C"',
    columns: 'c1, c2, c3, c4, c5, c6, c7, c8',
    values: "f1, nullif(f2, ''), f3::numeric, f4::numeric, nullif(f5, ''), f6::date, f7 = 'true', nullif(f8, '')",
    key: 'c1',
    out: 'c1, c2, c3, c4, c5, c6, c7, c8',
    order: 'c1',
  },
  jsonb: {
    table: 'data jsonb NOT NULL',
    columns: 'data',
    // Numbers as JSON numbers: jsonb keeps their digits.
    values:
      "jsonb_build_object('sku', f1, 'name', nullif(f2, ''), 'quantity', f3::numeric, 'price', f4::numeric, 'currency', nullif(f5, ''), 'updated_on', f6, 'active', f7 = 'true', 'note', nullif(f8, ''))",
    key: `(data ->> 'sku') COLLATE "C"`,
    out: "data ->> 'sku', data ->> 'name', data ->> 'quantity', data ->> 'price', data ->> 'currency', data ->> 'updated_on', data ->> 'active', data ->> 'note'",
    order: `(data ->> 'sku') COLLATE "C"`,
  },
} as const;

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1_000;
}

async function readAll(query: string): Promise<void> {
  for await (const chunk of client.query(copyTo(`COPY (${query}) TO STDOUT (FORMAT csv)`))) void chunk;
}

try {
  await client.query(`SET jit = off; SET work_mem = '128MB'; SET maintenance_work_mem = '256MB'; SET client_min_messages = warning`);
  await client.query(`CREATE TEMP TABLE stage AS SELECT i AS n, 'SKU-' || lpad(((i::bigint * 7919) % ${rows})::text, 8, '0') AS f1, 'Product ' || i % 100000 AS f2, (i % 1000000)::text AS f3,
    (i % 10000)::text || '.' || lpad((i % 100)::text, 2, '0') AS f4, (ARRAY['EUR', 'USD', 'GBP', 'SEK'])[1 + i % 4] AS f5, (date '2010-01-01' + i % 5000)::text AS f6,
    CASE WHEN i % 2 = 0 THEN 'true' ELSE 'false' END AS f7, CASE WHEN i % 3 = 0 THEN '' ELSE 'some note ' || i END AS f8 FROM generate_series(0, ${rows - 1}) AS i; ANALYZE stage`);
  const results: Record<string, { load: number[]; index: number[]; read: number[]; again: number[]; bytes: number }> = {};
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, variant] of Object.entries(variants)) {
      results[name] ??= { load: [], index: [], read: [], again: [], bytes: 0 };
      const result = results[name];
      await client.query(`DROP TABLE IF EXISTS dataset; CREATE TABLE dataset (${versioned}, ${variant.table}); CHECKPOINT`);
      result.load.push(
        await timed(() => client.query(`INSERT INTO dataset (written_by, ${variant.columns}) SELECT 1, ${variant.values} FROM stage`)),
      );
      result.index.push(await timed(() => client.query(`CREATE UNIQUE INDEX ON dataset ((${variant.key})) WHERE replaced_xid IS NULL`)));
      await client.query('ANALYZE dataset');
      result.read.push(
        await timed(() => readAll(`SELECT ${variant.out} FROM dataset WHERE replaced_xid IS NULL ORDER BY ${variant.order}`)),
      );
      // The same file once more: compare every row, change none.
      const differs =
        name === 'typed'
          ? variant.columns.split(', ').map((column, at) => `t.${column} IS DISTINCT FROM s.a${at + 1}`)
          : ['t.data IS DISTINCT FROM s.a1'];
      const values =
        name === 'typed'
          ? variant.values.split(/, (?=[^)]*(?:\(|$))/).map((value, at) => `${value} AS a${at + 1}`)
          : [`${variant.values} AS a1`];
      const key = name === 'typed' ? 't.c1' : `(t.data ->> 'sku') COLLATE "C"`;
      result.again.push(
        await timed(() =>
          client.query(
            `UPDATE dataset t SET replaced_by = 2 FROM (SELECT f1, ${values.join(', ')} FROM stage) s WHERE t.replaced_xid IS NULL AND ${key} = s.f1 AND (${differs.join(' OR ')})`,
          ),
        ),
      );
      const { rows: size } = await client.query(`SELECT pg_total_relation_size('dataset')::float8 AS bytes`);
      result.bytes = size[0].bytes;
    }
  }
  const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;
  const typed = results.typed!;
  const jsonb = results.jsonb!;
  console.log(`${rows} rows, median of ${rounds}`);
  for (const what of ['load', 'index', 'read', 'again'] as const) {
    const [a, b] = [median(typed[what]), median(jsonb[what])];
    console.log(`${what.padEnd(6)} typed ${a.toFixed(2)} s   jsonb ${b.toFixed(2)} s   jsonb/typed ${(b / a).toFixed(2)}`);
  }
  console.log(
    `bytes  typed ${(typed.bytes / 1e6).toFixed(0)} MB  jsonb ${(jsonb.bytes / 1e6).toFixed(0)} MB  jsonb/typed ${(jsonb.bytes / typed.bytes).toFixed(2)}`,
  );
  // What a dataset of eight columns costs in the catalogue.
  const catalogue = async () =>
    (
      await client.query(
        `SELECT (pg_relation_size('pg_attribute') + pg_relation_size('pg_class') + pg_relation_size('pg_type') + pg_relation_size('pg_index') + pg_relation_size('pg_depend'))::float8 AS bytes`,
      )
    ).rows[0].bytes;
  const before = await catalogue();
  for (let at = 0; at < 500; at += 1)
    await client.query(
      `CREATE TABLE many_${at} (${versioned}, ${variants.typed.table}); CREATE UNIQUE INDEX ON many_${at} (c1) WHERE replaced_xid IS NULL`,
    );
  console.log(`catalogue: ${(((await catalogue()) - before) / 500 / 1_000).toFixed(1)} kB for a dataset of eight columns`);
} finally {
  await client.end();
  await server.stop('immediate');
  rmSync(home, { recursive: true, force: true });
}
