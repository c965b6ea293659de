import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonTextError, parseJsonText, plainNumber } from '../../src/packages/json-text.ts';

describe('JSON text', () => {
  it('reads whatever JSON.stringify writes', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), (text) => {
        const plain: unknown = JSON.parse(text);
        expect(JSON.stringify(parseJsonText(text, 32).value)).toBe(JSON.stringify(plain));
        expect(JSON.stringify(parseJsonText(JSON.stringify(plain, null, 2), 32).value)).toBe(JSON.stringify(plain));
      }),
    );
  });

  it('refuses whatever JSON.parse refuses', () => {
    const pieces = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"',
      '1',
      '-',
      '0',
      '.5',
      'e1',
      'true',
      'nul',
      ' ',
      '\\',
      '\n',
      '\u0001',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 8 }), (parts) => {
        const text = parts.join('');
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        if (isJson) parseJsonText(text, 32);
        else expect(() => parseJsonText(text, 32)).toThrow(JsonTextError);
      }),
      { numRuns: 5_000 },
    );
  });

  it.each([
    ['1', 1],
    ['-0.50', -0.5],
    ['1e400', '1e400'],
    ['9007199254740992', 9007199254740992],
    ['9007199254740993', '9007199254740993'],
    ['0.1', 0.1],
    ['0.1000000000000000055', '0.1000000000000000055'],
    ['1e-400', '1e-400'],
    ['0e9', 0],
  ])('keeps what %s means', (text, value) => {
    expect(parseJsonText(text, 1).value).toBe(value);
  });

  it('writes whole numbers without an exponent', () => {
    expect([1e21, -1.5e22, 1e300, 0.5, 1e-7].map(plainNumber)).toEqual([
      `1${'0'.repeat(21)}`,
      `-15${'0'.repeat(21)}`,
      `1${'0'.repeat(300)}`,
      '0.5',
      '1e-7',
    ]);
  });

  it('gives the text of what it read, and only near the root', () => {
    const json = parseJsonText(' { "a" : [ 1.0, {"b":[[[ ]]]} ] } ', 32);
    const { a } = json.value as { a: unknown[] }; // as the text above has it
    expect(json.textOf(a)).toBe('[ 1.0, {"b":[[[ ]]]} ]');
    expect(json.textOf({})).toBeNull();
  });

  it('takes __proto__ for a property like any other, and the last of two keys', () => {
    const { value } = parseJsonText('{"__proto__": {"x": 1}, "a": 1, "a": 2}', 32);
    expect(Object.keys(value as object)).toEqual(['__proto__', 'a']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(value).toMatchObject({ a: 2 });
  });

  it('counts levels, lines and columns', () => {
    expect(parseJsonText('[[1]]', 2).value).toEqual([[1]]);
    expect(() => parseJsonText('[[[1]]]', 2)).toThrow('line 1, column 3: nested deeper than 2 levels');
    expect(() => parseJsonText('{\n "a": "x\ny"}', 2)).toThrow('line 2, column 9: a string holds an unescaped control character');
    expect(() => parseJsonText('["\\x"]', 2)).toThrow('line 1, column 2: a string holds an invalid escape');
    expect(() => parseJsonText('["x', 2)).toThrow('the file ends inside a string');
    expect(() => parseJsonText('1 2', 2)).toThrow('line 1, column 3: expected the end of the file');
  });
});
