// JSON lines on stderr, so that stdout belongs to the commands. Nothing that opens a door gets into them.
import { type Logger, pino } from 'pino';
import type { Config } from './config.ts';

export type Log = Logger;

export function createLog(config: Pick<Config, 'logLevel'>, destination: { write(line: string): void } = pino.destination(2)): Log {
  // The finished line is cleaned: pino's own `redact` knows paths of a fixed depth, and not the texts and stacks of errors.
  return pino(
    { level: config.logLevel, base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime, hooks: { streamWrite: redact } },
    destination,
  );
}

const redactions: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  // "token": "…", and whatever else is called so; numbers (maxTokens) stay
  [/("[^"\\]*(?:authorization|cookie|token|secret|password)[^"\\]*":)"(?:[^"\\]|\\.)*"/gi, '$1"[redacted]"'],
  [/\b(Bearer|Basic) +[\w.~+/=-]+/gi, '$1 [redacted]'],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]*/g, '[redacted]'],
  // postgresql://user:password@host
  [/(:\/\/[^\s"/:@]*:)[^\s"/@]+@/g, '$1[redacted]@'],
  // the query of a link carries its signature, whether the link is absolute or only a path
  [/(\bhttps?:\/\/[^\s"?\\]+)\?[^\s"\\]*/g, '$1?[redacted]'],
  [/("\/[^\s"?\\]*)\?[^\s"\\]*"/g, '$1?[redacted]"'],
];

/** A finished line without what must not be read in it. */
function redact(line: string): string {
  return redactions.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), line);
}
