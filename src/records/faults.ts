// What is wrong with rows, as it stands in the table `fault`: counted, told in words, and taken out of the stage where such rows are left out.
import type pg from 'pg';
import type { RowError, RowErrors } from './outcome.ts';
import { firstErrorsLimit } from './reading.ts';
import type { Staged } from './stage.ts';
import { literal } from './table.ts';

/** What `fault` says by number. */
export interface ToldRule {
  readonly code: string;
  readonly field: string | null;
  /** What is wrong, without the value: "is not an integer". */
  readonly says: string;
}

export interface Faults {
  /** Single faults, and the rows that have one. */
  readonly count: number;
  readonly rows: number;
  readonly first: readonly RowError[];
  readonly rules: readonly ToldRule[];
}

export async function noFaultsYet(client: pg.ClientBase): Promise<void> {
  await client.query(
    'DROP TABLE IF EXISTS pg_temp.fault; CREATE TEMP TABLE fault (n bigint, rule int, value text, faults int NOT NULL DEFAULT 1)',
  );
}

/** The rows that are left out, as they stood in the file. Made before anything is read: some never come as far as the stage. */
export async function noRejectsYet(client: pg.ClientBase): Promise<void> {
  await client.query(
    'DROP TABLE IF EXISTS pg_temp.reject; CREATE TEMP TABLE reject (n bigint, reason text COLLATE "C", record text COLLATE "C", cells text[])',
  );
}

/** The rules as a table `r`, and what one of them says of a `fault` that is called `f`. */
const toldBy = (rules: readonly ToldRule[]) => {
  const lines = rules.map(
    ({ code, field, says }, at) => `(${at}, ${literal(code)}, ${field === null ? 'NULL' : literal(field)}, ${literal(says)})`,
  );
  return `(VALUES ${lines.join(', ')}) AS r (rule, code, field, says)`;
};
const told = `r.says || coalesce(': ' || to_json(f.value)::text, '')`;

export async function collectFaults(client: pg.ClientBase, rules: readonly ToldRule[]): Promise<Faults> {
  const { rows: counts } = await client.query<{ count: string; rows: string }>(
    'SELECT coalesce(sum(faults), 0) AS count, count(DISTINCT n) AS rows FROM fault',
  );
  const count = Number(counts[0]?.count ?? 0);
  if (count === 0) return { count: 0, rows: 0, first: [], rules };
  const { rows } = await client.query<{ n: string; code: string; field: string | null; message: string }>(
    `SELECT f.n, r.code, r.field, 'Row ' || f.n || coalesce(': "' || r.field || '"', '') || ' ' || ${told} || '.' AS message
     FROM (SELECT n, rule, value FROM fault WHERE rule IS NOT NULL ORDER BY n, rule LIMIT ${firstErrorsLimit}) f
     JOIN ${toldBy(rules)} USING (rule) ORDER BY f.n, rule`,
  );
  const first = rows.map(({ n, field, code, message }): RowError => ({ row: Number(n), field, code, message }));
  return { count, rows: Number(counts[0]?.rows ?? 0), first, rules };
}

/** Moves the faulty rows out of the stage, each with all that is wrong with it, and leaves `fault` empty. Returns what is left. */
export async function rejectFaulty(client: pg.ClientBase, staged: Staged, faults: Faults): Promise<Staged> {
  if (faults.rows === 0) return staged;
  const { cells, from } = staged.source;
  await client.query(
    `INSERT INTO reject (n, reason, cells)
     SELECT stage.n, why.reason, ARRAY[${cells.join(', ')}]::text[] FROM ${from} JOIN (
       SELECT f.n, string_agg(coalesce('"' || r.field || '" ', '') || ${told}, '; ' ORDER BY f.rule) AS reason
       FROM fault f JOIN ${toldBy(faults.rules)} USING (rule) GROUP BY f.n) why ON why.n = stage.n`,
  );
  await client.query('DELETE FROM stage USING fault f WHERE stage.n = f.n; TRUNCATE fault; ANALYZE stage');
  const { rows, count, first } = staged.faults;
  return {
    ...staged,
    rows: staged.rows - faults.rows,
    faults: { rows: rows + faults.rows, count: count + faults.count, first: firstOf([...first, ...faults.first]) },
  };
}

/** All that is wrong with a file: with the rows that are no longer in the stage, and with these. */
export function allErrors({ faults: { count, first } }: Staged, also: Pick<Faults, 'count' | 'first'>): RowErrors {
  return { count: count + also.count, first: firstOf([...first, ...also.first]) };
}

function firstOf(errors: readonly RowError[]): RowError[] {
  return errors.toSorted((a, b) => a.row - b.row).slice(0, firstErrorsLimit);
}
