// One part: which rows it has when others are replaced in the very moment between the look and the reading, and what it costs to guess.
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inflateRawSync } from 'node:zlib';
import type pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { csv } from '../../src/exports/formats/csv.ts';
import { writeCopiedPart } from '../../src/exports/part.ts';
import type { DatasetAsOf } from '../../src/records/as-of.ts';
import { startApp } from '../support/app.ts';
import { storedDatasets } from '../support/source.ts';
import { createWorkspace } from '../support/story.ts';
import { loaded } from './story.ts';

const app = await startApp();
const { pool } = app.app.db;
const folder = mkdtempSync(path.join(tmpdir(), 'packhorse-part-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let workspaceId: string;
const fields = ['id', 'text'].map((name) => ({ name, type: 'string' }));
const resource = (rows: string) => ({ name: 'it', rows, schema: { fields, primaryKey: 'id', missingValues: ['-'] } });
beforeAll(async () => {
  workspaceId = await createWorkspace(app);
});

/** A pool that remembers statements, and does something after one of them and before its caller knows of its answer. */
function hooked(match: string, meanwhile: () => Promise<void>): { pool: pg.Pool; statements: string[] } {
  const statements: string[] = [];
  const connect = async () => {
    const client = await pool.connect();
    const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
    client.query = ((...args: unknown[]) => {
      const [first] = args;
      const text = typeof first === 'string' ? first : (first as { text: string }).text;
      statements.push(text);
      const answer = query(...args);
      if (!text.includes(match)) return answer;
      return answer.then(async (found) => {
        await meanwhile();
        return found;
      });
    }) as never;
    const release = client.release.bind(client);
    client.release = (broken) => {
      client.query = query as never;
      client.release = release;
      release(broken);
    };
    return client;
  };
  return { pool: { connect } as unknown as pg.Pool, statements };
}

let written = 0;
async function part(from: pg.Pool, snapshot: string) {
  const [stored] = [...(await storedDatasets(pool, workspaceId)).values()];
  const columns = ['id', 'text'].map((name, index) => ({ name, column: `c${index + 1}`, type: 'string' as const, since: '1' }));
  const dataset: DatasetAsOf = { table: stored?.table ?? '', columns, primaryKey: ['id'] };
  const file = path.join(folder, `${++written}.part`);
  const record = await writeCopiedPart(from, csv, {
    name: 'it',
    dataset,
    snapshot,
    required: new Set(),
    place: { file, draft: `${file}.draft` },
    signal: new AbortController().signal,
    working: () => {},
    progress: () => {},
  });
  return { record, text: inflateRawSync(readFileSync(file)).toString() };
}

const now = async () => (await pool.query<{ now: string }>('SELECT pg_current_snapshot()::text AS now')).rows[0]?.now ?? '';

it('misses no row that is replaced between the look for replaced rows and the reading of the live ones', async () => {
  await loaded(app, workspaceId, [resource('id,text\n1,a\n2,b\n')], 'first');
  const cutoff = await now();
  let loads = 0;
  const { pool: from, statements } = hooked('t.replaced_xid >=', async () => {
    if (loads++ === 0) await loaded(app, workspaceId, [resource('id,text\n1,changed\n3,new\n')], 'second');
  });
  const { text } = await part(from, cutoff);
  expect(loads).toBe(1);
  expect(statements.filter((statement) => statement.startsWith('COPY'))).toHaveLength(1);
  expect(text).toBe('id,text\n1,a\n2,b\n');
  // Asked once more, when the rows are replaced before the look.
  expect((await part(pool, cutoff)).text).toBe('id,text\n1,a\n2,b\n');
  expect((await part(pool, await now())).text).toBe('id,text\n1,changed\n2,b\n3,new\n');
});

it('looks for empty texts only where two quotes meet, and writes again only where there is one', async () => {
  const nothing = hooked('nothing', async () => {});
  const copies = () => nothing.statements.filter((statement) => statement.startsWith('COPY')).length;
  const looks = () => nothing.statements.filter((statement) => statement.includes(`= ''`)).length;
  expect((await part(nothing.pool, await now())).record.missingValues).toEqual(['']);
  expect([copies(), looks()]).toEqual([1, 0]);
  await loaded(app, workspaceId, [resource('id,text\n1,"""quoted"""\n')], 'third');
  expect(await part(nothing.pool, await now())).toMatchObject({
    record: { missingValues: [''] },
    text: 'id,text\n1,"""quoted"""\n2,b\n3,new\n',
  });
  expect([copies(), looks()]).toEqual([2, 1]);
  await loaded(app, workspaceId, [resource('id,text\n2,""\n3,-\n')], 'fourth');
  // Its answer is waited for, also where all is written before it comes.
  const draft = path.join(folder, `${written + 1}.part.draft`);
  const slow = hooked(`= ''`, () =>
    expect.poll(() => statSync(draft, { throwIfNoEntry: false })?.size ?? 0, { interval: 5 }).toBeGreaterThan(0),
  );
  const { record, text } = await part(slow.pool, await now());
  expect(record.missingValues).toEqual(['NULL']);
  expect(text).toBe('id,text\n1,"""quoted"""\n2,\n3,NULL\n');
  expect(slow.statements.filter((statement) => statement.startsWith('COPY'))).toHaveLength(2);
});
