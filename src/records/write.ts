// From the stage into the dataset's table. Old versions are marked, new ones added, equal rows left alone.
import type pg from 'pg';
import type { Standing } from './dataset-row.ts';
import { typedField } from './references.ts';
import type { Staged } from './stage.ts';
import { type DatasetColumn, live } from './table.ts';

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

const cellsOf = (staged: Staged, standing: Standing): Cell[] =>
  standing.columns.map((column) => ({ column, value: typedField(staged, column.name).value }));

const insertHead = (standing: Standing, cells: readonly Cell[]) =>
  `INSERT INTO ${standing.into} (written_by${cells.map(({ column }) => `, ${column.column}`).join('')}) SELECT ${standing.loadId}`;
const values = (cells: readonly Cell[]) => cells.map(({ value }) => `, ${value}`).join('');

/** SQL for the rows of the stage that are not held back; `held` is how many are. */
const writable = (held: number) => (held === 0 ? 'true' : 'NOT EXISTS (SELECT 1 FROM held h WHERE h.n = stage.n)');

/** 1.5 and 1.50 are equal and not the same: a number's scale is part of what was in the file. */
const differs = (column: DatasetColumn, value: string) =>
  `t.${column.column} IS DISTINCT FROM ${value}${column.type === 'number' ? ` OR scale(t.${column.column}) IS DISTINCT FROM scale(${value})` : ''}`;

/** SQL that compares the stage with live rows `t` of the same primary key. */
function comparison(staged: Staged, standing: Standing, held: number) {
  const cells = cellsOf(staged, standing);
  const key = cells.filter(({ column }) => staged.schema.primaryKey.includes(column.name));
  const named = (cell: Cell) => `s.a${cells.indexOf(cell) + 1}`;
  return {
    cells,
    /** The stage as a table `s` of typed values. */
    source: `(SELECT n${cells.map(({ value }, index) => `, ${value} AS a${index + 1}`).join('')} FROM stage WHERE ${writable(held)}) s`,
    replaced: `t.${live} AND ${key.map((cell) => `t.${cell.column.column} = ${named(cell)}`).join(' AND ')} AND (${cells.map((cell) => differs(cell.column, named(cell))).join(' OR ')})`,
    /** Over the stage itself, in whose order rows are to be read. */
    sameKey: `t.${live} AND ${key.map(({ column, value }) => `t.${column.column} = ${value}`).join(' AND ')}`,
    same: cells.map(({ column, value }) => `NOT (${differs(column, value)})`).join(' AND '),
  };
}

async function upsert(client: pg.ClientBase, staged: Staged, standing: Standing, held: number): Promise<Written> {
  const { cells, source, replaced, sameKey } = comparison(staged, standing, held);
  // Two statements: the new versions may only come when the old ones have left the unique index.
  const { rowCount: old } = await client.query(
    `UPDATE ${standing.into} t SET replaced_by = ${standing.loadId}, replaced_xid = ${xid} FROM ${source} WHERE ${replaced}`,
  );
  const inserted = await client.query(
    `${insertHead(standing, cells)}${values(cells)} FROM stage WHERE ${writable(held)} AND NOT EXISTS (SELECT 1 FROM ${standing.from} t WHERE ${sameKey})`,
  );
  return upserted(staged, standing, held, { updated: old ?? 0, added: inserted.rowCount ?? 0 });
}

function upserted(staged: Staged, standing: Standing, held: number, { updated, added }: { updated: number; added: number }): Written {
  const loaded = added - updated;
  return { loaded, updated, unchanged: staged.rows - held - added, rowCount: standing.rowCount + loaded };
}

/** Without a key rows have no identity but their whole content; of equal rows as many stay as the file has. Makes the table `pairing`. */
async function pairUp(client: pg.ClientBase, staged: Staged, standing: Standing, held: number): Promise<Paired> {
  const cells = cellsOf(staged, standing);
  // Columns that left the schema count too: a row that still has a value in one is not what the file says.
  const leaving = standing.retired.map(({ column }) => column);
  const whole = (parts: readonly string[]) => `ROW(${parts.join(', ')})::text`;
  const old = whole([...cells.map(({ column }) => column.column), ...leaving]);
  const fresh = whole([...cells.map(({ value }) => value), ...leaving.map(() => 'NULL')]);
  await client.query(
    `CREATE TEMP TABLE pairing ON COMMIT DROP AS
     SELECT o.row_id, f.n
     FROM (SELECT row_id, v, row_number() OVER (PARTITION BY v ORDER BY row_id) AS nth FROM (SELECT row_id, ${old} COLLATE "C" AS v FROM ${standing.from} t WHERE ${live}) AS a) AS o
     FULL JOIN (SELECT n, v, row_number() OVER (PARTITION BY v ORDER BY n) AS nth FROM (SELECT n, ${fresh} COLLATE "C" AS v FROM stage WHERE ${writable(held)}) AS b) AS f
     ON o.v = f.v AND o.nth = f.nth`,
  );
  await client.query('ANALYZE pairing');
  const { rows } = await client.query<{ unchanged: string; loaded: string; leaving: string }>(
    'SELECT count(*) FILTER (WHERE row_id IS NOT NULL AND n IS NOT NULL) AS unchanged, count(*) FILTER (WHERE row_id IS NULL) AS loaded, count(*) FILTER (WHERE n IS NULL) AS leaving FROM pairing',
  );
  const [loaded, unchanged] = [Number(rows[0]?.loaded ?? 0), Number(rows[0]?.unchanged ?? 0)];
  return { loaded, updated: 0, unchanged, rowCount: loaded + unchanged, leaving: Number(rows[0]?.leaving ?? 0) };
}

interface Paired extends Written {
  /** Live rows that the file does not have. */
  readonly leaving: number;
}

async function replaceAll(client: pg.ClientBase, staged: Staged, standing: Standing, held: number): Promise<Written> {
  const cells = cellsOf(staged, standing);
  const { leaving: _, ...written } = await pairUp(client, staged, standing, held);
  // Live ones only: what a reset put back has the number that it had, and so has the version it is a copy of.
  await client.query(
    `UPDATE ${standing.into} t SET replaced_by = ${standing.loadId}, replaced_xid = ${xid} FROM pairing p WHERE p.n IS NULL AND t.row_id = p.row_id AND t.${live}`,
  );
  await client.query(
    `${insertHead(standing, cells)}${values(cells)} FROM stage WHERE n IN (SELECT n FROM pairing WHERE row_id IS NULL) ORDER BY n`,
  );
  return written;
}

async function fill(client: pg.ClientBase, staged: Staged, standing: Standing, held: number): Promise<Written> {
  const cells = cellsOf(staged, standing);
  // Without a key, pages of rows are in the order they were written: the file's, which the stage does not keep by itself.
  const order = staged.schema.primaryKey.length > 0 ? '' : ' ORDER BY n';
  const inserted = await client.query(`${insertHead(standing, cells)}${values(cells)} FROM stage WHERE ${writable(held)}${order}`);
  const loaded = inserted.rowCount ?? 0;
  return { loaded, updated: 0, unchanged: 0, rowCount: loaded };
}

/** `held`: how many rows of the stage are held back. */
export async function writeRows(client: pg.ClientBase, staged: Staged, standing: Standing, held: number): Promise<Written> {
  if (!standing.occupied) return fill(client, staged, standing, held);
  return staged.schema.primaryKey.length > 0 ? upsert(client, staged, standing, held) : replaceAll(client, staged, standing, held);
}

/**
 * What `writeRows` would write, into a table beside those that are there: with a primary key the new versions, without one the whole file.
 * Returns what `writeRows` would, and how many live rows would go without another in their place.
 */
export async function writeBeside(client: pg.ClientBase, staged: Staged, standing: Standing, held: number): Promise<Paired> {
  if (!standing.occupied) return { ...(await fill(client, staged, standing, held)), leaving: 0 };
  if (staged.schema.primaryKey.length === 0) {
    const paired = await pairUp(client, staged, standing, held);
    await fill(client, staged, standing, held);
    return paired;
  }
  const { cells, source, replaced, sameKey, same } = comparison(staged, standing, held);
  const { rows } = await client.query<{ updated: string }>(
    `SELECT count(*) AS updated FROM ${source}, ${standing.from} t WHERE ${replaced}`,
  );
  const inserted = await client.query(
    `${insertHead(standing, cells)}${values(cells)} FROM stage WHERE ${writable(held)} AND NOT EXISTS (SELECT 1 FROM ${standing.from} t WHERE ${sameKey} AND ${same})`,
  );
  return { ...upserted(staged, standing, held, { updated: Number(rows[0]?.updated ?? 0), added: inserted.rowCount ?? 0 }), leaving: 0 };
}
