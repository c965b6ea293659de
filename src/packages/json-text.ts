// JSON read without losing anything that matters here: digits, places, and the text of inline data. JSON.parse on Node 20 can give
// none of the three (no source text access), recurses without a limit, and rounds 9007199254740993.

export class JsonTextError extends Error {
  override readonly name = 'JsonTextError';
}

export interface JsonText {
  /** Numbers that a double would change (large integers, long decimals) are their own digits, as strings. */
  readonly value: unknown;
  /** The text that an object or array near the root was read from, as it stands in the file. */
  textOf(value: object): string | null;
}

// Deep enough for /resources/0/data, and the map stays small for rows of inline data.
const deepestSpan = 4;

export function parseJsonBytes(bytes: Uint8Array, maxDepth: number): JsonText {
  let text: string;
  try {
    // A leading byte order mark is dropped by the decoder.
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new JsonTextError('the file is not valid UTF-8');
  }
  return parseJsonText(text, maxDepth);
}

export function parseJsonText(text: string, maxDepth: number): JsonText {
  const spans = new Map<object, readonly [number, number]>();
  let at = 0;

  skipSpace();
  const value = readValue(1);
  skipSpace();
  if (at < text.length) throw wrong('expected the end of the file');
  return {
    value,
    textOf(part) {
      const span = spans.get(part);
      return span ? text.slice(...span) : null;
    },
  };

  function readValue(depth: number): unknown {
    const char = text[at];
    if (char === '"') return readString();
    if (char === '{' || char === '[') {
      if (depth > maxDepth) throw wrong(`nested deeper than ${maxDepth} levels`);
      const start = at;
      const container = char === '{' ? readObject(depth) : readArray(depth);
      if (depth <= deepestSpan) spans.set(container, [start, at]);
      return container;
    }
    if (char === '-' || (char !== undefined && char >= '0' && char <= '9')) return readNumber();
    for (const [word, meaning] of words) {
      if (text.startsWith(word, at)) {
        at += word.length;
        return meaning;
      }
    }
    throw wrong('expected a value');
  }

  function readObject(depth: number): object {
    const object: Record<string, unknown> = {};
    at += 1;
    skipSpace();
    if (text[at] === '}') {
      at += 1;
      return object;
    }
    for (;;) {
      if (text[at] !== '"') throw wrong('expected a property name in double quotes');
      const key = readString();
      skipSpace();
      if (text[at] !== ':') throw wrong('expected a colon');
      at += 1;
      skipSpace();
      const value = readValue(depth + 1);
      // Plain assignment to `__proto__` would change the prototype instead of adding a property.
      if (key === '__proto__') Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
      else object[key] = value;
      skipSpace();
      if (text[at] === '}') {
        at += 1;
        return object;
      }
      if (text[at] !== ',') throw wrong('expected a comma or a closing brace');
      at += 1;
      skipSpace();
    }
  }

  function readArray(depth: number): object {
    const array: unknown[] = [];
    at += 1;
    skipSpace();
    if (text[at] === ']') {
      at += 1;
      return array;
    }
    for (;;) {
      array.push(readValue(depth + 1));
      skipSpace();
      if (text[at] === ']') {
        at += 1;
        return array;
      }
      if (text[at] !== ',') throw wrong('expected a comma or a closing bracket');
      at += 1;
      skipSpace();
    }
  }

  function readString(): string {
    const start = at;
    let isEscaped = false;
    for (at += 1; ; at += 1) {
      const code = text.charCodeAt(at);
      if (code === 34) break;
      if (code === 92) {
        isEscaped = true;
        at += 1;
      }
      // NaN is the end of the text.
      if (!(code >= 32)) throw wrong(at >= text.length ? 'the file ends inside a string' : 'a string holds an unescaped control character');
    }
    at += 1;
    if (!isEscaped) return text.slice(start + 1, at - 1);
    try {
      const unescaped: unknown = JSON.parse(text.slice(start, at));
      return String(unescaped);
    } catch {
      at = start;
      throw wrong('a string holds an invalid escape');
    }
  }

  function readNumber(): number | string {
    number.lastIndex = at;
    const lexeme = number.exec(text)?.[0];
    if (lexeme === undefined) throw wrong('expected a number');
    at += lexeme.length;
    return exactNumber(lexeme);
  }

  function skipSpace(): void {
    for (;;) {
      const code = text.charCodeAt(at);
      if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return;
      at += 1;
    }
  }

  function wrong(what: string): JsonTextError {
    const before = text.slice(0, at).split('\n');
    return new JsonTextError(`line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}: ${what}`);
  }
}

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const words: readonly (readonly [string, unknown])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
];

function exactNumber(lexeme: string): number | string {
  const value = Number(lexeme);
  if (lexeme.length > 400 || !Number.isFinite(value)) return lexeme;
  return decimalParts(lexeme) === decimalParts(String(value)) ? value : lexeme;
}

/** Sign, digits and power of ten, so that 1.0, 1 and 10e-1 are the same. */
function decimalParts(lexeme: string): string {
  const [, sign = '', whole = '', fraction = '', power = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(lexeme) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  let end = digits.length;
  while (end > 0 && digits[end - 1] === '0') end -= 1;
  return end === 0 ? '0' : `${sign}${digits.slice(0, end)}e${Number(power) - fraction.length + digits.length - end}`;
}

/** A number of the descriptor as it would stand in the data: whole numbers in plain digits, however large. */
export function plainNumber(value: number): string {
  const shortest = String(value);
  const [, sign = '', whole = '', fraction = '', power = '0'] = /^(-?)(\d)(?:\.(\d+))?e\+(\d+)$/.exec(shortest) ?? [];
  return whole === '' ? shortest : `${sign}${whole}${fraction.padEnd(Number(power), '0')}`;
}
