// A generated package of four datasets in a chain of foreign keys, the last without a key, and what a workspace must hold once it is loaded.
import { createHash } from 'node:crypto';
import type pg from 'pg';
import { uuidOf } from './states.ts';
import { zipOf } from './story.ts';

export interface Source {
  readonly zip: Buffer;
  /** By dataset: its number of rows, and the hash of its rows in any order. */
  readonly contents: Readonly<Record<string, Content>>;
}

export interface Content {
  readonly rows: number;
  readonly hash: string;
}

const field = (name: string, type = 'integer') => ({ name, type });
const refers = (name: string, resource: string) => [{ fields: [name], reference: { resource, fields: ['id'] } }];

/** `rows` in all. A third of the values of each version differ from those of the version before. */
export async function chainOf(name: string, rows: number, version: number): Promise<Source> {
  const share = (part: number) => Math.max(1, Math.round(rows * part));
  const [regions, depots, routes, sightings] = [share(0.02), share(0.18), share(0.4), share(0.4)];
  const changed = (n: number) => Math.floor((version + (n % 3)) / 3);
  const table = (count: number, row: (n: number) => string) => Array.from({ length: count }, (_, index) => row(index + 1));
  const data: Record<string, { header: string; rows: string[]; schema: object }> = {
    sightings: {
      header: 'route_id,what,seen',
      // Some rows are equal: as many must stay.
      rows: table(sightings, (n) => `${(n % routes) + 1},w${changed(n)},${n % 1_000}`),
      schema: { fields: [field('route_id'), field('what', 'string'), field('seen')], foreignKeys: refers('route_id', 'routes') },
    },
    routes: {
      header: 'id,depot_id,note,length',
      rows: table(routes, (n) => `${n},${(n % depots) + 1},"r, ${changed(n)} é",${n}.${10 + changed(n)}`),
      schema: {
        fields: [field('id'), field('depot_id'), field('note', 'string'), field('length', 'number')],
        primaryKey: 'id',
        foreignKeys: refers('depot_id', 'depots'),
      },
    },
    depots: {
      header: 'id,region_id,town',
      rows: table(depots, (n) => `${n},${(n % regions) + 1},t${changed(n)}`),
      schema: {
        fields: [field('id'), field('region_id'), field('town', 'string')],
        primaryKey: 'id',
        foreignKeys: refers('region_id', 'regions'),
      },
    },
    regions: {
      header: 'id,label',
      rows: table(regions, (n) => `${n},l${changed(n)}`),
      schema: { fields: [field('id'), field('label', 'string')], primaryKey: 'id' },
    },
  };
  const resources = Object.entries(data).map(([dataset, { header, rows: lines, schema }]) => ({
    name: dataset,
    rows: `${header}\n${lines.join('\n')}\n`,
    schema,
  }));
  const contents = Object.entries(data).map(([dataset, { rows: lines }]) => [
    dataset,
    contentOf(lines.map((line) => line.replaceAll('"', ''))),
  ]);
  return { zip: await zipOf(name, resources), contents: Object.fromEntries(contents) };
}

export function contentOf(rows: readonly string[]): Content {
  const hash = createHash('sha256');
  for (const row of [...rows].sort()) hash.update(row).update('\n');
  return { rows: rows.length, hash: hash.digest('hex') };
}

export interface StoredDataset {
  readonly id: string;
  readonly table: string;
  readonly columns: readonly { readonly name: string; readonly column: string; readonly until?: string }[];
  readonly rowCount: number;
}

export async function storedDatasets(pool: pg.Pool, workspaceId: string): Promise<Map<string, StoredDataset>> {
  const { rows } = await pool.query<StoredDataset & { name: string }>(
    `SELECT id, name, table_name AS table, columns, row_count::int AS "rowCount" FROM dataset WHERE workspace_id = $1`,
    [uuidOf(workspaceId)],
  );
  return new Map(rows.map((row) => [row.name, row]));
}

/** Live rows as arrays of texts, nulls as null, in the order they were written. */
export async function liveRows(pool: pg.Pool, dataset: StoredDataset): Promise<(string | null)[][]> {
  const columns = dataset.columns.filter(({ until }) => until === undefined);
  const { rows } = await pool.query<(string | null)[]>({
    text: `SELECT ${columns.map(({ column }) => `${column}::text`).join(', ')} FROM records.${dataset.table} WHERE replaced_xid IS NULL ORDER BY row_id`,
    rowMode: 'array',
  });
  return rows;
}

export async function storedContents(pool: pg.Pool, workspaceId: string): Promise<Record<string, Content>> {
  const contents: Record<string, Content> = {};
  for (const [name, dataset] of await storedDatasets(pool, workspaceId)) {
    contents[name] = contentOf((await liveRows(pool, dataset)).map((cells) => cells.join(',')));
  }
  return contents;
}
