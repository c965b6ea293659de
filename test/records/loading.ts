// What the tests of this folder share: plans in few words, and a loader on a database of their own.
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import pg from 'pg';
import { afterAll } from 'vitest';
import type { CsvDialect, DatasetPlan, Field, FieldConstraints, FieldType, TableSchema } from '../../src/packages/plan.ts';
import { type LoadRequest, loadDataset } from '../../src/records/load.ts';
import type { LoadOutcome } from '../../src/records/outcome.ts';
import { freshDatabase } from '../support/database.ts';

/** Inputs beside the project; tests that use them are skipped where they are not. */
export const shared = (file: string): string => path.resolve(import.meta.dirname, '../../../shared', file);

export function field(name: string, type: FieldType = 'string', constraints: FieldConstraints = {}, more: Partial<Field> = {}): Field {
  return {
    name,
    type,
    constraints,
    decimalChar: '.',
    groupChar: '',
    bareNumber: true,
    trueValues: ['true', 'True', 'TRUE', '1'],
    falseValues: ['false', 'False', 'FALSE', '0'],
    ...more,
  };
}

export function schema(fields: readonly Field[], more: Partial<TableSchema> = {}): TableSchema {
  return {
    fields,
    fieldsMatch: 'exact',
    primaryKey: [],
    uniqueKeys: [],
    foreignKeys: [],
    missingValues: [''],
    missingValuesStated: false,
    ...more,
  };
}

export const csvDialect: CsvDialect = {
  delimiter: ',',
  quoteChar: '"',
  doubleQuote: true,
  escapeChar: null,
  header: true,
  skipInitialSpace: false,
  commentChar: null,
};

export function plan(name: string, tableSchema: TableSchema | null, more: Partial<DatasetPlan> = {}): DatasetPlan {
  return {
    name,
    position: 0,
    target: 'store',
    dependsOn: [],
    source: { kind: 'entry', path: `data/${name}` },
    format: 'csv',
    gzip: false,
    dialect: csvDialect,
    schema: tableSchema,
    statedSchema: tableSchema,
    bytes: 0,
    hash: '',
    ...more,
  };
}

/** Bytes in pieces of `size`: an async source, as files and objects are. */
export function inPieces(bytes: Buffer, size = 65_536): Readable {
  return Readable.from(
    (function* () {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
    })(),
    { objectMode: false },
  );
}

export interface LoadOptions {
  /** Another than the database's own. */
  readonly workspaceId?: string;
  /** Another than one of its own. */
  readonly runId?: string;
  readonly onInvalidRow?: LoadRequest['onInvalidRow'];
  readonly onMissingReference?: LoadRequest['onMissingReference'];
  readonly expandedBytesLimit?: number;
  readonly signal?: AbortSignal;
  readonly open?: () => Promise<Readable>;
  readonly begin?: (client: pg.PoolClient) => Promise<boolean>;
  readonly settle?: (client: pg.PoolClient, outcome: LoadOutcome) => Promise<void>;
}

export async function recordsDatabase() {
  const url = await freshDatabase();
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  pool.on('error', () => {});
  afterAll(() => pool.end());
  const workspaceId = randomUUID();
  await pool.query('INSERT INTO workspace (id, slug, name) VALUES ($1, $2, $2)', [workspaceId, 'books']);

  async function load(dataset: DatasetPlan, data: string | Buffer, options: LoadOptions = {}): Promise<LoadOutcome | 'abandoned'> {
    const plain = Buffer.from(data);
    const bytes = dataset.gzip && typeof data === 'string' ? gzipSync(plain) : plain;
    const request: LoadRequest = {
      workspaceId: options.workspaceId ?? workspaceId,
      runId: options.runId ?? randomUUID(),
      storeJobId: randomUUID(),
      dataset,
      onInvalidRow: options.onInvalidRow ?? 'FAIL',
      onMissingReference: options.onMissingReference ?? 'BLOCK',
      expandedBytesLimit: options.expandedBytesLimit ?? 1 << 30,
    };
    return loadDataset(pool, request, {
      signal: options.signal ?? new AbortController().signal,
      open: options.open ?? (async () => inPieces(bytes)),
      progress: () => {},
      begin: options.begin ?? (async () => true),
      settle: options.settle ?? (async () => {}),
    });
  }

  /** Live rows as text, in the order they were written. */
  async function rows(name: string): Promise<Record<string, string | null>[]> {
    const { rows: found } = await pool.query<{ table: string; columns: { name: string; column: string; until?: string }[] }>(
      'SELECT table_name AS table, columns FROM dataset WHERE workspace_id = $1 AND name = $2',
      [workspaceId, name],
    );
    const dataset = found[0];
    if (dataset === undefined) return [];
    const columns = dataset.columns.filter((column) => column.until === undefined);
    const list = columns.map(({ name: as, column }) => `${column}::text AS ${pg.escapeIdentifier(as)}`).join(', ');
    const { rows: result } = await pool.query(`SELECT ${list} FROM records.${dataset.table} WHERE replaced_xid IS NULL ORDER BY row_id`);
    return result;
  }

  return { url, pool, workspaceId, load, rows };
}

export const account = (numbers: Partial<LoadOutcome['rows']>): LoadOutcome['rows'] => ({
  source: 0,
  loaded: 0,
  updated: 0,
  unchanged: 0,
  rejected: 0,
  blocked: 0,
  unprocessed: 0,
  ...numbers,
});
