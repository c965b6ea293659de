import { describe, expect, it } from 'vitest';
import { account, field, plan, recordsDatabase, schema } from './loading.ts';

const db = await recordsDatabase();

describe('loading with a primary key', () => {
  const sacks = plan('sacks', schema([field('id', 'integer'), field('goods'), field('kilos', 'number')], { primaryKey: ['id'] }));

  it('counts loaded, updated and unchanged rows apart', async () => {
    expect(await db.load(sacks, 'id,goods,kilos\n1,salt,1.50\n2,wool,\n3,"tin, ""bars""\nand ore",7\n')).toEqual({
      state: 'succeeded',
      rows: account({ source: 3, loaded: 3 }),
    });
    expect(await db.rows('sacks')).toEqual([
      { id: '1', goods: 'salt', kilos: '1.50' },
      { id: '2', goods: 'wool', kilos: null },
      { id: '3', goods: 'tin, "bars"\nand ore', kilos: '7' },
    ]);
    expect(await db.load(sacks, 'id,goods,kilos\n1,salt,1.5\n2,wool,\n4,cloth,2\n')).toEqual({
      state: 'succeeded',
      rows: account({ source: 3, loaded: 1, updated: 1, unchanged: 1 }),
    });
    expect((await db.rows('sacks')).map((row) => `${row.id} ${row.kilos}`)).toEqual(['2 null', '3 7', '1 1.5', '4 2']);
    const { rows } = await db.pool.query('SELECT row_count FROM dataset WHERE name = $1', ['sacks']);
    expect(rows).toEqual([{ row_count: '4' }]);
  });
});
