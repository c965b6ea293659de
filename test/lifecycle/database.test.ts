// The database itself refuses what the tables do not declare: not even raw SQL reopens a terminal row.

import pg from 'pg';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, describe, expect, it } from 'vitest';
import { deliveryLifecycle, exportLifecycle, packageLifecycle } from '../../src/exports/lifecycle.ts';
import { moves } from '../../src/lifecycle/describe.ts';
import { entries, terminalStates } from '../../src/lifecycle/lifecycle.ts';
import { runLifecycle, stepLifecycle } from '../../src/runs/lifecycle.ts';
import { freshDatabase } from '../support/database.ts';

const client = new pg.Client({ connectionString: await freshDatabase() });
await client.connect();
afterAll(() => client.end());

const workspaceId = uuidv7();
const packageId = uuidv7();
await client.query(`INSERT INTO workspace (id, slug, name) VALUES ($1, 'w', 'w')`, [workspaceId]);
await client.query(`INSERT INTO data_package (id, workspace_id, staged_by, expires_at) VALUES ($1, $2, 'a', now())`, [
  packageId,
  workspaceId,
]);

async function makeRun(): Promise<string> {
  const id = uuidv7();
  await client.query(
    `INSERT INTO data_run (id, workspace_id, package_id, package_name, registered_by, open_targets, active_targets, notes) VALUES ($1, $2, $3, $4, 'a', '{}', '{}', '{}')`,
    [id, workspaceId, packageId, id],
  );
  return id;
}

async function makeStep(): Promise<string> {
  const id = uuidv7();
  await client.query(
    `INSERT INTO data_run_step (id, run_id, position, dataset, depends_on, target) VALUES ($1, $2, 0, 'd', '{}', 'store')`,
    [id, await makeRun()],
  );
  return id;
}

async function makeExport(): Promise<string> {
  const id = uuidv7();
  await client.query(
    `INSERT INTO export_execution (id, workspace_id, requested_by, settings, plan, cutoff, cutoff_snapshot)
     VALUES ($1, $2, 'a', '{}', '[]', '2026-11-30T20:07:00.000001Z', '1:1:')`,
    [id, workspaceId],
  );
  return id;
}

async function settledExport(): Promise<string> {
  const id = await makeExport();
  await client.query(`UPDATE export_execution SET state = 'CANCELLED', settled_at = now() WHERE id = $1`, [id]);
  return id;
}

async function makePackage(): Promise<string> {
  const id = uuidv7();
  await client.query(`INSERT INTO export_package (id, execution_id, workspace_id) VALUES ($1, $2, $3)`, [
    id,
    await settledExport(),
    workspaceId,
  ]);
  return id;
}

async function makeDelivery(): Promise<string> {
  const id = uuidv7();
  await client.query(
    `INSERT INTO export_delivery (id, package_id, destination, url, secret, webhook_id) VALUES ($1, $2, 'd', 'u', 's', 'w')`,
    [id, await makePackage()],
  );
  return id;
}

const settles = (table: { states: Record<string, { terminal?: true }> }, state: string) => table.states[state]?.terminal ?? false;

/** What checks ask of a row beside its state. */
function facts(subject: string, table: Parameters<typeof settles>[0], to: string): string {
  if (subject === 'data_run_step') return '';
  const failed = to === 'FAILED' ? `, failure = '{}'` : '';
  if (subject === 'export_package')
    return to === 'PUBLISHED'
      ? `, storage_key = 'k', blocks = '', block_bytes = 1, bytes = 0, digest = 'd', published_at = now(), expires_at = now()`
      : failed;
  if (subject === 'export_delivery') return to === 'DELIVERED' ? ', delivered_at = now()' : failed;
  const settled = settles(table, to) ? ', settled_at = now()' : '';
  if (subject === 'export_execution') return `${settled}${failed}${to === 'SUCCEEDED' ? `, counts = '[]', manifest_digest = 'd'` : ''}`;
  return `${settled}${to === 'FAILED' ? `, failure = '{}', failed_steps = 1` : ''}`;
}

const subjects = [
  { subject: 'data_run', table: runLifecycle, make: makeRun },
  { subject: 'data_run_step', table: stepLifecycle, make: makeStep },
  { subject: 'export_execution', table: exportLifecycle, make: makeExport },
  { subject: 'export_package', table: packageLifecycle, make: makePackage },
  { subject: 'export_delivery', table: deliveryLifecycle, make: makeDelivery },
];

/** The declared moves that lead to a state, shortest first. */
function pathTo(table: Parameters<typeof moves>[0], state: string): string[] {
  const initial = moves(table).find(({ from }) => from === null)?.to ?? '';
  const queue: string[][] = [[initial]];
  for (const path of queue) {
    if (path.at(-1) === state) return path.slice(1);
    for (const { from, to } of moves(table)) if (from === path.at(-1) && !path.includes(to)) queue.push([...path, to]);
  }
  throw new Error(`${state} cannot be reached`);
}

describe.each(subjects)('$subject', ({ subject, table, make }) => {
  const move = (id: string, to: string) =>
    client.query(`UPDATE ${subject} SET state = '${to}'${facts(subject, table, to)} WHERE id = $1`, [id]);
  const states = entries<string, unknown>(table.states).map(([name]) => name);
  const declared = new Set(moves(table).map(({ from, to }) => `${from} ${to}`));

  async function at(state: string): Promise<string> {
    if (subject.startsWith('export'))
      await client.query(`UPDATE export_execution SET state = 'CANCELLED', settled_at = now() WHERE state IN ('QUEUED', 'RUNNING')`);
    const id = await make();
    for (const step of pathTo(table, state)) await move(id, step);
    return id;
  }

  it.each(states.flatMap((from) => states.filter((to) => to !== from).map((to) => ({ from, to }))))(
    '$from → $to is refused unless declared',
    async ({ from, to }) => {
      const id = await at(from);
      if (declared.has(`${from} ${to}`)) await move(id, to);
      else await expect(move(id, to)).rejects.toMatchObject({ code: 'PH001' });
      const { rows } = await client.query<{ state: string }>(`SELECT state FROM ${subject} WHERE id = $1`, [id]);
      expect(rows[0]?.state).toBe(declared.has(`${from} ${to}`) ? to : from);
    },
  );

  it.each(terminalStates(table as { states: Record<string, { says: string; terminal?: true }> }))(
    'how it settled as %s does not change',
    async (state) => {
      const id = await at(state);
      const when = { export_package: 'published_at', export_delivery: 'delivered_at' }[subject] ?? 'settled_at';
      await expect(client.query(`UPDATE ${subject} SET ${when} = '2001-01-01' WHERE id = $1`, [id])).rejects.toMatchObject({
        code: 'PH001',
      });
      await expect(client.query(`UPDATE ${subject} SET failure = '{"code": "OTHER"}' WHERE id = $1`, [id])).rejects.toMatchObject({
        code: 'PH001',
      });
    },
  );

  it('cannot begin elsewhere', async () => {
    const id = await at(states[0] ?? '');
    for (const state of states.slice(1)) {
      await expect(
        client.query(
          `INSERT INTO ${subject} SELECT (jsonb_populate_record(t, jsonb_build_object('id', gen_random_uuid(), 'state', $2::text))).* FROM ${subject} t WHERE id = $1`,
          [id, state],
        ),
      ).rejects.toMatchObject({
        code: 'PH001',
      });
    }
  });
});

it('keeps events as they were appended', async () => {
  const id = await makeRun();
  await client.query(
    `INSERT INTO lifecycle_event (workspace_id, position, data_run_id, sequence, action, to_state, actor) VALUES ($1, 1, $2, 1, 'REGISTER', 'REGISTERED', 'a')`,
    [workspaceId, id],
  );
  for (const statement of [`UPDATE lifecycle_event SET actor = 'b'`, 'DELETE FROM lifecycle_event', 'TRUNCATE lifecycle_event']) {
    await expect(client.query(statement)).rejects.toMatchObject({ code: 'PH002' });
  }
  await expect(
    client.query(
      `INSERT INTO lifecycle_event (workspace_id, position, data_run_id, sequence, action, to_state, actor) VALUES ($1, 2, $2, 1, 'START', 'RUNNING', 'a')`,
      [workspaceId, id],
    ),
  ).rejects.toMatchObject({ code: '23505' });
});

it('does not let a run succeed with an open or failed step, nor fail without one', async () => {
  for (const [state, counters] of [
    ['SUCCEEDED', 'open_steps = 1'],
    ['SUCCEEDED', 'failed_steps = 1'],
    ['FAILED', `failed_steps = 0, failure = '{}'`],
  ] as const) {
    const id = await makeRun();
    await client.query(`UPDATE data_run SET state = 'RUNNING' WHERE id = $1`, [id]);
    await expect(
      client.query(`UPDATE data_run SET state = '${state}', settled_at = now(), ${counters} WHERE id = $1`, [id]),
    ).rejects.toMatchObject({ code: '23514' });
  }
});
