import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { asyncBufferFromFile, type FileMetaData, parquetMetadataAsync, parquetRead } from 'hyparquet';
import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { type ParquetFile, writeParquet } from '../../src/exports/formats/parquet.ts';
import { chooseTypes, type ParquetColumn, type ParquetPhysical, parquetStatistics } from '../../src/exports/formats/parquet-types.ts';
import { type FieldType, fieldTypes } from '../../src/packages/plan.ts';
import { physicalType, writtenText } from '../../src/records/table.ts';
import { freshDatabase } from '../support/database.ts';

const databaseUrl = await freshDatabase();
const pool = new pg.Pool({ connectionString: databaseUrl, max: 3 });
pool.on('error', () => {});
afterAll(() => pool.end());
const folder = mkdtempSync(path.join(tmpdir(), 'packhorse-parquet-'));
afterAll(() => rmSync(folder, { recursive: true }));

type Cells = readonly (string | null)[];

let made = 0;
const newFile = () => path.join(folder, `${++made}.parquet`);
const never = new AbortController().signal;

function column(name: string, type: FieldType, required = false): ParquetColumn {
  return { name, type, required };
}

/** A table as datasets have them, its columns c0, c1 and so on. */
async function tableOf(columns: readonly ParquetColumn[], rows: readonly Cells[]): Promise<string> {
  const table = `public.t${++made}`;
  const definitions = columns.map(({ type }, index) => `c${index} ${physicalType(type)}`);
  await pool.query(`CREATE TABLE ${table} (row_id bigint, ${definitions.join(', ')})`);
  const cells = columns.map(({ type }, index) => `(r.cells ->> ${index})::${physicalType(type)}`);
  await pool.query(
    `INSERT INTO ${table} SELECT r.n, ${cells.join(', ')} FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY r (cells, n)`,
    [JSON.stringify(rows)],
  );
  return table;
}

async function typesOf(table: string, columns: readonly ParquetColumn[]): Promise<ParquetPhysical[]> {
  const list = parquetStatistics(columns.map(({ type }, index) => ({ column: `t.c${index}`, type })));
  const { rows } = await pool.query(`SELECT ${list} FROM ${table} t`);
  return chooseTypes(columns, rows[0].parquet_statistics);
}

function selection(table: string, columns: readonly ParquetColumn[]): string {
  return `SELECT ${columns.map(({ type }, index) => writtenText(type, `t.c${index}`)).join(', ')} FROM ${table} t ORDER BY t.row_id`;
}

/** What the file ought to hold, told by Postgres: decimals with all digits of their scale, dates as days. */
async function expected(table: string, physical: readonly ParquetPhysical[], columns: readonly ParquetColumn[]): Promise<Cells[]> {
  const texts = physical.map((type, index) => {
    if (type.kind === 'DECIMAL') return `round(t.c${index}, ${type.scale})::text`;
    if (type.kind === 'DATE') return `(t.c${index} - '1970-01-01'::date)::text`;
    if (type.kind === 'INT32') return `t.c${index}::text`;
    return writtenText(columns[index]!.type, `t.c${index}`);
  });
  const { rows } = await pool.query({ text: `SELECT ${texts.join(', ')} FROM ${table} t ORDER BY t.row_id`, rowMode: 'array' });
  return rows;
}

interface Read {
  readonly metadata: FileMetaData;
  /** Exact texts: the reader would make floats of decimals and drop a byte order mark. */
  readonly rows: Cells[];
}

async function readBack(file: string): Promise<Read> {
  const source = await asyncBufferFromFile(file);
  const metadata = await parquetMetadataAsync(source);
  const raw = structuredClone(metadata);
  for (const element of raw.schema) if (element.converted_type === 'DECIMAL') delete element.converted_type;
  let rows: unknown[][] = [];
  await parquetRead({
    file: source,
    metadata: raw,
    parsers: { dateFromDays: String, stringFromBytes: (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes) } as never,
    utf8: false,
    onComplete: (found) => {
      rows = found as unknown as unknown[][];
    },
  });
  const text = (value: unknown, index: number): string | null => {
    const { type, type_length, precision, scale = 0 } = metadata.schema[index + 1]!;
    if (value === null || value === undefined) return null;
    if (precision === undefined) return type === 'BYTE_ARRAY' ? (value as Buffer).toString() : String(value as number | bigint | boolean);
    const bits = type_length === undefined ? value : BigInt(`0x${Buffer.from(value as Uint8Array).toString('hex')}`);
    return pointed(BigInt.asIntN((type_length ?? 8) * 8, bits as bigint), scale);
  };
  return { metadata, rows: rows.map((row) => row.map(text)) };
}

function pointed(unscaled: bigint, scale: number): string {
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0');
  const at = digits.length - scale;
  return `${unscaled < 0n ? '-' : ''}${digits.slice(0, at)}${scale === 0 ? '' : `.${digits.slice(at)}`}`;
}

interface Written extends Read {
  readonly physical: ParquetPhysical[];
  readonly result: ParquetFile;
  readonly file: string;
  readonly progress: [number, number][];
}

/** Writes the rows, reads them back and finds them the same. */
async function roundTrip(columns: readonly ParquetColumn[], rows: readonly Cells[]): Promise<Written> {
  const table = await tableOf(columns, rows);
  const physical = await typesOf(table, columns);
  const file = newFile();
  const progress: [number, number][] = [];
  const result = await writeParquet({
    databaseUrl,
    sql: selection(table, columns),
    columns,
    physical,
    file,
    signal: never,
    progress: (...told) => progress.push(told),
  });
  const read = await readBack(file);
  expect(read.rows).toEqual(await expected(table, physical, columns));
  expect(read.rows).toHaveLength(rows.length);
  expect(result).toMatchObject({ rows: rows.length, bytes: (await stat(file)).size });
  await pool.query(`DROP TABLE ${table}`);
  return { ...read, physical, result, file, progress };
}

async function connections(): Promise<number> {
  const { rows } = await pool.query(
    `SELECT 1 FROM pg_stat_activity WHERE application_name = 'packhorse-export' AND datname = current_database()`,
  );
  return rows.length;
}

const everyType = fieldTypes.map((type) => column(type, type));
const kinds = (written: Written) => Object.fromEntries(written.physical.map((type, index) => [everyType[index]!.name, type.kind]));

const digits = (most: number) => fc.stringMatching(new RegExp(`^(0|[1-9][0-9]{0,${most - 1}})$`));
const signed = (text: fc.Arbitrary<string>) => fc.tuple(fc.constantFrom('', '-'), text).map((parts) => parts.join(''));
const day = fc
  .date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
  .map((at) => at.toISOString().slice(0, 10));
const anyText = fc.string({ unit: 'binary', maxLength: 20 }).map((text) => text.replaceAll('\0', ''));

const values: Record<FieldType, fc.Arbitrary<string>> = {
  string: anyText,
  any: fc.oneof(anyText, fc.constantFrom('', 'repeated')),
  integer: signed(digits(20)),
  number: signed(
    fc.tuple(digits(25), fc.stringMatching(/^[0-9]{0,14}$/)).map(([whole, rest]) => (rest === '' ? whole : `${whole}.${rest}`)),
  ),
  boolean: fc.constantFrom('true', 'false'),
  date: day,
  time: fc.constantFrom('10:00:00', '23:59:59.123456789Z'),
  datetime: fc.constantFrom('2024-01-01T00:00:00', '2024-01-01T00:00:00.5Z'),
  year: fc.integer({ min: -9_999, max: 9_999 }).map(String),
  yearmonth: fc.constantFrom('1999-12', '0001-01'),
};

describe('a Parquet file', () => {
  it('gives back what any rows of any types held', { timeout: 300_000 }, async () => {
    const cells = fc.tuple(...fieldTypes.map((type) => fc.option(values[type], { freq: 5 })));
    await fc.assert(
      fc.asyncProperty(fc.array(cells, { maxLength: 60 }), async (rows) => {
        await roundTrip(everyType, rows);
      }),
      { numRuns: 12 },
    );
  });

  it('types what fits exactly, at the ends of each type', async () => {
    const ends: Record<FieldType, Cells> = {
      string: ['', '\uFEFF "é" \u{1F40E}\n'],
      integer: ['-9223372036854775808', '9223372036854775807'],
      number: ['-0.01', '1e30'],
      boolean: ['true', 'false'],
      date: ['0001-01-01', '9999-12-31'],
      time: ['10:00:00', null],
      datetime: ['2024-01-01T00:00:00', null],
      year: ['-0044', '9999'],
      yearmonth: ['0001-01', null],
      any: ['x', ''],
    };
    const rows = [0, 1].map((row) => fieldTypes.map((type) => ends[type][row] ?? null));
    const written = await roundTrip(everyType, rows);
    expect(kinds(written)).toEqual({
      string: 'STRING',
      integer: 'INT64',
      number: 'DECIMAL',
      boolean: 'BOOLEAN',
      date: 'DATE',
      time: 'STRING',
      datetime: 'STRING',
      year: 'INT32',
      yearmonth: 'STRING',
      any: 'STRING',
    });
    expect(written.rows[1]?.[fieldTypes.indexOf('number')]).toBe('1000000000000000000000000000000.00');
    expect(written.rows[0]?.[fieldTypes.indexOf('date')]).toBe('-719162');
    const elements = Object.fromEntries(written.metadata.schema.slice(1).map(({ name, ...element }) => [name, element]));
    expect(elements).toMatchObject({
      string: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
      integer: { type: 'INT64' },
      number: { type: 'FIXED_LEN_BYTE_ARRAY', converted_type: 'DECIMAL', precision: 38, scale: 2 },
      date: { type: 'INT32', converted_type: 'DATE' },
      year: { type: 'INT32' },
      boolean: { type: 'BOOLEAN' },
    });
  });

  it.each<[string, FieldType, string[], object]>([
    ['one above 64 bits', 'integer', ['1', '9223372036854775808'], { kind: 'STRING' }],
    ['one below 64 bits', 'integer', ['-9223372036854775809'], { kind: 'STRING' }],
    ['18 digits', 'number', ['1234567890123456.78', '-9999999999999999.99'], { kind: 'DECIMAL', precision: 18, scale: 2 }],
    ['19 digits', 'number', ['12345678901234567.89'], { kind: 'DECIMAL', precision: 38, scale: 2 }],
    ['nothing before the point', 'number', [`0.${'9'.repeat(38)}`, `-0.${'9'.repeat(38)}`], { kind: 'DECIMAL', precision: 38, scale: 38 }],
    ['38 nines', 'number', ['9'.repeat(38), `-${'9'.repeat(38)}`], { kind: 'DECIMAL', precision: 38, scale: 0 }],
    ['39 digits', 'number', ['9'.repeat(39)], { kind: 'STRING' }],
    ['38 digits of two values together', 'number', [`${'9'.repeat(37)}`, '0.01'], { kind: 'STRING' }],
    ['NaN', 'number', ['1.50', 'NaN'], { kind: 'STRING' }],
    ['minus infinity', 'number', ['1.50', '-INF'], { kind: 'STRING' }],
  ])('chooses by all values: %s', async (_, type, texts, chosen) => {
    const written = await roundTrip(
      [column('value', type)],
      texts.map((text) => [text]),
    );
    expect(written.physical).toEqual([{ ...chosen, required: false }]);
    if (written.physical[0]?.kind === 'STRING') expect(written.rows.flat()).toEqual(texts);
  });

  it('takes years with leading zeros and of nine digits', async () => {
    const file = newFile();
    const columns = [column('year', 'year')];
    const sql = `VALUES ('-0044'), ('0007'), ('-999999999'), ('999999999')`;
    await writeParquet({ databaseUrl, sql, columns, physical: chooseTypes(columns, ['false', null, null]), file, signal: never });
    expect((await readBack(file)).rows.flat()).toEqual(['-44', '7', '-999999999', '999999999']);
  });

  it('has its schema without rows and with nothing but nulls', async () => {
    const empty = await roundTrip(everyType, []);
    expect(empty.metadata.num_rows).toBe(0n);
    expect(empty.metadata.schema.slice(1).map(({ name }) => name)).toEqual([...fieldTypes]);
    expect(empty.physical.find(({ kind }) => kind === 'DECIMAL')).toMatchObject({ precision: 18, scale: 0 });
    const nulls = await roundTrip(everyType, [everyType.map(() => null), everyType.map(() => null)]);
    expect(kinds(nulls)).toEqual(kinds(empty));
  });

  it('requires what the schema requires, unless older rows lack it', async () => {
    const columns = [column('kept', 'string', true), column('lacking', 'number', true), column('free', 'string')];
    const { metadata } = await roundTrip(columns, [
      ['a', '1', 'x'],
      ['b', null, 'y'],
    ]);
    expect(metadata.schema.slice(1).map(({ repetition_type }) => repetition_type)).toEqual(['REQUIRED', 'OPTIONAL', 'OPTIONAL']);
  });

  it('takes any text as the name of a column', async () => {
    const names = ['__proto__', 'constructor', 'a.b', '', ' ', 'é\u{1F40E}"\'', 'list', 'element', 'inline', '7'.repeat(200)];
    const { metadata } = await roundTrip(
      names.map((name) => column(name, 'string')),
      [names.map((_, index) => `cell ${index}`)],
    );
    expect(metadata.schema.slice(1).map(({ name }) => name)).toEqual(names);
  });

  it('states its statistics for 1,500 columns in one item of a select list, also where Postgres would go parallel', async () => {
    const list = parquetStatistics(Array.from({ length: 1_500 }, (_, index) => ({ column: `(n + ${index})`, type: 'number' })));
    await pool.query('CREATE TABLE public.wide AS SELECT n FROM (VALUES (1.5), (NULL)) v (n)');
    const client = await pool.connect();
    try {
      await client.query(
        'BEGIN; SET LOCAL parallel_setup_cost = 0; SET LOCAL parallel_tuple_cost = 0; SET LOCAL min_parallel_table_scan_size = 0',
      );
      const { rows } = await client.query(`SELECT count(*), ${list} FROM public.wide`);
      expect(rows[0].parquet_statistics.slice(-3)).toEqual(['true', '1500.5', '1']);
      expect(rows[0].parquet_statistics).toHaveLength(4_500);
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  });

  it('is the same bytes again, whole in its digest, and cut into groups by its rows alone', async () => {
    const columns = [column('n', 'integer', true), column('price', 'number'), column('text', 'string')];
    const table = await tableOf(columns, []);
    await pool.query(
      `INSERT INTO ${table} SELECT n, n, n * 0.25, CASE WHEN n % 7 > 0 THEN 'row ' || n % 1000 END FROM generate_series(1, 25001) n`,
    );
    const physical = await typesOf(table, columns);
    const progress: [number, number][] = [];
    const write = async () => {
      const file = newFile();
      const sql = selection(table, columns);
      const result = await writeParquet({
        databaseUrl,
        sql,
        columns,
        physical,
        file,
        signal: never,
        progress: (...told) => progress.push(told),
      });
      return { result, file, bytes: await readFile(file) };
    };
    const [first, second] = [await write(), await write()];
    expect(second.result).toEqual(first.result);
    expect(second.bytes.equals(first.bytes)).toBe(true);
    expect(first.result).toEqual({
      rows: 25_001,
      bytes: first.bytes.length,
      sha256: createHash('sha256').update(first.bytes).digest('hex'),
      crc32: crc32(first.bytes),
    });
    const { metadata, rows } = await readBack(first.file);
    expect(metadata.row_groups.map((group) => group.num_rows)).toEqual([25_000n, 1n]);
    expect(rows).toEqual(await expected(table, physical, columns));
    expect(progress.map(([told]) => told)).toEqual([25_000, 25_001, 25_000, 25_001]);
    expect(metadata.created_by).toBe('packhorse');
  });

  it('ends a row group early where rows are large', async () => {
    const table = await tableOf([column('text', 'string')], []);
    await pool.query(`INSERT INTO ${table} SELECT n, repeat(md5(n::text), 1 << 15) FROM generate_series(1, 70) n`);
    const columns = [column('text', 'string')];
    const file = newFile();
    const sql = selection(table, columns);
    await writeParquet({ databaseUrl, sql, columns, physical: await typesOf(table, columns), file, signal: never });
    const { metadata } = await readBack(file);
    expect(metadata.row_groups.map((group) => Number(group.num_rows))).toEqual([16, 16, 16, 16, 6]);
  });
});

describe('a Parquet file that is not finished', () => {
  const columns = [column('value', 'string')];
  const physical: ParquetPhysical[] = [{ kind: 'STRING', required: false }];
  const endless = 'SELECT md5(generate_series(1, 1000000000)::text)';

  async function leavesNothing(file: string): Promise<void> {
    expect(existsSync(file)).toBe(false);
    await expect.poll(connections).toBe(0);
  }

  it('is not begun when it is already called off', async () => {
    const file = newFile();
    const reason = new Error('called off');
    const request = { databaseUrl, sql: 'SELECT 1', columns, physical, file, signal: AbortSignal.abort(reason) };
    await expect(writeParquet(request)).rejects.toBe(reason);
    await leavesNothing(file);
  });

  it('is taken away when it is called off half-way', async () => {
    const file = newFile();
    const reason = new Error('called off');
    const abort = new AbortController();
    const progress = () => {
      expect(existsSync(file)).toBe(true);
      abort.abort(reason);
    };
    await expect(writeParquet({ databaseUrl, sql: endless, columns, physical, file, signal: abort.signal, progress })).rejects.toBe(reason);
    await leavesNothing(file);
  });

  it('leaves no statement running on the server when it is called off in the middle of one', async () => {
    const file = newFile();
    const reason = new Error('called off');
    const abort = new AbortController();
    const sql = 'SELECT pg_sleep(600)::text';
    const written = writeParquet({ databaseUrl, sql, columns, physical, file, signal: abort.signal });
    const sleeping = async () => {
      const { rows } = await pool.query(
        `SELECT 1 FROM pg_stat_activity WHERE application_name = 'packhorse-export' AND wait_event = 'PgSleep' AND datname = current_database()`,
      );
      return rows.length;
    };
    written.catch(() => {});
    await expect.poll(sleeping).toBe(1);
    abort.abort(reason);
    await expect(written).rejects.toBe(reason);
    await leavesNothing(file);
  });

  it("tells Postgres's error by its code", async () => {
    const file = newFile();
    const sql = 'SELECT (1 / (60000 - generate_series(1, 60001)))::text';
    await expect(writeParquet({ databaseUrl, sql, columns, physical, file, signal: never })).rejects.toMatchObject({ code: '22012' });
    await leavesNothing(file);
  });

  it('ends with its connection', async () => {
    const file = newFile();
    let ended: Promise<unknown> | undefined;
    const progress = () => {
      ended ??= pool.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'packhorse-export' AND datname = current_database()`,
      );
    };
    await expect(writeParquet({ databaseUrl, sql: endless, columns, physical, file, signal: never, progress })).rejects.toThrow(
      /terminat|EPIPE|ECONNRESET/,
    );
    await ended;
    await leavesNothing(file);
  });

  it.skipIf(!existsSync('/dev/full'))('tells of a full disk by its code', async () => {
    const file = newFile();
    symlinkSync('/dev/full', file);
    await expect(writeParquet({ databaseUrl, sql: endless, columns, physical, file, signal: never })).rejects.toMatchObject({
      code: 'ENOSPC',
    });
    expect(existsSync('/dev/full')).toBe(true);
    await leavesNothing(file);
  });

  it('tells of a path it cannot write by its code', async () => {
    const file = path.join(folder, 'missing', 'x.parquet');
    const request = { databaseUrl, sql: 'SELECT 1::text', columns, physical, signal: never };
    await expect(writeParquet({ ...request, file })).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(writeParquet({ ...request, file: folder })).rejects.toMatchObject({ code: 'EISDIR' });
    await leavesNothing(file);
  });

  it('passes on what its listener throws', async () => {
    const file = newFile();
    const progress = () => {
      throw new Error('listener');
    };
    await expect(writeParquet({ databaseUrl, sql: endless, columns, physical, file, signal: never, progress })).rejects.toThrow('listener');
    await leavesNothing(file);
  });

  it.each(['0.125', '12345678901234567', '-12345678901234567'])('refuses a decimal that its type would cut: %s', async (value) => {
    const file = newFile();
    const decimal: ParquetPhysical[] = [{ kind: 'DECIMAL', precision: 18, scale: 2, required: false }];
    const request = { databaseUrl, sql: `SELECT '${value}'`, columns: [column('price', 'number')], physical: decimal, file, signal: never };
    await expect(writeParquet(request)).rejects.toThrow('does not fit DECIMAL(18, 2)');
    await leavesNothing(file);
  });
});
