// Processes that are killed between storing and telling, and in the middle of a call.
import { mkdtempSync, rmSync, utimesSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { afterAll, expect, it } from 'vitest';
import { deleteOrphans } from '../../src/exports/retention.ts';
import { receiver } from '../outbound/receiver.ts';
import { startApp } from '../support/app.ts';
import { freshDatabase } from '../support/database.ts';
import { nodesOn } from '../support/nodes.ts';
import { createWorkspace, depot } from '../support/story.ts';
import { destinationsSet } from './announced.ts';
import { eventsOf, loadedByHand, objects, packagesOf, rowsOf } from './by-hand.ts';
import { linkOf, published, readExport, request } from './story.ts';

const shared = mkdtempSync(path.join(tmpdir(), 'packhorse-shared-'));
afterAll(() => rmSync(shared, { recursive: true }));
const databaseUrl = await freshDatabase();
// The secret of the nodes: links are signed by it.
const env = {
  PACKHORSE_JWT_SECRET: 'a secret that all nodes of a test share',
  PACKHORSE_STORAGE: `file:${shared}`,
  PACKHORSE_FETCH_HOSTS: '127.0.0.1',
};
const app = await startApp({ worker: false, env: { ...env, DATABASE_URL: databaseUrl } });
const nodes = nodesOn(databaseUrl);

const lock = 4_712;

/** Whoever publishes waits here: the object is stored and compared, and nothing says so yet. */
async function holdPublished(): Promise<{ isReached(): Promise<boolean>; release(): Promise<void> }> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'test hold' });
  await client.connect();
  await client.query(`
    CREATE FUNCTION hold_published() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(${lock}); RETURN NEW; END $$;
    CREATE TRIGGER hold_published BEFORE UPDATE ON export_package FOR EACH ROW WHEN (NEW.state = 'PUBLISHED' AND OLD.state = 'PENDING') EXECUTE FUNCTION hold_published();
    SELECT pg_advisory_lock(${lock})`);
  return {
    isReached: async () =>
      (await client.query(`SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = ${lock} AND NOT granted`)).rowCount === 1,
    async release() {
      await client.query(`SELECT pg_advisory_unlock(${lock})`);
      await client.query('DROP TRIGGER hold_published ON export_package; DROP FUNCTION hold_published()');
      await client.end();
    },
  };
}

it('publishes what a process stored that was killed before it said so, and sweeps what it left', async () => {
  const workspaceId = await createWorkspace(app);
  await loadedByHand(app, workspaceId, depot);
  const held = await holdPublished();
  const first = nodes.start(env);
  await first.ready;
  const id = await request(app, workspaceId);
  await expect.poll(() => held.isReached()).toBe(true);
  const [left] = await objects(app);
  await first.kill();
  await held.release();
  expect(await packagesOf(app, id)).toMatchObject([{ state: 'PENDING', storageKey: null }]);

  const second = nodes.start(env);
  await published(app, id);
  const [made] = await packagesOf(app, id);
  expect(made).toMatchObject({ fence: 2, attempts: 2 });
  expect(await eventsOf(app, id)).toEqual(['REQUEST', 'DISPATCH', 'SUCCEED', 'PUBLISH']);
  expect((await fetch(await linkOf(app, (await readExport(app, id)).exportPackage.id))).status).toBe(200);
  const keys = async () => (await objects(app)).map(({ key }) => key);
  expect(new Set(await keys())).toEqual(new Set([left!.key, made!.storageKey]));
  const age = (days: number) => new Date(Date.now() - days * 86_400_000);
  for (const key of await keys()) utimesSync(path.join(shared, key), age(0.9), age(0.9));
  await deleteOrphans(app.app.db, app.tasks.exports.storage);
  expect(await keys()).toHaveLength(2);
  for (const key of await keys()) utimesSync(path.join(shared, key), age(1.1), age(1.1));
  await deleteOrphans(app.app.db, app.tasks.exports.storage);
  expect(await keys()).toEqual([made!.storageKey]);
  await second.kill();
});

it('calls a destination again with the same id after a process was killed in the call', async () => {
  const open: ServerResponse[] = [];
  const server = await receiver((response) => void open.push(response));
  const workspaceId = await createWorkspace(app);
  await loadedByHand(app, workspaceId, depot.slice(0, 1));
  await destinationsSet(app, workspaceId, [{ name: 'crm', url: server.url }]);
  const first = nodes.start(env);
  await first.ready;
  const id = await request(app, workspaceId);
  await expect.poll(() => open.length).toBe(1);
  await first.kill();
  // Its lease lasts 45 s, longer than any call: let it be over.
  await rowsOf(app, `UPDATE export_delivery SET lease_until = now() - interval '1 second', next_attempt_at = now() - interval '3 seconds'`);
  const second = nodes.start(env);
  await expect.poll(() => open.length).toBe(2);
  open[1]!.end();
  const state = async () => (await readExport(app, id)).exportPackage.deliveries;
  await expect.poll(state).toMatchObject([{ state: 'DELIVERED', attempts: 2 }]);
  expect(new Set(server.calls.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  expect(await eventsOf(app, id)).toEqual(['REQUEST', 'DISPATCH', 'SUCCEED', 'PUBLISH', 'DELIVER crm']);
  expect(await rowsOf(app, 'SELECT number, code FROM export_delivery_attempt')).toEqual([{ number: 2, code: 'DELIVERED' }]);
  await second.kill();
});
