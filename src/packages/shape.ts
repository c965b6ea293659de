// Descriptors are checked piece by piece, so that one wrong piece does not hide the faults of the others.
import { z } from 'zod';
import type { PackageProblemCode, Report } from './problems.ts';

/** null after reporting every property that has the wrong type. Properties that the shape does not name are left out. */
export function readShape<T>(shape: z.ZodType<T>, value: unknown, code: PackageProblemCode, what: string, report: Report): T | null {
  const result = shape.safeParse(value);
  if (result.success) return result.data;
  for (const issue of result.error.issues) {
    const path = issue.path.map((step) => (typeof step === 'number' ? step : String(step)));
    const words = issue.message.replace(/^Invalid input: /, '');
    report.problem(code, path.length === 0 ? `${what}: ${words}.` : `${what}: \`${path.join('.')}\`: ${words}.`, ...path);
  }
  return null;
}

/** A list whose first wrong item is reported. zod would make an issue of each, gigabytes of them for a hostile descriptor. */
export function listOf<T>(isItem: (value: unknown) => value is T, expected: string): z.ZodType<readonly T[]> {
  return z.array(z.unknown()).transform((list, context) => {
    const items: T[] = [];
    for (const [index, item] of list.entries()) {
      if (!isItem(item)) {
        context.addIssue({ code: 'custom', path: [index], message: `expected ${expected}` });
        return z.NEVER;
      }
      items.push(item);
    }
    return items;
  });
}

export function isText(value: unknown): value is string {
  return typeof value === 'string';
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
