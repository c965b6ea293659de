// From the stage into the dataset's table. Old versions are marked, new ones added, equal rows left alone.
import type pg from 'pg';
import type { Prepared } from './dataset-row.ts';
import { typedField } from './references.ts';
import type { Staged } from './stage.ts';
import { type DatasetColumn, live, qualified } from './table.ts';

export interface Written {
  readonly loaded: number;
  readonly updated: number;
  readonly unchanged: number;
  /** Live rows afterwards. */
  readonly rowCount: number;
}

const xid = 'pg_current_xact_id()';

interface Cell {
  readonly column: DatasetColumn;
  readonly value: string;
}

const cellsOf = (staged: Staged, prepared: Prepared): Cell[] =>
  prepared.columns.map((column) => ({ column, value: typedField(staged, column.name).value }));

const insertHead = (prepared: Prepared, cells: readonly Cell[]) =>
  `INSERT INTO ${qualified(prepared.table)} (written_by${cells.map(({ column }) => `, ${column.column}`).join('')}) SELECT ${prepared.loadId}`;
const values = (cells: readonly Cell[]) => cells.map(({ value }) => `, ${value}`).join('');

/** 1.5 and 1.50 are equal and not the same: a number's scale is part of what was in the file. */
const differs = (column: DatasetColumn, value: string) =>
  `t.${column.column} IS DISTINCT FROM ${value}${column.type === 'number' ? ` OR scale(t.${column.column}) IS DISTINCT FROM scale(${value})` : ''}`;

async function upsert(client: pg.ClientBase, staged: Staged, prepared: Prepared, notHeld: string, writable: number): Promise<Written> {
  const cells = cellsOf(staged, prepared);
  const table = qualified(prepared.table);
  const key = cells.filter(({ column }) => staged.schema.primaryKey.includes(column.name));
  const source = `(SELECT n${cells.map(({ value }, index) => `, ${value} AS a${index + 1}`).join('')} FROM stage WHERE ${notHeld})`;
  const sameKey = key.map(({ column }) => `t.${column.column} = s.a${cells.findIndex((cell) => cell.column === column) + 1}`).join(' AND ');
  const changed = cells.map(({ column }, index) => differs(column, `s.a${index + 1}`)).join(' OR ');
  // Two statements: the new versions may only come when the old ones have left the unique index.
  const updated = await client.query(
    `UPDATE ${table} t SET replaced_by = ${prepared.loadId}, replaced_xid = ${xid} FROM ${source} s WHERE t.${live} AND ${sameKey} AND (${changed})`,
  );
  const keyHere = key.map(({ column, value }) => `t.${column.column} = ${value}`).join(' AND ');
  const inserted = await client.query(
    `${insertHead(prepared, cells)}${values(cells)} FROM stage WHERE ${notHeld} AND NOT EXISTS (SELECT 1 FROM ${table} t WHERE t.${live} AND ${keyHere})`,
  );
  const replaced = updated.rowCount ?? 0;
  const added = inserted.rowCount ?? 0;
  const loaded = added - replaced;
  return { loaded, updated: replaced, unchanged: writable - added, rowCount: prepared.rowCount + loaded };
}

/** Without a key rows have no identity but their whole content; of equal rows as many stay as the file has. */
async function replaceAll(client: pg.ClientBase, staged: Staged, prepared: Prepared, notHeld: string): Promise<Written> {
  const cells = cellsOf(staged, prepared);
  const table = qualified(prepared.table);
  // Columns that left the schema count too: a row that still has a value in one is not what the file says.
  const leaving = prepared.retired.map(({ column }) => column);
  const whole = (parts: readonly string[]) => `ROW(${parts.join(', ')})::text`;
  const old = whole([...cells.map(({ column }) => column.column), ...leaving]);
  const fresh = whole([...cells.map(({ value }) => value), ...leaving.map(() => 'NULL')]);
  await client.query(
    `CREATE TEMP TABLE pairing ON COMMIT DROP AS
     SELECT o.row_id, f.n
     FROM (SELECT row_id, v, row_number() OVER (PARTITION BY v ORDER BY row_id) AS nth FROM (SELECT row_id, ${old} COLLATE "C" AS v FROM ${table} WHERE ${live}) AS a) AS o
     FULL JOIN (SELECT n, v, row_number() OVER (PARTITION BY v ORDER BY n) AS nth FROM (SELECT n, ${fresh} COLLATE "C" AS v FROM stage WHERE ${notHeld}) AS b) AS f
     ON o.v = f.v AND o.nth = f.nth`,
  );
  await client.query('ANALYZE pairing');
  // Live ones only: what a reset put back has the number that it had, and so has the version it is a copy of.
  await client.query(
    `UPDATE ${table} t SET replaced_by = ${prepared.loadId}, replaced_xid = ${xid} FROM pairing p WHERE p.n IS NULL AND t.row_id = p.row_id AND t.${live}`,
  );
  const inserted = await client.query(
    `${insertHead(prepared, cells)}${values(cells)} FROM stage WHERE n IN (SELECT n FROM pairing WHERE row_id IS NULL) ORDER BY n`,
  );
  const { rows } = await client.query<{ unchanged: string }>(
    'SELECT count(*) AS unchanged FROM pairing WHERE n IS NOT NULL AND row_id IS NOT NULL',
  );
  const unchanged = Number(rows[0]?.unchanged ?? 0);
  const loaded = inserted.rowCount ?? 0;
  return { loaded, updated: 0, unchanged, rowCount: loaded + unchanged };
}

/** `held`: how many rows of the stage are held back. */
export async function writeRows(client: pg.ClientBase, staged: Staged, prepared: Prepared, held: number): Promise<Written> {
  const notHeld = held === 0 ? 'true' : 'NOT EXISTS (SELECT 1 FROM held h WHERE h.n = stage.n)';
  const writable = staged.rows - held;
  if (prepared.occupied) {
    return staged.schema.primaryKey.length > 0
      ? upsert(client, staged, prepared, notHeld, writable)
      : replaceAll(client, staged, prepared, notHeld);
  }
  const cells = cellsOf(staged, prepared);
  // Without a key, pages of rows are in the order they were written: the file's, which the stage does not keep by itself.
  const order = staged.schema.primaryKey.length > 0 ? '' : ' ORDER BY n';
  const inserted = await client.query(`${insertHead(prepared, cells)}${values(cells)} FROM stage WHERE ${notHeld}${order}`);
  const loaded = inserted.rowCount ?? 0;
  return { loaded, updated: 0, unchanged: 0, rowCount: loaded };
}
