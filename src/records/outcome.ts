// How a load ended, in numbers and words. The same shapes travel through every job target.
import type { Failure } from '../errors.ts';

/** source = loaded + updated + unchanged + rejected + blocked + unprocessed, always. */
export interface RowAccount {
  readonly source: number;
  readonly loaded: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly rejected: number;
  readonly blocked: number;
  readonly unprocessed: number;
}

export const noRows: RowAccount = { source: 0, loaded: 0, updated: 0, unchanged: 0, rejected: 0, blocked: 0, unprocessed: 0 };

/** What keeps rows of a dataset out, and which datasets' arrival would let them in. */
export interface Blocker {
  readonly code: string;
  readonly dataset: string;
  readonly message: string;
  readonly count: number;
  readonly sampleKeys: readonly string[];
  readonly clearedBy: readonly string[];
}

/** One fault in one row. `row` counts data rows from 1, the header not counted. */
export interface RowError {
  readonly row: number;
  readonly field: string | null;
  readonly code: string;
  readonly message: string;
}

export interface RowErrors {
  readonly count: number;
  /** At most 1,000. */
  readonly first: readonly RowError[];
}

export const noErrors: RowErrors = { count: 0, first: [] };

/** `errors`: of the rows that were left out, or that the load failed by. */
export type LoadOutcome = { readonly rows: RowAccount; readonly errors: RowErrors } & (
  | { readonly state: 'succeeded' }
  | { readonly state: 'blocked'; readonly blockers: readonly Blocker[] }
  | { readonly state: 'failed'; readonly failure: Failure }
);
