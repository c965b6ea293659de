// JSON arrays and NDJSON as one element on each line: bytes in, bytes out, nothing parsed into JavaScript values.
import { unreadable } from './reading.ts';

export const elementBytesLimit = 16 * 1024 * 1024;
export const depthLimit = 64;

const LF = 10;
const CR = 13;
const SPACE = 32;
const TAB = 9;
const QUOTE = 34;
const COMMA = 44;
const OPEN_ARRAY = 91;
const BACKSLASH = 92;
const CLOSE_ARRAY = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

const newline = Buffer.from('\n');
const isSpace = (byte: number | undefined) => byte === SPACE || byte === LF || byte === CR || byte === TAB;

const malformed = (element: number, what: string) =>
  unreadable('MALFORMED_JSON', `The JSON is malformed at element ${element}: ${what}.`, Math.max(element - 1, 0));
const tooLong = (element: number) =>
  unreadable('MALFORMED_JSON', `Element ${element} is longer than ${elementBytesLimit} bytes.`, Math.max(element - 1, 0));

/** Lines of NDJSON that are not blank. A line must begin as an object or an array: so none can be read by COPY as its end marker. */
export async function* ndjsonLines(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  let carried: Buffer[] = [];
  let carriedBytes = 0;
  let element = 0;
  const isRow = (line: Buffer): boolean => {
    let at = 0;
    while (at < line.length && isSpace(line[at])) at += 1;
    if (at === line.length) return false;
    element += 1;
    if (line[at] !== OPEN_OBJECT && line[at] !== OPEN_ARRAY) throw malformed(element, 'a row must be an object or an array');
    if (line.length > elementBytesLimit) throw tooLong(element);
    // The delimiter and the quote that COPY is given, and NUL: no JSON text has them, and a quote could hide a line's end.
    if (line.includes(1) || line.includes(2) || line.includes(0)) throw malformed(element, 'it has a control character');
    return true;
  };
  const withoutCr = (line: Buffer) => (line[line.length - 1] === CR ? line.subarray(0, -1) : line);
  for await (const chunk of bytes) {
    let from = 0;
    const out: Buffer[] = [];
    for (let at = chunk.indexOf(LF); at >= 0; at = chunk.indexOf(LF, from)) {
      let line: Buffer = chunk.subarray(from, at);
      if (carried.length > 0) {
        line = Buffer.concat([...carried, line]);
        carried = [];
        carriedBytes = 0;
      }
      from = at + 1;
      if (isRow(line)) out.push(withoutCr(line), newline);
    }
    if (out.length > 0) yield Buffer.concat(out);
    if (from < chunk.length) {
      carried.push(chunk.subarray(from));
      carriedBytes += chunk.length - from;
      if (carriedBytes > elementBytesLimit + 1) throw tooLong(element + 1);
    }
  }
  const last = Buffer.concat(carried);
  if (isRow(last)) yield Buffer.concat([withoutCr(last), newline]);
}

/** The elements of one JSON array. What stands inside an element is checked by Postgres; its ends are found here. */
export async function* arrayElements(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  // The cast keeps the compiler from taking the first value for the only one: it is assigned inside the loop.
  let state = 'before' as 'before' | 'first' | 'element' | 'next' | 'after' | 'end';
  let depth = 0;
  let inString = false;
  let escaped = false;
  let element = 0;
  let elementBytes = 0;
  for await (const chunk of bytes) {
    const out: Buffer[] = [];
    let from = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0;
      if (state === 'element') {
        elementBytes += 1;
        if (inString) {
          if (byte < SPACE) throw malformed(element, 'a control character in a string');
          if (escaped) escaped = false;
          else if (byte === BACKSLASH) escaped = true;
          else if (byte === QUOTE) inString = false;
        } else if (byte === QUOTE) {
          inString = true;
        } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
          depth += 1;
          if (depth > depthLimit) throw malformed(element, `more than ${depthLimit} levels deep`);
        } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
          depth -= 1;
          if (depth === 0) {
            out.push(chunk.subarray(from, at + 1), newline);
            state = 'after';
          }
        } else if (byte === LF || byte === CR) {
          // Between tokens: an element has to stay on one line.
          if (at > from) out.push(chunk.subarray(from, at));
          from = at + 1;
        } else if (byte < SPACE && byte !== TAB) {
          throw malformed(element, 'a control character');
        }
      } else if (!isSpace(byte)) {
        if (state === 'before') {
          if (byte !== OPEN_ARRAY) throw malformed(0, 'the file must be one array');
          state = 'first';
        } else if (byte === CLOSE_ARRAY && (state === 'first' || state === 'after')) {
          state = 'end';
        } else if (byte === COMMA && state === 'after') {
          state = 'next';
        } else if ((byte === OPEN_OBJECT || byte === OPEN_ARRAY) && (state === 'first' || state === 'next')) {
          element += 1;
          elementBytes = 1;
          depth = 1;
          from = at;
          state = 'element';
        } else if (state === 'end') {
          throw malformed(element, 'something follows the array');
        } else {
          throw malformed(
            state === 'after' ? element : element + 1,
            state === 'after' ? 'expected a comma or the end' : 'a row must be an object or an array',
          );
        }
      }
    }
    if (state === 'element') {
      if (elementBytes > elementBytesLimit) throw tooLong(element);
      if (from < chunk.length) out.push(chunk.subarray(from));
    }
    if (out.length > 0) yield Buffer.concat(out);
  }
  if (state === 'before') throw unreadable('EMPTY_FILE', 'The file is empty; a JSON array was expected.');
  if (state !== 'end') throw malformed(element, 'the file ends before the array does');
}
