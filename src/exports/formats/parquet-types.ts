// Which Parquet type a column gets from what its values are, and how a value, written as text, becomes one. Nothing passes through a float.
import type { SchemaElement } from 'hyparquet-writer';
import type { FieldType } from '../../packages/plan.ts';

export interface ParquetColumn {
  readonly name: string;
  readonly type: FieldType;
  /** Its schema lets no value be missing. */
  readonly required: boolean;
}

export type ParquetType =
  | { readonly kind: 'BOOLEAN' | 'INT32' | 'INT64' | 'DATE' | 'STRING' }
  /** 18 digits are stored as INT64, 38 as 16 bytes. `scale` of them stand behind the point. */
  | { readonly kind: 'DECIMAL'; readonly precision: 18 | 38; readonly scale: number };

/** What a column is in the file. Plain JSON: it may be stored, and is handed to the worker as it is. */
export type ParquetPhysical = ParquetType & { readonly required: boolean };

export type ParquetValue = string | number | bigint | boolean;

const statisticsPerColumn = 3;
// Parallel workers hand over one row with a column for each aggregate, and a row of Postgres ends at 1,664.
const mostInParallel = 1_600;

/**
 * SQL: one item of a select list, `parquet_statistics`, a `text[]` for `chooseTypes`. `column` is SQL of the typed value.
 * One item whatever the number of columns: a select list ends at 1,664 items, and a dataset may have 1,500 columns.
 */
export function parquetStatistics(columns: readonly { readonly column: string; readonly type: FieldType }[]): string {
  const items = columns.flatMap(({ column, type }) => {
    const missing = `bool_or(${column} IS NULL)::text`;
    if (type === 'integer') return [missing, `min(${column})::text`, `max(${column})::text`];
    // NaN is the largest number to Postgres, and infinity the next: either shows as the largest.
    if (type === 'number') return [missing, `max(abs(${column}))::text`, `max(scale(${column}))::text`];
    return [missing, 'NULL', 'NULL'];
  });
  // A call of set_config, whatever it sets, keeps a statement from being planned in parallel.
  const alone = items.length > mostInParallel ? [`set_config('max_parallel_workers_per_gather', '0', true)`] : [];
  return `(ARRAY[${[...items, ...alone].join(', ')}]::text[])[:${items.length}] AS parquet_statistics`;
}

/** `statistics`: what `parquetStatistics` of the same columns gave over the very rows that will be written. */
export function chooseTypes(columns: readonly ParquetColumn[], statistics: readonly (string | null)[]): ParquetPhysical[] {
  if (statistics.length !== columns.length * statisticsPerColumn) {
    throw new Error(`expected ${columns.length * statisticsPerColumn} Parquet statistics, found ${statistics.length}`);
  }
  return columns.map(({ type, required }, index) => {
    const at = index * statisticsPerColumn;
    const [missing, first = null, second = null] = statistics.slice(at, at + statisticsPerColumn);
    // Rows that are older than the schema's `required` may still lack the value.
    return { ...typeOf(type, first, second), required: required && missing !== 'true' };
  });
}

function typeOf(type: FieldType, first: string | null, second: string | null): ParquetType {
  switch (type) {
    case 'integer':
      return { kind: isInt64(first ?? '0') && isInt64(second ?? '0') ? 'INT64' : 'STRING' };
    case 'number':
      return decimalOf(first ?? '0', Number(second ?? '0'));
    case 'boolean':
      return { kind: 'BOOLEAN' };
    case 'date':
      return { kind: 'DATE' };
    case 'year':
      return { kind: 'INT32' };
    default:
      return { kind: 'STRING' };
  }
}

function isInt64(text: string): boolean {
  const value = BigInt(text);
  return BigInt.asIntN(64, value) === value;
}

/** Two precisions only: the type of a column should not change with every row that is added. */
function decimalOf(largest: string, scale: number): ParquetType {
  const [whole = ''] = largest.split('.', 1);
  if (!/^[0-9]+$/.test(whole)) return { kind: 'STRING' };
  const digits = (whole === '0' ? 0 : whole.length) + scale;
  if (digits > 38) return { kind: 'STRING' };
  return { kind: 'DECIMAL', precision: digits > 18 ? 38 : 18, scale };
}

/** The file's schema: a root, then one element for each column. */
export function schemaElements(columns: readonly ParquetColumn[], physical: readonly ParquetPhysical[]): SchemaElement[] {
  if (columns.length !== physical.length) throw new Error(`expected ${columns.length} Parquet types, found ${physical.length}`);
  const elements = physical.map(
    (type, index): SchemaElement => ({
      name: columns[index]?.name ?? '',
      repetition_type: type.required ? 'REQUIRED' : 'OPTIONAL',
      ...storage(type),
    }),
  );
  return [{ name: 'schema', num_children: columns.length }, ...elements];
}

function storage(type: ParquetType): Omit<SchemaElement, 'name'> {
  switch (type.kind) {
    case 'STRING':
      return { type: 'BYTE_ARRAY', converted_type: 'UTF8' };
    case 'DATE':
      return { type: 'INT32', converted_type: 'DATE' };
    case 'DECIMAL': {
      const decimal = { converted_type: 'DECIMAL', precision: type.precision, scale: type.scale } as const;
      return type.precision === 18 ? { type: 'INT64', ...decimal } : { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16, ...decimal };
    }
    default:
      return { type: type.kind };
  }
}

const dayMs = 86_400_000;

/** Makes of a value's text what the writer takes for the type: for a decimal its digits as one integer, for a date its days since 1970. */
export function valueReader(type: ParquetType): (text: string) => ParquetValue {
  switch (type.kind) {
    case 'INT64':
      return BigInt;
    case 'INT32':
      return Number;
    case 'BOOLEAN':
      return (text) => text === 'true';
    case 'DATE':
      return (text) => Date.parse(text) / dayMs;
    case 'DECIMAL':
      return decimalReader(type.precision, type.scale);
    case 'STRING':
      return (text) => text;
  }
}

function decimalReader(precision: number, scale: number): (text: string) => bigint {
  const limit = 10n ** BigInt(precision);
  return (text) => {
    const [whole = '', fraction = ''] = text.split('.');
    const value = BigInt(whole + fraction.padEnd(scale, '0'));
    // The writer would cut off what does not fit, and say nothing.
    if (fraction.length > scale || value >= limit || value <= -limit) {
      throw new RangeError(`${text} does not fit DECIMAL(${precision}, ${scale}): the types were chosen for other rows`);
    }
    return value;
  };
}
