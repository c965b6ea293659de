// Taking back what a run's loads wrote, on the tables: what comes back, what is refused, and what waits for whom.
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { currentColumns } from '../../src/records/table.ts';
import { field, plan, schema } from './loading.ts';
import { csv, shaped, undoDatabase } from './undoing.ts';

const db = await undoDatabase();

describe('rows', () => {
  it('come back with every digit, with null apart from the empty text, and in their place', async () => {
    const dataset = shaped('exact', false, false);
    await db.load(
      dataset,
      csv(
        [
          ['1', '', '1.50'],
          ['2', null, `1${'0'.repeat(30)}`],
          ['3', 'c', null],
        ],
        false,
      ),
    );
    const before = await db.rows('exact');
    const run = randomUUID();
    await db.load(
      dataset,
      csv(
        [
          ['1', null, '1.5'],
          ['2', '', '10'],
          ['3', 'c', null],
        ],
        false,
      ),
      { runId: run },
    );
    expect(await db.rows('exact')).not.toEqual(before);
    expect(await db.undo(run)).toBeNull();
    expect(await db.rows('exact')).toEqual(before);
    // Once more over what came back: as if nothing had been.
    expect(
      await db.load(
        dataset,
        csv(
          [
            ['1', '', '1.50'],
            ['2', null, `1${'0'.repeat(30)}`],
            ['3', 'c', null],
          ],
          false,
        ),
      ),
    ).toMatchObject({ rows: { unchanged: 3 } });
  });

  it('of a run that loaded twice come back as they were before the first time', async () => {
    const dataset = shaped('twice', true, false);
    await db.load(dataset, csv([['1', 'old', '1']], false));
    const run = randomUUID();
    await db.load(
      dataset,
      csv(
        [
          ['1', 'mid', '1'],
          ['2', 'mid', '1'],
        ],
        false,
      ),
      { runId: run },
    );
    await db.load(
      dataset,
      csv(
        [
          ['1', 'new', '1'],
          ['2', 'new', '1'],
        ],
        false,
      ),
      { runId: run },
    );
    expect(await db.undo(run)).toBeNull();
    expect(await db.rows('twice')).toEqual([{ id: '1', v: 'old', n: '1' }]);
  });

  it('that another run has loaded beside them stay', async () => {
    const dataset = shaped('beside', true, false);
    const run = randomUUID();
    await db.load(dataset, csv([['1', 'a', '1']], false), { runId: run });
    await db.load(dataset, csv([['2', 'b', '2']], false));
    expect(await db.undo(run)).toBeNull();
    expect(await db.rows('beside')).toEqual([{ id: '2', v: 'b', n: '2' }]);
  });

  it('stay where a later run has replaced one, until that is taken back itself', async () => {
    const dataset = shaped('later', true, false);
    const [first, second] = [randomUUID(), randomUUID()];
    await db.load(
      dataset,
      csv(
        [
          ['1', 'a', '1'],
          ['2', 'a', '1'],
        ],
        false,
      ),
      { runId: first },
    );
    await db.load(dataset, csv([['2', 'b', '1']], false), { runId: second });
    const before = await db.rows('later');
    expect(await db.undo(first)).toEqual({ code: 'LATER_RUN', run: second });
    expect(await db.rows('later')).toEqual(before);
    expect(await db.undo(second)).toBeNull();
    expect(await db.undo(first)).toBeNull();
    expect(await db.stored('later')).toMatchObject({ removed: true, rowCount: '0' });
  });

  it('without a key stay after any later load, which said what the whole dataset is', async () => {
    const dataset = shaped('whole', false, false);
    const [first, second] = [randomUUID(), randomUUID()];
    await db.load(dataset, csv([['1', 'a', '1']], false), { runId: first });
    await db.load(
      dataset,
      csv(
        [
          ['1', 'a', '1'],
          ['2', 'b', '1'],
        ],
        false,
      ),
      { runId: second },
    );
    expect(await db.undo(first)).toEqual({ code: 'LATER_RUN', run: second });
  });

  it('without a key go where a later load found them as its file has them: it wrote nothing', async () => {
    const dataset = shaped('silent', false, false);
    const [first, second] = [randomUUID(), randomUUID()];
    await db.load(dataset, csv([['1', 'a', '1']], false), { runId: first });
    await db.load(dataset, csv([['1', 'a', '1']], false), { runId: second });
    expect(await db.undo(first)).toBeNull();
    expect(await db.stored('silent')).toMatchObject({ removed: false, rowCount: '0' });
  });

  it('stay where what they replaced would break a key that must be unique', async () => {
    const unique = plan('unique', schema([field('id', 'integer'), field('code', 'string', { unique: true })], { primaryKey: ['id'] }));
    await db.load(unique, 'id,code\n1,x\n');
    const run = randomUUID();
    await db.load(unique, 'id,code\n1,y\n', { runId: run });
    await db.load(unique, 'id,code\n2,x\n');
    expect(await db.undo(run)).toMatchObject({ code: 'VALUES_TAKEN' });
    expect(await db.rows('unique')).toEqual([
      { id: '1', code: 'y' },
      { id: '2', code: 'x' },
    ]);
  });
});

describe('the schema', () => {
  it('is that of the newest load left, with its keys', async () => {
    const before = plan('keys', schema([field('id', 'integer'), field('code', 'string', { unique: true })], { primaryKey: ['id'] }));
    const after = plan('keys', schema([field('id', 'integer'), field('code'), field('more')], { primaryKey: ['id'] }));
    await db.load(before, 'id,code\n1,x\n');
    const was = await db.stored('keys');
    const run = randomUUID();
    await db.load(after, 'id,code,more\n1,x,m\n2,x,n\n', { runId: run });
    expect(await db.undo(run)).toBeNull();
    const is = await db.stored('keys');
    expect(is?.schema).toEqual(was?.schema);
    expect(currentColumns(is?.columns ?? [])).toEqual(was?.columns);
    // The key that must be unique is in force again.
    expect(await db.load(before, 'id,code\n2,x\n')).toMatchObject({ state: 'failed', errors: { first: [{ code: 'UNIQUE' }] } });
  });

  it('has the indexes that it had', async () => {
    const open = plan('loose', schema([field('id', 'integer'), field('code')], { primaryKey: ['id'] }));
    const strict = plan('loose', schema([field('id', 'integer'), field('code', 'string', { unique: true })], { primaryKey: ['id'] }));
    const indexes = async () => {
      const table = (await db.stored('loose'))?.table;
      return (await db.pool.query('SELECT indexdef FROM pg_indexes WHERE tablename = $1 ORDER BY 1', [table])).rows;
    };
    await db.load(open, 'id,code\n1,x\n2,y\n');
    const before = await indexes();
    const run = randomUUID();
    await db.load(strict, 'id,code\n1,a\n2,b\n', { runId: run });
    expect(await indexes()).not.toEqual(before);
    expect(await db.undo(run)).toBeNull();
    expect(await indexes()).toEqual(before);
  });

  it('may be any where nothing is left, and columns are used again, however often', async () => {
    const wide = plan(
      'again',
      schema(
        Array.from({ length: 40 }, (_, index) => field(`f${index}`, 'integer')),
        { primaryKey: ['f0'] },
      ),
    );
    const line = (value: number) =>
      `${Array.from({ length: 40 }, (_, index) => `f${index}`).join(',')}\n${Array(40).fill(value).join(',')}\n`;
    for (let round = 1; round <= 3; round++) {
      const run = randomUUID();
      await db.load(wide, line(round), { runId: run });
      expect(await db.undo(run)).toBeNull();
    }
    expect((await db.stored('again'))?.columns).toHaveLength(40);
    expect(await db.load(plan('again', schema([field('word')])), 'word\nx\n')).toMatchObject({ rows: { loaded: 1 } });
    expect(await db.rows('again')).toEqual([{ word: 'x' }]);
    expect(await db.stored('again')).toMatchObject({ removed: false, rowCount: '1' });
  });
});

describe('references', () => {
  const parents = plan('parents', schema([field('id', 'integer'), field('name')], { primaryKey: ['id'] }));
  const children = plan(
    'children',
    schema([field('id', 'integer'), field('parent')], {
      primaryKey: ['id'],
      foreignKeys: [{ fields: ['parent'], reference: { resource: 'parents', fields: ['id'] } }],
    }),
  );

  it('of other runs keep what they refer to, also in another type, and those of the run itself do not', async () => {
    const [first, second] = [randomUUID(), randomUUID()];
    await db.load(parents, 'id,name\n1,one\n2,two\n', { runId: first });
    await db.load(children, 'id,parent\n1,2\n', { runId: first });
    await db.load(children, 'id,parent\n2,1\n3,\n', { runId: second });
    expect(await db.undo(first)).toEqual({ code: 'ROWS_IN_USE', run: second });
    expect(await db.rows('parents')).toHaveLength(2);
    expect(await db.undo(second)).toBeNull();
    expect(await db.undo(first)).toBeNull();
    expect(await db.stored('children')).toMatchObject({ removed: true });
  });

  it('are kept where the row they point to has its earlier values again', async () => {
    await db.load(parents, 'id,name\n1,one\n');
    const run = randomUUID();
    await db.load(parents, 'id,name\n1,uno\n', { runId: run });
    await db.load(children, 'id,parent\n1,1\n');
    expect(await db.undo(run)).toBeNull();
    expect(await db.rows('parents')).toEqual([{ id: '1', name: 'one' }]);
  });

  it('within a dataset keep it too', async () => {
    const tree = plan(
      'tree',
      schema([field('id', 'integer'), field('up', 'integer')], {
        primaryKey: ['id'],
        foreignKeys: [{ fields: ['up'], reference: { resource: 'tree', fields: ['id'] } }],
      }),
    );
    const [first, second] = [randomUUID(), randomUUID()];
    await db.load(tree, 'id,up\n1,\n2,1\n', { runId: first });
    await db.load(tree, 'id,up\n3,2\n', { runId: second });
    expect(await db.undo(first)).toEqual({ code: 'ROWS_IN_USE', run: second });
    expect(await db.undo(second)).toBeNull();
    expect(await db.undo(first)).toBeNull();
  });
});

/** Closed until it is opened. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

describe('while a load is under way', () => {
  const parents = (name: string) => plan(name, schema([field('id', 'integer'), field('name')], { primaryKey: ['id'] }));
  const blocked = () =>
    expect
      .poll(
        async () =>
          (await db.pool.query(`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)).rowCount,
        { timeout: 10_000, interval: 10 },
      )
      .toBe(1);

  it('of rows that refer to it, also a first one, what they refer to is kept', async () => {
    const run = randomUUID();
    const later = randomUUID();
    await db.load(parents('homes'), 'id,name\n1,one\n', { runId: run });
    const referring = plan(
      'guests',
      schema([field('id', 'integer'), field('home', 'integer')], {
        primaryKey: ['id'],
        foreignKeys: [{ fields: ['home'], reference: { resource: 'homes', fields: ['id'] } }],
      }),
    );
    const written = gate();
    const hold = gate();
    const settle = () => {
      written.open();
      return hold.opened;
    };
    const loading = db.load(referring, 'id,home\n1,1\n', { runId: later, settle });
    await written.opened;
    const undoing = db.undo(run);
    await blocked();
    // Other loads of what it refers to are not held up.
    expect(await db.load(parents('homes'), 'id,name\n2,two\n')).toMatchObject({ state: 'succeeded' });
    hold.open();
    expect(await loading).toMatchObject({ state: 'succeeded', rows: { loaded: 1 } });
    expect(await undoing).toEqual({ code: 'ROWS_IN_USE', run: later });
  });

  it('of the same dataset, whoever comes second sees what the first has left', async () => {
    const run = randomUUID();
    await db.load(parents('turns'), 'id,name\n1,one\n', { runId: run });
    const undone = gate();
    const hold = gate();
    const resetting = db.undo(run, () => {
      undone.open();
      return hold.opened;
    });
    await undone.opened;
    const loading = db.load(parents('turns'), 'id,name\n1,one\n2,two\n');
    await blocked();
    hold.open();
    await resetting;
    expect(await loading).toMatchObject({ rows: { loaded: 2, unchanged: 0 } });
    expect(await db.rows('turns')).toHaveLength(2);
  });
});
