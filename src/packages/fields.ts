// The fields of a Table Schema: types, formats and the properties that say how a value is written.
import { z } from 'zod';
import { readConstraints } from './constraints.ts';
import { readMissingValues } from './missing-values.ts';
import { type Field, type FieldType, fieldTypes } from './plan.ts';
import { quote, type Report, whyInvalidName } from './problems.ts';
import { isRecord, isText, listOf, readShape } from './shape.ts';

const notReadTypes = ['object', 'array', 'list', 'geopoint', 'geojson', 'duration'];
const notReadTextFormats = ['email', 'uri', 'uuid', 'binary'];
const defaultTrueValues = ['true', 'True', 'TRUE', '1'];
const defaultFalseValues = ['false', 'False', 'FALSE', '0'];

const fieldShape = z.object({
  type: z.string().nullish(),
  format: z.string().nullish(),
  decimalChar: z.string().nullish(),
  groupChar: z.string().nullish(),
  bareNumber: z.boolean().nullish(),
  trueValues: listOf(isText, 'a string').nullish(),
  falseValues: listOf(isText, 'a string').nullish(),
});

/** `names` has every name that stands there, also of fields that are otherwise wrong, so that one fault is reported once. */
export function readFields(stated: readonly unknown[], report: Report): { fields: Field[]; names: ReadonlySet<string> } {
  const fields: Field[] = [];
  const names = new Set<string>();
  for (const [index, value] of stated.entries()) {
    const place = report.at(index);
    if (!isRecord(value)) {
      place.problem('INVALID_SCHEMA', 'A field must be an object.');
      continue;
    }
    const why = whyInvalidName(value.name);
    if (why !== null) place.problem('INVALID_NAME', `The name of field ${index + 1} ${why}.`, 'name');
    const name = typeof value.name === 'string' ? value.name : '';
    if (why === null && names.has(name)) place.problem('DUPLICATE_FIELD', `There are two fields with the name ${quote(name)}.`, 'name');
    names.add(name);
    const field = readField(name, value, place);
    if (field) fields.push(field);
  }
  return { fields, names };
}

function readField(name: string, stated: Readonly<Record<string, unknown>>, report: Report): Field | null {
  const shape = readShape(fieldShape, stated, 'INVALID_SCHEMA', `The field ${quote(name)} is not valid`, report);
  if (shape === null) return null;
  // Absent is `string` in version 1 and `any` in version 2: text, both.
  const type = readType(shape.type ?? 'string', name, report);
  if (type === null) return null;
  judgeFormat(shape.format ?? 'default', type, name, report);
  const field: Omit<Field, 'constraints'> = {
    name,
    type,
    decimalChar: shape.decimalChar ?? '.',
    groupChar: shape.groupChar ?? '',
    bareNumber: shape.bareNumber ?? true,
    trueValues: shape.trueValues ?? defaultTrueValues,
    falseValues: shape.falseValues ?? defaultFalseValues,
    ...missingValuesOf(stated.missingValues, report),
  };
  judgeNotation(field, report);
  return { ...field, constraints: readConstraints(stated.constraints, field, report.at('constraints')) };
}

function missingValuesOf(stated: unknown, report: Report): { missingValues?: readonly string[] } {
  const missingValues = readMissingValues(stated, report.at('missingValues'));
  return missingValues === null ? {} : { missingValues };
}

function readType(stated: string, name: string, report: Report): FieldType | null {
  const type = fieldTypes.find((known) => known === stated);
  if (type !== undefined) return type;
  if (notReadTypes.includes(stated)) {
    report.problem('TYPE_NOT_SUPPORTED', `The type ${quote(stated)} of the field ${quote(name)} is not read yet.`, 'type');
  } else
    report.problem('INVALID_SCHEMA', `The field ${quote(name)} has the type ${quote(stated)}, which the standard does not know.`, 'type');
  return null;
}

function judgeFormat(format: string, type: FieldType, name: string, report: Report): void {
  if (format === 'default') return;
  const isMoment = type === 'date' || type === 'time' || type === 'datetime';
  const isOfStandard = isMoment ? format === 'any' || format.includes('%') : type === 'string' && notReadTextFormats.includes(format);
  const words = `The format ${quote(format)} of the field ${quote(name)}, which is ${type},`;
  if (isOfStandard) report.problem('FORMAT_NOT_SUPPORTED', `${words} is not read yet; only the default format is.`, 'format');
  else report.problem('INVALID_SCHEMA', `${words} is not one that the standard knows.`, 'format');
}

function judgeNotation(field: Omit<Field, 'constraints'>, report: Report): void {
  const isSign = (char: string): boolean => Array.from(char).length === 1 && !/[0-9+-]/.test(char);
  if (!isSign(field.decimalChar)) {
    report.problem(
      'INVALID_SCHEMA',
      `The decimalChar of the field ${quote(field.name)} must be one character, no digit or sign.`,
      'decimalChar',
    );
  }
  if (field.groupChar !== '' && (!isSign(field.groupChar) || field.groupChar === field.decimalChar)) {
    const words = `The groupChar of the field ${quote(field.name)} must be one character, no digit or sign, and not the decimalChar.`;
    report.problem('INVALID_SCHEMA', words, 'groupChar');
  }
  const both = field.trueValues.find((value) => field.falseValues.includes(value));
  if (field.type === 'boolean' && both !== undefined) {
    report.problem('INVALID_SCHEMA', `${quote(both)} is both true and false in the field ${quote(field.name)}.`, 'falseValues');
  }
}
