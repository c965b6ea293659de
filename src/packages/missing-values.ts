import type { Report } from './problems.ts';
import { isRecord, isText, listOf, readShape } from './shape.ts';

// Version 2 may give each value a label; what counts is the value.
const shape = listOf(isMissingValue, 'a string, or an object with a value');

function isMissingValue(item: unknown): item is string | { readonly value: string } {
  return isText(item) || (isRecord(item) && isText(item.value));
}

/** null where none are stated, or where they are wrong. */
export function readMissingValues(stated: unknown, report: Report): readonly string[] | null {
  if (stated === undefined || stated === null) return null;
  const values = readShape(shape, stated, 'INVALID_SCHEMA', 'The missingValues are not valid', report);
  return values === null ? null : [...new Set(values.map((value) => (typeof value === 'string' ? value : value.value)))];
}
