// Each type's lexical form in SQL: what is valid, and the typed value. The casts come after the checks, so they cannot throw;
// nothing of Postgres 16 is needed. A pattern costs by its length (Postgres builds its automaton anew for each value), a hashed list by nothing much.
import type { Field } from '../packages/plan.ts';
import { literal } from './table.ts';

export interface Lexical {
  /** SQL, never null where the text is not; null: every text is valid. */
  readonly valid: string | null;
  /** SQL of the column's type; may throw where `valid` is false. */
  readonly typed: string;
}

/** Longer than any number in use, and short enough that no cast to numeric can overflow. */
export const numberLengthLimit = 1_000;

const zonePattern = '(?:Z|[+-](?:0[0-9]|1[0-4]):[0-5][0-9])';

const matches = (text: string, pattern: string) => `${text} ~ ${literal(`^${pattern}$`)}`;
const escaped = (char: string) => char.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/** The first ten characters are a day from 0001 to 9999: the year by its form, month and day by the list, 29 February by the year. */
function isDay(text: string): string {
  const day = `substr(${text}, 5, 6)`;
  const year = `left(${text}, 4)::int`;
  const leap = `CASE WHEN ${day} <> '-02-29' THEN true ELSE ${year} % 4 = 0 AND (${year} % 100 <> 0 OR ${year} % 400 = 0) END`;
  return `CASE WHEN ${day} = ANY (records.days_of_year()) AND ${text} ~ '^[0-9]{4}' AND ${text} >= '0001' THEN ${leap} ELSE false END`;
}

const seconds = Array.from({ length: 60 }, (_, second) => literal(String(second).padStart(2, '0'))).join(', ');

/** From character `at` on there is hh:mm:ss, a fraction or none, a zone or none, and the end. */
function isTime(text: string, at: number): string {
  const tail = `substr(${text}, ${at + 8})`;
  // The fraction and the zone are seldom more than one letter.
  const tailed = `CASE WHEN ${tail} IN ('', 'Z') THEN true ELSE ${matches(tail, `(?:\\.[0-9]+)?${zonePattern}?`)} END`;
  return `(substr(${text}, ${at}, 6) = ANY (records.minutes_of_day()) AND substr(${text}, ${at + 6}, 2) IN (${seconds}) AND ${tailed})`;
}

/** Sign, digits and what stands between them, of a number that may carry other text around it. */
function bare(field: Field, text: string): string {
  if (field.bareNumber) return text;
  const point = escaped(field.decimalChar);
  const found = `substring(${text} from ${literal(`^[^0-9]*?([+-]?(?:${point})?[0-9](?:.*[0-9])?)[^0-9]*$`)})`;
  return `CASE WHEN ${text} IN ('NaN', 'INF', '-INF') THEN ${text} ELSE coalesce(${found}, '') END`;
}

function numeric(field: Field, text: string): Lexical {
  const number = bare(field, text);
  const digits = field.groupChar === '' ? '[0-9]+' : `[0-9]+(?:${escaped(field.groupChar)}[0-9]+)*`;
  const ungrouped = field.groupChar === '' ? `(${number})` : `replace(${number}, ${literal(field.groupChar)}, '')`;
  const short = `octet_length(${number}) <= ${numberLengthLimit}`;
  if (field.type === 'integer')
    return { valid: `(${matches(`(${number})`, `[+-]?${digits}`)} AND ${short})`, typed: `${ungrouped}::numeric` };
  const point = escaped(field.decimalChar);
  const whole = `(?:[+-]?(?:${digits}(?:${point}[0-9]*)?|${point}[0-9]+)(?:[eE][+-]?0*[0-9]{1,3})?|NaN|-?INF)`;
  const pointed = field.decimalChar === '.' ? ungrouped : `replace(${ungrouped}, ${literal(field.decimalChar)}, '.')`;
  // Few states and no branches: half the time of the whole pattern, which only what this does not match has to face.
  const plain = matches(`(${number})`, `-?[0-9]+(?:${point})?[0-9]*`);
  return { valid: `(CASE WHEN ${plain} THEN true ELSE ${matches(`(${number})`, whole)} END AND ${short})`, typed: `${pointed}::numeric` };
}

/** The offset at the end of `text` as an interval. */
const offset = (text: string) => `right(${text}, 6)::interval`;
const hasOffset = (text: string) => `substr(${text}, length(${text}) - 5, 1) IN ('+', '-')`;

/** An instant with an offset is told in UTC, its fraction kept digit for digit; all else stays as written. */
function dateTime(text: string): Lexical {
  const fraction = `substr(${text}, 20, length(${text}) - 25)`;
  const utc = `to_char(left(${text}, 19)::timestamp - ${offset(text)}, 'YYYY-MM-DD"T"HH24:MI:SS') || ${fraction} || 'Z'`;
  // At either end of the calendar an offset could lead out of it.
  const inside = `(${text} >= '0001-01-02' AND ${text} < '9999-12-31' OR NOT ${hasOffset(text)})`;
  return {
    valid: `(${isDay(text)} AND substr(${text}, 11, 1) = 'T' AND ${isTime(text, 12)} AND ${inside})`,
    typed: `CASE WHEN ${hasOffset(text)} THEN ${utc} ELSE ${text} END`,
  };
}

function timeOfDay(text: string): Lexical {
  const fraction = `substr(${text}, 9, length(${text}) - 14)`;
  const utc = `(left(${text}, 8)::time - ${offset(text)})::text || ${fraction} || 'Z'`;
  return { valid: isTime(text, 1), typed: `CASE WHEN ${hasOffset(text)} THEN ${utc} ELSE ${text} END` };
}

export function lexical(field: Field, text: string): Lexical {
  switch (field.type) {
    case 'string':
    case 'any':
      return { valid: null, typed: text };
    case 'integer':
    case 'number':
      return numeric(field, text);
    case 'boolean': {
      const among = (values: readonly string[]) => (values.length === 0 ? 'false' : `${text} IN (${values.map(literal).join(', ')})`);
      return {
        valid: among([...field.trueValues, ...field.falseValues]),
        typed: `CASE WHEN ${text} IS NOT NULL THEN ${among(field.trueValues)} END`,
      };
    }
    case 'date':
      return { valid: `(octet_length(${text}) = 10 AND ${isDay(text)})`, typed: `${text}::date` };
    case 'time':
      return timeOfDay(text);
    case 'datetime':
      return dateTime(text);
    case 'year':
      return { valid: matches(text, '(?:-?[0-9]{4}|-?[1-9][0-9]{4,8})'), typed: `${text}::integer` };
    case 'yearmonth':
      return { valid: matches(text, '[0-9]{4}-(?:0[1-9]|1[0-2])'), typed: text };
  }
}

/** Typed, and null where it is not valid: for use beside rows that are not all sound. */
export function safelyTyped(field: Field, text: string): string {
  const { valid, typed } = lexical(field, text);
  return valid === null ? typed : `CASE WHEN ${valid} THEN ${typed} END`;
}

/** What minimum and maximum compare by: instants as instants, whatever their fraction's length. */
export function ordered(field: Field, typed: string): string {
  return field.type === 'datetime' ? `(${typed})::timestamptz` : typed;
}
