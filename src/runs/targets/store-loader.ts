// The built-in loader's own side: claims one of its jobs under a lease, loads, and settles the job in the transaction that writes the rows.
import type pg from 'pg';
import { type Db, postgresFault } from '../../db.ts';
import type { Failure } from '../../errors.ts';
import { openDatasetSource } from '../../packages/inspect.ts';
import type { PackageLimits } from '../../packages/limits.ts';
import type { PackagePlan } from '../../packages/plan.ts';
import { loadDataset } from '../../records/load.ts';
import { type LoadOutcome, noRows } from '../../records/outcome.ts';
import { type Storage, StorageError } from '../../storage/storage.ts';
import { enqueueWith } from '../../tasks/task.ts';
import { driveKey, driveRun } from '../wake.ts';
import type { StoreRequest } from './store.ts';

export interface StoreLoader {
  readonly db: Db;
  readonly storage: Storage;
  readonly limits: PackageLimits;
  readonly leaseMs: number;
  readonly heartbeatMs: number;
}

interface Claim {
  readonly id: string;
  readonly fence: number;
  readonly workspaceId: string;
  readonly runId: string;
  readonly request: StoreRequest;
  readonly total: bigint | null;
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
  const claim = await claimJob(loader, jobId);
  if (claim === null) return;
  const lost = new AbortController();
  const signal = AbortSignal.any([lost.signal, stop]);
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
  const timer = setInterval(
    () => {
      // A tick that fails is made up by the next; one lost for a whole lease loses the job to another process.
      ticking = ticking.then(() => tick()).catch(() => {});
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
  }
  await confirmStopped(db, claim);
  if (stop.aborted) await letGo(db, claim); // this process is ending: the next takes the job over without waiting for the lease
}

/**
 * A fault of ours or of the machine. Without Postgres nothing can be said, and the job is tried again; anything else would only repeat
 * itself, so the job fails with it, in words that show no internals.
 */
async function giveUp(db: Db, claim: Claim, error: unknown): Promise<void> {
  const code = postgresFault(error)?.code;
  const isStorage = error instanceof StorageError;
  if (code?.startsWith('08') || code?.startsWith('57P') || (code === undefined && !isStorage && isConnectionLoss(error))) {
    await letGo(db, claim).catch(() => {});
    throw error;
  }
  const full = code?.startsWith('53');
  const failure: Failure = isStorage
    ? { code: error.code, origin: 'storage', phase: 'reading', retryable: true, summary: error.message }
    : full
      ? {
          code: 'DATABASE_FULL',
          origin: 'database',
          phase: 'writing',
          retryable: true,
          summary: 'The database ran out of disk, memory or connections.',
        }
      : {
          code: 'INTERNAL_ERROR',
          origin: 'system',
          phase: 'loading',
          retryable: true,
          summary: 'The loader stopped on an unexpected fault. It stands in the server’s log under this run.',
        };
  await settleAlone(db, claim, failed(failure));
  throw error; // for the log
}

function isConnectionLoss(error: unknown): boolean {
  return error instanceof Error && /connection|ECONN|terminat|timeout exceeded/i.test(error.message);
}

async function letGo(db: Db, claim: Claim): Promise<void> {
  await db.pool.query(`UPDATE store_job SET lease_until = clock_timestamp() WHERE id = $1 AND fence = $2 AND state = 'running'`, [
    claim.id,
    claim.fence,
  ]);
}

async function claimJob(loader: StoreLoader, jobId: string): Promise<Claim | null> {
  const { rows } = await loader.db.pool.query<Claim>(
    `UPDATE store_job SET state = 'running', fence = fence + 1, lease_until = clock_timestamp() + make_interval(secs => $2)
     WHERE id = $1 AND cancel_requested_at IS NULL AND (state = 'queued' OR (state = 'running' AND lease_until < clock_timestamp()))
     RETURNING id, fence, workspace_id AS "workspaceId", run_id AS "runId", request, progress_total AS total`,
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
  if (onInvalidRow !== 'FAIL' || onMissingReference === 'REJECT') throw new Error('registration lets no such policy through');
  await loadDataset(
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
      json(outcome.state === 'failed' ? outcome.errors : undefined),
    ],
  );
  if (rowCount !== 1) throw new Abandoned();
  await enqueueWith(client, driveRun, { runId: claim.runId }, { jobKey: driveKey(claim.runId) });
}

async function settleAlone(db: Db, claim: Claim, outcome: LoadOutcome): Promise<void> {
  const client = await db.pool.connect();
  try {
    await client.query('BEGIN');
    await settle(client, claim, outcome);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  } finally {
    client.release();
  }
}

const failed = (failure: Failure): LoadOutcome => ({ state: 'failed', rows: noRows, failure, errors: { count: 0, first: [] } });

/** A loader that saw the mark says so: from here the child is confirmed stopped. */
async function confirmStopped(db: Db, claim: Claim): Promise<void> {
  const client = await db.pool.connect();
  try {
    await client.query('BEGIN');
    const { rowCount } = await client.query(
      `UPDATE store_job SET state = 'cancelled', settled_at = clock_timestamp(), lease_until = NULL
       WHERE id = $1 AND fence = $2 AND state = 'running' AND cancel_requested_at IS NOT NULL`,
      [claim.id, claim.fence],
    );
    if (rowCount === 1) await enqueueWith(client, driveRun, { runId: claim.runId }, { jobKey: driveKey(claim.runId) });
    await client.query('COMMIT');
  } finally {
    client.release();
  }
}
