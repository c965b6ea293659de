// Watches the bytes that go to COPY and refuses what COPY would read in silence and a strict CSV reader would not.
// An objection is not yet a verdict: the slow path reads the file again and says what is wrong.

export const recordBytesLimit = 16 * 1024 * 1024;

export class GuardObjection extends Error {
  override readonly name = 'GuardObjection';
}

export interface CsvGuard {
  /** What may go on to COPY: the chunk, without blank lines. */
  readonly push: (chunk: Buffer) => Buffer[];
  readonly end: () => void;
  /** Records that have ended so far. */
  readonly records: () => number;
}

const LF = 10;
const CR = 13;
const BACKSLASH = 92;
const DOT = 46;

const START = 0; // at the start of a record
const FIELD = 1; // at the start of a later field
const PLAIN = 2;
const QUOTED = 3;
const CLOSED = 4; // behind a quote that may have closed the field

/** `dropBlank`: blank lines are no rows (more than one column); with one column a blank line is an empty cell. */
export function csvGuard(dialect: { readonly delimiter: number; readonly quote: number }, dropBlank: boolean): CsvGuard {
  const { delimiter, quote } = dialect;
  let state = START;
  let afterCr = false;
  let droppedCr = false;
  let recordBytes = 0;
  // COPY before Postgres 18 ends its input at a line `\.`
  let backslashFirst = false;
  let records = 0;

  const push = (chunk: Buffer): Buffer[] => {
    const pieces: Buffer[] = [];
    let from = 0;
    let recordStart = 0;
    const drop = (at: number) => {
      if (at > from) pieces.push(chunk.subarray(from, at));
      from = at + 1;
    };
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (state === QUOTED) {
        if (byte === quote) state = CLOSED;
        else if (byte === 0) throw new GuardObjection('NUL');
        continue;
      }
      if (byte === delimiter) {
        state = FIELD;
        afterCr = false;
      } else if (byte === LF || byte === CR) {
        if (state === START) {
          const secondOfCrLf = afterCr && byte === LF;
          if (!secondOfCrLf && !dropBlank) records += 1;
          if (secondOfCrLf ? droppedCr : dropBlank) drop(at);
          droppedCr = secondOfCrLf ? false : dropBlank && byte === CR;
        } else {
          state = START;
          droppedCr = false;
          records += 1;
        }
        afterCr = byte === CR;
        recordStart = at + 1;
        recordBytes = 0;
      } else if (byte === quote) {
        if (state === PLAIN) throw new GuardObjection('quote inside an unquoted field');
        // A quote behind a quote is an escaped one: the field goes on.
        state = QUOTED;
        afterCr = false;
      } else {
        if (byte === 0) throw new GuardObjection('NUL');
        if (state === CLOSED) throw new GuardObjection('text behind a closing quote');
        if (state === START) backslashFirst = byte === BACKSLASH;
        else if (backslashFirst && state === PLAIN && byte === DOT) throw new GuardObjection('a line that could end the input');
        else backslashFirst = false;
        state = PLAIN;
        afterCr = false;
      }
    }
    recordBytes += chunk.length - recordStart;
    if (recordBytes > recordBytesLimit) throw new GuardObjection('a very long record');
    if (from < chunk.length) pieces.push(from === 0 ? chunk : chunk.subarray(from));
    return pieces;
  };
  return {
    push,
    records: () => records,
    end() {
      if (state === QUOTED) throw new GuardObjection('a quote that is never closed');
    },
  };
}

/**
 * Where the first record that is no blank line begins and ends in `bytes` (its line end included), or null when more
 * is needed. `last`: there is nothing more, so the end of the bytes ends the record.
 */
export function firstRecord(bytes: Buffer, quote: number | null, last: boolean): { start: number; end: number } | null {
  let start = 0;
  while (start < bytes.length && (bytes[start] === LF || bytes[start] === CR)) start += 1;
  let quoted = false;
  for (let at = start; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === quote) quoted = !quoted;
    else if (!quoted && byte === LF) return { start, end: at + 1 };
    else if (!quoted && byte === CR) {
      if (at + 1 < bytes.length) return { start, end: bytes[at + 1] === LF ? at + 2 : at + 1 };
      return last ? { start, end: at + 1 } : null;
    }
  }
  return last ? { start, end: bytes.length } : null;
}
