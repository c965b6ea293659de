// The built-in loader behind the job-target contract: the calls are transactions, so no answer is ever unknown for long.
import { v7 as uuidv7 } from 'uuid';
import { type Db, inTransaction } from '../../db.ts';
import type { Failure } from '../../errors.ts';
import type { StoreJob } from '../../generated/prisma/client.ts';
import type { Blocker, RowAccount, RowErrors } from '../../records/outcome.ts';
import { enqueue } from '../../tasks/task.ts';
import { driveKey, driveRun, loadStoreJob } from '../wake.ts';
import type { Answer, ChildReport, ChildState, Submission, Target } from './target.ts';

export const storeName = 'store';

/** What the loader needs of a submission, as its job keeps it. The dataset's plan stays with the package. */
export interface StoreRequest {
  readonly packageId: string;
  readonly dataset: string;
  readonly stepId: string;
  readonly attempt: number;
  readonly onInvalidRow: Submission['onInvalidRow'];
  readonly onMissingReference: Submission['onMissingReference'];
}

export function storeTarget(db: Db): Target {
  const byId = (id: string) => db.prisma.storeJob.findUnique({ where: { id } });
  const byKey = (key: string) => db.prisma.storeJob.findUnique({ where: { idempotencyKey: key } });
  return {
    name: storeName,
    idempotency: 'key',
    async submit(submission) {
      const request: StoreRequest = {
        packageId: submission.packageId,
        dataset: submission.dataset.name,
        stepId: submission.stepId,
        attempt: submission.attempt,
        onInvalidRow: submission.onInvalidRow,
        onMissingReference: submission.onMissingReference,
      };
      await inTransaction(db, async ({ sql }) => {
        const id = uuidv7();
        const made = await sql.$executeRaw`
          INSERT INTO store_job (id, idempotency_key, workspace_id, run_id, dataset, request, progress_total)
          VALUES (${id}::uuid, ${submission.key}, ${submission.workspaceId}::uuid, ${submission.runId}::uuid, ${submission.dataset.name},
            ${JSON.stringify(request)}::jsonb, ${submission.dataset.bytes})
          ON CONFLICT (idempotency_key) DO NOTHING`;
        if (made === 1) await enqueue(sql, loadStoreJob, { storeJobId: id });
      });
      return answer(await byKey(submission.key));
    },
    read: async (id) => answer(await byId(id)),
    find: async (key) => answer(await byKey(key)),
    async cancel(id: string) {
      await askToStop(db, id);
      return answer(await byId(id));
    },
    async cancelByKey(key: string) {
      // The tombstone: a later submission with this key finds a cancelled job and starts nothing.
      await db.prisma.$executeRaw`
        INSERT INTO store_job (id, idempotency_key, state, settled_at) VALUES (${uuidv7()}::uuid, ${key}, 'cancelled', clock_timestamp())
        ON CONFLICT (idempotency_key) DO NOTHING`;
      const job = await byKey(key);
      if (job !== null) await askToStop(db, job.id);
      return answer(await byKey(key));
    },
  };
}

/** A queued job stops at once; a running one is marked, and its loader sees the mark before it may commit. */
async function askToStop(db: Db, id: string): Promise<void> {
  await inTransaction(db, async ({ sql }) => {
    // A loader that is committing holds its job's row: better no answer now than a caller that waits for a bulk write.
    await sql.$executeRaw`SET LOCAL lock_timeout = '2s'`;
    const stopped = await sql.$queryRaw<{ runId: string | null }[]>`
      UPDATE store_job SET cancel_requested_at = coalesce(cancel_requested_at, clock_timestamp()),
        state = CASE state WHEN 'queued' THEN 'cancelled' ELSE state END,
        settled_at = CASE state WHEN 'queued' THEN clock_timestamp() END
      WHERE id = ${id}::uuid AND state IN ('queued', 'running') RETURNING run_id AS "runId"`;
    for (const { runId } of stopped) if (runId !== null) await enqueue(sql, driveRun, { runId }, { jobKey: driveKey(runId) });
  });
}

function answer(job: StoreJob | null): Answer {
  if (job === null) return { is: 'none' };
  const report: ChildReport = {
    id: job.id,
    state: job.state as ChildState, // a check constraint holds the column to these
    progress: { done: job.progressDone, total: job.progressTotal, unit: 'bytes' },
    // The four were written by the loader in these shapes.
    rows: (job.rows as unknown as RowAccount | null) ?? undefined,
    blockers: (job.blockers as unknown as Blocker[] | null) ?? undefined,
    failure: (job.failure as unknown as Failure | null) ?? undefined,
    errors: (job.errors as unknown as RowErrors | null) ?? undefined,
  };
  return { is: 'job', report };
}
