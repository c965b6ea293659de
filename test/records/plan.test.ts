// A plan beside loads, and what it takes of the machine. What plans say is tried in test/runs.
import { Readable } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import { planLoads } from '../../src/records/plan.ts';
import { field, inPieces, plan, recordsDatabase, schema } from './loading.ts';

const db = await recordsDatabase();
const items = plan('items', schema([field('id', 'integer'), field('pad')], { primaryKey: ['id'] }));
const parts = plan(
  'parts',
  schema([field('id', 'integer'), field('item', 'integer')], {
    primaryKey: ['id'],
    foreignKeys: [{ fields: ['item'], reference: { resource: 'items', fields: ['id'] } }],
  }),
);
const request = { workspaceId: db.workspaceId, onInvalidRow: 'FAIL', onMissingReference: 'BLOCK', expandedBytesLimit: 1 << 30 } as const;
const unstopped = () => new AbortController().signal;

it('lets loads go on while it is made, and keeps no temporary table when the plan is done', async () => {
  await db.load(items, 'id,pad\n1,a\n');
  let read = () => {};
  const reading = new Promise<void>((resolve) => {
    read = resolve;
  });
  let go = () => {};
  const going = new Promise<void>((resolve) => {
    go = resolve;
  });
  onTestFinished(() => go());
  const open = async ({ name }: { name: string }) => {
    if (name === 'items') return inPieces(Buffer.from('id,pad\n1,b\n2,c\n'));
    read();
    await going;
    return inPieces(Buffer.from('id,item\n1,2\n'));
  };
  const made = planLoads(
    db.pool,
    { ...request, datasets: [items, parts], open, sourceFailure: () => null },
    unstopped(),
    async (planner) => [(await planner.load(items)).outcome.rows, (await planner.load(parts)).outcome.rows],
  );
  await reading;
  // A field more: the load alters the table that the plan has looked at.
  const wider = plan('items', schema([field('id', 'integer'), field('pad'), field('more')], { primaryKey: ['id'] }));
  expect(await db.load(wider, 'id,pad,more\n5,e,\n')).toMatchObject({ state: 'succeeded' });
  go();
  expect(await made).toMatchObject([{ loaded: 1, updated: 1 }, { loaded: 1 }]);
  const { rows } = await db.pool.query(`SELECT relname FROM pg_class WHERE relpersistence = 't' AND relkind = 'r'`);
  expect(rows).toEqual([]);
});

it('needs no more memory for a larger package', { timeout: 60_000 }, async () => {
  const line = `${'x'.repeat(1_000)}\n`;
  function* file(count: number) {
    yield Buffer.from('id,pad\n');
    for (let at = 0; at < count; at += 100) yield Buffer.from(Array.from({ length: 100 }, (_, n) => `${at + n},${line}`).join(''));
  }
  let highest = 0;
  const open = async () => {
    const source = Readable.from(file(150_000), { objectMode: false });
    source.on('data', () => {
      highest = Math.max(highest, process.memoryUsage().rss);
    });
    source.pause();
    return source;
  };
  const many = plan('many', items.schema);
  const before = process.memoryUsage().rss;
  const planning = { ...request, datasets: [many], open, sourceFailure: () => null };
  const { outcome } = await planLoads(db.pool, planning, unstopped(), (planner) => planner.load(many));
  expect(outcome).toMatchObject({ state: 'succeeded', rows: { source: 150_000, loaded: 150_000 } });
  expect(highest).toBeGreaterThan(0);
  expect(highest - before).toBeLessThan(60 * 1024 * 1024);
});
