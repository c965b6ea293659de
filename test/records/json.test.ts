import { existsSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { arrayElements, ndjsonLines } from '../../src/records/json-lines.ts';
import { LoadFailure } from '../../src/records/reading.ts';
import { account, csvDialect, field, plan, recordsDatabase, schema, shared } from './loading.ts';

const db = await recordsDatabase();
const labels = shared('cases/C18/data/labels.json');

async function* cut(bytes: Buffer, size: number): AsyncGenerator<Buffer, void, undefined> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function collect(chunks: AsyncIterable<Buffer>): Promise<unknown[]> {
  const pieces: Buffer[] = [];
  for await (const chunk of chunks) pieces.push(chunk);
  const lines = Buffer.concat(pieces).toString().split('\n');
  expect(lines.pop()).toBe('');
  return lines.map((line) => JSON.parse(line));
}

const element = fc.oneof(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })), fc.array(fc.jsonValue({ maxDepth: 3 })));

describe('the splitters', () => {
  it('give each element of an array one line, wherever the bytes are cut', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(element, { maxLength: 6 }),
        fc.constantFrom(0, 1, '\t'),
        fc.integer({ min: 1, max: 30 }),
        async (elements, indent, size) => {
          const bytes = Buffer.from(` ${JSON.stringify(elements, null, indent)}\r\n`);
          expect(JSON.stringify(await collect(arrayElements(cut(bytes, size))))).toBe(JSON.stringify(elements));
        },
      ),
      { numRuns: 500 },
    );
  });

  it('give NDJSON without its blank lines', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(element, fc.constantFrom('\n', '\r\n', '\n\n', '\n \n'))),
        fc.integer({ min: 1, max: 30 }),
        async (lines, size) => {
          const bytes = Buffer.from(lines.map(([value, eol]) => JSON.stringify(value) + eol).join(''));
          expect(JSON.stringify(await collect(ndjsonLines(cut(bytes, size))))).toBe(JSON.stringify(lines.map(([value]) => value)));
        },
      ),
    );
  });

  it('refuse what is not one array', async () => {
    for (const text of [
      '{}',
      '[{}',
      '[{}] x',
      '[{},]',
      '[1]',
      '[{} {}]',
      '[,{}]',
      '["a"]',
      `[${'['.repeat(65)}${']'.repeat(65)}]`,
      '[{"a":"\n"}]',
      '[{}]]',
    ]) {
      for (const size of [1, 100]) await expect(collect(arrayElements(cut(Buffer.from(text), size))), text).rejects.toThrow(LoadFailure);
    }
  });

  it('refuse an element of more than 16 MiB', async () => {
    const long = Buffer.from(`[{"a":"${'x'.repeat(17 * 1024 * 1024)}"}]`);
    await expect(collect(arrayElements(cut(long, 65_536)))).rejects.toThrow(/longer/);
    await expect(collect(ndjsonLines(cut(long.subarray(1, -1), 65_536)))).rejects.toThrow(/longer/);
  });
});

describe('JSON rows', () => {
  const failure = async (dataset: ReturnType<typeof plan>, data: string) => {
    const outcome = await db.load(dataset, data);
    return outcome !== 'abandoned' && outcome.state === 'failed' ? outcome : undefined;
  };

  it('keep integers and decimals digit for digit (C14)', async () => {
    const ids = ['9007199254740992', '9007199254740993', '9223372036854775807', '-9223372036854775808', '1000000000000000000000000000001'];
    const scans = plan('scans', schema([field('scan_id', 'integer'), field('weight', 'number')], { primaryKey: ['scan_id'] }), {
      format: 'ndjson',
    });
    await db.load(scans, ids.map((id) => `{"scan_id":${id},"weight":0.10}`).join('\n'));
    expect(await db.rows('scans')).toEqual(ids.map((scan_id) => ({ scan_id, weight: '0.10' })));
  });

  it.skipIf(!existsSync(labels))('tell null from the empty string (C18)', async () => {
    const bytes = readFileSync(labels, 'utf8');
    await db.load(plan('notes', schema([field('id', 'integer'), field('text')], { primaryKey: ['id'] }), { format: 'json' }), bytes);
    expect((await db.rows('notes')).map(({ text }) => text)).toEqual([null, '', 'NULL', '  ', null, '\\N']);
  });

  it('take stated missing values, and only those, for null', async () => {
    const fields = [field('id', 'integer'), field('a')];
    const text = '[{"id":1,"a":""},{"id":2,"a":"-"},{"id":3}]';
    await db.load(plan('unstated', schema(fields), { format: 'json' }), text);
    expect((await db.rows('unstated')).map(({ a }) => a)).toEqual(['', '-', null]);
    await db.load(plan('stated', schema(fields, { missingValues: ['-'], missingValuesStated: true }), { format: 'json' }), text);
    expect((await db.rows('stated')).map(({ a }) => a)).toEqual(['', null, null]);
  });

  it('may be arrays, with the first as header or without', async () => {
    const two = schema([field('a', 'integer'), field('b')]);
    expect(await db.load(plan('arrays', two, { format: 'json' }), '[["a","b"],[1,"x"],["2",null]]')).toMatchObject({ rows: { loaded: 2 } });
    expect(await db.rows('arrays')).toEqual([
      { a: '1', b: 'x' },
      { a: '2', b: null },
    ]);
    const headless = plan('headless', two, { format: 'ndjson', dialect: { ...csvDialect, header: false } });
    expect(await db.load(headless, '[1,"x"]\n[2,"y"]\n')).toMatchObject({ rows: { loaded: 2 } });
    const outcome = await failure(plan('bad-arrays', two, { format: 'json' }), '[["a","b"],[1],{"a":1},[1,"2","3"]]');
    expect(outcome?.errors.first.map(({ row, code }) => [row, code])).toEqual([
      [1, 'TOO_FEW_CELLS'],
      [2, 'TYPE'],
      [3, 'TOO_MANY_CELLS'],
    ]);
    expect((await failure(plan('bad-header', two, { format: 'json' }), '[["b","a"],[1,2]]'))?.failure.code).toBe('HEADER_MISMATCH');
  });

  it('of another kind than their field are type faults', async () => {
    const fields = [field('s'), field('i', 'integer', { required: true }), field('b', 'boolean'), field('d', 'date'), field('x', 'any')];
    const outcome = await failure(
      plan('kinds', schema(fields), { format: 'json' }),
      '[{"s":1,"i":true,"b":1,"d":2020,"x":{"k":[1]}},{"s":"1","i":"12","b":false,"d":"2020-02-29","x":1.50},{"s":null,"i":1.5,"b":"true","extra":1}]',
    );
    expect(outcome?.errors.first.map(({ row, field: name, code }) => [row, name, code])).toEqual([
      [1, 's', 'TYPE'],
      [1, 'i', 'TYPE'],
      [1, 'b', 'TYPE'],
      [1, 'd', 'TYPE'],
      [3, 'i', 'TYPE'],
    ]);
    await db.load(
      plan('kinds', schema(fields), { format: 'json' }),
      '[{"s":"1","i":"12","b":false,"d":"2020-02-29","x":1.50},{"i":1e2,"b":"1","x":{"k":[1]}}]',
    );
    expect(await db.rows('kinds')).toEqual([
      { s: '1', i: '12', b: 'false', d: '2020-02-29', x: '1.50' },
      { s: null, i: '100', b: 'true', d: null, x: '{"k": [1]}' },
    ]);
  });

  it('spell native booleans and numbers as their field does', async () => {
    const fields = [
      field('b', 'boolean', {}, { trueValues: ['yes'], falseValues: ['no'] }),
      field('n', 'number', {}, { decimalChar: ',' }),
    ];
    await db.load(plan('native', schema(fields), { format: 'json' }), '[{"b":true,"n":1.5},{"b":"no","n":"2,5"}]');
    expect(await db.rows('native')).toEqual([
      { b: 'true', n: '1.5' },
      { b: 'false', n: '2.5' },
    ]);
  });

  it('with \\u0000 are named one by one', async () => {
    const dataset = plan('nuls', schema([field('a')]), { format: 'ndjson' });
    const outcome = await failure(dataset, '{"a":"\\\\u0000"}\n{"a":"x\\u0000"}\n{"a":"\\\\\\u0000"}\n');
    expect(outcome).toMatchObject({ rows: account({ source: 3, rejected: 2, unprocessed: 1 }), failure: { code: 'INVALID_ROWS' } });
    expect(outcome?.errors.first.map(({ row, code }) => [row, code])).toEqual([
      [2, 'NUL_CHARACTER'],
      [3, 'NUL_CHARACTER'],
    ]);
    await db.load(dataset, '{"a":"\\\\u0000"}');
    expect(await db.rows('nuls')).toEqual([{ a: '\\u0000' }]);
  });

  it('that are malformed fail the dataset with the element', async () => {
    const dataset = plan('malformed', schema([field('a')]), { format: 'ndjson' });
    for (const text of [
      '{"a":"1"}\n\n{"a":"2"\n{"a":"3"}\n',
      '{"a":"1"}\n\\.\n',
      '{"a":"1"}\n{"a":"\\ud800"}\n',
      '{"a":"1"}\n{"a":"\x02"}\n',
    ]) {
      const outcome = await failure(dataset, text);
      expect(outcome?.failure).toMatchObject({ code: 'MALFORMED_JSON', summary: expect.stringContaining('element 2') });
      expect(outcome?.rows).toEqual(account({ source: 1, unprocessed: 1 }));
    }
    expect((await failure({ ...dataset, format: 'json' }, '[{"a":"1"},{"a":"2"}'))?.failure.code).toBe('MALFORMED_JSON');
    expect((await failure({ ...dataset, format: 'json' }, ''))?.failure.code).toBe('EMPTY_FILE');
  });

  it('may be none', async () => {
    expect(await db.load(plan('none', null, { format: 'json' }), '[]')).toMatchObject({ state: 'succeeded', rows: account({}) });
    expect(await db.load(plan('no-lines', schema([field('a')], { primaryKey: ['a'] }), { format: 'ndjson' }), '\n')).toMatchObject({
      rows: account({}),
    });
  });

  it('without a schema are strings named by their keys', async () => {
    await db.load(plan('loose', null, { format: 'json' }), '[{"b":1.50,"a":"x"},{"c":true,"a":null}]');
    expect(await db.rows('loose')).toEqual([
      { a: 'x', b: '1.50', c: null },
      { a: null, b: null, c: 'true' },
    ]);
  });
});
