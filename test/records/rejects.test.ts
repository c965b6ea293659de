// onInvalidRow REJECT and onMissingReference REJECT: what is left out, what is written, and what is kept of it.
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { DatasetPlan, ForeignKey } from '../../src/packages/plan.ts';
import { account, csvDialect, field, type LoadOptions, plan, recordsDatabase, schema } from './loading.ts';

const db = await recordsDatabase();

interface Kept {
  readonly n: string;
  readonly reason: string;
  readonly record: string | null;
  readonly cells: readonly (string | null)[] | null;
}

async function kept(runId: string): Promise<Kept[]> {
  const { rows } = await db.pool.query<Kept>(
    'SELECT r.n, r.reason, r.record, r.cells FROM rejected_dataset d JOIN rejected_row r ON r.rejected_id = d.id WHERE d.run_id = $1 ORDER BY r.n',
    [runId],
  );
  return rows;
}

/** Leaves rows out that are not valid; gives what the load said, and what it kept. */
async function sift(dataset: DatasetPlan, data: string, options: LoadOptions = {}) {
  const runId = options.runId ?? randomUUID();
  const outcome = await db.load(dataset, data, { onInvalidRow: 'REJECT', ...options, runId });
  if (outcome === 'abandoned') throw new Error('nobody asked it to stop');
  return { ...outcome, kept: await kept(runId) };
}

const reasons = (rows: readonly Kept[]) => rows.map(({ n, reason }) => `${n} ${reason}`);
const key = (fields: readonly string[], resource: string, to: readonly string[]): ForeignKey => ({
  fields,
  reference: { resource, fields: to },
});

describe('rows that are not valid', () => {
  const goods = plan(
    'goods',
    schema(
      [field('id', 'integer'), field('name', 'string', { required: true, maxLength: 5 }), field('kilos', 'number', { minimum: '0' })],
      {
        primaryKey: ['id'],
      },
    ),
  );

  it('are left out of a CSV file, each with all that is wrong with it, and the rest is written', async () => {
    const { kept: left, ...outcome } = await sift(goods, 'id,name,kilos\n1,salt,1.50\nx,"tin, ""b""",-2\n3,,\n4,wool,2,5\n,a,1\n6,ore,3\n');
    expect(outcome).toEqual({
      state: 'succeeded',
      rows: account({ source: 6, loaded: 2, rejected: 4 }),
      errors: {
        count: 6,
        first: [
          { row: 2, field: 'id', code: 'TYPE', message: 'Row 2: "id" is not an integer: "x".' },
          { row: 2, field: 'name', code: 'MAX_LENGTH', message: 'Row 2: "name" is longer than 5: "tin, \\"b\\"".' },
          { row: 2, field: 'kilos', code: 'MINIMUM', message: 'Row 2: "kilos" is less than 0: "-2".' },
          { row: 3, field: 'name', code: 'REQUIRED', message: 'Row 3: "name" is required and missing.' },
          { row: 4, field: null, code: 'TOO_MANY_CELLS', message: 'Row 4 has 4 cells, expected 3.' },
          { row: 5, field: 'id', code: 'PRIMARY_KEY', message: 'Row 5: "id" is part of the primary key and missing.' },
        ],
      },
    });
    expect(await db.rows('goods')).toEqual([
      { id: '1', name: 'salt', kilos: '1.50' },
      { id: '6', name: 'ore', kilos: '3' },
    ]);
    expect(left).toEqual([
      {
        n: '2',
        reason: '"id" is not an integer: "x"; "name" is longer than 5: "tin, \\"b\\""; "kilos" is less than 0: "-2"',
        record: null,
        cells: ['x', 'tin, "b"', '-2'],
      },
      { n: '3', reason: '"name" is required and missing', record: null, cells: ['3', '', ''] },
      { n: '4', reason: 'Row 4 has 4 cells, expected 3.', record: '["4","wool","2","5"]', cells: null },
      { n: '5', reason: '"id" is part of the primary key and missing', record: null, cells: ['', 'a', '1'] },
    ]);
  });

  it('fail the dataset by default, and nothing is kept', async () => {
    const runId = randomUUID();
    expect(await db.load(goods, 'id,name,kilos\n7,tin,1\nx,tin,1\n', { runId })).toMatchObject({ state: 'failed' });
    expect(await kept(runId)).toEqual([]);
    expect((await db.rows('goods')).map(({ id }) => id)).not.toContain('7');
  });

  it('may be all of a file', async () => {
    expect(await sift(goods, 'id,name,kilos\nx,tin,1\ny,tin,1\n')).toMatchObject({
      state: 'succeeded',
      rows: account({ source: 2, rejected: 2 }),
    });
  });

  it('are told to the thousandth and kept to the last', async () => {
    const lines = Array.from({ length: 1_500 }, (_, at) => `x${at},n,1\n`).join('');
    const { errors, kept: left } = await sift(goods, `id,name,kilos\n${lines}100,tin,1\n`);
    expect(errors).toMatchObject({ count: 1_500 });
    expect(errors.first).toHaveLength(1_000);
    expect(left).toHaveLength(1_500);
    expect(left.at(-1)).toMatchObject({ n: '1500', cells: ['x1499', 'n', '1'] });
  });

  it('keep a NUL character, which no text of the database can', async () => {
    const { kept: left, rows } = await sift(goods, 'id,name,kilos\n8,a\0b,1\n9,tin,1\n');
    expect(rows).toEqual(account({ source: 2, loaded: 1, rejected: 1 }));
    expect(left).toEqual([{ n: '1', reason: 'Row 1 has a NUL character in column 2.', record: '["8","a\\u0000b","1"]', cells: null }]);
  });

  it('are numbered and kept by their fields where a file has no header and its columns another order', async () => {
    const swapped = plan('swapped', schema([field('id', 'integer'), field('name')], { primaryKey: ['id'], fieldsMatch: 'superset' }));
    expect((await sift(swapped, 'name,id\ntin,1\nwool,x\n')).kept).toMatchObject([{ n: '2', cells: ['x', 'wool'] }]);
    const bare = plan('bare', schema([field('id', 'integer'), field('name')]), { dialect: { ...csvDialect, header: false } });
    expect((await sift(bare, '1,tin\nx,wool\n')).kept).toMatchObject([{ n: '2', cells: ['x', 'wool'] }]);
  });

  it('are kept of JSON as they stood there, whatever their kind', async () => {
    const json = plan('json', schema([field('id', 'integer'), field('name')], { primaryKey: ['id'] }), { format: 'ndjson' });
    const { kept: left, rows } = await sift(
      json,
      '{"id":1,"name":"tin"}\n{"id":true,"name":{"a":[1.50]}}\n{"name":"wool"}\n[1,2]\n{"id":2,"name":"a\\u0000b"}\n{"id":12345678901234567890123,"name":null}\n',
    );
    expect(rows).toEqual(account({ source: 6, loaded: 2, rejected: 4 }));
    expect(left).toEqual([
      { n: '2', reason: '"id" is not an integer; "name" is not a string', record: null, cells: ['true', '{"a": [1.50]}'] },
      { n: '3', reason: '"id" is part of the primary key and missing', record: null, cells: [null, 'wool'] },
      { n: '4', reason: 'Row 4 is an array, the first is an object.', record: '[1, 2]', cells: null },
      { n: '5', reason: 'Row 5 has a NUL character (\\u0000) in a text.', record: '{"id":2,"name":"a\\u0000b"}', cells: null },
    ]);
    const arrays = plan('arrays', schema([field('id', 'integer'), field('name')], { primaryKey: ['id'] }), { format: 'json' });
    expect((await sift(arrays, '[["id","name"],[1,"tin"],[2],["x","ore"]]')).kept).toEqual([
      { n: '2', reason: 'Row 2 has 1 cells, expected 2.', record: '[2]', cells: null },
      { n: '3', reason: '"id" is not an integer: "x"', record: null, cells: ['x', 'ore'] },
    ]);
  });
});

describe('keys that a file has twice', () => {
  const tags = plan(
    'tags',
    schema([field('id', 'integer'), field('label', 'string', { unique: true }), field('size', 'integer')], { primaryKey: ['id'] }),
  );

  it('leave out the later row, but not for one that is left out itself', async () => {
    const { kept: left, rows } = await sift(tags, 'id,label,size\n1,a,x\n1,a,1\n1,b,1\n2,a,1\n3,b,1\n4,c,1\n');
    expect(reasons(left)).toEqual([
      '1 "size" is not an integer: "x"',
      '3 "id" repeats a primary key of an earlier row: "1"',
      '4 "label" repeats a value of an earlier row that must be unique: "a"',
    ]);
    expect(rows).toEqual(account({ source: 6, loaded: 3, rejected: 3 }));
    expect((await db.rows('tags')).map(({ id, label }) => `${id}${label}`)).toEqual(['1a', '3b', '4c']);
  });

  it('or that a row has which stays: also where it stays because what would replace it is left out', async () => {
    const shift = plan('shift', tags.schema);
    await db.load(shift, 'id,label,size\n1,a,1\n2,b,1\n3,c,1\n4,d,1\n');
    // Everybody moves up by one, and the last of them cannot.
    const { kept: left, rows } = await sift(shift, 'id,label,size\n1,b,1\n2,c,1\n3,d,1\n4,e,x\n5,f,1\n');
    expect(reasons(left)).toEqual([
      '1 "label" must be unique and is taken by a row that is already there: "b"',
      '2 "label" must be unique and is taken by a row that is already there: "c"',
      '3 "label" must be unique and is taken by a row that is already there: "d"',
      '4 "size" is not an integer: "x"',
    ]);
    expect(rows).toEqual(account({ source: 5, loaded: 1, rejected: 4 }));
    expect(await sift(shift, 'id,label,size\n1,b,1\n2,c,1\n3,d,1\n4,e,1\n')).toMatchObject({
      rows: account({ source: 4, updated: 4 }),
      kept: [],
    });
  });
});

describe('rows that point at nothing', () => {
  const tree = (name: string) =>
    plan(
      name,
      schema([field('id', 'integer'), field('parent', 'integer'), field('good')], {
        primaryKey: ['id'],
        foreignKeys: [key(['parent'], name, ['id']), key(['good'], 'metals', ['code'])],
      }),
    );
  const metals = plan('metals', schema([field('code')], { primaryKey: ['code'] }));
  // 2 is not valid, 3 points at it, 4 at 3; 5 at a metal that is not there, 6 at 5.
  const file = 'id,parent,good\n1,,tin\nx2,1,tin\n3,2,tin\n4,3,\n5,1,gold\n6,5,tin\n7,1,tin\n';

  it('are held back beside those that are left out', async () => {
    await db.load(metals, 'code\ntin\n');
    const { kept: left, ...outcome } = await sift(tree('holding'), file);
    expect(outcome).toMatchObject({
      state: 'blocked',
      rows: account({ source: 7, loaded: 2, rejected: 1, blocked: 4 }),
      blockers: [
        { count: 3, sampleKeys: ['2', '3', '5'] },
        { count: 1, sampleKeys: ['gold'] },
      ],
    });
    expect(reasons(left)).toEqual(['2 "id" is not an integer: "x2"']);
    expect((await db.rows('holding')).map(({ id }) => id)).toEqual(['1', '7']);
  });

  it('leave their place in the dataset to nobody', async () => {
    await db.load(metals, 'code\ntin\n');
    const coded = plan(
      'coded',
      schema([field('id', 'integer'), field('code', 'string', { unique: true }), field('good')], {
        primaryKey: ['id'],
        foreignKeys: [key(['good'], 'metals', ['code'])],
      }),
    );
    await db.load(coded, 'id,code,good\n1,a,tin\n2,b,tin\n');
    // 1 would give a to 3, but it is held back; 2 gives b to 4.
    const { kept: left, rows } = await sift(coded, 'id,code,good\n1,x,gold\n2,y,tin\n3,a,tin\n4,b,tin\n');
    expect(rows).toEqual(account({ source: 4, loaded: 1, updated: 1, rejected: 1, blocked: 1 }));
    expect(reasons(left)).toEqual(['3 "code" must be unique and is taken by a row that is already there: "a"']);
  });

  it('are left out too, with those that lose their target by that', async () => {
    await db.load(metals, 'code\ntin\n');
    const { kept: left, ...outcome } = await sift(tree('leaving'), file, { onMissingReference: 'REJECT' });
    expect(outcome).toMatchObject({ state: 'succeeded', rows: account({ source: 7, loaded: 2, rejected: 5 }), errors: { count: 5 } });
    expect(reasons(left)).toEqual([
      '2 "id" is not an integer: "x2"',
      '3 "parent" refers to leaving (id), where there is no such row: "2"',
      '4 "parent" refers to leaving (id), where there is no such row: "3"',
      '5 "good" refers to metals (code), where there is no such row: "gold"',
      '6 "parent" refers to leaving (id), where there is no such row: "5"',
    ]);
  });

  it('are left out of a dataset that fails by what else is wrong', async () => {
    await db.load(metals, 'code\ntin\n');
    const options = { onInvalidRow: 'FAIL', onMissingReference: 'REJECT' } as const;
    expect(await sift(tree('strict'), file, options)).toMatchObject({
      state: 'failed',
      rows: account({ source: 7, rejected: 1, unprocessed: 6 }),
      kept: [],
    });
    const valid = file.replace('x2', '2');
    expect(await sift(tree('strict'), valid, options)).toMatchObject({
      state: 'succeeded',
      rows: account({ source: 7, loaded: 5, rejected: 2 }),
    });
  });

  it('fail the dataset where they are to, whatever is left out of it', async () => {
    await db.load(metals, 'code\ntin\n');
    expect(await sift(tree('failing'), file, { onMissingReference: 'FAIL' })).toMatchObject({
      state: 'failed',
      rows: account({ source: 7, rejected: 3, unprocessed: 4 }),
      errors: {
        count: 3,
        first: [
          { row: 2, code: 'TYPE' },
          { row: 3, code: 'MISSING_REFERENCE' },
          { row: 5, code: 'MISSING_REFERENCE' },
        ],
      },
      kept: [],
    });
  });
});

it('what an earlier attempt of the run left out is forgotten with it', async () => {
  const again = plan('again', schema([field('id', 'integer')], { primaryKey: ['id'] }));
  const runId = randomUUID();
  expect((await sift(again, 'id\nx\ny\n1\n', { runId })).kept).toHaveLength(2);
  expect((await sift(again, 'id\nx\n1\n', { runId })).kept).toHaveLength(1);
  expect((await sift(again, 'id\n1\n', { runId })).kept).toHaveLength(0);
  const { rows } = await db.pool.query(
    'SELECT count(*)::int AS rows FROM rejected_row WHERE rejected_id NOT IN (SELECT id FROM rejected_dataset)',
  );
  expect(rows).toEqual([{ rows: 0 }]);
});
