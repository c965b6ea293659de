import { describe, expect, it } from 'vitest';
import type { Field, FieldType } from '../../src/packages/plan.ts';
import { postgresPattern } from '../../src/records/pattern.ts';
import { account, field, plan, recordsDatabase, schema } from './loading.ts';

const db = await recordsDatabase();
let made = 0;

/** Each value as a row of its own (with an id, so that an empty one is no blank line): the stored text, or the codes it fails with. */
async function stored(of: Field, values: readonly string[], missingValues: readonly string[] = ['']) {
  made += 1;
  const dataset = plan(`checked-${made}`, schema([field('id', 'integer'), of], { primaryKey: ['id'], missingValues }));
  const line = (value: string, id: number) => `${id},"${value.replaceAll('"', '""')}"`;
  const csv = `id,${of.name}\n${values.map(line).join('\n')}\n`;
  const outcome = await db.load(dataset, csv);
  if (outcome === 'abandoned') throw new Error('abandoned');
  if (outcome.state !== 'failed') return (await db.rows(dataset.name)).map((row) => row[of.name]);
  const faults = values.map((_, index) => outcome.errors.first.filter(({ row }) => row === index + 1).map(({ code }) => code));
  expect(outcome.rows.rejected).toBe(faults.filter((codes) => codes.length > 0).length);
  return faults.map((codes) => codes.join(' '));
}

const accepts = async (of: Field, values: Record<string, string>) =>
  expect(await stored(of, Object.keys(values))).toEqual(Object.values(values));
const refuses = async (of: Field, values: readonly string[], code = 'TYPE') =>
  expect(await stored(of, values)).toEqual(values.map(() => code));

describe('a value is taken exactly or not at all', () => {
  const of = (type: FieldType, more: Partial<Field> = {}) => field('x', type, {}, more);

  it('integer', async () => {
    const large = `1${'0'.repeat(30)}`;
    await accepts(of('integer'), { '9223372036854775808': '9223372036854775808', [large]: large, '-5': '-5', '+5': '5', '007': '7' });
    await refuses(of('integer'), ['1.0', '1e3', ' 1', '1 ', '0x1F', '1_000', 'NaN', '-', '1,000', '١', '1\n', '9'.repeat(1_001)]);
    await accepts(of('integer', { groupChar: ',' }), { '1,234,567': '1234567', '12': '12' });
    await refuses(of('integer', { groupChar: ',' }), [',1', '1,', '1,,0']);
    await accepts(of('integer', { bareNumber: false }), { '€95': '95', '95%': '95', 'EUR -7 net': '-7' });
    await refuses(of('integer', { bareNumber: false }), ['none', '1.5%']);
  });

  it('number', async () => {
    await accepts(of('number'), {
      '1.50': '1.50',
      '0.000': '0.000',
      '-.5': '-0.5',
      '5.': '5',
      '1e3': '1000',
      '1.5E-3': '0.0015',
      NaN: 'NaN',
      INF: 'Infinity',
      '-INF': '-Infinity',
    });
    const digits = '123456789.'.repeat(1) + '0123456789'.repeat(40);
    await accepts(of('number'), { [digits]: digits });
    await refuses(of('number'), ['1,5', 'inf', 'Infinity', 'nan', '1e1000', '1e', '.', '+', '--1', '1_0', '0x10', ' 1']);
    await accepts(of('number', { decimalChar: ',', groupChar: '.' }), { '1.234,50': '1234.50', ',5': '0.5', '-7': '-7' });
    await accepts(of('number', { bareNumber: false }), { '$1.50': '1.50', '-12.0 %': '-12.0', 'USD .5': '0.5' });
  });

  it('boolean', async () => {
    await accepts(of('boolean'), { true: 'true', '1': 'true', False: 'false', '0': 'false' });
    await refuses(of('boolean'), ['t', 'yes', 'tRUE', 'on']);
    await accepts(of('boolean', { trueValues: ["j'a"], falseValues: [] }), { "j'a": 'true' });
  });

  it('date', async () => {
    await accepts(of('date'), {
      '2024-02-29': '2024-02-29',
      '2000-02-29': '2000-02-29',
      '0001-01-01': '0001-01-01',
      '9999-12-31': '9999-12-31',
    });
    await refuses(of('date'), [
      '2023-02-29',
      '1900-02-29',
      '2024-04-31',
      '2024-13-01',
      '2024-00-10',
      '2024-01-00',
      '1861-7-1',
      '0000-01-01',
      '2024-01-01T00:00:00',
      '20240101',
      '24-01-01',
      '2024-01-01 ',
      '-001-01-01',
      '+024-01-01',
      'today',
      'infinity',
      '2024-1-001',
    ]);
  });

  it('time', async () => {
    await accepts(of('time'), {
      '00:00:00': '00:00:00',
      '23:59:59.1230': '23:59:59.1230',
      '01:30:00Z': '01:30:00Z',
      '01:00:00.50+02:00': '23:00:00.50Z',
    });
    await refuses(of('time'), ['24:00:00', '12:60:00', '12:00:60', '12:00', '1:00:00', '12:00:00.', '12:00:00+2', 'noon']);
  });

  it('datetime: instants in UTC, the fraction kept; local times as they are', async () => {
    await accepts(of('datetime'), {
      '2024-03-31T02:30:00': '2024-03-31T02:30:00',
      '2024-03-31T02:30:00Z': '2024-03-31T02:30:00Z',
      '2024-03-31T02:30:00.120+05:45': '2024-03-30T20:45:00.120Z',
      '2024-02-28T23:00:00-01:00': '2024-02-29T00:00:00Z',
      '1999-12-31T23:59:59.123456789Z': '1999-12-31T23:59:59.123456789Z',
    });
    await refuses(of('datetime'), [
      '2024-03-31',
      '2024-03-31 02:30:00',
      '2023-02-29T00:00:00Z',
      '2024-03-31T25:00:00Z',
      '2024-03-31T02:30:00z',
      '2024-03-31T02:30:00+0200',
      '0001-01-01T00:00:00+01:00',
      '9999-12-31T23:00:00-02:00',
    ]);
  });

  it('year and year with month', async () => {
    await accepts(of('year'), { '1999': '1999', '-0044': '-44', '12000': '12000' });
    await refuses(of('year'), ['99', '1999.0', '19990000000', '00099']);
    await accepts(of('yearmonth'), { '1999-12': '1999-12' });
    await refuses(of('yearmonth'), ['1999-13', '1999-1', '1999-00', '99-01']);
  });

  it('text, code point for code point', async () => {
    const texts = [
      'ä',
      'ä',
      '𝄞',
      '\u200b',
      ' padded ',
      'line\nbreak',
      'tab\t',
      '\\N',
      'NULL',
      'quote \' and "',
      '\ufeff',
      'x'.repeat(100_000),
    ];
    expect(await stored(field('x'), texts)).toEqual(texts);
  });

  it('missing values, of the schema or the field', async () => {
    expect(await stored(field('x', 'integer'), ['', 'NA', '-', '5'], ['', 'NA', '-'])).toEqual([null, null, null, '5']);
    expect(await stored(field('x', 'string', {}, { missingValues: ['-99'] }), ['', '-99'])).toEqual(['', null]);
    expect(await stored(field('x', 'integer'), ['', '5'], [])).toEqual(['TYPE', '']);
  });
});

describe('constraints', () => {
  it('required', async () => refuses(field('x', 'string', { required: true }), ['', ''], 'REQUIRED'));

  it('length, in code points', async () => {
    expect(await stored(field('x', 'string', { minLength: 2, maxLength: 3 }), ['𝄞', '𝄞𝄞', 'abc', 'abcd', ''])).toEqual([
      'MIN_LENGTH',
      '',
      '',
      'MAX_LENGTH',
      '',
    ]);
  });

  it('bounds, exact for large and long numbers', async () => {
    const of = field('x', 'integer', { minimum: '9007199254740993', exclusiveMaximum: '9223372036854775808' });
    expect(await stored(of, ['9007199254740992', '9007199254740993', '9223372036854775807', '9223372036854775808'])).toEqual([
      'MINIMUM',
      '',
      '',
      'EXCLUSIVE_MAXIMUM',
    ]);
    expect(
      await stored(field('x', 'date', { exclusiveMinimum: '2024-01-01', maximum: '2024-12-31' }), [
        '2024-01-01',
        '2024-06-01',
        '2025-01-01',
      ]),
    ).toEqual(['EXCLUSIVE_MINIMUM', '', 'MAXIMUM']);
    expect(
      await stored(field('x', 'datetime', { minimum: '2024-01-01T00:00:00Z' }), ['2024-01-01T00:00:00.5Z', '2024-01-01T00:30:00+01:00']),
    ).toEqual(['', 'MINIMUM']);
    expect(await stored(field('x', 'number', { minimum: '0' }), ['nope', '-1', '1'])).toEqual(['TYPE', 'MINIMUM', '']);
  });

  it('enumerations, by value', async () => {
    expect(await stored(field('x', 'number', { enum: ['1.0', '2'] }), ['1', '2.00', '3', 'x'])).toEqual(['', '', 'ENUM', 'TYPE']);
    expect(await stored(field('x', 'string', { enum: ["it's"] }), ["it's", 'its'])).toEqual(['', 'ENUM']);
  });

  it('patterns match whole values', async () => {
    expect(await stored(field('x', 'string', { pattern: '[A-Z]{2}\\d+' }), ['AB1', 'xAB1', 'AB1x', 'AB1\n'])).toEqual([
      '',
      'PATTERN',
      'PATTERN',
      'PATTERN',
    ]);
    expect(await stored(field('x', 'string', { pattern: '^(a|b).c$' }), ['axc', 'a\nc', 'b.c'])).toEqual(['', 'PATTERN', '']);
    for (const pattern of ['(a)\\1', '[a-z-[aeiou]]', '\\p{Lu}+', '\\bx', '(?i)x', 'a{300}', '[', '(', '[[:alpha:]]']) {
      const outcome = await db.load(plan('patterned', schema([field('x', 'string', { pattern })])), 'x\na\n');
      expect(outcome, pattern).toMatchObject({
        state: 'failed',
        failure: { code: 'PATTERN_NOT_SUPPORTED', origin: 'package' },
        rows: { source: 1, unprocessed: 1 },
      });
    }
    expect(postgresPattern('a[.]b.')).toBe('^(?:a[.]b[^\\n\\r])$');
  });

  it('unique values and keys, by value', async () => {
    expect(await stored(field('x', 'number', { unique: true }), ['1', '', '1.0', '', '2'])).toEqual(['', '', 'UNIQUE', '', '']);
    const keyed = plan('keyed', schema([field('a', 'integer'), field('b')], { primaryKey: ['a', 'b'] }));
    const outcome = await db.load(keyed, 'a,b\n1,x\n01,x\n1,\n1,y\n1,x\n');
    expect(outcome).toMatchObject({ rows: account({ source: 5, rejected: 3, unprocessed: 2 }), errors: { count: 3 } });
    expect(
      outcome !== 'abandoned' && outcome.state === 'failed' && outcome.errors.first.map(({ row, field: name, code }) => [row, name, code]),
    ).toEqual([
      [2, 'a, b', 'PRIMARY_KEY'],
      [3, 'b', 'PRIMARY_KEY'],
      [5, 'a, b', 'PRIMARY_KEY'],
    ]);
    // Nothing but the key is wrong here: the table's own index finds it.
    expect(await db.load(keyed, 'a,b\n1,x\n2,x\n01,x\n')).toMatchObject({
      rows: account({ source: 3, rejected: 1, unprocessed: 2 }),
      errors: { first: [{ row: 3, code: 'PRIMARY_KEY' }] },
    });
    const combined = plan('combined', schema([field('a'), field('b')], { uniqueKeys: [['a', 'b']] }));
    expect(await db.load(combined, 'a,b\n1,x\n1,x\n1,\n1,\n')).toMatchObject({
      errors: { count: 1, first: [{ row: 2, field: 'a, b', code: 'UNIQUE' }] },
    });
  });

  it("a constraint that is no value of its type fails the step as the package's fault", async () => {
    const outcome = await db.load(plan('unsound', schema([field('x', 'integer', { minimum: 'low' })])), 'x\n1\n');
    expect(outcome).toMatchObject({ failure: { code: 'INVALID_CONSTRAINT', origin: 'package' } });
  });
});

it('lists the first 1,000 errors and counts them all', async () => {
  const lines = Array.from({ length: 3_000 }, (_, index) => (index % 2 === 0 ? 'x,y' : '1,2'));
  const outcome = await db.load(plan('many', schema([field('a', 'integer'), field('b', 'integer')])), `a,b\n${lines.join('\n')}\n`);
  if (outcome === 'abandoned' || outcome.state !== 'failed') throw new Error('should have failed');
  expect(outcome.rows).toEqual(account({ source: 3_000, rejected: 1_500, unprocessed: 1_500 }));
  expect(outcome.errors.count).toBe(3_000);
  expect(outcome.errors.first).toHaveLength(1_000);
  expect(outcome.errors.first[1]).toEqual({ row: 1, field: 'b', code: 'TYPE', message: 'Row 1: "b" is not an integer: "y".' });
  expect(outcome.errors.first.at(-1)?.row).toBe(999);
  expect(outcome.failure.summary).toBe('1500 of 3000 rows are not valid (3000 faults). The first: Row 1: "a" is not an integer: "x".');
});
