import { describe, expect, it } from 'vitest';
import { InvalidInputError } from '../../src/errors.ts';
import { type PageRequest, readRows } from '../../src/records/read.ts';
import { primaryKeyOf } from '../../src/records/table.ts';
import { field, plan, recordsDatabase, schema } from './loading.ts';

const db = await recordsDatabase();

async function reader(name: string) {
  const { rows } = await db.pool.query('SELECT table_name AS table, columns, schema FROM dataset WHERE name = $1', [name]);
  const dataset = { ...rows[0], primaryKey: primaryKeyOf(rows[0].schema) };
  return (page: PageRequest) => readRows(db.pool, dataset, page);
}

const types = ['integer', 'number', 'boolean', 'date', 'time', 'datetime', 'year', 'yearmonth', 'any', 'string'] as const;
await db.load(
  plan(
    'typed',
    schema(
      types.map((type) => field(type, type)),
      { primaryKey: ['integer'] },
    ),
  ),
  `${types.join(',')}\n9007199254740993,1.50,true,2024-02-29,10:00:00,2024-01-01T00:00:00+01:00,1999,1999-12,x,"é"\n7,INF,0,,,,,,,\n`,
);
const numbers = Array.from({ length: 10 }, (_, n) => n + 1);
await db.load(plan('counted', schema([field('n', 'integer')], { primaryKey: ['n'] })), `n\n${[...numbers].reverse().join('\n')}\n`);

describe('rows are read', () => {
  it('as values that JSON can hold, exactly', async () => {
    const page = await (await reader('typed'))({ first: 5 });
    expect(page.rows.map(({ key, values }) => ({ key, ...values }))).toEqual([
      {
        key: '7',
        integer: 7,
        number: 'INF',
        boolean: false,
        date: null,
        time: null,
        datetime: null,
        year: null,
        yearmonth: null,
        any: null,
        string: null,
      },
      {
        key: '9007199254740993',
        integer: '9007199254740993',
        number: '1.50',
        boolean: true,
        date: '2024-02-29',
        time: '10:00:00',
        datetime: '2023-12-31T23:00:00Z',
        year: 1999,
        yearmonth: '1999-12',
        any: 'x',
        string: 'é',
      },
    ]);
  });

  it('page by page in key order, both ways, without gap or repetition', async () => {
    const read = await reader('counted');
    const forward: unknown[] = [];
    let after: string | undefined;
    for (let more = true; more; ) {
      const page = await read({ first: 3, after });
      expect(page.hasPreviousPage).toBe(after !== undefined);
      forward.push(...page.rows.map(({ values }) => values.n));
      after = page.rows.at(-1)?.cursor;
      more = page.hasNextPage;
    }
    expect(forward).toEqual(numbers);
    const backward: unknown[] = [];
    let before: string | undefined;
    for (let more = true; more; ) {
      const page = await read({ last: 4, before });
      expect(page.hasNextPage).toBe(before !== undefined);
      backward.unshift(...page.rows.map(({ values }) => values.n));
      before = page.rows[0]?.cursor;
      more = page.hasPreviousPage;
    }
    expect(backward).toEqual(numbers);
    const between = await read({
      first: 10,
      after: (await read({ first: 2 })).rows[1]?.cursor,
      before: (await read({ last: 2 })).rows[0]?.cursor,
    });
    expect(between.rows.map(({ values }) => values.n)).toEqual([3, 4, 5, 6, 7, 8]);
    expect((await read({ first: 0 })).rows).toEqual([]);
  });

  it('by composite keys, whose text is a JSON array', async () => {
    await db.load(plan('pairs', schema([field('a'), field('b', 'integer')], { primaryKey: ['b', 'a'] })), 'a,b\ny,10\nx,9\nx,10\n');
    const read = await reader('pairs');
    const first = await read({ first: 2 });
    expect(first.rows.map(({ key }) => key)).toEqual(['["9","x"]', '["10","x"]']);
    expect((await read({ first: 2, after: first.rows[1]?.cursor })).rows.map(({ key }) => key)).toEqual(['["10","y"]']);
  });

  it('without a key in the order of the file, live ones alone', async () => {
    const dataset = plan('unkeyed', schema([field('a')]));
    await db.load(dataset, 'a\nz\ny\n');
    await db.load(dataset, 'a\ny\nx\ny\n');
    const page = await (await reader('unkeyed'))({ first: 10 });
    expect(page.rows.map(({ values }) => values.a)).toEqual(['y', 'x', 'y']);
    expect(page.rows[0]?.key).toMatch(/^\d+$/);
  });

  it('from no cursor but their own', async () => {
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const read = await reader('counted');
    for (const cursor of ['', 'x', encode({}), encode([]), encode([1]), encode(['1', '2']), encode(['one']), encode(['1\0'])]) {
      for (const side of ['after', 'before'] as const) {
        const error = await read({ first: 1, [side]: cursor }).catch((thrown: unknown) => thrown);
        expect(error, cursor).toBeInstanceOf(InvalidInputError);
        expect(error).toMatchObject({ field: side, code: 'CURSOR_INVALID' });
      }
    }
  });
});
