// What is exported is what was committed at the cutoff: while others write, and however late the writing of the export begins.
import { expect, it } from 'vitest';
import { startApp, type TestApp } from '../support/app.ts';
import { freshDatabase } from '../support/database.ts';
import { storedDatasets } from '../support/source.ts';
import { createWorkspace, type Resource } from '../support/story.ts';
import { entriesOf } from './archives.ts';
import { exported, linkOf, loaded, readExport, request } from './story.ts';

const rowsOf = (csv: Buffer | undefined) => (csv?.toString('utf8') ?? '').split('\n').slice(1, -1);

const account = (name: string, count: number): Resource => ({
  name,
  rows: `id,amount\n${Array.from({ length: count }, (_, id) => `${id},100\n`).join('')}`,
  schema: {
    fields: [
      { name: 'id', type: 'integer' },
      { name: 'amount', type: 'integer' },
    ],
    primaryKey: 'id',
  },
});

/** Moves an amount from a row of one table to a row of the other, in one transaction and as a load writes: old versions are marked, new ones added. */
async function move(app: TestApp, from: string, to: string, count: number): Promise<void> {
  const client = await app.app.db.pool.connect();
  const change = (table: string, id: number, by: number) =>
    client.query(
      `WITH old AS (UPDATE ${table} SET replaced_by = written_by + 1, replaced_xid = pg_current_xact_id() WHERE c1 = $1 AND replaced_xid IS NULL RETURNING written_by, c1, c2)
       SELECT written_by AS "by", c1 AS id, c2 + $2 AS amount FROM old`,
      [id, by],
    );
  try {
    await client.query('BEGIN');
    const [a, b] = [Math.floor(Math.random() * count), Math.floor(Math.random() * count)];
    for (const [table, id, by] of [
      [from, a, -7],
      [to, b, 7],
    ] as const) {
      const { rows } = await change(table, id, by);
      if (rows.length === 0) throw new Error('another has just written this row');
      for (const { by: writer, id: key, amount } of rows)
        await client.query(`INSERT INTO ${table} (written_by, c1, c2) VALUES ($1, $2, $3)`, [writer, key, amount]);
    }
    // One in five comes to nothing: what it wrote must never be seen.
    await client.query(Math.random() < 0.2 ? 'ROLLBACK' : 'COMMIT');
  } catch {
    await client.query('ROLLBACK'); // two met in a row: one of them tries something else
  } finally {
    client.release();
  }
}

it('holds one moment while eight writers move amounts between two datasets', { timeout: 300_000 }, async () => {
  const app = await startApp({ env: { PACKHORSE_POOL_SIZE: '14' } });
  const workspaceId = await createWorkspace(app);
  const count = 400;
  await loaded(app, workspaceId, [account('left', count), account('right', count)]);
  const tables = await storedDatasets(app.app.db.pool, workspaceId);
  const [left, right] = ['left', 'right'].map((name) => `records.${tables.get(name)?.table}`) as [string, string];
  const stop = new AbortController();
  let moved = 0;
  const writers = Array.from({ length: 8 }, async (_, index) => {
    while (!stop.signal.aborted) {
      await (index % 2 === 0 ? move(app, left, right, count) : move(app, right, left, count));
      moved++;
    }
  });
  const seen = new Set<string>();
  try {
    for (let round = 0; round < 50; round++) {
      const { execution, zip } = await exported(app, workspaceId);
      const files = await entriesOf(zip);
      const lines = ['left', 'right'].map((name) => rowsOf(files.get(`data/${name}.csv`)));
      expect(lines.map(({ length }) => length)).toEqual([count, count]);
      for (const rows of lines)
        expect(rows.map((line) => Number(line.split(',')[0]))).toEqual(Array.from({ length: count }, (_, id) => id));
      const sum = lines.flat().reduce((total, line) => total + Number(line.split(',')[1]), 0);
      expect(sum).toBe(2 * count * 100);
      seen.add(execution.manifestDigest);
    }
  } finally {
    stop.abort();
    await Promise.all(writers);
  }
  expect(moved).toBeGreaterThan(50);
  expect(seen.size).toBeGreaterThan(40); // they did write meanwhile
});

it('is what it was at the cutoff however late it is written, whatever is loaded, dropped or taken back since', async () => {
  const databaseUrl = await freshDatabase();
  const app = await startApp({ env: { DATABASE_URL: databaseUrl } });
  const workspaceId = await createWorkspace(app);
  const keyed = (rows: string, ...fields: string[]): Resource => ({
    name: 'keyed',
    rows,
    schema: { fields: fields.map((name) => ({ name, type: 'string' })), primaryKey: 'id' },
  });
  const keyless = (rows: string): Resource => ({ name: 'keyless', rows });
  await loaded(app, workspaceId, [keyed('id,a,b\n1,x,y\n2,x,y\n', 'id', 'a', 'b'), keyless('v\n1\n2\n')], 'first');
  await loaded(app, workspaceId, [keyed('id,a,b\n2,x,z\n3,x,\n', 'id', 'a', 'b'), keyless('v\n2\n3\n')], 'second');
  const now = async (of: TestApp = app) => {
    const { execution, zip } = await exported(of, workspaceId);
    const files = await entriesOf(zip);
    return {
      digest: execution.manifestDigest,
      files: [...files].filter(([path]) => path !== 'packhorse-export.json').map(([path, bytes]) => [path, bytes.toString()]),
    };
  };
  const before = await now();
  expect(Object.fromEntries(before.files)).toMatchObject({
    'data/keyed.csv': 'id,a,b\n1,x,y\n2,x,z\n3,x,\n',
    'data/keyless.csv': 'v\n2\n3\n',
  });

  // Admitted while nobody dispatches: the settings have no slot for it.
  await app.app.db.pool.query(
    'UPDATE export_slot SET execution_id = (SELECT id FROM export_execution LIMIT 1), lease_until = $1 WHERE n = 1',
    ['2100-01-01'],
  );
  await app.app.db.pool.query('DELETE FROM export_slot WHERE n > 1');
  const id = await request(app, workspaceId);
  await loaded(
    app,
    workspaceId,
    [keyed('id,a,c\n1,new,n\n9,new,n\n', 'id', 'a', 'c'), keyless('v\n7\n'), { name: 'later', rows: 'v\n1\n' }],
    'third',
  );
  const tables = await storedDatasets(app.app.db.pool, workspaceId);
  // As a reset will take rows back: what was written is marked, what was replaced comes again.
  await app.app.db.pool.query(
    `UPDATE records.${tables.get('keyless')?.table} SET replaced_by = written_by, replaced_xid = pg_current_xact_id() WHERE replaced_xid IS NULL`,
  );
  expect((await readExport(app, id)).state).toBe('QUEUED');
  await app.app.db.pool.query('UPDATE export_slot SET execution_id = NULL, lease_owner = NULL, lease_until = NULL');
  await expect.poll(async () => (await readExport(app, id)).exportPackage?.state).toBe('PUBLISHED');
  const late = await readExport(app, id);
  const files = await entriesOf(Buffer.from(await (await fetch(await linkOf(app, late.exportPackage.id))).arrayBuffer()));
  expect([...files].filter(([path]) => path !== 'packhorse-export.json').map(([path, bytes]) => [path, bytes.toString()])).toEqual(
    before.files,
  );
  expect(late.manifestDigest).toBe(before.digest);
  expect(late.progress).toEqual({ done: '5', total: '5', unit: 'rows' });
  // The next one has what is there now.
  const after = Object.fromEntries((await now()).files);
  expect(after).toMatchObject({
    'data/keyed.csv': 'id,a,c\n1,new,n\n2,x,\n3,x,\n9,new,n\n',
    'data/keyless.csv': 'v\n',
    'data/later.csv': 'v\n1\n',
  });
});
