// A field's constraints, their values made the text that would stand in the data, and judged by the field's own type.
import { z } from 'zod';
import { plainNumber } from './json-text.ts';
import type { Field, FieldConstraints, FieldType } from './plan.ts';
import { quote, type Report } from './problems.ts';
import { isRecord, listOf, readShape } from './shape.ts';

const scalar = z.union([z.string(), z.number(), z.boolean()]);
const length = z.number().int().min(0).nullish();

const constraintsShape = z.object({
  required: z.boolean().nullish(),
  unique: z.boolean().nullish(),
  minLength: length,
  maxLength: length,
  minimum: scalar.nullish(),
  maximum: scalar.nullish(),
  exclusiveMinimum: scalar.nullish(),
  exclusiveMaximum: scalar.nullish(),
  pattern: z.string().nullish(),
  enum: listOf(isScalar, 'a string, a number or a boolean')
    .refine((values) => values.length > 0, 'expected at least one value')
    .nullish(),
});

function isScalar(value: unknown): value is string | number | boolean {
  return scalar.safeParse(value).success;
}

const texts: readonly FieldType[] = ['string', 'any'];
const ordered: readonly FieldType[] = ['integer', 'number', 'date', 'time', 'datetime', 'year', 'yearmonth'];
const bounds = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'] as const;
const applicable: readonly (readonly [string, readonly FieldType[]])[] = [
  ['minLength', texts],
  ['maxLength', texts],
  ['pattern', texts],
  ...bounds.map((bound) => [bound, ordered] as const),
];

const longestPattern = 500;
const longestNumber = 1_000;

export function readConstraints(stated: unknown, field: Omit<Field, 'constraints'>, report: Report): FieldConstraints {
  if (stated === undefined || stated === null) return {};
  const what = `The constraints of the field ${quote(field.name)} are not valid`;
  const shape = readShape(constraintsShape, stated, 'INVALID_SCHEMA', what, report);
  if (shape === null || !isRecord(stated)) return {};

  for (const [name, types] of applicable) {
    if ((stated[name] ?? null) === null || types.includes(field.type)) continue;
    report.note(`The constraint ${name} of the field ${quote(field.name)} has no meaning for the type ${field.type} and is not checked.`);
  }
  const isText = texts.includes(field.type);
  const constraints: { -readonly [Key in keyof FieldConstraints]: FieldConstraints[Key] } = {};
  if (shape.required) constraints.required = true;
  if (shape.unique) constraints.unique = true;
  if (isText && typeof shape.minLength === 'number') constraints.minLength = shape.minLength;
  if (isText && typeof shape.maxLength === 'number') constraints.maxLength = shape.maxLength;
  if (isText && typeof shape.pattern === 'string') {
    judgePattern(shape.pattern, field.name, report);
    constraints.pattern = shape.pattern;
  }
  for (const bound of bounds) {
    const value = shape[bound] ?? null;
    if (value !== null && ordered.includes(field.type)) constraints[bound] = lexicalValue(value, field, report.at(bound));
  }
  if (shape.enum) constraints.enum = shape.enum.map((value, index) => lexicalValue(value, field, report.at('enum', index)));
  return constraints;
}

function judgePattern(pattern: string, name: string, report: Report): void {
  if (pattern.length > longestPattern) {
    report.problem('INVALID_SCHEMA', `The pattern of the field ${quote(name)} is longer than ${longestPattern} characters.`, 'pattern');
    return;
  }
  try {
    new RegExp(pattern, 'u');
  } catch {
    report.problem('INVALID_SCHEMA', `The pattern ${quote(pattern)} of the field ${quote(name)} is not a regular expression.`, 'pattern');
  }
}

function lexicalValue(value: string | number | boolean, field: Omit<Field, 'constraints'>, report: Report): string {
  const text = asInData(value, field);
  if (!isLexical(text, field)) {
    report.problem('INVALID_SCHEMA', `${quote(text)} is not a value of the field ${quote(field.name)}, which is ${field.type}.`);
  }
  return text;
}

function asInData(value: string | number | boolean, field: Omit<Field, 'constraints'>): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return (value ? field.trueValues : field.falseValues)[0] ?? String(value);
  const digits = plainNumber(value);
  return field.type === 'number' ? digits.replace('.', field.decimalChar) : digits;
}

function isLexical(text: string, field: Omit<Field, 'constraints'>): boolean {
  switch (field.type) {
    case 'string':
    case 'any':
      return true;
    case 'boolean':
      return field.trueValues.includes(text) || field.falseValues.includes(text);
    case 'integer':
      return text.length <= longestNumber && new RegExp(`^[+-]?${digits(field)}$`, 'u').test(text);
    case 'number': {
      const point = escaped(field.decimalChar);
      const pattern = `^[+-]?(${digits(field)}(${point}[0-9]*)?|${point}[0-9]+)([eE][+-]?[0-9]{1,3})?$`;
      return text.length <= longestNumber && new RegExp(pattern, 'u').test(text);
    }
    case 'year':
      return /^-?(\d{4}|[1-9]\d{4,8})$/.test(text);
    case 'yearmonth':
      return /^\d{4}-(0[1-9]|1[0-2])$/.test(text);
    case 'date':
      return isDate(text);
    case 'time':
      return isTime(text);
    case 'datetime': {
      const [date = '', time = '', ...more] = text.split('T');
      return more.length === 0 && isDate(date) && isTime(time);
    }
  }
}

function digits(field: Omit<Field, 'constraints'>): string {
  return field.groupChar === '' ? '[0-9]+' : `[0-9]+(${escaped(field.groupChar)}[0-9]+)*`;
}

function escaped(char: string): string {
  return char.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

function isDate(text: string): boolean {
  const [, year = '', month = '', day = ''] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? [];
  if (year === '' || year === '0000') return false;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day);
}

function isTime(text: string): boolean {
  return /^([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-](0\d|1[0-4]):[0-5]\d)?$/.test(text);
}
