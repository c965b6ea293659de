// The rows that a run left out, kept as they stood in the file and with what is wrong with each, in the transaction that writes the others.
import type pg from 'pg';
import { v7 as uuidv7 } from 'uuid';
import type { Staged } from './stage.ts';

/** In place of what an earlier attempt of the run left out of the dataset. */
export async function keepRejects(client: pg.ClientBase, runId: string, dataset: string, left: Staged): Promise<void> {
  const of = [runId, dataset];
  await client.query(
    'WITH gone AS (DELETE FROM rejected_dataset WHERE run_id = $1 AND dataset = $2 RETURNING id) DELETE FROM rejected_row r USING gone WHERE r.rejected_id = gone.id',
    of,
  );
  if (left.faults.rows === 0) return;
  const id = uuidv7();
  const fields = left.schema.fields.map(({ name }) => name);
  await client.query('INSERT INTO rejected_dataset (id, run_id, dataset, fields, row_count) VALUES ($1, $2, $3, $4, $5)', [
    id,
    ...of,
    fields,
    left.faults.rows,
  ]);
  await client.query('INSERT INTO rejected_row (rejected_id, n, reason, record, cells) SELECT $1, n, reason, record, cells FROM reject', [
    id,
  ]);
}
