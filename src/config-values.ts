// Kinds of values that settings have, each with the words for what is expected.
import { z } from 'zod';

const largest = Number.MAX_SAFE_INTEGER;
export const longestTimer = 2_147_483_647; // a longer setTimeout fires at once

/** Every schema's message says what is expected; `readConfig` adds the name and what was found. */
export function whole(fallback: number, min = 1, max = largest) {
  const message = max === largest ? `a whole number from ${min} up` : `a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,15}$/, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message)
    .default(fallback);
}

export function oneOf<const T extends readonly [string, ...string[]]>(values: T, fallback: T[number]) {
  return z.enum(values, `one of ${values.join(', ')}`).default(fallback);
}

export function webUrl(message: string) {
  return z
    .string()
    .refine((value) => {
      const url = URL.canParse(value) ? new URL(value) : null;
      return url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '' && url.username === '';
    }, message)
    .transform((value) => value.replace(/\/+$/, ''));
}

/** An error's code, for words about a file. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
