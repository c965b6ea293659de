// The dataset's own row and table, locked and made ready for one load. Loads and resets of one dataset take turns here.
import type pg from 'pg';
import { v7 as uuidv7 } from 'uuid';
import type { DatasetPlan, TableSchema } from '../packages/plan.ts';
import { LoadFailure, sqlState } from './reading.ts';
import {
  addColumns,
  alignIndexes,
  columnLimit,
  createTable,
  currentColumns,
  type DatasetColumn,
  isFree,
  live,
  primaryKeyOf,
  qualified,
  tableName,
  type UniqueKey,
} from './table.ts';

export interface DatasetRow {
  readonly id: string;
  readonly table: string;
  readonly schema: unknown;
  readonly columns: readonly DatasetColumn[];
  readonly rowCount: string;
}

export async function findDataset(
  client: pg.ClientBase,
  workspaceId: string,
  name: string,
  lock: '' | 'FOR NO KEY UPDATE',
): Promise<DatasetRow | undefined> {
  const { rows } = await client.query<DatasetRow>(
    `SELECT id, table_name AS table, schema, columns, row_count AS "rowCount" FROM dataset WHERE workspace_id = $1 AND name = $2 ${lock}`,
    [workspaceId, name],
  );
  return rows[0];
}

/**
 * Until the transaction ends no reset takes rows away that a reference to one of these datasets was found in; loads of them go on.
 * Before the load's own dataset is locked: a reset locks those of a run in the order they came to be.
 */
export async function keepFromResets(client: pg.ClientBase, workspaceId: string, names: readonly string[]): Promise<void> {
  await client.query('SELECT FROM dataset WHERE workspace_id = $1 AND name = ANY($2) ORDER BY id FOR KEY SHARE', [workspaceId, names]);
}

/** What is stored of a dataset, as a load of one schema meets it. */
export interface Standing {
  /** SQL: what its rows are read from. Looked at only where it is occupied. */
  readonly from: string;
  /** SQL: the table that new rows go into. */
  readonly into: string;
  readonly loadId: string;
  /** One for each field of the load's schema, in its order. */
  readonly columns: readonly DatasetColumn[];
  /** Columns whose field this schema no longer has. */
  readonly retired: readonly DatasetColumn[];
  readonly rowCount: number;
  /** There are live rows to compare with. */
  readonly occupied: boolean;
}

export interface Prepared extends Standing {
  readonly id: string;
  readonly table: string;
  readonly schema: unknown;
  /** Builds the indexes once the rows of a new table are in, in half the time of doing it row by row. 23505: the file has a key twice. */
  finish(): Promise<void>;
}

export interface LoadIdentity {
  readonly workspaceId: string;
  readonly runId: string;
  readonly storeJobId: string;
}

const inferred = (schema: TableSchema) => ({ fields: schema.fields.map(({ name, type }) => ({ name, type })) });

function refuseConflict(dataset: string, before: DatasetRow, schema: TableSchema, current: readonly DatasetColumn[]): void {
  const conflict = (what: string) =>
    new LoadFailure(
      'SCHEMA_CONFLICT',
      'checking',
      `"${dataset}" has rows that were loaded with another schema: ${what}. Reset them, or load under another name.`,
    );
  const keyBefore = primaryKeyOf(before.schema);
  if (keyBefore.join('\0') !== schema.primaryKey.join('\0')) {
    const say = (key: readonly string[]) => (key.length === 0 ? 'none' : key.join(', '));
    throw conflict(`the primary key was ${say(keyBefore)} and is now ${say(schema.primaryKey)}`);
  }
  for (const field of schema.fields) {
    const column = current.find(({ name }) => name === field.name);
    if (column !== undefined && column.type !== field.type) throw conflict(`"${field.name}" was ${column.type} and is now ${field.type}`);
  }
}

const columnNumber = ({ column }: DatasetColumn) => Number(column.slice(1));

/** Fields keep their column while they stay in the schema with their type; any other gets a free one, or a new one. */
export function planColumns(schema: TableSchema, before: readonly DatasetColumn[], loadId: string) {
  const kept = new Map(currentColumns(before).map((column) => [column.name, column]));
  const free = new Map(before.filter(isFree).map((column) => [`${column.type} ${column.name}`, column]));
  let last = Math.max(0, ...before.map(columnNumber));
  const added: DatasetColumn[] = [];
  const columns = schema.fields.map(({ name, type }): DatasetColumn => {
    const column = kept.get(name);
    if (column?.type === type) {
      kept.delete(name);
      return column;
    }
    const again = free.get(`${type} ${name}`);
    if (again !== undefined) return { name, type, column: again.column, since: loadId };
    last += 1;
    const fresh = { name, column: `c${last}`, type, since: loadId };
    added.push(fresh);
    return fresh;
  });
  if (last > columnLimit)
    throw new LoadFailure('TOO_MANY_COLUMNS', 'writing', `The dataset has had ${last} columns; at most ${columnLimit} can be kept.`);
  const leaving = [...kept.values()].map((column) => ({ ...column, until: loadId }));
  const gone = before.filter(({ until, column }) => until !== undefined && !columns.some((used) => used.column === column));
  return { columns, added, retired: [...leaving, ...gone] };
}

export function uniqueKeysOf(
  columns: readonly DatasetColumn[],
  primaryKey: readonly string[],
  others: readonly (readonly string[])[],
): UniqueKey[] {
  const physical = (fields: readonly string[]) => fields.map((field) => columns.find(({ name }) => name === field)?.column ?? 'row_id');
  return [
    { primary: true, columns: primaryKey.length > 0 ? physical(primaryKey) : ['row_id'] },
    ...others.map((fields) => ({ primary: false, columns: physical(fields) })),
  ];
}

/** Whether there are live rows. Throws SCHEMA_CONFLICT where they were loaded with a schema that this one does not go with. */
export async function isOccupied(client: pg.ClientBase, dataset: string, row: DatasetRow, schema: TableSchema): Promise<boolean> {
  const { rows } = await client.query<{ occupied: boolean }>(
    `SELECT EXISTS (SELECT 1 FROM ${qualified(row.table)} WHERE ${live}) AS occupied`,
  );
  if (rows[0]?.occupied !== true) return false;
  refuseConflict(dataset, row, schema, currentColumns(row.columns));
  return true;
}

/** What a unique index that cannot be built over old rows means. */
export function refuseBrokenKey(dataset: string, error: unknown): never {
  if (sqlState(error) !== '23505') throw error;
  throw new LoadFailure('SCHEMA_CONFLICT', 'checking', `Rows of "${dataset}" that are already there break a key the schema now states.`);
}

export async function prepareDataset(
  client: pg.ClientBase,
  identity: LoadIdentity,
  plan: DatasetPlan,
  schema: TableSchema,
  uniques: readonly (readonly string[])[],
): Promise<Prepared> {
  const id = uuidv7();
  // Two first loads at once: the second waits here, then finds the first's row.
  await client.query(
    `INSERT INTO dataset (id, workspace_id, name, schema, table_name, columns) VALUES ($1, $2, $3, '{}', $4, '[]') ON CONFLICT (workspace_id, name) DO NOTHING`,
    [id, identity.workspaceId, plan.name, tableName(id)],
  );
  const row = await findDataset(client, identity.workspaceId, plan.name, 'FOR NO KEY UPDATE');
  if (row === undefined) throw new Error('the dataset row vanished while it was being locked');
  const isNew = row.id === id;
  const occupied = !isNew && (await isOccupied(client, plan.name, row, schema));
  const stated = plan.statedSchema ?? inferred(schema);
  const { rows: loads } = await client.query<{ id: string }>(
    'INSERT INTO dataset_load (dataset_id, run_id, store_job_id, schema) VALUES ($1, $2, $3, $4) RETURNING id',
    [row.id, identity.runId, identity.storeJobId, JSON.stringify(stated)],
  );
  const loadId = loads[0]?.id;
  if (loadId === undefined) throw new Error('dataset_load returned no id');
  const { columns, added, retired } = planColumns(schema, row.columns, loadId);
  if (isNew) await createTable(client, row.table, columns);
  else if (added.length > 0) {
    // This waits for whoever reads the table (an export), and all who come later wait behind it: not for long, then the job tries again.
    await client.query(`SET LOCAL lock_timeout = '10s'`);
    await addColumns(client, row.table, added);
    await client.query('SET LOCAL lock_timeout = 0');
  }
  // Old rows first: an index that is built over them, and then changed by row, is right at every moment.
  const keys = uniqueKeysOf(columns, schema.primaryKey, uniques);
  if (occupied) await alignIndexes(client, row.table, keys).catch((error: unknown) => refuseBrokenKey(plan.name, error));
  return {
    id: row.id,
    table: row.table,
    from: qualified(row.table),
    into: qualified(row.table),
    loadId,
    columns,
    retired,
    schema: stated,
    rowCount: Number(row.rowCount),
    occupied,
    finish: () => (occupied ? Promise.resolve() : alignIndexes(client, row.table, keys)),
  };
}

export async function recordLoad(client: pg.ClientBase, prepared: Prepared, rowCount: number): Promise<void> {
  await client.query('UPDATE dataset SET schema = $2, columns = $3, row_count = $4, updated_at = now(), removed_at = NULL WHERE id = $1', [
    prepared.id,
    JSON.stringify(prepared.schema),
    JSON.stringify([...prepared.columns, ...prepared.retired]),
    rowCount,
  ]);
}
