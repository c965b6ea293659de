// The built-in loader's own side: claims one of its jobs under a lease, loads, and settles the job in the transaction that writes the rows.
import type pg from 'pg';
import { type Db, isPassingFault, postgresFault } from '../../db.ts';
import type { Failure } from '../../errors.ts';
import { linkedTo } from '../../linked.ts';
import type { Log } from '../../log.ts';
import { openDatasetSource } from '../../packages/inspect.ts';
import type { PackageLimits } from '../../packages/limits.ts';
import type { PackagePlan } from '../../packages/plan.ts';
import { loadDataset } from '../../records/load.ts';
import { type LoadOutcome, noRows } from '../../records/outcome.ts';
import type { Storage } from '../../storage/storage.ts';
import { enqueueWith } from '../../tasks/task.ts';
import { driveKey, driveRun, loadStoreJob } from '../wake.ts';
import type { StoreRequest } from './store.ts';
import { sourceFailure } from './store-failure.ts';

export interface StoreLoader {
  readonly db: Db;
  readonly storage: Storage;
  readonly limits: PackageLimits;
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  readonly log: Log;
}

interface Claim {
  readonly id: string;
  readonly fence: number;
  readonly workspaceId: string;
  readonly runId: string;
  readonly request: StoreRequest;
}

/** The job was cancelled, or another process has taken it over: whatever was not committed is given up. */
class Abandoned extends Error {
  override readonly name = 'Abandoned';
}

// How soon a cancel is seen and how often progress is written; the lease is kept by the same statement.
const tickMs = 400;

/** Does nothing where the job has ended or somebody else holds it, so it may be called any number of times. */
export async function runStoreJob(loader: StoreLoader, jobId: string, stop: AbortSignal): Promise<void> {
  const { db } = loader;
  if (stop.aborted) return; // left to the reaper of another process
  const claim = await claimJob(loader, jobId);
  if (claim === null) return confirmStopped(db, jobId, null);
  if (claim.fence > mostClaims) return settleAlone(db, claim, failed(claimedTooOften));
  using lost = linkedTo(stop);
  const { signal } = lost;
  let done = 0;
  const tick = async () => {
    const kept = await db.pool.query<{ asked: boolean }>(
      `UPDATE store_job SET progress_done = $3, lease_until = clock_timestamp() + make_interval(secs => $4)
       WHERE id = $1 AND fence = $2 AND state = 'running' RETURNING cancel_requested_at IS NOT NULL AS asked`,
      [claim.id, claim.fence, done, loader.leaseMs / 1_000],
    );
    if (kept.rows[0] === undefined || kept.rows[0].asked) return lost.abort(new Abandoned());
    await db.pool.query(
      `UPDATE data_run_step SET progress_done = $2 WHERE id = $1 AND attempt = $3 AND state = 'ACTIVE' AND progress_done < $2`,
      [claim.request.stepId, done, claim.request.attempt],
    );
    db.announce(`progress:${claim.runId}`);
  };
  let ticking = Promise.resolve();
  let isTicking = false;
  const timer = setInterval(
    () => {
      if (isTicking) return;
      isTicking = true;
      // A tick that fails is made up by the next; none for a whole lease loses the job to another process.
      ticking = tick()
        .catch(() => {})
        .finally(() => {
          isTicking = false;
        });
    },
    Math.min(tickMs, loader.heartbeatMs),
  );
  try {
    await load(loader, claim, signal, (bytes) => {
      done = bytes;
    });
  } catch (error) {
    if (!signal.aborted && !(error instanceof Abandoned)) await giveUp(db, claim, error);
  } finally {
    clearInterval(timer);
    await ticking;
    await confirmStopped(db, claim.id, claim.fence);
    if (stop.aborted) await handOver(db, claim);
  }
}

/** Faults that pass by themselves: the job is tried again. Anything else would only repeat itself, so the job fails with it, in words that show no internals. */
async function giveUp(db: Db, claim: Claim, error: unknown): Promise<void> {
  if (isPassing(error)) {
    await letGo(db, claim).catch(() => {}); // without Postgres the lease ends by itself
    throw error;
  }
  await settleAlone(db, claim, failed(failureOf(error))).catch((late: unknown) => {
    if (!(late instanceof Abandoned)) throw late;
  });
  throw error; // for the log
}

/** A storage or a package is at fault in its own way, however the connection to it ended. */
function isPassing(error: unknown): boolean {
  return sourceFailure(error) === null && isPassingFault(error);
}

function failureOf(error: unknown): Failure {
  const ofSource = sourceFailure(error);
  if (ofSource !== null) return ofSource;
  if (postgresFault(error)?.code.startsWith('53') === true) {
    const summary = 'The database ran out of disk or memory.';
    return { code: 'DATABASE_FULL', origin: 'database', phase: 'writing', retryable: true, summary };
  }
  const summary = 'The loader stopped on an unexpected fault. It stands in the server’s log under this run.';
  return { code: 'INTERNAL_ERROR', origin: 'system', phase: 'loading', retryable: true, summary };
}

/** To be taken up again by whoever looks, the later the more often it was. */
async function letGo(db: Db, claim: Claim): Promise<void> {
  const seconds = Math.min(30, 0.1 * claim.fence ** 2);
  await db.pool.query(
    `UPDATE store_job SET lease_until = clock_timestamp() + make_interval(secs => $3) WHERE id = $1 AND fence = $2 AND state = 'running'`,
    [claim.id, claim.fence, seconds],
  );
}

// Taken up so often, by processes that were killed, stopped or cut off from Postgres each time, a job is more likely the cause than the victim.
const mostClaims = 50;

const claimedTooOften: Failure = {
  code: 'LOADER_LOST',
  origin: 'system',
  phase: 'loading',
  retryable: true,
  summary: `The load was begun ${mostClaims} times, and each time its process or its database went away. Register a new run to try again.`,
};

/** This process is ending: another takes the job over at once, neither waiting for the lease nor for its reaper’s turn. */
async function handOver(db: Db, claim: Claim): Promise<void> {
  const { rowCount } = await db.pool.query(
    `UPDATE store_job SET lease_until = clock_timestamp() - interval '1 second' WHERE id = $1 AND fence = $2 AND state = 'running'`, // kept in ms, so that now may be rounded to a moment later
    [claim.id, claim.fence],
  );
  if (rowCount === 1) await enqueueWith(db.pool, loadStoreJob, { storeJobId: claim.id }, { jobKey: `load:${claim.id}` });
}

async function claimJob(loader: StoreLoader, jobId: string): Promise<Claim | null> {
  const { rows } = await loader.db.pool.query<Claim>(
    `UPDATE store_job SET state = 'running', fence = fence + 1, lease_until = clock_timestamp() + make_interval(secs => $2)
     WHERE id = $1 AND cancel_requested_at IS NULL AND (state = 'queued' OR (state = 'running' AND lease_until < clock_timestamp()))
     RETURNING id, fence, workspace_id AS "workspaceId", run_id AS "runId", request`,
    [jobId, loader.leaseMs / 1_000],
  );
  return rows[0] ?? null;
}

async function load(loader: StoreLoader, claim: Claim, signal: AbortSignal, progress: (bytes: number) => void): Promise<void> {
  const { db, storage, limits } = loader;
  const { request } = claim;
  const held = await db.prisma.dataPackage.findUniqueOrThrow({ where: { id: request.packageId } });
  const plan = held.plan as unknown as PackagePlan; // written by registration in this shape, and only then can a run exist
  const dataset = plan.datasets.find(({ name }) => name === request.dataset);
  const { storageKey: key, kind } = held;
  if (dataset === undefined || key === null || held.discardedAt !== null || (kind !== 'ZIP' && kind !== 'DESCRIPTOR')) {
    return settleAlone(
      db,
      claim,
      failed({
        code: 'PACKAGE_DISCARDED',
        origin: 'package',
        phase: 'reading',
        retryable: false,
        summary: 'The staged package is no longer there. Stage it again and register a new run.',
      }),
    );
  }
  const { onInvalidRow, onMissingReference } = request;
  const began = performance.now();
  const outcome = await loadDataset(
    db.pool,
    {
      workspaceId: claim.workspaceId,
      runId: claim.runId,
      storeJobId: claim.id,
      dataset,
      onInvalidRow,
      onMissingReference,
      expandedBytesLimit: limits.datasetExpandedBytes,
    },
    {
      signal,
      progress,
      open: () => openDatasetSource(storage, { key, kind }, dataset, limits),
      begin: async (client) => (await holds(client, claim)) && !signal.aborted,
      settle: (client, outcome) => settle(client, claim, outcome),
    },
  );
  if (outcome === 'abandoned') return;
  const { state, rows } = outcome;
  loader.log.info(
    { runId: claim.runId, jobId: claim.id, dataset: dataset.name, state, rows, ms: Math.round(performance.now() - began) },
    'load ended',
  );
}

/** Looks without locking: the row is locked by `settle`, so that heartbeat and cancel are not held up by the bulk write. */
async function holds(client: pg.ClientBase, claim: Claim): Promise<boolean> {
  const { rowCount } = await client.query(
    `SELECT 1 FROM store_job WHERE id = $1 AND fence = $2 AND state = 'running' AND cancel_requested_at IS NULL`,
    [claim.id, claim.fence],
  );
  return rowCount === 1;
}

/** Throws Abandoned, which rolls the rows back, where a cancel or a takeover came first. */
async function settle(client: pg.ClientBase, claim: Claim, outcome: LoadOutcome): Promise<void> {
  const json = (value: unknown) => (value === undefined ? null : JSON.stringify(value));
  const { rowCount } = await client.query(
    `UPDATE store_job SET state = $3, rows = $4, blockers = $5, failure = $6, errors = $7, settled_at = clock_timestamp(), lease_until = NULL,
       progress_done = CASE WHEN $3 = 'failed' THEN progress_done ELSE coalesce(progress_total, progress_done) END
     WHERE id = $1 AND fence = $2 AND state = 'running' AND cancel_requested_at IS NULL`,
    [
      claim.id,
      claim.fence,
      outcome.state,
      json(outcome.rows),
      json(outcome.state === 'blocked' ? outcome.blockers : undefined),
      json(outcome.state === 'failed' ? outcome.failure : undefined),
      json(outcome.errors),
    ],
  );
  if (rowCount !== 1) throw new Abandoned();
  await enqueueWith(client, driveRun, { runId: claim.runId }, { jobKey: driveKey(claim.runId) });
}

async function settleAlone(db: Db, claim: Claim, outcome: LoadOutcome): Promise<void> {
  await transact(db, (client) => settle(client, claim, outcome));
}

const failed = (failure: Failure): LoadOutcome => ({ state: 'failed', rows: noRows, failure, errors: { count: 0, first: [] } });

/**
 * A loader that saw the mark says so: from here the child is confirmed stopped. Where the loader died with the mark set, whoever finds the
 * job without a lease says it; should that loader wake up after all, it no longer holds the job.
 */
async function confirmStopped(db: Db, id: string, fence: number | null): Promise<void> {
  await transact(db, async (client) => {
    const { rows } = await client.query<{ runId: string }>(
      `UPDATE store_job SET state = 'cancelled', settled_at = clock_timestamp(), lease_until = NULL
       WHERE id = $1 AND (fence = $2 OR lease_until < clock_timestamp()) AND state = 'running' AND cancel_requested_at IS NOT NULL
       RETURNING run_id AS "runId"`,
      [id, fence],
    );
    for (const { runId } of rows) await enqueueWith(client, driveRun, { runId }, { jobKey: driveKey(runId) });
  });
}

async function transact(db: Db, work: (client: pg.PoolClient) => Promise<void>): Promise<void> {
  const client = await db.pool.connect();
  let broken = false;
  try {
    await client.query('BEGIN');
    await work(client);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {
      broken = true; // not to be given to anybody else
    });
    throw error;
  } finally {
    client.release(broken);
  }
}
