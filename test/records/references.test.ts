import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { ForeignKey } from '../../src/packages/plan.ts';
import { noErrors } from '../../src/records/outcome.ts';
import { account, field, plan, recordsDatabase, schema } from './loading.ts';

const db = await recordsDatabase();

const key = (fields: string | readonly string[], resource: string, to: string | readonly string[]): ForeignKey => ({
  fields: [fields].flat(),
  reference: { resource, fields: [to].flat() },
});

const goods = plan('goods', schema([field('code'), field('batch', 'integer')], { primaryKey: ['code', 'batch'] }));
await db.load(goods, 'code,batch\nsalt,1\nsalt,2\n7,1\n');

describe('missing references', () => {
  const orders = (name: string, foreignKeys: readonly ForeignKey[], primaryKey: readonly string[] = ['id']) =>
    plan(name, schema([field('id', 'integer'), field('code'), field('batch', 'integer')], { primaryKey, foreignKeys }));

  it('hold rows back and write the rest, naming keys and what would clear it', async () => {
    const dataset = orders('held', [key(['code', 'batch'], 'goods', ['code', 'batch'])]);
    expect(await db.load(dataset, 'id,code,batch\n1,salt,1\n2,salt,9\n3,,\n4,wool,1\n5,wool,1\n')).toEqual({
      state: 'blocked',
      rows: account({ source: 5, loaded: 2, blocked: 3 }),
      errors: noErrors,
      blockers: [
        {
          code: 'MISSING_REFERENCE',
          dataset: 'held',
          message: '3 rows: (code, batch) refers to goods (code, batch), where there is no such row.',
          count: 3,
          sampleKeys: ['["salt", 9]', '["wool", 1]'],
          clearedBy: ['goods'],
        },
      ],
    });
    expect((await db.rows('held')).map(({ id }) => id)).toEqual(['1', '3']);
    await db.load(goods, 'code,batch\nwool,1\nsalt,9\n');
    expect(await db.load(dataset, 'id,code,batch\n1,salt,1\n2,salt,9\n3,,\n4,wool,1\n5,wool,1\n')).toEqual({
      state: 'succeeded',
      rows: account({ source: 5, loaded: 3, unchanged: 2 }),
      errors: noErrors,
    });
  });

  it('are faults where they are to fail the dataset', async () => {
    const dataset = orders('failing', [key(['code', 'batch'], 'goods', ['code', 'batch'])]);
    const outcome = await db.load(dataset, 'id,code,batch\n1,salt,1\n2,tin,1\n', { onMissingReference: 'FAIL' });
    expect(outcome).toMatchObject({
      state: 'failed',
      rows: account({ source: 2, rejected: 1, unprocessed: 1 }),
      failure: { code: 'INVALID_ROWS' },
      errors: { count: 1, first: [{ row: 2, field: 'code, batch', code: 'MISSING_REFERENCE' }] },
    });
    expect(await db.rows('failing')).toEqual([]);
  });

  it('partly filled are faults of the row, whatever is missing', async () => {
    const outcome = await db.load(
      orders('partly', [key(['code', 'batch'], 'goods', ['code', 'batch'])]),
      'id,code,batch\n1,salt,\n2,,1\n3,,\n',
    );
    expect(outcome).toMatchObject({
      rows: { rejected: 2, unprocessed: 1 },
      errors: { count: 2, first: [{ row: 1, code: 'PARTIAL_REFERENCE' }, { row: 2 }] },
    });
  });

  it('to a dataset that does not exist are all missing', async () => {
    expect(await db.load(orders('orphans', [key('code', 'nowhere', 'x')]), 'id,code,batch\n1,a,\n2,,\n')).toMatchObject({
      state: 'blocked',
      rows: { loaded: 1, blocked: 1 },
      blockers: [{ sampleKeys: ['a'], clearedBy: ['nowhere'] }],
    });
  });

  it('are not found in the dataset of that name in another workspace', async () => {
    const other = randomUUID();
    await db.pool.query(`INSERT INTO workspace (id, slug, name) VALUES ($1, 'neighbour', 'n')`, [other]);
    await db.load(plan('private', schema([field('code')])), 'code\nsecret\n', { workspaceId: other });
    const dataset = orders('prying', [key('code', 'private', 'code')]);
    expect(await db.load(dataset, 'id,code,batch\n1,secret,\n')).toMatchObject({ state: 'blocked', rows: { loaded: 0, blocked: 1 } });
    expect(await db.load(dataset, 'id,code,batch\n1,secret,\n', { workspaceId: other })).toMatchObject({ state: 'succeeded' });
  });

  it('are missing where the row was there, and was replaced or left the dataset', async () => {
    const dataset = orders('stale', [key('code', 'shelf', 'code')]);
    const labels = orders('stale-labels', [key('code', 'tagged', 'label')]);
    await db.load(plan('shelf', schema([field('code')])), 'code\nold\nnew\n');
    await db.load(plan('shelf', schema([field('code')])), 'code\nnew\n');
    expect(await db.load(dataset, 'id,code,batch\n1,old,\n2,new,\n')).toMatchObject({
      state: 'blocked',
      rows: { loaded: 1, blocked: 1 },
      blockers: [{ sampleKeys: ['old'] }],
    });
    const tagged = plan('tagged', schema([field('id', 'integer'), field('label')], { primaryKey: ['id'] }));
    await db.load(tagged, 'id,label\n1,before\n');
    await db.load(tagged, 'id,label\n1,after\n');
    expect(await db.load(labels, 'id,code,batch\n1,before,\n2,after,\n')).toMatchObject({ blockers: [{ sampleKeys: ['before'] }] });
  });

  it('compare across types by what the values look like', async () => {
    expect(await db.load(orders('mixed', [key('batch', 'goods', 'code')]), 'id,code,batch\n1,,7\n2,,8\n')).toMatchObject({
      rows: { loaded: 1, blocked: 1 },
      blockers: [{ sampleKeys: ['8'] }],
    });
  });

  it('without a key hold rows back all the same, and come in with the next load', async () => {
    const dataset = orders('keyless', [key('code', 'later', 'code')], []);
    const text = 'id,code,batch\n1,a,\n1,a,\n2,,\n';
    expect(await db.load(dataset, text)).toMatchObject({ state: 'blocked', rows: account({ source: 3, loaded: 1, blocked: 2 }) });
    await db.load(plan('later', schema([field('code')])), 'code\na\n');
    expect(await db.load(dataset, text)).toMatchObject({ state: 'succeeded', rows: account({ source: 3, loaded: 2, unchanged: 1 }) });
  });

  it('hold back an update, and leave the row that is there as it is', async () => {
    const dataset = orders('updates', [key('code', 'later', 'code')]);
    await db.load(dataset, 'id,code,batch\n1,a,1\n');
    expect(await db.load(dataset, 'id,code,batch\n1,zzz,2\n')).toMatchObject({ rows: account({ source: 1, blocked: 1 }) });
    expect(await db.rows('updates')).toEqual([{ id: '1', code: 'a', batch: '1' }]);
  });
});

describe('references to the dataset itself', () => {
  const staff = (name: string, more: readonly ForeignKey[] = []) =>
    plan(
      name,
      schema([field('id', 'integer'), field('boss', 'integer'), field('code')], {
        primaryKey: ['id'],
        foreignKeys: [key('boss', name, 'id'), ...more],
      }),
    );

  it('find their target in the file, wherever it stands, and among the rows that are there', async () => {
    expect(await db.load(staff('crew'), 'id,boss,code\n2,1,\n1,,\n3,3,\n')).toMatchObject({ state: 'succeeded', rows: { loaded: 3 } });
    expect(await db.load(staff('crew'), 'id,boss,code\n4,1,\n')).toMatchObject({ state: 'succeeded', rows: { loaded: 1 } });
  });

  it('lose it when it is held back, and so on down the chain', async () => {
    const dataset = staff('chain', [key('code', 'badges', 'code')]);
    const text = 'id,boss,code\n1,,x\n2,1,\n3,2,\n4,3,\n5,,\n6,5,\n';
    expect(await db.load(dataset, text)).toMatchObject({
      state: 'blocked',
      rows: account({ source: 6, loaded: 2, blocked: 4 }),
      blockers: [
        { count: 3, clearedBy: ['chain'], sampleKeys: ['1', '2', '3'] },
        { count: 1, clearedBy: ['badges'], sampleKeys: ['x'] },
      ],
    });
    await db.load(plan('badges', schema([field('code')])), 'code\nx\n');
    expect(await db.load(dataset, text)).toMatchObject({ state: 'succeeded', rows: account({ source: 6, loaded: 4, unchanged: 2 }) });
  });

  it('are followed down a long chain', async () => {
    const length = 5_000;
    const lines = Array.from({ length }, (_, index) => `${index + 1},${index === 0 ? '' : index},${index === 0 ? 'lost' : ''}`);
    expect(await db.load(staff('ladder', [key('code', 'nowhere', 'code')]), `id,boss,code\n0,,\n${lines.join('\n')}\n`)).toMatchObject({
      state: 'blocked',
      rows: account({ source: length + 1, loaded: 1, blocked: length }),
    });
  });

  it('by another field than the key see that field as it will be', async () => {
    const dataset = plan(
      'renamed',
      schema([field('id', 'integer'), field('label', 'string', { unique: true }), field('of')], {
        primaryKey: ['id'],
        foreignKeys: [key('of', 'renamed', 'label')],
      }),
    );
    expect(await db.load(dataset, 'id,label,of\n1,a,\n2,b,a\n')).toMatchObject({ state: 'succeeded' });
    expect(await db.load(dataset, 'id,label,of\n1,c,\n3,d,a\n')).toMatchObject({
      state: 'blocked',
      rows: account({ source: 2, updated: 1, blocked: 1 }),
    });
  });

  it('count what the file brings also where missing ones fail it', async () => {
    const dataset = staff('strict');
    expect(await db.load(dataset, 'id,boss,code\n1,2,\n2,,\n3,9,\n', { onMissingReference: 'FAIL' })).toMatchObject({
      errors: { count: 1, first: [{ row: 3 }] },
    });
  });
});
