// What loads of a package's datasets would do, one after another, without writing any of it: read into the stage and checked as a load is, then
// written to temporary tables that are shaped as the dataset's. Later datasets find those rows as they would find the loaded ones.
import type { Readable } from 'node:stream';
import type pg from 'pg';
import type { Failure } from '../errors.ts';
import type { DatasetPlan, TableSchema } from '../packages/plan.ts';
import { findDataset, isOccupied, planColumns, refuseBrokenKey, type Standing, uniqueKeysOf } from './dataset-row.ts';
import { allErrors } from './faults.ts';
import { endByError, endByWriting, type Judged, siftRows, stageFile } from './judge.ts';
import { type LoadOutcome, noErrors, noRows } from './outcome.ts';
import { type FindRows, type Referable, storedRows } from './references.ts';
import { uniqueFieldSets } from './repeats.ts';
import { inSession } from './session.ts';
import type { Staged } from './stage.ts';
import { definitionOf, indexChanges, live, physicalType, qualified, type UniqueKey, uniqueOn } from './table.ts';
import { writeBeside } from './write.ts';

export interface PlanRequest extends Omit<Judged, 'dataset'> {
  readonly workspaceId: string;
  /** All that will be asked for, each once. */
  readonly datasets: readonly DatasetPlan[];
  /** Raw bytes of a dataset's file; may be called again for the same one. */
  open(dataset: DatasetPlan): Promise<Readable>;
  /** What a load would fail with whose file cannot be had in this way; null where that would not be the end of it. */
  sourceFailure(error: unknown): Failure | null;
}

export interface PlannedLoad {
  readonly outcome: LoadOutcome;
  /** Rows that are there now and would go without another in their place, as in a dataset without a primary key. */
  readonly removed: number;
}

export interface Planner {
  /** How a load of it would end, once those that were asked for before have been loaded. */
  load(dataset: DatasetPlan): Promise<PlannedLoad>;
  /** What its own rows are, of a dataset that would not be loaded here: succeeded where all are valid. */
  check(dataset: DatasetPlan): Promise<LoadOutcome>;
}

/** Holds one connection while `work` lasts. An abort closes it, and with it goes all that was read. */
export function planLoads<T>(pool: pg.Pool, request: PlanRequest, signal: AbortSignal, work: (planner: Planner) => Promise<T>): Promise<T> {
  return inSession(pool, signal, (client) => {
    const beside = tablesBeside(client, request.datasets);
    const end = async (dataset: DatasetPlan, then: (staged: Staged) => Promise<PlannedLoad>): Promise<PlannedLoad> => {
      let staged: Staged | undefined;
      try {
        staged = await stageFile(client, { ...request, dataset }, { signal, open: () => request.open(dataset), progress: () => {} });
        const sifted = await siftRows(client, { ...request, dataset }, staged);
        if (sifted.end !== null) return { outcome: sifted.end, removed: 0 };
        staged = sifted.left;
        return await then(staged);
      } catch (error) {
        const outcome = await endByError(client, error, staged);
        if (outcome !== null) return { outcome, removed: 0 };
        const failure = request.sourceFailure(error);
        if (failure === null) throw error;
        return { outcome: { state: 'failed', rows: noRows, failure, errors: noErrors }, removed: 0 };
      }
    };
    const asked = async (dataset: DatasetPlan, then: (staged: Staged) => Promise<PlannedLoad>): Promise<PlannedLoad> => {
      const planned = await end(dataset, then);
      await beside.release(dataset);
      return planned;
    };
    return work({
      load: (dataset) => asked(dataset, (staged) => inOne(client, () => plan(client, { ...request, dataset }, staged, beside))),
      check: async (dataset) => {
        const sound = async (left: Staged): Promise<PlannedLoad> => {
          const rejected = left.faults.rows;
          const rows = { ...noRows, source: left.rows + rejected, rejected, unprocessed: left.rows };
          return { outcome: { state: 'succeeded', rows, errors: allErrors(left, noErrors) }, removed: 0 };
        };
        return (await asked(dataset, sound)).outcome;
      },
    });
  });
}

/** One transaction a dataset: it locks tables for no longer than one takes, and Postgres has no room for the locks of a thousand at once. */
async function inOne<T>(client: pg.ClientBase, work: () => Promise<T>): Promise<T> {
  await client.query('BEGIN');
  try {
    const result = await work();
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

type Beside = ReturnType<typeof tablesBeside>;

/** The tables of what would be loaded: kept for as long as a dataset is still to come that refers to them. */
function tablesBeside(client: pg.ClientBase, datasets: readonly DatasetPlan[]) {
  const referred = ({ name, schema }: DatasetPlan) =>
    new Set(schema?.foreignKeys.map(({ reference }) => reference.resource).filter((other) => other !== name));
  const waiting = new Map<string, number>();
  const wait = (name: string, more: number) => waiting.set(name, (waiting.get(name) ?? 0) + more);
  for (const dataset of datasets) for (const name of referred(dataset)) wait(name, 1);
  const made = new Map<string, { readonly table: string; readonly rows: Referable }>();
  let tables = 0;
  return {
    nextTable: () => `pg_temp.beside_${tables++}`,
    rows: (name: string) => made.get(name)?.rows,
    add: (name: string, table: string, rows: Referable) => void made.set(name, { table, rows }),
    /** The dataset has been asked for. */
    async release(dataset: DatasetPlan): Promise<void> {
      const names = referred(dataset);
      for (const name of names) wait(name, -1);
      for (const name of [dataset.name, ...names]) {
        const kept = made.get(name);
        if (kept === undefined || (waiting.get(name) ?? 0) > 0) continue;
        made.delete(name);
        await client.query(`DROP TABLE ${kept.table}`);
      }
    },
  };
}

async function plan(client: pg.ClientBase, request: Judged & PlanRequest, staged: Staged, beside: Beside): Promise<PlannedLoad> {
  const { dataset, workspaceId } = request;
  const { standing, keys } = await stand(client, workspaceId, dataset, staged.schema, beside.nextTable());
  const stored = storedRows(client, workspaceId);
  const find: FindRows = async (name) => beside.rows(name) ?? stored(name);
  let removed = 0;
  const outcome = await endByWriting(client, request, staged, standing, find, async (left, held) => {
    const { leaving, ...written } = await writeBeside(client, left, standing, held);
    removed = leaving;
    // As a load's: they find a key that the file has twice, and one that is too long. Row numbers are no key of the file.
    for (const key of keys) if (!key.columns.includes('row_id')) await client.query(`CREATE UNIQUE INDEX ${uniqueOn(standing.into, key)}`);
    await client.query(`ANALYZE ${standing.into}`);
    return written;
  });
  beside.add(dataset.name, standing.into, rowsAfter(staged.schema, standing));
  return { outcome, removed };
}

/** The dataset as `prepareDataset` would find it, with a temporary table for the new rows. Nothing is locked. */
async function stand(
  client: pg.ClientBase,
  workspaceId: string,
  dataset: DatasetPlan,
  schema: TableSchema,
  into: string,
): Promise<{ standing: Standing; keys: readonly UniqueKey[] }> {
  const row = await findDataset(client, workspaceId, dataset.name, '');
  const occupied = row !== undefined && (await isOccupied(client, dataset.name, row, schema));
  const loadId = '0';
  const { columns, added, retired } = planColumns(schema, row?.columns ?? [], loadId);
  // Columns that a load would add are not there yet. Old rows have nothing in them.
  const absent = added.map(({ column, type }) => `, NULL::${physicalType(type)} AS ${column}`).join('');
  const table = row === undefined ? into : qualified(row.table);
  const from = absent === '' ? table : `(SELECT *${absent} FROM ${table})`;
  const keys = uniqueKeysOf(columns, schema.primaryKey, uniqueFieldSets(schema));
  if (occupied) await tryKeys(client, dataset.name, from, (await indexChanges(client, row.table, keys)).missing);
  await client.query(`CREATE TEMP TABLE ${into} (${definitionOf(columns)})`);
  return { standing: { from, into, loadId, columns, retired, occupied, rowCount: Number(row?.rowCount ?? 0) }, keys };
}

/** Whether a load could build, over the old rows, the unique indexes that the schema is the first to state. */
async function tryKeys(
  client: pg.ClientBase,
  dataset: string,
  from: string,
  missing: readonly (readonly [name: string, key: UniqueKey])[],
): Promise<void> {
  for (const [, key] of missing) {
    await client.query(
      `CREATE TEMP TABLE old_key ON COMMIT DROP AS SELECT replaced_xid, ${key.columns.join(', ')} FROM ${from} t WHERE ${live}`,
    );
    await client.query(`CREATE UNIQUE INDEX ${uniqueOn('old_key', key)}`).catch((error: unknown) => refuseBrokenKey(dataset, error));
    await client.query('DROP TABLE old_key');
  }
}

/** Without a primary key the file is all there is then; with one, rows that no new version replaces stay. */
function rowsAfter({ primaryKey }: TableSchema, { from, into, occupied, columns }: Standing): Referable {
  if (!occupied || primaryKey.length === 0) return { from: into, columns };
  const key = columns.filter(({ name }) => primaryKey.includes(name)).map(({ column }) => `n.${column} = o.${column}`);
  const list = ['replaced_xid', ...columns.map(({ column }) => column)].join(', ');
  const stays = `SELECT ${list} FROM ${from} o WHERE ${live} AND NOT EXISTS (SELECT 1 FROM ${into} n WHERE ${key.join(' AND ')})`;
  return { from: `(SELECT ${list} FROM ${into} UNION ALL ${stays})`, columns };
}
