// Everything a package can be refused for, and the collector that keeps all of it, each with its place in the descriptor.
import type { PackageProblem } from '../errors.ts';

export const packageProblemCodes = [
  'NOT_A_ZIP',
  'ARCHIVE_BROKEN',
  'ARCHIVE_TOO_LARGE',
  'TOO_MANY_ENTRIES',
  'COMPRESSION_RATIO_TOO_HIGH',
  'UNSAFE_ENTRY',
  'DUPLICATE_ENTRY',
  'ENCRYPTED_ENTRY',
  'ENTRY_COMPRESSION_NOT_SUPPORTED',
  'OVERLAPPING_ENTRIES',
  'ENTRY_DAMAGED',
  'NO_DESCRIPTOR',
  'DESCRIPTOR_TOO_LARGE',
  'DESCRIPTOR_NOT_JSON',
  'NOT_A_PACKAGE',
  'NO_RESOURCES',
  'TOO_MANY_RESOURCES',
  'TOO_MANY_FIELDS',
  'TOO_MANY_PROBLEMS',
  'INVALID_NAME',
  'DUPLICATE_NAME',
  'DUPLICATE_FIELD',
  'INVALID_RESOURCE',
  'INVALID_SCHEMA',
  'INVALID_DIALECT',
  'UNSAFE_PATH',
  'FILE_MISSING',
  'REMOTE_RESOURCE',
  'REMOTE_SCHEMA',
  'REMOTE_DIALECT',
  'REMOTE_REFERENCE',
  'MULTIPART_NOT_SUPPORTED',
  'INLINE_DATA_NOT_SUPPORTED',
  'FORMAT_NOT_SUPPORTED',
  'COMPRESSION_NOT_SUPPORTED',
  'ENCODING_NOT_SUPPORTED',
  'DIALECT_NOT_SUPPORTED',
  'TYPE_NOT_SUPPORTED',
  'UNKNOWN_REFERENCE_TARGET',
  'UNKNOWN_DEPENDENCY',
  'DEPENDENCY_CYCLE',
  'UNKNOWN_TARGET',
  'BYTES_MISMATCH',
  'HASH_MISMATCH',
] as const;
export type PackageProblemCode = (typeof packageProblemCodes)[number];

type Step = string | number;

export interface Findings {
  readonly problems: PackageProblem[];
  readonly notes: string[];
}

/** A place in the descriptor to report from. */
export interface Report {
  problem(code: PackageProblemCode, message: string, ...path: readonly Step[]): void;
  note(message: string): void;
  /** The same, further down. */
  at(...path: readonly Step[]): Report;
  /** The same, inside a file that this place of the descriptor names: the pointer stays here, the sentence names the file. */
  inside(file: string): Report;
}

// A hostile descriptor of 8 MiB can hold half a million faults; nobody reads more than this many.
const mostProblems = 1_000;

export function reportInto(findings: Findings, resource: string | null, base: readonly Step[] = [], file: string | null = null): Report {
  const baseInFile: readonly Step[] = [];
  return place(base, baseInFile);

  function place(path: readonly Step[], pathInFile: readonly Step[]): Report {
    return {
      problem(code, message, ...more) {
        if (findings.problems.length > mostProblems) return;
        if (findings.problems.length === mostProblems) {
          const words = `There are more problems than the first ${mostProblems.toLocaleString('en')} listed here.`;
          findings.problems.push({ code: 'TOO_MANY_PROBLEMS', pointer: '', resource: null, message: words });
          return;
        }
        if (file === null) findings.problems.push({ code, pointer: jsonPointer([...path, ...more]), resource, message });
        else {
          const where = jsonPointer([...pathInFile, ...more]);
          const prefix = where === '' ? `In ${quote(file)}: ` : `In ${quote(file)} at ${quote(where)}: `;
          findings.problems.push({ code, pointer: jsonPointer(path), resource, message: prefix + message });
        }
      },
      note(message) {
        if (findings.notes.length < mostProblems && !findings.notes.includes(message)) findings.notes.push(message);
      },
      at: (...more) => (file === null ? place([...path, ...more], pathInFile) : place(path, [...pathInFile, ...more])),
      inside: (name) => reportInto(findings, resource, path, name),
    };
  }
}

export function jsonPointer(path: readonly Step[]): string {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** Somebody else's text inside our sentence: control characters escaped, and not without end. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
}

/** Postgres can keep neither a NUL nor half a surrogate pair, in text or in JSON. */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && !/\p{Surrogate}/u.test(text);
}

/** Why this cannot name a package, a dataset or a field, or null. */
export function whyInvalidName(name: unknown): string | null {
  if (name === undefined || name === null) return 'is missing';
  if (typeof name !== 'string') return 'is not a string';
  if (name.trim() === '') return 'is empty';
  if (!isStorableText(name)) return `${quote(name)} holds a NUL or half a surrogate pair`;
  if (Array.from(name).length > 200) return `${quote(name)} is longer than 200 characters`;
  return null;
}
