import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { missingFromCatalog, readCatalog } from '../../src/postgres/catalog.ts';
import { freshDatabase } from '../support/database.ts';

describe('what a database lacks of the migrations', async () => {
  const client = new pg.Client({ connectionString: await freshDatabase() });
  await client.connect();
  afterAll(() => client.end());

  /** What is missing after the change; the change is undone by the statement given. */
  async function missingAfter(change: string, undo: string): Promise<string[]> {
    await client.query(change);
    try {
      return await missingFromCatalog(client);
    } finally {
      await client.query(undo);
    }
  }

  it('is nothing after they ran', async () => {
    expect(await missingFromCatalog(client)).toEqual([]);
  });

  it('notices a partial index that was dropped', async () => {
    const { rows } = await client.query<{ definition: string }>(
      `SELECT pg_get_indexdef('data_run_unfinished_key'::regclass) AS definition`,
    );
    expect(await missingAfter('DROP INDEX data_run_unfinished_key', rows[0]!.definition)).toEqual([
      expect.stringMatching(/^the index public\.data_run_unfinished_key is missing \(expected: CREATE UNIQUE INDEX .* WHERE /),
    ]);
  });

  it('notices a partial index that covers other rows', async () => {
    const { rows } = await client.query<{ definition: string }>(`SELECT pg_get_indexdef('store_job_work_idx'::regclass) AS definition`);
    const other = `DROP INDEX store_job_work_idx; CREATE INDEX store_job_work_idx ON store_job (lease_until) WHERE state = 'queued'`;
    expect(await missingAfter(other, `DROP INDEX store_job_work_idx; ${rows[0]!.definition}`)).toEqual([
      expect.stringMatching(/^the index public\.store_job_work_idx was changed: expected .*, found .*/),
    ]);
  });

  it('notices a check that was dropped', async () => {
    const { rows } = await client.query<{ definition: string }>(
      `SELECT pg_get_constraintdef(oid) AS definition FROM pg_constraint WHERE conname = 'lifecycle_event_one_subject'`,
    );
    const undo = `ALTER TABLE lifecycle_event ADD CONSTRAINT lifecycle_event_one_subject ${rows[0]!.definition}`;
    expect(await missingAfter('ALTER TABLE lifecycle_event DROP CONSTRAINT lifecycle_event_one_subject', undo)).toEqual([
      expect.stringMatching(/^the constraint public\.lifecycle_event\.lifecycle_event_one_subject is missing/),
    ]);
  });

  it('notices a trigger that was dropped', async () => {
    const { rows } = await client.query<{ definition: string }>(
      `SELECT pg_get_triggerdef(oid) AS definition FROM pg_trigger WHERE tgname = 'lifecycle_event_append_only'`,
    );
    expect(await missingAfter('DROP TRIGGER lifecycle_event_append_only ON lifecycle_event', rows[0]!.definition)).toEqual([
      expect.stringMatching(/^the trigger public\.lifecycle_event\.lifecycle_event_append_only is missing/),
    ]);
  });

  it('notices a trigger that was disabled', async () => {
    const table = 'ALTER TABLE lifecycle_event';
    expect(await missingAfter(`${table} DISABLE TRIGGER USER`, `${table} ENABLE TRIGGER USER`)).toEqual([
      expect.stringMatching(/^the trigger .*lifecycle_event_append_only was changed: expected .*\(enabled\), found .*\(disabled\)$/),
      expect.stringMatching(/^the trigger .*lifecycle_event_kept was changed: /),
    ]);
  });

  it('notices foreign keys whose triggers were disabled', async () => {
    const missing = await missingAfter('ALTER TABLE dataset_load DISABLE TRIGGER ALL', 'ALTER TABLE dataset_load ENABLE TRIGGER ALL');
    expect(missing.join('\n')).toMatch(/the constraint public\.dataset_load\.dataset_load_dataset_id_fkey was changed: .*disabled/);
  });

  it('notices a function that was altered', async () => {
    const { rows } = await client.query<{ definition: string }>(
      `SELECT pg_get_functiondef('lifecycle_event_append_only'::regproc) AS definition`,
    );
    const harmless = `CREATE OR REPLACE FUNCTION lifecycle_event_append_only() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`;
    expect(await missingAfter(harmless, rows[0]!.definition)).toEqual([
      'the function public.lifecycle_event_append_only() is not the one that the migrations made',
    ]);
  });

  it('notices a column that was made nullable, and one that lost its default', async () => {
    const table = 'ALTER TABLE workspace_log ALTER position';
    expect(await missingAfter(`${table} DROP NOT NULL`, `${table} SET NOT NULL`)).toEqual([
      'the column public.workspace_log.position was changed: expected bigint not null default 0, found bigint default 0',
    ]);
    expect(await missingAfter(`${table} DROP DEFAULT`, `${table} SET DEFAULT 0`)).toHaveLength(1);
  });

  it('lets extra objects and the tables of loaded datasets be', async () => {
    const before = await readCatalog(client);
    await client.query(
      `CREATE SCHEMA IF NOT EXISTS records; CREATE TABLE records.d_1 (id int PRIMARY KEY, note text); CREATE INDEX extra ON workspace (name)`,
    );
    expect(await missingFromCatalog(client)).toEqual([]);
    const added = (await readCatalog(client)).filter((line) => !before.includes(line) && line !== 'schema records: present');
    expect(added).toEqual([expect.stringContaining('index public.extra: ')]);
  });

  it('reads the same whatever the session searches first', async () => {
    const before = await readCatalog(client);
    await client.query(`SET search_path = graphile_worker, records`);
    expect(await readCatalog(client)).toEqual(before);
    await client.query('RESET search_path');
  });
});
