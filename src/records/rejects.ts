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

export interface RejectedDataset {
  readonly id: string;
  readonly dataset: string;
  readonly fields: readonly string[];
  readonly rows: number;
}

/** What is kept of a run, by name. */
export async function rejectedDatasets(pool: pg.Pool, runId: string): Promise<RejectedDataset[]> {
  const { rows } = await pool.query<Omit<RejectedDataset, 'rows'> & { readonly rows: string }>(
    'SELECT id, dataset, fields, row_count AS rows FROM rejected_dataset WHERE run_id = $1 ORDER BY dataset COLLATE "C"',
    [runId],
  );
  return rows.map((row) => ({ ...row, rows: Number(row.rows) }));
}

export interface RejectedRow {
  /** Its place in the file, from 1, the header not counted. */
  readonly n: string;
  readonly reason: string;
  readonly record: string | null;
  readonly cells: readonly (string | null)[] | null;
}

const pageRows = 500;

/** In the file's order, a page at a time, so that a slow reader holds no connection. Throws where not all of them are there any more. */
export async function* rejectedRows(pool: pg.Pool, { id, rows: count }: RejectedDataset): AsyncGenerator<readonly RejectedRow[]> {
  let seen = 0;
  for (let after = '0'; seen < count; ) {
    const { rows } = await pool.query<RejectedRow>(
      `SELECT n, reason, record, cells FROM rejected_row WHERE rejected_id = $1 AND n > $2 ORDER BY n LIMIT ${pageRows}`,
      [id, after],
    );
    const last = rows.at(-1);
    if (last === undefined) throw new Error(`only ${seen} of ${count} rejected rows are there`);
    seen += rows.length;
    after = last.n;
    yield rows;
  }
}

const forgottenAtOnce = 10_000;

/** Forgets the rows of datasets that were loaded more than so many days ago. Returns how many rows went. */
export async function forgetRejects(pool: pg.Pool, { days, stop }: { readonly days: number; readonly stop: AbortSignal }): Promise<number> {
  const old = 'SELECT id FROM rejected_dataset WHERE written_at < clock_timestamp() - make_interval(days => $1)';
  let gone = 0;
  // The rows first: what a process leaves that dies between is found again by its dataset.
  for (const { id } of (await pool.query<{ id: string }>(old, [days])).rows) {
    for (let taken = forgottenAtOnce; taken === forgottenAtOnce && !stop.aborted; gone += taken) {
      const { rowCount } = await pool.query(
        `DELETE FROM rejected_row WHERE rejected_id = $1 AND n IN (SELECT n FROM rejected_row WHERE rejected_id = $1 LIMIT ${forgottenAtOnce})`,
        [id],
      );
      taken = rowCount ?? 0;
    }
    if (stop.aborted) break;
    await pool.query('DELETE FROM rejected_dataset WHERE id = $1', [id]);
  }
  return gone;
}
