// Whether rows that stay refer to rows that a reset has taken away. Asked after the rows have gone, in the transaction that can still bring them back.
import type { Prisma } from '../db.ts';
import { ConflictError } from '../errors.ts';
import { readKeptSchema } from '../packages/table-schema.ts';
import { equal } from './references.ts';
import { currentColumns, type DatasetColumn, live, qualified } from './table.ts';

export interface Undone {
  readonly name: string;
  readonly table: string;
  /** What the versions that were taken back say they were replaced by. */
  readonly undoId: string;
  /** Current columns. */
  readonly before: readonly DatasetColumn[];
  readonly after: readonly DatasetColumn[];
}

interface Referring {
  readonly name: string;
  readonly table: string;
  readonly schema: unknown;
  readonly columns: readonly DatasetColumn[];
}

/** Throws ConflictError ROWS_IN_USE with the run whose row refers to one of them, by the schema that its dataset has now. */
export async function refuseWhileReferred(sql: Prisma.TransactionClient, workspaceId: string, undone: readonly Undone[]): Promise<void> {
  const datasets = await sql.$queryRaw<Referring[]>`
    SELECT name, table_name AS table, schema, columns FROM dataset WHERE workspace_id = ${workspaceId}::uuid AND removed_at IS NULL ORDER BY id`;
  const gone = new Map(undone.map((one) => [one.name, one]));
  const isThere = (name: string) => gone.has(name) || datasets.some((dataset) => dataset.name === name);
  for (const from of datasets) {
    for (const { fields, resource, referenceFields } of readKeptSchema(from.schema, from.name).foreignKeys) {
      const to = resource === null || (resource === 'self' && !isThere('self')) ? from.name : resource;
      const target = gone.get(to);
      if (target === undefined) continue;
      const own = physical(currentColumns(from.columns), fields);
      const was = physical(target.before, referenceFields);
      if (own === null || was === null) continue; // nothing was ever found by it
      const is = physical(target.after, referenceFields);
      const still =
        is === null ? '' : `AND NOT EXISTS (SELECT 1 FROM ${qualified(target.table)} t WHERE t.${live} AND ${same(own, 't', is)})`;
      const [found] = await sql.$queryRawUnsafe<{ runId: string }[]>(
        `SELECT l.run_id::text AS "runId" FROM ${qualified(from.table)} e JOIN ${qualified(target.table)} g ON ${same(own, 'g', was)} AND g.replaced_by = ${target.undoId}
         JOIN dataset_load l ON l.id = e.written_by WHERE e.${live} ${still} LIMIT 1`,
      );
      if (found === undefined) continue;
      throw new ConflictError(
        'ROWS_IN_USE',
        `Rows of the dataset ${from.name} refer to rows of ${to} that would vanish. Reset their run first.`,
        {
          type: 'DataRun',
          id: found.runId,
        },
      );
    }
  }
}

function physical(columns: readonly DatasetColumn[], names: readonly string[]): DatasetColumn[] | null {
  const found = names.flatMap((name) => columns.find((column) => column.name === name) ?? []);
  return found.length === names.length ? found : null;
}

function same(own: readonly DatasetColumn[], alias: string, others: readonly DatasetColumn[]): string {
  const value = (of: string, column: DatasetColumn | undefined) => ({
    type: column?.type ?? 'string',
    value: column === undefined ? 'NULL' : `${of}.${column.column}`,
  });
  return own.map((column, index) => equal(value('e', column), value(alias, others[index]))).join(' AND ');
}
