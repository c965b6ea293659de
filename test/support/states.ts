// Brings a run into each state by the API alone, with children that a test decides about.
import type { TestApp } from './app.ts';
import type { ScriptedTarget } from './scripted-target.ts';
import { createWorkspace, mutate, type Resource, reach, register, stage, zipOf } from './story.ts';

export type RunState = 'REGISTERED' | 'RUNNING' | 'PAUSED' | 'SUCCEEDED' | 'FAILED' | 'CANCELLED';
export const runStates: readonly RunState[] = ['REGISTERED', 'RUNNING', 'PAUSED', 'SUCCEEDED', 'FAILED', 'CANCELLED'];

const schema = { fields: [{ name: 'id', type: 'string' }], primaryKey: 'id' };

/** `first`, and `second` that needs it; both on the scripted target. */
export const chain: readonly Resource[] = [
  { name: 'first', rows: 'id\n1\n', schema, 'packhorse:target': 'scripted' },
  { name: 'second', rows: 'id\n1\n', schema, 'packhorse:target': 'scripted', 'packhorse:dependsOn': ['first'] },
];

let staged = 0;

/** A registered run of a package of its own. */
export async function registered(
  app: TestApp,
  workspaceId: string,
  resources: readonly Resource[] = chain,
  more: Record<string, unknown> = {},
): Promise<string> {
  return register(app, workspaceId, await stage(app, workspaceId, await zipOf(`package-${++staged}`, resources)), more);
}

export async function inState(app: TestApp, target: ScriptedTarget, state: RunState, workspaceId?: string): Promise<string> {
  const id = await registered(app, workspaceId ?? (await createWorkspace(app)), chain, { driving: 'ON_REQUEST' });
  if (state === 'REGISTERED') return id;
  if (state === 'CANCELLED') {
    await mutate(app, 'cancelDataRun', { dataRunId: id });
    return id;
  }
  await mutate(app, 'startDataRun', { dataRunId: id });
  if (state === 'PAUSED') await mutate(app, 'pauseDataRun', { dataRunId: id });
  if (state === 'FAILED') {
    target.end('first', 'failed');
    await mutate(app, 'advanceDataRun', { dataRunId: id });
  }
  if (state === 'SUCCEEDED') {
    target.end('first', 'succeeded');
    await mutate(app, 'advanceDataRun', { dataRunId: id });
    target.end('second', 'succeeded');
    await mutate(app, 'advanceDataRun', { dataRunId: id });
  }
  await reach(app, id, state);
  return id;
}

/** Everything the database holds of a run, as text: equal before and after means that nothing changed. */
export async function everythingOf(app: TestApp, globalId: string): Promise<string> {
  const id = uuidOf(globalId);
  const { rows } = await app.app.db.pool.query<{ all: string }>(
    `SELECT concat_ws(E'\\n', (SELECT to_jsonb(r) - 'lease_owner' - 'lease_until' - 'fence' FROM data_run r WHERE r.id = $1)::text,
       (SELECT jsonb_agg(s ORDER BY s.position) FROM data_run_step s WHERE s.run_id = $1)::text,
       (SELECT jsonb_agg(e ORDER BY e.sequence) FROM lifecycle_event e WHERE e.data_run_id = $1)::text,
       (SELECT jsonb_agg(g ORDER BY g.id) FROM run_grant g WHERE g.run_id = $1)::text) AS all`,
    [id],
  );
  return rows[0]?.all ?? '';
}

export function uuidOf(globalId: string): string {
  return Buffer.from(globalId, 'base64').toString().split(':')[1] ?? '';
}

export interface EventRow {
  readonly sequence: number;
  readonly action: string;
  readonly from_state: string | null;
  readonly to_state: string;
  readonly dataset: string | null;
  readonly actor: string;
  readonly reason: string | null;
  readonly cause: string | null;
}

export async function eventsOf(app: TestApp, globalId: string): Promise<EventRow[]> {
  const { rows } = await app.app.db.pool.query<EventRow>(
    `SELECT sequence, action, from_state, to_state, dataset, actor, reason, cause FROM lifecycle_event WHERE data_run_id = $1 ORDER BY sequence`,
    [uuidOf(globalId)],
  );
  return rows;
}
