// A Table Schema, version 1 or 2, with everything the standard leaves out filled in.
import { readFields } from './fields.ts';
import { readFieldList, readForeignKeys, readUniqueKeys, type StatedForeignKey } from './keys.ts';
import { defaultPackageLimits, type PackageLimits } from './limits.ts';
import { readMissingValues } from './missing-values.ts';
import type { TableSchema } from './plan.ts';
import { type Findings, isStorableText, quote, type Report, reportInto } from './problems.ts';
import { isRecord } from './shape.ts';

export interface ReadSchema {
  /** Its foreign keys are still to be resolved. */
  readonly schema: Omit<TableSchema, 'foreignKeys'>;
  readonly fieldNames: ReadonlySet<string>;
  readonly foreignKeys: readonly StatedForeignKey[];
}

const matches = ['exact', 'equal', 'subset', 'superset', 'partial'] as const;

/** null after reporting that it is no schema at all. */
export function readTableSchema(stated: unknown, limits: PackageLimits, report: Report): ReadSchema | null {
  if (!isRecord(stated)) {
    report.problem('INVALID_SCHEMA', 'A schema must be an object.');
    return null;
  }
  const statedFields = stated.fields;
  if (!Array.isArray(statedFields) || statedFields.length === 0) {
    report.problem('INVALID_SCHEMA', 'A schema must list its fields.', 'fields');
    return null;
  }
  if (statedFields.length > limits.fieldsPerDataset) {
    const words = `The schema has ${statedFields.length} fields; ${limits.fieldsPerDataset} are allowed.`;
    report.problem('TOO_MANY_FIELDS', words, 'fields');
    return null;
  }
  judgeTexts(stated, report);
  const { fields, names } = readFields(statedFields, report.at('fields'));
  const missingValues = readMissingValues(stated.missingValues, report.at('missingValues'));
  return {
    schema: {
      fields,
      fieldsMatch: readFieldsMatch(stated.fieldsMatch, report),
      primaryKey: readPrimaryKey(stated.primaryKey, names, report),
      uniqueKeys: readUniqueKeys(stated.uniqueKeys, names, report.at('uniqueKeys')),
      missingValues: missingValues ?? [''],
      missingValuesStated: missingValues !== null,
    },
    fieldNames: names,
    foreignKeys: readForeignKeys(stated.foreignKeys, names, report.at('foreignKeys')),
  };
}

/** The schema that a dataset was loaded with. It was judged when it was registered, so nothing is found now. */
export function readKeptSchema(kept: unknown, dataset: string): ReadSchema {
  const findings: Findings = { problems: [], notes: [] };
  const read = readTableSchema(kept, defaultPackageLimits, reportInto(findings, dataset));
  if (read === null) throw new Error(`the schema of ${dataset} cannot be read: ${findings.problems[0]?.message ?? ''}`);
  return read;
}

function readPrimaryKey(stated: unknown, names: ReadonlySet<string>, report: Report): readonly string[] {
  // Some tools write an empty one for none.
  if (stated === undefined || stated === null || stated === '') return [];
  return readFieldList(stated, names, 'The primary key', report.at('primaryKey')) ?? [];
}

function readFieldsMatch(stated: unknown, report: Report): TableSchema['fieldsMatch'] {
  if (stated === undefined || stated === null) return 'exact';
  // The text of version 2 has a string, its JSON Schema a list of one.
  const word: unknown = Array.isArray(stated) && stated.length === 1 ? stated[0] : stated;
  const match = matches.find((known) => known === word);
  if (match === undefined) report.problem('INVALID_SCHEMA', `fieldsMatch must be one of ${matches.join(', ')}.`, 'fieldsMatch');
  return match ?? 'exact';
}

/** The schema is kept as it stands, so all of it must be text that can be kept. The descriptor's depth is limited, so this ends. */
function judgeTexts(value: unknown, report: Report): void {
  if (typeof value === 'string') {
    if (!isStorableText(value)) report.problem('INVALID_SCHEMA', `${quote(value)} holds a NUL or half a surrogate pair.`);
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) judgeTexts(item, report.at(index));
  } else if (isRecord(value)) {
    for (const [key, item] of Object.entries(value)) {
      if (!isStorableText(key)) report.problem('INVALID_SCHEMA', `The property ${quote(key)} holds a NUL or half a surrogate pair.`);
      judgeTexts(item, report.at(key));
    }
  }
}
