// Both CSV readers against each other and against what was written, over every way the bytes can be cut.
import fc from 'fast-check';
import type pg from 'pg';
import { describe, expect, it } from 'vitest';
import { byteReader } from '../../src/records/bytes.ts';
import { csvGuard, GuardObjection, recordBytesLimit } from '../../src/records/csv-guard.ts';
import { readCsvSlowly } from '../../src/records/csv-slow.ts';
import { readCsvFast } from '../../src/records/csv-stage.ts';
import { LoadFailure } from '../../src/records/reading.ts';
import { csvDialect, field, plan, recordsDatabase, schema } from './loading.ts';

const db = await recordsDatabase();
const signal = new AbortController().signal;
// More than the suite has time for: PROPERTY_EFFORT=40
const effort = Number(process.env.PROPERTY_EFFORT ?? 1);
const fastDialect = { ...csvDialect, quoteChar: '"' };

async function* cut(bytes: Buffer, size: number): AsyncGenerator<Buffer, void, undefined> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

type Outcome = { header: string[]; rows: (string | null)[][]; ragged: number[] } | { failure: string } | { doubt: true };

async function read(client: pg.PoolClient, path: 'fast' | 'slow', text: Buffer, size: number, header = true): Promise<Outcome> {
  const reader = byteReader(cut(text, size));
  try {
    const result =
      path === 'fast'
        ? await readCsvFast(client, reader, { ...fastDialect, header }, null, signal)
        : await readCsvSlowly(client, reader, { ...csvDialect, header }, null, false, signal);
    const columns = Array.from({ length: result.matched.width }, (_, index) => `f${index + 1}`);
    const { rows } = await client.query<(string | null)[]>({
      text: `SELECT ${columns.join(', ')} FROM stage ORDER BY n`,
      rowMode: 'array',
    });
    expect(rows).toHaveLength(result.rows);
    return { header: result.matched.schema.fields.map(({ name }) => name), rows, ragged: result.faults.first.map(({ row }) => row) };
  } catch (error) {
    if (error instanceof LoadFailure) return { failure: error.failure.code };
    if (path === 'fast') return { doubt: true };
    throw error;
  }
}

const cell = fc.oneof(
  fc.constantFrom('', ' ', '"', ',', '\n', '\r\n', '\\.', '\\', "'", 'é', '𝄞', '\u2028', 'a"b', '"q"', '\t'),
  fc.string({ unit: 'grapheme', maxLength: 6 }).filter((text) => !text.includes('\0') && text.isWellFormed()),
);
const table = fc.integer({ min: 1, max: 4 }).chain((width) =>
  fc.record({
    rows: fc.array(fc.array(cell, { minLength: width, maxLength: width }), { maxLength: 6 }),
    eol: fc.constantFrom('\n', '\r\n', '\r'),
    quoteAll: fc.boolean(),
    finalNewline: fc.boolean(),
    width: fc.constant(width),
  }),
);

function written(cells: readonly string[], eol: string, quoteAll: boolean): string {
  // The only column's empty cell has to be quoted: left bare at the end of a file it is no row.
  const needs = (text: string) => quoteAll || /[",\r\n]/.test(text) || (cells.length === 1 && text === '') || text === '\\.';
  return cells.map((text) => (needs(text) ? `"${text.replaceAll('"', '""')}"` : text)).join(',') + eol;
}

describe('the two CSV readers', () => {
  it('give back exactly what was written, wherever the bytes are cut', async () => {
    const client = await db.pool.connect();
    await client.query("SET client_min_messages = 'warning'");
    try {
      await fc.assert(
        fc.asyncProperty(table, fc.integer({ min: 1, max: 40 }), async ({ rows, eol, quoteAll, finalNewline, width }, size) => {
          const header = Array.from({ length: width }, (_, index) => `h${index}`);
          let text = [header, ...rows].map((cells) => written(cells, eol, quoteAll)).join('');
          if (!finalNewline) text = text.slice(0, -eol.length);
          const bytes = Buffer.from(text);
          const expected = { header, rows, ragged: [] };
          expect(await read(client, 'slow', bytes, size)).toEqual(expected);
          expect(await read(client, 'fast', bytes, size)).toEqual(expected);
        }),
        { numRuns: 150 * effort },
      );
    } finally {
      client.release();
    }
  });

  it('agree on any text at all, or the fast one leaves it to the slow one', async () => {
    const client = await db.pool.connect();
    let doubts = 0;
    const soup = fc.array(
      fc.constantFrom('a', 'b', '1', ',', '"', '""', '\n', '\r\n', '\r', '\\', '.', '\\.\n', ' ', 'é', ',,', '\n\n', '\0'),
      { maxLength: 24 },
    );
    try {
      await fc.assert(
        fc.asyncProperty(soup, fc.integer({ min: 1, max: 8 }), fc.boolean(), async (parts, size, header) => {
          const bytes = Buffer.from(parts.join(''));
          const fast = await read(client, 'fast', bytes, size, header);
          if ('doubt' in fast) doubts += 1;
          else expect(fast).toEqual(await read(client, 'slow', bytes, size, header));
        }),
        { numRuns: 500 * effort },
      );
    } finally {
      client.release();
    }
    expect(doubts).toBeGreaterThan(0);
  });

  it('split a UTF-8 sample with CRLF and quotes at every point alike', async () => {
    const client = await db.pool.connect();
    const bytes = Buffer.from('náme,"q ""x"""\r\n"zwei\r\nZeilen",𝄞\r\n,\r\n"",ü');
    const expected = {
      header: ['náme', 'q "x"'],
      rows: [
        ['zwei\r\nZeilen', '𝄞'],
        ['', ''],
        ['', 'ü'],
      ],
      ragged: [],
    };
    try {
      for (let size = 1; size <= bytes.length; size += 1) {
        expect(await read(client, 'fast', bytes, size)).toEqual(expected);
        expect(await read(client, 'slow', bytes, size)).toEqual(expected);
      }
    } finally {
      client.release();
    }
  });
});

describe('the guard before COPY', () => {
  const guard = () => csvGuard({ delimiter: 0x2c, quote: 0x22 }, true);

  it('objects to a line that ends the input of COPY before Postgres 18, wherever the bytes are cut', () => {
    for (const pieces of [['a,b\n\\.\n'], ['a,b\n\\', '.\n'], ['a,b\n', '\\', '.', '\n']]) {
      const { push } = guard();
      expect(() => pieces.map((piece) => push(Buffer.from(piece))), pieces.join('|')).toThrow(GuardObjection);
    }
    expect(() => guard().push(Buffer.from('a,\\.\n\\a.\n'))).not.toThrow();
  });

  it('objects to a record that would fill the memory, and to no number of short ones', () => {
    const chunk = Buffer.alloc(1 << 20, 'x');
    const all = (piece: Buffer) => {
      const { push } = guard();
      for (let bytes = 0; bytes <= recordBytesLimit; bytes += piece.length) push(piece);
    };
    expect(() => all(chunk)).toThrow(GuardObjection);
    expect(() => all(Buffer.concat([chunk, Buffer.from('\n')]))).not.toThrow();
  });

  it('objects to a quote that is never closed', () => {
    const { push, end } = guard();
    push(Buffer.from('a,"b\n'));
    expect(end).toThrow(GuardObjection);
  });
});

describe('a CSV file', () => {
  const two = schema([field('a'), field('b')]);
  const failure = async (dataset: ReturnType<typeof plan>, data: string | Buffer) => {
    const outcome = await db.load(dataset, data);
    return outcome !== 'abandoned' && outcome.state === 'failed' ? [outcome.failure.code, outcome.failure.summary] : outcome;
  };

  it('with ragged rows names each of them, blank lines aside', async () => {
    const outcome = await db.load(plan('ragged', two), 'a,b\n1,2\n\n3\n4,5,6\n7,8\n');
    expect(outcome).toMatchObject({
      state: 'failed',
      rows: { source: 4, rejected: 2, unprocessed: 2, loaded: 0 },
      failure: { code: 'INVALID_ROWS', origin: 'data', phase: 'checking' },
      errors: {
        count: 2,
        first: [
          { row: 2, field: null, code: 'TOO_FEW_CELLS' },
          { row: 3, field: null, code: 'TOO_MANY_CELLS' },
        ],
      },
    });
    expect(await db.rows('ragged')).toEqual([]);
  });

  it('with blank lines loads as if they were not there', async () => {
    expect(await db.load(plan('blank', two), '\n\na,b\n\n1,2\n\n\n3,4\n\n')).toMatchObject({
      state: 'succeeded',
      rows: { source: 2, loaded: 2 },
    });
  });

  it('of one column has a row for each blank line', async () => {
    const one = plan('one', schema([field('a')], { missingValues: [] }));
    expect(await db.load(one, 'a\nx\n\ny\n')).toMatchObject({ state: 'succeeded', rows: { loaded: 3 } });
    expect(await db.rows('one')).toEqual([{ a: 'x' }, { a: '' }, { a: 'y' }]);
  });

  it('that is malformed fails with the row', async () => {
    for (const text of ['a,b\n1,2\nx"y,3\n', 'a,b\n1,2\n"x"y,3\n', 'a,b\n1,2\n"x,3\n']) {
      const [code, summary] = (await failure(plan('malformed', two), text)) as [string, string];
      expect(code).toBe('MALFORMED_CSV');
      expect(summary).toContain('row 2');
    }
  });

  it('in another encoding is refused, not guessed', async () => {
    expect(await failure(plan('latin', two), Buffer.from('a,b\n1,caf\xe9\n', 'latin1'))).toEqual([
      'INVALID_ENCODING',
      expect.stringContaining('not UTF-8'),
    ]);
    expect(await failure(plan('latin', two), Buffer.from('a,b\n1,caf\xc3', 'latin1'))).toEqual([
      'INVALID_ENCODING',
      expect.stringContaining('not UTF-8'),
    ]);
  });

  it('with NUL names row and field', async () => {
    expect(await db.load(plan('nul', two), 'a,b\n1,2\n3,x\0y\n')).toMatchObject({
      errors: { count: 1, first: [{ row: 2, field: 'b', code: 'NUL_CHARACTER' }] },
    });
  });

  it('that is empty has no header', async () => {
    expect(await failure(plan('empty', two), '')).toEqual(['EMPTY_FILE', expect.any(String)]);
    expect(await failure(plan('empty', two), '\n\n')).toEqual(['EMPTY_FILE', expect.any(String)]);
    expect(await db.load(plan('empty', two), 'a,b\n')).toMatchObject({ state: 'succeeded', rows: { source: 0 } });
  });

  it('is matched by name and order, count and extra columns as fieldsMatch says', async () => {
    const dataset = (fieldsMatch: 'exact' | 'equal' | 'subset' | 'superset' | 'partial') =>
      plan(`match-${fieldsMatch}`, schema([field('a'), field('b')], { fieldsMatch }));
    const [code, summary] = (await failure(dataset('exact'), 'b,a\n1,2\n')) as [string, string];
    expect([code, summary]).toEqual(['HEADER_MISMATCH', expect.stringMatching(/expected.*"a", "b".*found.*"b", "a"/i)]);
    expect(await failure(dataset('exact'), 'a,b,c\n')).toEqual(['HEADER_MISMATCH', expect.stringContaining('"c"')]);
    expect(await failure(dataset('equal'), 'a,c\n')).toEqual(['HEADER_MISMATCH', expect.stringContaining('missing: "b"')]);
    expect(await failure(dataset('subset'), 'a,c\n')).toEqual(['HEADER_MISMATCH', expect.any(String)]);
    expect(await failure(dataset('superset'), 'a,c\n')).toEqual(['HEADER_MISMATCH', expect.any(String)]);
    expect(await failure(dataset('partial'), 'c,d\n')).toEqual(['HEADER_MISMATCH', expect.any(String)]);
    const loads = [
      ['equal', 'b,a\n1,2\n', { a: '2', b: '1' }],
      ['subset', 'c,b,a\n0,1,2\n', { a: '2', b: '1' }],
      ['superset', 'b\n1\n', { a: null, b: '1' }],
      ['partial', 'x,b\n0,1\n', { a: null, b: '1' }],
    ] as const;
    for (const [mode, text, row] of loads) {
      expect(await db.load(dataset(mode), text)).toMatchObject({ state: 'succeeded' });
      expect(await db.rows(`match-${mode}`)).toEqual([row]);
    }
  });

  it('may have no header, a delimiter of several bytes, comments, other escapes', async () => {
    const dialects = [
      ['headless', { header: false }, '1,2\n3,4\n'],
      ['semicolon', { delimiter: ';', quoteChar: "'" }, "a;b\n'1';2\n3;'4'\n"],
      ['wide', { delimiter: '::' }, 'a::b\n1::2\n3::4\n'],
      ['spaced', { skipInitialSpace: true }, 'a, b\n1, 2\n3,  "4"\n'],
      ['commented', { commentChar: '#' }, '# made by hand\na,b\n1,2\n#x\n3,4\n'],
      ['unquoted', { quoteChar: null }, 'a,b\n1,2\n3,4\n'],
      ['escaped', { doubleQuote: false, escapeChar: '\\' }, 'a,b\n"1",2\n3,"4"\n'],
    ] as const;
    for (const [name, dialect, text] of dialects) {
      const dataset = plan(`dialect-${name}`, two, { dialect: { ...csvDialect, ...dialect } });
      expect(await db.load(dataset, text), name).toMatchObject({ state: 'succeeded', rows: { loaded: 2 } });
      expect(await db.rows(`dialect-${name}`), name).toEqual([
        { a: '1', b: '2' },
        { a: '3', b: '4' },
      ]);
    }
    await db.load(plan('quotes', two, { dialect: { ...csvDialect, quoteChar: null } }), 'a,b\n"1,2"\n');
    expect(await db.rows('quotes')).toEqual([{ a: '"1', b: '2"' }]);
    await db.load(
      plan('escapes', two, { dialect: { ...csvDialect, doubleQuote: false, escapeChar: '\\' } }),
      'a,b\n"say \\"x\\"","c:\\\\d"\n',
    );
    expect(await db.rows('escapes')).toEqual([{ a: 'say "x"', b: 'c:\\d' }]);
  });

  it('without a schema is all strings, named by the header', async () => {
    await db.load(plan('plain', null), 'x,y\n007,NA\n,1\n');
    expect(await db.rows('plain')).toEqual([
      { x: '007', y: 'NA' },
      { x: null, y: '1' },
    ]);
  });
});
