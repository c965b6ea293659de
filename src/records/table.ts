// The physical table of a dataset: its name, its columns, its indexes. docs/decisions/0002-typed-row-storage.md says why it is typed.
import { createHash } from 'node:crypto';
import pg from 'pg';
import type { FieldType } from '../packages/plan.ts';

/** Which physical column holds which field, and for which loads: since <= dataset_load.id < until. */
export interface DatasetColumn {
  readonly name: string;
  readonly column: string;
  readonly type: FieldType;
  readonly since: string;
  /** Set when the field left the schema. A field of that name that comes back gets a column of its own, or a free one. */
  readonly until?: string;
}

/** No load that stands wrote it: in all live rows it is null, so it may be taken into use again. Versions that were replaced may have values in it. */
export const isFree = ({ since, until }: DatasetColumn): boolean => until === since;

export const columnLimit = 1_500;

export const identifier = (name: string): string => pg.escapeIdentifier(name);
export const literal = (text: string): string => pg.escapeLiteral(text);

export const tableName = (datasetId: string): string => `d_${datasetId.replaceAll('-', '')}`;
export const qualified = (table: string): string => `records.${identifier(table)}`;

/** Live rows; every unique index is over these alone, so that replaced versions can stay. */
export const live = 'replaced_xid IS NULL';

export function currentColumns(columns: readonly DatasetColumn[]): DatasetColumn[] {
  return columns.filter((column) => column.until === undefined);
}

/** A stated Table Schema may write a key of one field as a string. */
export function primaryKeyOf(schema: unknown): string[] {
  const key = schema !== null && typeof schema === 'object' && 'primaryKey' in schema ? schema.primaryKey : undefined;
  if (typeof key === 'string') return key === '' ? [] : [key];
  return Array.isArray(key) ? key.map(String) : [];
}

const physicalTypes = {
  string: 'text COLLATE "C"',
  any: 'text COLLATE "C"',
  // As text: fractions keep their digits, and what has no zone is never given one.
  time: 'text COLLATE "C"',
  datetime: 'text COLLATE "C"',
  yearmonth: 'text COLLATE "C"',
  integer: 'numeric',
  number: 'numeric',
  boolean: 'boolean',
  date: 'date',
  year: 'integer',
} as const satisfies Record<FieldType, string>;

export function physicalType(type: FieldType): string {
  return physicalTypes[type];
}

/** SQL for a stored value as a file would have it. */
export function writtenText(type: FieldType, value: string): string {
  // Postgres spells neither as the standard does: Infinity for INF, and years without their leading zeros.
  if (type === 'number') return `replace(${value}::text, 'Infinity', 'INF')`;
  if (type === 'year') {
    const digits = `abs(${value})::text`;
    return `(CASE WHEN ${value} < 0 THEN '-' ELSE '' END || lpad(${digits}, greatest(4, length(${digits})), '0'))`; // lpad also cuts
  }
  return `${value}::text`;
}

export type Family = 'text' | 'numeric' | 'boolean' | 'date';

/** Values of one family compare as they are; across families they compare as text. */
export function family(type: FieldType): Family {
  const physical = physicalTypes[type];
  if (physical === 'numeric' || physical === 'integer') return 'numeric';
  return physical === 'boolean' || physical === 'date' ? physical : 'text';
}

const columnDefinition = (column: DatasetColumn) => `${column.column} ${physicalType(column.type)}`;

/** Between the brackets of CREATE TABLE. */
export function definitionOf(columns: readonly DatasetColumn[]): string {
  return [
    // Cached: a load takes row ids by the thousand. Order within a load holds; between loads ids may leave gaps.
    'row_id bigint GENERATED ALWAYS AS IDENTITY (CACHE 1000)',
    'written_by bigint NOT NULL',
    'written_xid xid8 NOT NULL DEFAULT pg_current_xact_id()',
    'replaced_by bigint',
    'replaced_xid xid8',
    ...columns.map(columnDefinition),
  ].join(', ');
}

export async function createTable(client: pg.ClientBase, table: string, columns: readonly DatasetColumn[]): Promise<void> {
  await client.query(`CREATE TABLE ${qualified(table)} (${definitionOf(columns)})`);
  // Of replaced versions only: whether there is one since a cutoff is asked by every export.
  await client.query(
    `CREATE INDEX ${identifier(`${table}_replaced`)} ON ${qualified(table)} (replaced_xid) WHERE replaced_xid IS NOT NULL`,
  );
}

export async function addColumns(client: pg.ClientBase, table: string, columns: readonly DatasetColumn[]): Promise<void> {
  await client.query(`ALTER TABLE ${qualified(table)} ${columns.map((column) => `ADD COLUMN ${columnDefinition(column)}`).join(', ')}`);
}

/** Pages are read along the primary key's index; a table without a key has one over `row_id` in its place. */
export interface UniqueKey {
  readonly primary: boolean;
  readonly columns: readonly string[];
}

const indexName = (table: string, key: UniqueKey) =>
  `${table}_${key.primary ? 'pk' : 'uk'}_${createHash('sha256').update(key.columns.join(',')).digest('hex').slice(0, 12)}`;

/** A connection of pg's, or a transaction of Prisma's made to look like one. */
export interface Statements {
  query<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Pick<pg.QueryResult<Row>, 'rows'>>;
}

/** SQL that follows the index's name. Nulls stay distinct: only whole keys are compared, as the standard has it for unique keys. */
export const uniqueOn = (table: string, key: UniqueKey) => `ON ${table} (${key.columns.join(', ')}) WHERE ${live}`;

interface IndexChanges {
  /** Names of indexes that the schema no longer states. */
  readonly stale: readonly string[];
  readonly missing: readonly (readonly [name: string, key: UniqueKey])[];
}

/** What makes the unique indexes what the schema says. */
export async function indexChanges(client: Statements, table: string, keys: readonly UniqueKey[]): Promise<IndexChanges> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT indexname AS name FROM pg_indexes WHERE schemaname = 'records' AND tablename = $1 AND indexname ~ '_[pu]k_[0-9a-f]{12}$'`,
    [table],
  );
  const present = new Set(rows.map((row) => row.name));
  const wanted = new Map(keys.map((key) => [indexName(table, key), key]));
  return { stale: [...present].filter((name) => !wanted.has(name)), missing: [...wanted].filter(([name]) => !present.has(name)) };
}

export async function alignIndexes(client: Statements, table: string, keys: readonly UniqueKey[]): Promise<void> {
  const { stale, missing } = await indexChanges(client, table, keys);
  for (const name of stale) await client.query(`DROP INDEX records.${identifier(name)}`);
  for (const [name, key] of missing) await client.query(`CREATE UNIQUE INDEX ${identifier(name)} ${uniqueOn(qualified(table), key)}`);
}
