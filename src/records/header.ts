// A file's header against the schema, as `fieldsMatch` says. Positions in messages count from 1.
import type { Field, TableSchema } from '../packages/plan.ts';
import { unreadable } from './reading.ts';
import { stagedColumn, stagedColumnsLimit } from './stage.ts';
import { columnLimit, literal } from './table.ts';

export interface Matched {
  readonly schema: TableSchema;
  /** For each field of the schema, the file's column (from 0), or null where the file has none. */
  readonly positions: readonly (number | null)[];
  /** Columns in the file. */
  readonly width: number;
}

const quoted = (names: readonly string[]) => names.map((name) => `"${name}"`).join(', ');

function shown(names: readonly string[]): string {
  return names.length <= 20 ? quoted(names) : `${quoted(names.slice(0, 20))} and ${names.length - 20} more`;
}

function stringField(name: string): Field {
  return { name, type: 'string', constraints: {}, decimalChar: '.', groupChar: '', bareNumber: true, trueValues: [], falseValues: [] };
}

export function inferredSchema(names: readonly string[]): TableSchema {
  return {
    fields: names.map(stringField),
    fieldsMatch: 'exact',
    primaryKey: [],
    uniqueKeys: [],
    foreignKeys: [],
    missingValues: [''],
    missingValuesStated: false,
  };
}

function refuseDuplicates(header: readonly string[]): void {
  const seen = new Map<string, number>();
  for (const [index, name] of header.entries()) {
    const before = seen.get(name);
    if (before !== undefined) {
      throw unreadable('DUPLICATE_HEADER', `The header has "${name}" twice: columns ${before + 1} and ${index + 1}.`);
    }
    seen.set(name, index);
  }
}

function mismatch(schema: TableSchema, header: readonly string[]): string | null {
  const expected = schema.fields.map((field) => field.name);
  const missing = expected.filter((name) => !header.includes(name));
  const extra = header.filter((name) => !expected.includes(name));
  const different = expected.findIndex((name, index) => name !== header[index]);
  const hint = [
    ...(missing.length > 0 ? [`missing: ${shown(missing)}`] : []),
    ...(extra.length > 0 ? [`not in the schema: ${shown(extra)}`] : []),
  ].join('; ');
  switch (schema.fieldsMatch) {
    case 'exact':
      if (expected.length === header.length && different < 0) return null;
      return `Expected exactly ${expected.length} columns ${shown(expected)}, in this order; found ${header.length}: ${shown(header)} (${
        hint || `column ${different + 1} should be "${expected[different] ?? ''}"`
      }).`;
    case 'equal':
      return hint === '' ? null : `Expected the columns ${shown(expected)} in any order; found ${shown(header)} (${hint}).`;
    case 'subset':
      return missing.length === 0
        ? null
        : `Expected at least the columns ${shown(expected)}; found ${shown(header)} (missing: ${shown(missing)}).`;
    case 'superset':
      return extra.length === 0
        ? null
        : `Expected no columns but ${shown(expected)}; found ${shown(header)} (not in the schema: ${shown(extra)}).`;
    case 'partial':
      return missing.length < expected.length ? null : `Expected at least one of the columns ${shown(expected)}; found ${shown(header)}.`;
  }
}

function refuseWidth(width: number): void {
  if (width > Math.min(stagedColumnsLimit, columnLimit)) {
    throw unreadable('TOO_MANY_COLUMNS', `The file has ${width} columns; at most ${columnLimit} can be stored.`);
  }
}

export function matchHeader(header: readonly string[], schema: TableSchema | null): Matched {
  refuseWidth(header.length);
  refuseDuplicates(header);
  if (schema === null) {
    return { schema: inferredSchema(header), positions: header.map((_, index) => index), width: header.length };
  }
  const problem = mismatch(schema, header);
  if (problem !== null) throw unreadable('HEADER_MISMATCH', problem);
  const positions = schema.fields.map((field) => {
    const index = header.indexOf(field.name);
    return index < 0 ? null : index;
  });
  return { schema, positions, width: header.length };
}

/** Without a header cells have their place alone: the schema's width, else that of the first record. */
export function matchPositions(schema: TableSchema | null, firstWidth: number): Matched {
  const used = schema ?? inferredSchema(Array.from({ length: firstWidth }, (_, index) => `field${index + 1}`));
  refuseWidth(used.fields.length);
  return { schema: used, positions: used.fields.map((_, index) => index), width: used.fields.length };
}

/** The field's text in the stage of a CSV file, null where it is one of its missing values. */
export function csvText(field: Field, position: number | null, schema: TableSchema): string {
  if (position === null) return 'NULL::text';
  const column = stagedColumn(position);
  const missing = field.missingValues ?? schema.missingValues;
  const [only] = missing;
  if (only === undefined) return column;
  return missing.length === 1
    ? `nullif(${column}, ${literal(only)})`
    : `CASE WHEN ${column} NOT IN (${missing.map(literal).join(', ')}) THEN ${column} END`;
}
