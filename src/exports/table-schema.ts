// The Table Schema that an export states: what the data were loaded under, for files that we write. The same data give the same schema,
// and a schema that was exported, loaded and exported again is what it was.
import type { Field, FieldConstraints } from '../packages/plan.ts';
import { quote } from '../packages/problems.ts';
import { isRecord } from '../packages/shape.ts';
import { type ReadSchema, readKeptSchema } from '../packages/table-schema.ts';
import type { PlannedDataset } from './plan.ts';

export interface ExportedSchema {
  readonly schema: object;
  /** Foreign keys that the package cannot state, in sentences. */
  readonly leftOut: readonly string[];
}

/** Ways of writing values that our files do not use, and what is said again below. */
const restated = new Set([
  'type',
  'format',
  'decimalChar',
  'groupChar',
  'bareNumber',
  'trueValues',
  'falseValues',
  'missingValues',
  'constraints',
]);
const restatedOfSchema = new Set(['$schema', 'fields', 'fieldsMatch', 'primaryKey', 'uniqueKeys', 'foreignKeys', 'missingValues']);

const without = (value: unknown, names: ReadonlySet<string>) =>
  isRecord(value) ? Object.fromEntries(Object.entries(value).filter(([name]) => !names.has(name))) : {};

/** `selected`: the datasets of the export, with their fields. A key to anything else is left out. */
export function exportedSchema(
  dataset: PlannedDataset,
  missingValues: readonly string[],
  selected: ReadonlyMap<string, ReadonlySet<string>>,
): ExportedSchema {
  const read = readKeptSchema(dataset.schema, dataset.name);
  const stated =
    isRecord(dataset.schema) && Array.isArray(dataset.schema['fields']) ? (dataset.schema['fields'] as readonly unknown[]) : [];
  const fields = dataset.columns.map(({ name, type }) => {
    const field = read.schema.fields.find((one) => one.name === name);
    const own = stated.find((one) => isRecord(one) && one['name'] === name);
    const constraints = field === undefined ? {} : exportedConstraints(field);
    return { ...without(own, restated), name, type, ...(Object.keys(constraints).length === 0 ? {} : { constraints }) };
  });
  const names = new Set(dataset.columns.map(({ name }) => name));
  const isWhole = (key: readonly string[]) => key.length > 0 && key.every((name) => names.has(name));
  const uniqueKeys = read.schema.uniqueKeys.filter(isWhole);
  const { foreignKeys, leftOut } = exportedKeys(dataset.name, read, names, selected);
  return {
    schema: {
      ...without(dataset.schema, restatedOfSchema),
      fields,
      ...(isWhole(read.schema.primaryKey) ? { primaryKey: read.schema.primaryKey } : {}),
      ...(uniqueKeys.length === 0 ? {} : { uniqueKeys }),
      ...(foreignKeys.length === 0 ? {} : { foreignKeys }),
      missingValues,
    },
    leftOut,
  };
}

/** Fields that may not be empty. Rows that are older than the schema may still be. */
export function requiredFields(dataset: PlannedDataset): ReadonlySet<string> {
  return new Set(
    readKeptSchema(dataset.schema, dataset.name)
      .schema.fields.filter(({ constraints }) => constraints.required === true)
      .map(({ name }) => name),
  );
}

function exportedKeys(own: string, read: ReadSchema, names: ReadonlySet<string>, selected: ReadonlyMap<string, ReadonlySet<string>>) {
  const leftOut: string[] = [];
  const foreignKeys = read.foreignKeys.flatMap(({ fields, resource, referenceFields }) => {
    const isSelf = resource === null || resource === own || (resource === 'self' && !selected.has('self'));
    const target = isSelf ? names : selected.get(resource);
    const what = `${fields.join(', ')} → ${isSelf ? own : resource} (${referenceFields.join(', ')})`;
    if (target === undefined) leftOut.push(`${what}: ${quote(resource ?? own)} is not in this export.`);
    else if (!fields.every((name) => names.has(name)) || !referenceFields.every((name) => target.has(name)))
      leftOut.push(`${what}: one of the fields is not in the data any more.`);
    else return [{ fields, reference: { ...(isSelf ? {} : { resource }), fields: referenceFields } }];
    return [];
  });
  return { foreignKeys, leftOut };
}

const bounds = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'] as const;

function exportedConstraints(field: Field): object {
  const { constraints } = field;
  const plain: (keyof FieldConstraints)[] = ['required', 'unique', 'minLength', 'maxLength', 'pattern'];
  return Object.fromEntries([
    ...plain.filter((name) => constraints[name] !== undefined).map((name) => [name, constraints[name]]),
    ...bounds.flatMap((name) => (constraints[name] === undefined ? [] : [[name, exportedValue(field, constraints[name])]])),
    ...(constraints.enum === undefined ? [] : [['enum', [...new Set(constraints.enum.map((text) => exportedValue(field, text)))]]]),
  ]);
}

/** A value of a constraint in the notation that our files have. JSON numbers only where they are exact. */
function exportedValue(field: Field, text: string): string | number | boolean {
  switch (field.type) {
    case 'boolean':
      return field.trueValues.includes(text);
    case 'integer':
      return numberOrText(BigInt(ungrouped(field, text)).toString());
    case 'number':
      return numberOrText(ungrouped(field, text).replace(field.decimalChar, '.'));
    case 'year':
      return numberOrText(text);
    default:
      return text;
  }
}

function ungrouped({ groupChar }: Pick<Field, 'groupChar'>, text: string): string {
  return (groupChar === '' ? text : text.replaceAll(groupChar, '')).replace(/^\+/, '');
}

function numberOrText(text: string): number | string {
  return String(Number(text)) === text && Math.abs(Number(text)) <= Number.MAX_SAFE_INTEGER ? Number(text) : text;
}
