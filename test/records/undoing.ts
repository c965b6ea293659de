// What the tests of taking back share: a database with loads and resets, and datasets in few words.
import { afterAll } from 'vitest';
import { inTransaction, openDb } from '../../src/db.ts';
import { ConflictError } from '../../src/errors.ts';
import type { DatasetPlan } from '../../src/packages/plan.ts';
import type { DatasetColumn } from '../../src/records/table.ts';
import { undoRun } from '../../src/records/undo.ts';
import { field, plan, recordsDatabase, schema } from './loading.ts';

export async function undoDatabase() {
  const db = await recordsDatabase();
  const undoing = openDb(db.url, { poolSize: 2, statementTimeoutMs: 0 });
  afterAll(() => undoing.close());

  /** null, or the code and the run of the refusal. `last` runs when all is done and nothing is committed. */
  async function undo(runId: string, last = async () => {}): Promise<{ code: string; run: string | null } | null> {
    try {
      await inTransaction(undoing, async ({ sql }) => {
        await undoRun(sql, db.workspaceId, runId);
        await last();
      });
      return null;
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      return { code: error.code, run: error.conflicting?.id ?? null };
    }
  }

  async function stored(name: string): Promise<StoredDataset | undefined> {
    const { rows } = await db.pool.query<StoredDataset>(
      'SELECT table_name AS table, schema, columns, row_count AS "rowCount", removed_at IS NOT NULL AS removed FROM dataset WHERE workspace_id = $1 AND name = $2',
      [db.workspaceId, name],
    );
    return rows[0];
  }

  return { ...db, undo, stored };
}

export interface StoredDataset {
  readonly table: string;
  readonly schema: unknown;
  readonly columns: DatasetColumn[];
  readonly rowCount: string;
  readonly removed: boolean;
}

export type Cells = readonly (string | null)[];

const missing = { missingValues: ['~'], missingValuesStated: true };

export function shaped(name: string, keyed: boolean, withX: boolean): DatasetPlan {
  const fields = [field('id', 'integer'), field('v'), field('n', 'number'), ...(withX ? [field('x')] : [])];
  return plan(name, schema(fields, { ...missing, primaryKey: keyed ? ['id'] : [] }));
}

export const csv = (rows: readonly Cells[], withX: boolean) =>
  [
    'id,v,n',
    ...rows.map((cells) =>
      cells
        .slice(0, withX ? 4 : 3)
        .map((text) => (text === null ? '~' : `"${text}"`))
        .join(','),
    ),
  ]
    .join('\n')
    .replace('id,v,n', withX ? 'id,v,n,x' : 'id,v,n')
    .concat('\n');
