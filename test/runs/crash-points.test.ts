// Every place between two effects that outlast the process: it is brought there from outside, by the service or by a lock, and killed. Another
// process goes on, and the service's ledger and our rows must agree. Nothing of the product knows of these tests.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freshDatabase } from '../support/database.ts';
import { frontOf } from '../support/front.ts';
import { type Hold, holdRows, holdUpdates } from '../support/holds.ts';
import { type ChildCall, httpChild } from '../support/http-child.ts';
import { judgeLedger } from '../support/ledger-judge.ts';
import { type Node, nodesOn } from '../support/nodes.ts';
import { registered, uuidOf } from '../support/states.ts';
import { createWorkspace, mutate, type Resource, reach } from '../support/story.ts';

const databaseUrl = await freshDatabase();
const pool = new pg.Pool({ connectionString: databaseUrl, max: 2, application_name: 'test' });
const child = await httpChild();
const front = await frontOf(1); // links stay the same, whoever serves them
const folder = mkdtempSync(path.join(tmpdir(), 'packhorse-points-'));
afterAll(async () => {
  await child.close();
  await front.close();
  await pool.end();
  rmSync(folder, { recursive: true });
});
const file = path.join(folder, 'targets.json');
// A call that is held must not be given up before its process has been killed.
writeFileSync(file, JSON.stringify([{ name: 'remote', baseUrl: child.url, idempotency: 'key', timeoutMs: 20_000 }]));
const nodes = nodesOn(databaseUrl);
// A pass may wait a third of its lease for an answer: time enough to get a lock in its way.
const env = {
  PORT: String(front.ports[0]),
  PACKHORSE_PUBLIC_URL: front.url,
  PACKHORSE_TARGETS: file,
  PACKHORSE_LEASE_MS: '6000',
  PACKHORSE_RETRY_MS: '50',
  PACKHORSE_CANCEL_DEADLINE_MS: '2000',
};
const begin = () => nodes.start(env);
let node: Node = begin();
let workspaceId: string;
beforeAll(async () => {
  await node.ready;
  workspaceId = await createWorkspace(node.app, 'points');
});

const dataset = (name: string, ...needs: string[]): Resource => ({
  name,
  rows: 'id\n1\n',
  'packhorse:target': 'remote',
  'packhorse:dependsOn': needs,
});
const pair = [dataset('first'), dataset('second', 'first')];
const cancelled = new Set<string>();

const stateOf = async (id: string, name: string) =>
  (await pool.query<{ state: string }>('SELECT state::text FROM data_run_step WHERE run_id = $1 AND dataset = $2', [uuidOf(id), name]))
    .rows[0]?.state;
const runState = async (id: string) =>
  (await pool.query<{ state: string }>('SELECT state::text FROM data_run WHERE id = $1', [uuidOf(id)])).rows[0]?.state;
const ask = (mutation: string, input: Record<string, unknown>) => mutate(node.app, mutation, input);
/** The process dies over it. */
const unanswered = (asked: Promise<unknown>) => {
  asked.catch(() => {});
};

/** A run whose first dataset is with the service. */
async function active(resources: readonly Resource[] = pair): Promise<string> {
  const id = await registered(node.app, workspaceId, resources);
  await mutate(node.app, 'startDataRun', { dataRunId: id });
  await expect.poll(() => stateOf(id, 'first')).toBe('ACTIVE');
  return id;
}

/** Resolves with the next such call, which waits until it is answered by hand. */
function heldCall(name: ChildCall['name']): Promise<ChildCall> {
  return new Promise((resolve) => {
    child.misbehave = (call) => {
      if (call.name !== name) return false;
      resolve(call);
      return true;
    };
  });
}

const someone = (hold: Hold) => expect.poll(() => hold.waiting(), { interval: 5 }).not.toBeNull();
const log = () => holdRows(databaseUrl, 'SELECT FROM workspace_log WHERE workspace_id = $1 FOR UPDATE', [uuidOf(workspaceId)]);
const workspace = () => holdRows(databaseUrl, 'SELECT FROM workspace WHERE id = $1 FOR UPDATE', [uuidOf(workspaceId)]);

const lease = (when: string) => holdUpdates(databaseUrl, 'data_run', when);
const leaseTaken = 'NEW.fence > OLD.fence';
const leaseGivenBack = 'NEW.lease_owner IS NULL AND OLD.lease_owner IS NOT NULL';

const sessions = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'packhorse'`;
/** As if as much time had passed. Not before the last session of the dead has ended: what it was at may take or give back a lease yet. */
async function leasesEnd(): Promise<void> {
  await expect.poll(async () => (await pool.query(sessions)).rowCount, { interval: 5 }).toBe(0);
  await pool.query('UPDATE data_run SET lease_until = clock_timestamp() WHERE lease_until IS NOT NULL');
}

interface Standing {
  readonly id: string;
  readonly ends: 'SUCCEEDED' | 'CANCELLED';
  /** What holds the process, until it is dead. */
  readonly hold?: Hold;
  /** What a person does with the process that goes on. */
  readonly after?: () => Promise<void>;
}

/** Each brings the process to the point after which it is named. */
const points: Readonly<Record<string, () => Promise<Standing>>> = {
  'start: committed, and no pass has begun': async () => {
    const id = await registered(node.app, workspaceId, pair);
    const hold = await lease(leaseTaken);
    unanswered(ask('startDataRun', { dataRunId: id }));
    await someone(hold);
    expect(await runState(id)).toBe('RUNNING');
    expect(await stateOf(id, 'first')).toBe('PENDING');
    return { id, ends: 'SUCCEEDED', hold };
  },
  'intend: written, and not committed': async () => {
    const id = await active();
    const hold = await log();
    child.end('first', 'succeeded');
    await someone(hold);
    expect(await stateOf(id, 'second')).toBe('PENDING');
    return { id, ends: 'SUCCEEDED', hold };
  },
  'intend: committed, and the call has not reached the service': async () => {
    const id = await active();
    const call = heldCall('submit');
    child.end('first', 'succeeded');
    await call;
    expect(await stateOf(id, 'second')).toBe('SUBMITTING');
    return { id, ends: 'SUCCEEDED' };
  },
  'call: accepted by the service, and not answered': async () => {
    const id = await active();
    const call = heldCall('submit');
    child.end('first', 'succeeded');
    (await call).honest();
    return { id, ends: 'SUCCEEDED' };
  },
  'call: answered, and the record is not committed': async () => {
    const id = await active();
    const call = heldCall('submit');
    child.end('first', 'succeeded');
    const { honest, send } = await call;
    const hold = await log();
    send(honest());
    await someone(hold);
    expect(await stateOf(id, 'second')).toBe('SUBMITTING');
    return { id, ends: 'SUCCEEDED', hold };
  },
  'record: committed, and the lease is not given back': async () => {
    const id = await active();
    const call = heldCall('submit');
    child.end('first', 'succeeded');
    const { honest, send } = await call;
    const hold = await lease(leaseGivenBack);
    send(honest());
    await someone(hold);
    expect(await stateOf(id, 'second')).toBe('ACTIVE');
    return { id, ends: 'SUCCEEDED', hold };
  },
  'cancel: marked, and no child has been asked': async () => {
    const id = await active();
    const call = heldCall('cancel');
    unanswered(ask('cancelDataRun', { dataRunId: id }));
    await call;
    expect((await pool.query('SELECT FROM data_run WHERE id = $1 AND cancel_requested_at IS NOT NULL', [uuidOf(id)])).rowCount).toBe(1);
    return { id, ends: 'CANCELLED' };
  },
  'cancel: the children have been asked, and nothing is settled': async () => {
    const id = await active();
    const call = heldCall('cancel');
    unanswered(ask('cancelDataRun', { dataRunId: id }));
    const { honest, send } = await call;
    const hold = await log();
    send(honest());
    await someone(hold);
    expect(child.job('first').state).toBe('cancelled');
    expect(await runState(id)).toBe('RUNNING');
    return { id, ends: 'CANCELLED', hold };
  },
  'cancel: settled, and the duty to stop a child is open': async () => {
    const id = await active();
    child.misbehave = ({ name, response }) => {
      if (name !== 'cancel') return false;
      response.writeHead(500).end();
      return true;
    };
    expect((await ask('cancelDataRun', { dataRunId: id })).state).toBe('CANCELLED');
    expect(await stateOf(id, 'first')).toBe('CANCELLING');
    expect(child.job('first').state).toBe('running');
    return { id, ends: 'CANCELLED' };
  },
  'settle: written, and not committed': async () => {
    const id = await active([dataset('first')]);
    const hold = await log();
    child.end('first', 'succeeded');
    await someone(hold);
    expect(await runState(id)).toBe('RUNNING');
    return { id, ends: 'SUCCEEDED', hold };
  },
  'settle: committed, and the lease is not given back': async () => {
    const id = await active([dataset('first')]);
    const hold = await lease(`${leaseGivenBack} AND NEW.settled_at IS NOT NULL`);
    child.end('first', 'succeeded');
    await someone(hold);
    expect(await runState(id)).toBe('SUCCEEDED');
    return { id, ends: 'SUCCEEDED', hold };
  },
  'renewal of a grant: written, and not committed': async () => {
    const id = await held();
    const hold = await workspace();
    unanswered(renew(id));
    await someone(hold);
    const after = async () => {
      expect(await stateOf(id, 'second')).toBe('PENDING'); // as if nobody had asked
      await renew(id);
    };
    return { id, ends: 'SUCCEEDED', hold, after };
  },
  'renewal of a grant: committed, and nothing was done under it': async () => {
    const id = await held();
    const hold = await holdUpdates(databaseUrl, 'data_run_step', `NEW.state = 'SUBMITTING'`);
    await renew(id);
    await someone(hold); // a pass that follows from it, and has written nothing yet
    expect(await stateOf(id, 'second')).toBe('PENDING');
    return { id, ends: 'SUCCEEDED', hold };
  },
  'callback: received, and its task is not enqueued': async () => {
    const id = await active([dataset('first')]);
    const call = heldCall('read'); // nobody learns of the end but by the callback
    await call;
    child.end('first', 'succeeded');
    const hold = await holdRows(databaseUrl, 'LOCK TABLE graphile_worker._private_jobs IN SHARE ROW EXCLUSIVE MODE');
    fetch(child.job('first').submission.callbackUrl, { method: 'POST' }).catch(() => {});
    const adding = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%add_job%'`;
    await expect.poll(async () => (await pool.query(adding)).rowCount, { interval: 5 }).toBe(1);
    return { id, ends: 'SUCCEEDED', hold };
  },
};

/** A run that waits for somebody's authority. */
async function held(): Promise<string> {
  const id = await active();
  await node.app.graphql('mutation ($input: RevokeDataRunGrantInput!) { revokeDataRunGrant(input: $input) { __typename } }', {
    input: { dataRunId: id },
  });
  child.end('first', 'succeeded');
  await expect.poll(() => stateOf(id, 'first')).toBe('SUCCEEDED');
  return id;
}

function renew(dataRunId: string): Promise<unknown> {
  const query = 'mutation ($input: RenewDataRunGrantInput!) { renewDataRunGrant(input: $input) { __typename } }';
  return node.app.graphql(query, { input: { dataRunId } });
}

it.each(Object.entries(points))('a process killed at this point loses nothing and doubles nothing: %s', async (_name, point) => {
  const { id, ends, hold, after }: Standing = await point();
  await node.kill();
  await hold?.release();
  await leasesEnd();
  child.misbehave = null;
  node = begin();
  await node.ready;
  await after?.();
  // Whatever is still at work ends as soon as it is looked at; what was cancelled stays so.
  child.misbehave = ({ name, job }) => {
    if (name === 'read' && job?.state === 'running') job.state = 'succeeded';
    return false;
  };
  await reach(node.app, id, ends, 30_000);
  const open = `SELECT dataset, state::text FROM data_run_step WHERE state IN ('SUBMITTING', 'ACTIVE', 'CANCELLING')`;
  await expect.poll(async () => (await pool.query(open)).rows).toEqual([]);
  child.misbehave = null;
  if (ends === 'CANCELLED') cancelled.add(uuidOf(id));
  const ended = new Map(child.jobs.filter(({ state }) => state !== 'running').map((job) => [job, 0]));
  expect(await judgeLedger(pool, child, { created: new Map(), ended }, cancelled)).toMatchObject({
    duplicated: [],
    lost: [],
    orphaned: [],
    stale: [],
    wrongEnds: [],
    furtherAttempts: 0,
  });
});
