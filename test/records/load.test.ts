import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { noErrors } from '../../src/records/outcome.ts';
import { account, field, inPieces, plan, recordsDatabase, schema, shared } from './loading.ts';

const db = await recordsDatabase();

describe('loading with a primary key', () => {
  const sacks = plan('sacks', schema([field('id', 'integer'), field('goods'), field('kilos', 'number')], { primaryKey: ['id'] }));

  it('counts loaded, updated and unchanged rows apart', async () => {
    expect(await db.load(sacks, 'id,goods,kilos\n1,salt,1.50\n2,wool,\n3,"tin, ""bars""\nand ore",7\n')).toEqual({
      state: 'succeeded',
      rows: account({ source: 3, loaded: 3 }),
      errors: noErrors,
    });
    expect(await db.rows('sacks')).toEqual([
      { id: '1', goods: 'salt', kilos: '1.50' },
      { id: '2', goods: 'wool', kilos: null },
      { id: '3', goods: 'tin, "bars"\nand ore', kilos: '7' },
    ]);
    // 1.5 is not 1.50: the scale is part of the value.
    expect(await db.load(sacks, 'id,goods,kilos\n1,salt,1.5\n2,wool,\n4,cloth,2\n')).toEqual({
      state: 'succeeded',
      rows: account({ source: 3, loaded: 1, updated: 1, unchanged: 1 }),
      errors: noErrors,
    });
    expect((await db.rows('sacks')).map((row) => `${row.id} ${row.kilos}`)).toEqual(['2 null', '3 7', '1 1.5', '4 2']);
    const { rows } = await db.pool.query('SELECT row_count FROM dataset WHERE name = $1', ['sacks']);
    expect(rows).toEqual([{ row_count: '4' }]);
  });

  it('keeps replaced versions, with who wrote and who replaced them', async () => {
    const { rows: datasets } = await db.pool.query(`SELECT table_name AS table FROM dataset WHERE name = 'sacks'`);
    const { rows } = await db.pool.query(
      `SELECT c1::text AS id, c3::text AS kilos, w.store_job_id IS NOT NULL AS known, replaced_by = lead(written_by) OVER (PARTITION BY c1 ORDER BY row_id) AS chained,
              replaced_xid = lead(written_xid) OVER (PARTITION BY c1 ORDER BY row_id) AS at_once
       FROM records.${datasets[0].table} r JOIN dataset_load w ON w.id = r.written_by WHERE c1 = 1 ORDER BY row_id`,
    );
    expect(rows).toEqual([
      { id: '1', kilos: '1.50', known: true, chained: true, at_once: true },
      { id: '1', kilos: '1.5', known: true, chained: null, at_once: null },
    ]);
  });

  it('refuses a unique value that a row which stays has already', async () => {
    const tags = plan('tags', schema([field('id', 'integer'), field('label', 'string', { unique: true })], { primaryKey: ['id'] }));
    await db.load(tags, 'id,label\n1,a\n2,b\n');
    expect(await db.load(tags, 'id,label\n3,a\n')).toMatchObject({
      errors: { count: 1, first: [{ row: 1, field: 'label', code: 'UNIQUE' }] },
    });
    expect(await db.load(tags, 'id,label\n1,b\n2,a\n')).toMatchObject({ state: 'succeeded', rows: { updated: 2 } });
  });

  it('replaces the version that is live, and leaves those before it as they are', async () => {
    const dataset = plan('versions', schema([field('id', 'integer'), field('goods')], { primaryKey: ['id'] }));
    const versions = async () => {
      const { rows: datasets } = await db.pool.query(`SELECT table_name AS table FROM dataset WHERE name = 'versions'`);
      return (await db.pool.query(`SELECT c2 AS goods, replaced_by, replaced_xid FROM records.${datasets[0].table} ORDER BY row_id`)).rows;
    };
    for (const goods of ['salt', 'wool']) await db.load(dataset, `id,goods\n1,${goods}\n`);
    const [salt] = await versions();
    expect(await db.load(dataset, 'id,goods\n1,tin\n')).toEqual({
      state: 'succeeded',
      rows: account({ source: 1, updated: 1 }),
      errors: noErrors,
    });
    expect((await versions())[0]).toEqual(salt);
    expect(await db.load(dataset, 'id,goods\n1,tin\n')).toMatchObject({ rows: account({ source: 1, unchanged: 1 }) });
    expect((await db.pool.query(`SELECT row_count FROM dataset WHERE name = 'versions'`)).rows).toEqual([{ row_count: '1' }]);
  });

  it('finds a repeated key also where both rows are as the one that is already there', async () => {
    const dataset = plan('twins', schema([field('id', 'integer'), field('goods')], { primaryKey: ['id'] }));
    await db.load(dataset, 'id,goods\n1,salt\n');
    expect(await db.load(dataset, 'id,goods\n1,salt\n1,salt\n')).toMatchObject({
      state: 'failed',
      rows: account({ source: 2, rejected: 1, unprocessed: 1 }),
      errors: { first: [{ row: 2, field: 'id', code: 'PRIMARY_KEY' }] },
    });
  });

  it('finds a repeated key also where one of the two rows is held back', async () => {
    const foreignKeys = [{ fields: ['of'], reference: { resource: 'nowhere', fields: ['id'] } }];
    const dataset = plan('half-held', schema([field('id', 'integer'), field('of')], { primaryKey: ['id'], foreignKeys }));
    expect(await db.load(dataset, 'id,of\n1,\n1,x\n')).toMatchObject({
      state: 'failed',
      errors: { count: 1, first: [{ row: 2, field: 'id', code: 'PRIMARY_KEY' }] },
    });
  });

  it('finds a repeated key also where one of the two rows is already there', async () => {
    expect(await db.load(sacks, 'id,goods,kilos\n2,wool,\n2,silk,\n')).toMatchObject({
      rows: account({ source: 2, rejected: 1, unprocessed: 1 }),
      errors: { first: [{ row: 2, field: 'id', code: 'PRIMARY_KEY' }] },
    });
  });
});

describe('loading without a key', () => {
  it('keeps the order of the file also where it replaces many more rows than it brings', async () => {
    const dataset = plan('ordered', schema([field('a'), field('b')]));
    const lines = (from: number, count: number) => Array.from({ length: count }, (_, n) => `x${((from + n) * 7_919) % 1_000_003},y`);
    await db.load(dataset, `a,b\n${lines(0, 20_000).join('\n')}\n`);
    const fresh = lines(50_000, 500);
    expect(await db.load(dataset, `a,b\n${fresh.join('\n')}\n`)).toMatchObject({ rows: { loaded: 500, unchanged: 0 } });
    expect((await db.rows('ordered')).map(({ a, b }) => `${a},${b}`)).toEqual(fresh);
  });

  const weighings = plan('weighings', schema([field('taken', 'date'), field('gate'), field('kilos', 'number')]));

  it('replaces the dataset as a whole and keeps equal rows, as many as there are (C10)', async () => {
    const file = shared('cases/C10/data/weighings.csv');
    const text = existsSync(file) ? readFileSync(file, 'utf8') : 'taken,gate,kilos\n2024-01-01,n,1\n2024-01-01,n,1\n2024-01-02,s,2\n';
    expect(await db.load(weighings, text)).toMatchObject({ rows: account({ source: 3, loaded: 3 }) });
    expect(await db.load(weighings, text)).toMatchObject({ rows: account({ source: 3, unchanged: 3 }) });
    expect(await db.rows('weighings')).toHaveLength(3);
  });

  it('writes what differs and lets go of the rest', async () => {
    await db.load(weighings, 'taken,gate,kilos\n2024-01-01,n,1\n2024-01-01,n,1\n2024-01-02,,2\n');
    expect(await db.load(weighings, 'taken,gate,kilos\n2024-01-02,,2\n2024-01-01,n,1\n2024-01-01,n,1.0\n')).toMatchObject({
      rows: account({ source: 3, unchanged: 2, loaded: 1 }),
    });
    expect((await db.rows('weighings')).map((row) => row.kilos)).toEqual(['1', '2', '1.0']);
  });
});

describe('a file', () => {
  it.skipIf(!existsSync(shared('cases/C12/data/bins.csv')))('with a byte order mark and CRLF (C12)', async () => {
    const bins = plan('bins', schema([field('bin_id', 'integer'), field('colour')], { primaryKey: ['bin_id'] }));
    expect(await db.load(bins, readFileSync(shared('cases/C12/data/bins.csv')))).toMatchObject({ rows: { loaded: 2 } });
    expect((await db.rows('bins')).map(({ colour }) => colour)).toEqual(['green', 'amber']);
  });

  it('with the same name twice in its header is refused (C13)', async () => {
    const items = plan('items', schema([field('item_id', 'integer'), field('remark')], { primaryKey: ['item_id'] }));
    const outcome = await db.load(items, 'item_id,remark,remark\n1,first,\n');
    expect(outcome).toMatchObject({ failure: { code: 'DUPLICATE_HEADER', summary: 'The header has "remark" twice: columns 2 and 3.' } });
    expect(await db.rows('items')).toEqual([]);
  });

  it('in gzip, of one member or of several', async () => {
    const dataset = (name: string) => plan(name, schema([field('a', 'integer')]), { gzip: true });
    expect(await db.load(dataset('zipped'), 'a\n1\n2\n')).toMatchObject({ rows: { loaded: 2 } });
    expect(await db.load(dataset('members'), Buffer.concat([gzipSync('a\n1\n'), gzipSync('2\n')]))).toMatchObject({ rows: { loaded: 2 } });
    const whole = gzipSync(`a\n${'1\n'.repeat(10_000)}`);
    for (const bytes of [whole.subarray(0, -20), Buffer.from('a\n1\n')]) {
      expect(await db.load(dataset('cut'), bytes)).toMatchObject({ state: 'failed', failure: { code: 'MALFORMED_GZIP' } });
    }
    expect(await db.rows('cut')).toEqual([]);
  });

  it('that expands beyond the limit is stopped while it streams, memory flat (C15)', async () => {
    const bomb = gzipSync(`shelf,pad\n${`1,${'x'.repeat(1_000)}\n`.repeat(200_000)}`);
    const filler = plan('filler', schema([field('shelf', 'integer'), field('pad')]), { gzip: true });
    const before = process.memoryUsage().rss;
    const outcome = await db.load(filler, bomb, { expandedBytesLimit: 1 << 20 });
    expect(outcome).toMatchObject({ state: 'failed', failure: { code: 'EXPANDED_SIZE_EXCEEDED', phase: 'reading', retryable: false } });
    if (outcome === 'abandoned') throw new Error('abandoned');
    expect(outcome.rows.source).toBeGreaterThan(900);
    expect(outcome.rows.unprocessed).toBe(outcome.rows.source);
    expect(process.memoryUsage().rss - before).toBeLessThan(50 * 1024 * 1024);
    expect(await db.rows('filler')).toEqual([]);
  });
});

describe('the schema over existing rows', () => {
  const versioned = (fields: Parameters<typeof schema>[0], more: Parameters<typeof schema>[1] = {}) =>
    plan('versioned', schema(fields, { primaryKey: ['id'], ...more }));

  it('may gain and lose fields, and nothing else', async () => {
    const id = field('id', 'integer');
    await db.load(versioned([id, field('a')]), 'id,a\n1,x\n2,y\n');
    expect(await db.load(versioned([id, field('b', 'date'), field('a')]), 'id,b,a\n2,2024-01-01,y\n')).toMatchObject({
      rows: { updated: 1 },
    });
    expect(await db.rows('versioned')).toEqual([
      { id: '1', b: null, a: 'x' },
      { id: '2', b: '2024-01-01', a: 'y' },
    ]);
    expect(await db.load(versioned([id, field('b', 'date')]), 'id,b\n1,2024-01-02\n')).toMatchObject({ rows: { updated: 1 } });
    expect(await db.rows('versioned')).toEqual([
      { id: '2', b: '2024-01-01' },
      { id: '1', b: '2024-01-02' },
    ]);
    // A field that was gone comes back empty, of whatever type.
    expect(await db.load(versioned([id, field('a', 'integer'), field('b', 'date')]), 'id,a,b\n3,3,\n')).toMatchObject({
      rows: { loaded: 1 },
    });
    expect((await db.rows('versioned')).map(({ a }) => a)).toEqual([null, null, '3']);
    for (const [conflicting, text] of [
      [versioned([id, field('b'), field('a', 'integer')]), 'id,b,a\n9,x,1\n'],
      [versioned([id, field('b', 'date')], { primaryKey: ['id', 'b'] }), 'id,b\n9,2024-01-01\n'],
      [versioned([id, field('b', 'date')], { primaryKey: [] }), 'id,b\n9,2024-01-01\n'],
      [versioned([id, field('b', 'date', { unique: true })]), 'id,b\n9,2024-01-05\n'],
    ] as const) {
      const outcome = await db.load(conflicting, text);
      if (conflicting.schema?.fields[1]?.constraints.unique) expect(outcome).toMatchObject({ state: 'succeeded' });
      else
        expect(outcome).toMatchObject({
          failure: { code: 'SCHEMA_CONFLICT', origin: 'data' },
          rows: account({ source: 1, unprocessed: 1 }),
        });
    }
  });

  it('is free again when no live row is left', async () => {
    const before = plan('freed', schema([field('id', 'integer'), field('a')], { primaryKey: ['id'] }));
    await db.load(before, 'id,a\n1,x\n');
    const { rows } = await db.pool.query(`UPDATE dataset SET row_count = 0 WHERE name = 'freed' RETURNING table_name AS table`);
    await db.pool.query(`UPDATE records.${rows[0].table} SET replaced_by = 0, replaced_xid = pg_current_xact_id()`);
    const after = plan('freed', schema([field('id'), field('a', 'date')], { primaryKey: ['a'] }));
    expect(await db.load(after, 'id,a\nx,2024-01-01\n')).toMatchObject({ state: 'succeeded' });
    expect(await db.rows('freed')).toEqual([{ id: 'x', a: '2024-01-01' }]);
  });

  it('refuses more columns than fit', async () => {
    const names = Array.from({ length: 1_501 }, (_, index) => `f${index}`);
    expect(await db.load(plan('wide', null), `${names.join(',')}\n`)).toMatchObject({ failure: { code: 'TOO_MANY_COLUMNS' } });
    const fits = names.slice(0, 1_500);
    expect(await db.load(plan('wide', null), `${fits.join(',')}\n${fits.map(() => '1').join(',')}\n`)).toMatchObject({
      rows: { loaded: 1 },
    });
    const long = fits.map(() => 'twelve chars').join(',');
    expect(await db.load(plan('too-wide', null), `${fits.join(',')}\n${long}\n`)).toMatchObject({ failure: { code: 'ROW_TOO_WIDE' } });
    const key = plan('long-key', schema([field('k')], { primaryKey: ['k'] }));
    const noise = Array.from({ length: 500 }, () => randomUUID()).join('');
    expect(await db.load(key, `k\n${noise}\n`)).toMatchObject({
      failure: { code: 'KEY_TOO_LONG' },
      rows: account({ source: 1, unprocessed: 1 }),
    });
  });
});

describe('the transaction', () => {
  const dataset = (name: string) => plan(name, schema([field('a', 'integer')], { primaryKey: ['a'] }));

  it('writes nothing when begin() says no, and settles last', async () => {
    const order: string[] = [];
    expect(await db.load(dataset('refused'), 'a\n1\n', { begin: async () => false, settle: async () => void order.push('settled') })).toBe(
      'abandoned',
    );
    expect(await db.load(dataset('refused'), 'a\nx\n', { begin: async () => false, settle: async () => void order.push('settled') })).toBe(
      'abandoned',
    );
    expect(order).toEqual([]);
    expect((await db.pool.query(`SELECT FROM dataset WHERE name = 'refused'`)).rowCount).toBe(0);
    await db.load(dataset('settled'), 'a\n1\n', {
      begin: async () => {
        order.push('begun');
        return true;
      },
      async settle(client, outcome) {
        const { rows } = await client.query(`SELECT row_count FROM dataset WHERE name = 'settled'`);
        order.push(`${outcome.state} ${rows[0].row_count}`);
      },
    });
    expect(order).toEqual(['begun', 'succeeded 1']);
  });

  it('takes everything back when settle() fails', async () => {
    const settle = () => Promise.reject(new Error('lost the lease'));
    await expect(db.load(dataset('unsettled'), 'a\n1\n', { settle })).rejects.toThrow('lost the lease');
    expect((await db.pool.query(`SELECT FROM dataset WHERE name = 'unsettled'`)).rowCount).toBe(0);
    expect(await db.load(dataset('unsettled'), 'a\n1\n')).toMatchObject({ rows: { loaded: 1 } });
  });

  it('aborted in mid-COPY leaves nothing, and the pool whole', async () => {
    const abort = new AbortController();
    const open = async () =>
      Readable.from(
        (async function* () {
          yield Buffer.from('a\n');
          for (let n = 0; n < 100; n += 1) yield Buffer.from(`${n}\n`.repeat(1));
          abort.abort(new Error('cancelled'));
          await new Promise(() => {});
        })(),
        { objectMode: false },
      );
    await expect(db.load(dataset('aborted'), '', { open, signal: abort.signal })).rejects.toThrow('cancelled');
    expect((await db.pool.query(`SELECT FROM dataset WHERE name = 'aborted'`)).rowCount).toBe(0);
    for (let n = 0; n < 6; n += 1) expect(await db.load(dataset('aborted'), `a\n${n}\n`)).toMatchObject({ rows: { loaded: 1 } });
  });

  it('aborted while a statement runs leaves nothing', async () => {
    const abort = new AbortController();
    const sleeping = async () =>
      (await db.pool.query(`SELECT FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)' AND state = 'active'`)).rowCount;
    const begin = async (client: { query(text: string): Promise<unknown> }) => {
      const asleep = client.query('SELECT pg_sleep(60)');
      await expect.poll(sleeping).toBe(1);
      abort.abort(new Error('lease lost'));
      await asleep;
      return true;
    };
    const left = expect(db.load(dataset('asleep'), 'a\n1\n', { begin, signal: abort.signal })).rejects.toThrow('lease lost');
    await expect.poll(() => abort.signal.aborted).toBe(true);
    await expect.poll(sleeping).toBe(0); // long before it has slept enough
    await left;
  });

  it("passes on what is not the data's fault, and leaves nothing", async () => {
    const open = async () =>
      Readable.from(
        (async function* () {
          yield Buffer.from('a\n1\n');
          throw new Error('the disk is gone');
        })(),
        { objectMode: false },
      );
    await expect(db.load(dataset('broken'), '', { open })).rejects.toThrow('the disk is gone');
    expect(await db.load(dataset('broken'), 'a\n1\n')).toMatchObject({ rows: { loaded: 1 } });
  });

  it('lets loads of one dataset take turns, also the first two', async () => {
    const outcomes = await Promise.all([db.load(dataset('turns'), 'a\n1\n2\n'), db.load(dataset('turns'), 'a\n2\n3\n')]);
    expect(outcomes.map((outcome) => outcome !== 'abandoned' && outcome.state)).toEqual(['succeeded', 'succeeded']);
    expect((await db.rows('turns')).map(({ a }) => Number(a)).sort((a, b) => a - b)).toEqual([1, 2, 3]);
    expect((await db.pool.query(`SELECT row_count FROM dataset WHERE name = 'turns'`)).rows).toEqual([{ row_count: '3' }]);
  });

  it('keeps a second load of a dataset that is there waiting until the first has committed', async () => {
    await db.load(dataset('waits'), 'a\n1\n');
    const order: string[] = [];
    const blocked = async () =>
      (await db.pool.query(`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)).rowCount !== 0;
    let begun: () => void = () => {};
    const first = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const slow = db.load(dataset('waits'), 'a\n2\n', {
      async settle() {
        begun();
        await expect.poll(async () => order.length > 0 || (await blocked())).toBe(true);
        order.push('first');
      },
    });
    await first;
    await db.load(dataset('waits'), 'a\n3\n', { settle: async () => void order.push('second') });
    await slow;
    expect(order).toEqual(['first', 'second']);
    expect((await db.pool.query(`SELECT row_count FROM dataset WHERE name = 'waits'`)).rows).toEqual([{ row_count: '3' }]);
  });

  it('leaves the session as it was', async () => {
    await db.load(dataset('session'), 'a\n1\n');
    const { rows } = await db.pool.query(
      `SELECT current_setting('work_mem') AS memory, current_setting('jit') AS jit, (SELECT count(*)::int FROM pg_class WHERE relpersistence = 't' AND relname IN ('stage', 'fault', 'held')) AS temporary`,
    );
    const { rows: fresh } = await db.pool.query(`SELECT reset_val AS memory FROM pg_settings WHERE name = 'work_mem'`);
    expect(rows[0].temporary).toBe(0);
    expect(rows[0].jit).toBe('on');
    expect(rows[0].memory).not.toBe('128MB');
    expect(fresh).toHaveLength(1);
  });
});

it('reads a file in pieces of any size alike', async () => {
  const bytes = Buffer.from(`a,b\n${Array.from({ length: 50 }, (_, n) => `${n},"é\n${n}"`).join('\r\n')}`);
  for (const size of [1, 2, 3, 7, 64]) {
    const dataset = plan(`pieces-${size}`, schema([field('a', 'integer'), field('b')], { primaryKey: ['a'] }));
    expect(await db.load(dataset, '', { open: async () => inPieces(bytes, size) })).toMatchObject({ rows: { loaded: 50 } });
    expect(await db.rows(`pieces-${size}`)).toEqual(Array.from({ length: 50 }, (_, n) => ({ a: String(n), b: `é\n${n}` })));
  }
});
