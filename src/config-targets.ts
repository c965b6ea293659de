// The file that PACKHORSE_TARGETS names: remote job targets.
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { codeOf, longestTimer, webUrl } from './config-values.ts';

export interface RemoteTarget {
  readonly name: string;
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly idempotency: 'key' | 'lookup' | 'none';
  readonly audience?: string | undefined;
  readonly maxConcurrent: number;
  readonly timeoutMs: number;
  readonly stepDeadlineMs?: number | undefined;
}

const targetList = z.array(
  z.strictObject({
    name: z.string().regex(/^(?!store$)[a-z][a-z0-9-]*$/, 'small letters, digits and hyphens, and not "store"'),
    baseUrl: webUrl('a URL that begins with http:// or https://, without a query'),
    idempotency: z.enum(['key', 'lookup', 'none'], 'one of key, lookup, none'),
    audience: z.string().min(1).optional(),
    maxConcurrent: z.int().min(1).max(1_000).default(4),
    timeoutMs: z.int().min(1).max(longestTimer).default(10_000),
    stepDeadlineMs: z.int().min(1).max(longestTimer).optional(),
  }),
);

/** Throws Error with the sentence for whoever wrote the file. */
export function readTargets(file: string): RemoteTarget[] {
  const refuse = (message: string, cause?: unknown) => new Error(`${file}: ${message}`, { cause });
  let stated: unknown;
  try {
    stated = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw refuse(
      error instanceof SyntaxError ? 'expected JSON, found something else' : `expected a file that can be read (${codeOf(error)})`,
      error,
    );
  }
  const parsed = targetList.safeParse(stated);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw refuse(`${(issue?.path ?? []).map(String).join('.') || 'the whole'}: expected ${issue?.message ?? 'another value'}`);
  }
  const names = parsed.data.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw refuse(`expected each name once, found "${twice}" again`);
  return parsed.data;
}
