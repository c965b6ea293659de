// What can be wrong with a file before its rows are looked at, and with single rows while it is read.
import type { Failure } from '../errors.ts';
import type { RowError } from './outcome.ts';

/** Ends a load with a failure that is the data's, not the machinery's. */
export class LoadFailure extends Error {
  override readonly name = 'LoadFailure';
  readonly failure: Failure;
  /** Rows read before it; all of them stay unprocessed. */
  readonly rowsRead: number;
  constructor(code: string, phase: string, summary: string, rowsRead = 0, origin: Failure['origin'] = 'data') {
    super(summary);
    this.failure = { code, origin, phase, retryable: false, summary };
    this.rowsRead = rowsRead;
  }
  /** The same, where it is known how far the reader came. */
  after(rowsRead: number): LoadFailure {
    const { code, phase, summary, origin } = this.failure;
    return new LoadFailure(code, phase, summary, rowsRead, origin);
  }
}

export const unreadable = (code: string, summary: string, rowsRead = 0) => new LoadFailure(code, 'reading', summary, rowsRead);

export const firstErrorsLimit = 1_000;

/** Faults of rows that never reached the stage (ragged, with NUL). Each such row is one bad row. */
export interface ReadFaults {
  count: number;
  rows: number;
  readonly first: RowError[];
}

export const noReadFaults = (): ReadFaults => ({ count: 0, rows: 0, first: [] });

export function addRowFault(faults: ReadFaults, errors: readonly RowError[]): void {
  faults.rows += 1;
  faults.count += errors.length;
  for (const error of errors) if (faults.first.length < firstErrorsLimit) faults.first.push(error);
}

/** SQLSTATE of an error that came from Postgres; undefined for any other. */
export function sqlState(error: unknown): string | undefined {
  if (error === null || typeof error !== 'object' || !('code' in error)) return undefined;
  return typeof error.code === 'string' && /^[0-9A-Z]{5}$/.test(error.code) ? error.code : undefined;
}

/** Postgres's own limits on one row, as a failure of the data; undefined when it is something else. */
export function rowLimit(error: unknown, phase: 'reading' | 'writing'): LoadFailure | undefined {
  if (sqlState(error) !== '54000' || !(error instanceof Error)) return undefined;
  return error.message.startsWith('index row')
    ? new LoadFailure('KEY_TOO_LONG', phase, 'A key value is longer than can be indexed (about 2,700 bytes).')
    : new LoadFailure('ROW_TOO_WIDE', phase, `A row does not fit into one page of the database: ${error.message}.`);
}
