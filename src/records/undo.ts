// Takes back all that a run's loads wrote: its versions are marked as replaced, and what they had replaced comes back as new versions.
// No old version is changed otherwise, since stored cutoffs go by the transactions in it. docs/decisions/0016-reset.md says what is refused.
import { type Prisma, postgresFault } from '../db.ts';
import { ConflictError } from '../errors.ts';
import { readKeptSchema } from '../packages/table-schema.ts';
import { uniqueKeysOf } from './dataset-row.ts';
import { uniqueFieldSets } from './repeats.ts';
import { alignIndexes, currentColumns, type DatasetColumn, live, primaryKeyOf, qualified, type Statements } from './table.ts';
import { refuseWhileReferred, type Undone } from './undo-references.ts';

type Sql = Prisma.TransactionClient;

interface Written {
  readonly id: string;
  readonly name: string;
  readonly table: string;
  readonly columns: readonly DatasetColumn[];
  /** Of the run's loads of it, as a list in SQL. */
  readonly loads: string;
  /** One of them had no primary key. */
  readonly isKeyless: boolean;
}

/** Loads whose run has not been reset. The rows that resets leave in the same table are none. */
const standing = 'l.store_job_id IS NOT NULL AND l.undone_by IS NULL';

/**
 * The run must write no more. Locks all its datasets until the transaction ends, in one order for every reset. Throws ConflictError: LATER_RUN,
 * VALUES_TAKEN, ROWS_IN_USE.
 */
export async function undoRun(sql: Sql, workspaceId: string, runId: string): Promise<void> {
  const datasets = await lockWritten(sql, runId);
  for (const dataset of datasets) await refuseAfterLaterRun(sql, dataset, runId);
  const undone: Undone[] = [];
  for (const dataset of datasets) undone.push(await undo(sql, dataset, runId));
  await refuseWhileReferred(sql, workspaceId, undone);
}

async function lockWritten(sql: Sql, runId: string): Promise<Written[]> {
  const datasets = await sql.$queryRaw<Pick<Written, 'id' | 'name' | 'table' | 'columns'>[]>`
    SELECT id::text, name, table_name AS table, columns FROM dataset
    WHERE id IN (SELECT dataset_id FROM dataset_load WHERE run_id = ${runId}::uuid) ORDER BY id FOR UPDATE`;
  const loads = await sql.$queryRaw<{ id: string; datasetId: string; schema: unknown }[]>`
    SELECT id::text, dataset_id::text AS "datasetId", schema FROM dataset_load WHERE run_id = ${runId}::uuid ORDER BY dataset_load.id`;
  return datasets.map((dataset) => {
    const own = loads.filter(({ datasetId }) => datasetId === dataset.id);
    return {
      ...dataset,
      loads: own.map(({ id }) => id).join(', '),
      isKeyless: own.some(({ schema }) => primaryKeyOf(schema).length === 0),
    };
  });
}

/** With a key, a later run wrote the same rows if it replaced one. Without one, each load that changes anything says what the whole dataset is. */
async function refuseAfterLaterRun(sql: Sql, dataset: Written, runId: string): Promise<void> {
  const later = dataset.isKeyless
    ? `l.id IN (SELECT id FROM touched) AND l.id > (SELECT min(id) FROM touched WHERE id IN (${dataset.loads}))`
    : `l.id IN (SELECT replaced_by FROM ${qualified(dataset.table)} WHERE written_by IN (${dataset.loads}))`;
  const [found] = await sql.$queryRawUnsafe<{ runId: string }[]>(
    `WITH touched AS (SELECT written_by AS id FROM ${qualified(dataset.table)} UNION SELECT replaced_by FROM ${qualified(dataset.table)})
     SELECT l.run_id::text AS "runId" FROM dataset_load l WHERE l.dataset_id = $1::uuid AND l.run_id <> $2::uuid AND ${standing} AND ${later} ORDER BY l.id DESC LIMIT 1`,
    dataset.id,
    runId,
  );
  if (found === undefined) return;
  throw new ConflictError('LATER_RUN', `A later run has written the same rows of the dataset ${dataset.name}. Reset that one first.`, {
    type: 'DataRun',
    id: found.runId,
  });
}

async function undo(sql: Sql, dataset: Written, runId: string): Promise<Undone> {
  const { id, name, table, loads } = dataset;
  const left = await sql.$queryRawUnsafe<{ id: string }[]>(
    `SELECT l.id::text FROM dataset_load l WHERE l.dataset_id = $1::uuid AND l.run_id <> $2::uuid AND ${standing} ORDER BY l.id`,
    id,
    runId,
  );
  const newest = left.at(-1)?.id ?? null;
  const [made] = await sql.$queryRaw<{ id: string; schema: unknown }[]>`
    INSERT INTO dataset_load (dataset_id, run_id, schema)
    SELECT d.id, ${runId}::uuid, coalesce((SELECT l.schema FROM dataset_load l WHERE l.id = ${newest}::bigint), d.schema) FROM dataset d WHERE d.id = ${id}::uuid
    RETURNING id::text, schema`;
  if (made === undefined) throw new Error('the dataset vanished while it was locked');
  const undoId = made.id;
  await sql.$executeRaw`UPDATE dataset_load SET undone_by = ${undoId}::bigint WHERE dataset_id = ${id}::uuid AND run_id = ${runId}::uuid AND store_job_id IS NOT NULL`;
  const columns = columnsLeft(
    dataset.columns,
    left.map((load) => load.id),
    newest === null ? [] : readKeptSchema(made.schema, name).schema.fields.map((field) => field.name),
    undoId,
  );
  const removed = await sql.$executeRawUnsafe(
    `UPDATE ${qualified(table)} SET replaced_by = ${undoId}, replaced_xid = pg_current_xact_id() WHERE ${live} AND written_by IN (${loads})`,
  );
  const restored = newest === null ? 0 : await restore(sql, dataset, made.schema, columns);
  await sql.$executeRawUnsafe(
    `UPDATE dataset SET schema = $2::jsonb, columns = $3::jsonb, row_count = row_count - $4::bigint, updated_at = now(), removed_at = ${newest === null ? 'now()' : 'NULL'} WHERE id = $1::uuid`,
    id,
    JSON.stringify(made.schema),
    JSON.stringify(columns),
    removed - restored,
  );
  await sql.$executeRawUnsafe(`ANALYZE ${qualified(table)}`); // a load that comes next would plan for rows that are gone
  return { name, table, undoId, before: currentColumns(dataset.columns), after: currentColumns(columns) };
}

/** Puts back what the run replaced, under the indexes of the schema that is in force again. Returns how many rows. */
async function restore(sql: Sql, { name, table, loads }: Written, schema: unknown, columns: readonly DatasetColumn[]): Promise<number> {
  const kept = readKeptSchema(schema, name).schema;
  const statements: Statements = { query: async (text, values = []) => ({ rows: await sql.$queryRawUnsafe(text, ...values) }) };
  // The number of the row too: without a key it is the row's key in the API, and its place in the list.
  const list = ['row_id', 'written_by', ...columns.map(({ column }) => column)].join(', ');
  try {
    await alignIndexes(statements, table, uniqueKeysOf(currentColumns(columns), kept.primaryKey, uniqueFieldSets(kept)));
    return await sql.$executeRawUnsafe(
      `INSERT INTO ${qualified(table)} (${list}) OVERRIDING SYSTEM VALUE SELECT ${list} FROM ${qualified(table)}
       WHERE replaced_by IN (${loads}) AND written_by NOT IN (${loads}) ORDER BY row_id`,
    );
  } catch (error) {
    if (postgresFault(error)?.code !== '23505') throw error;
    throw new ConflictError(
      'VALUES_TAKEN',
      `The dataset ${name} cannot have back what the run replaced: a later run has given a value that must be unique to another row.`,
    );
  }
}

/**
 * The columns of the newest load that stands, in its schema's order, as current ones; the others retired, or free where no load that stands
 * wrote them. Loads that stand have the same columns as before: what changes is what no such load lies in.
 */
function columnsLeft(
  columns: readonly DatasetColumn[],
  left: readonly string[],
  fields: readonly string[],
  undoId: string,
): DatasetColumn[] {
  const wrote = ({ since, until }: DatasetColumn, load: string) =>
    BigInt(since) <= BigInt(load) && (until === undefined || BigInt(load) < BigInt(until));
  const newest = left.at(-1);
  const current = newest === undefined ? [] : columns.filter((column) => wrote(column, newest));
  const inOrder = fields.flatMap((field) => current.find(({ name }) => name === field) ?? []);
  const others = columns.filter((column) => !inOrder.includes(column));
  return [
    ...inOrder.map(({ until: _, ...column }) => column),
    ...others.map((column) => ({
      ...column,
      until: left.some((load) => wrote(column, load)) ? (column.until ?? undoId) : column.since,
    })),
  ];
}
