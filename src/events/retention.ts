// How long events are kept: the horizon is raised over those that are old enough, and they are deleted in the same transaction.
import { type Db, inTransaction } from '../db.ts';

export interface EventRetention {
  readonly days: number;
  /** Ends the work after the batch it is in. */
  readonly stop: AbortSignal;
}

// Writers of the workspace wait for a batch, since it holds their log's row: a few milliseconds.
const batchEvents = 500;

/** Deletes the events that are older than so many days, but none from the first one of a live subject on. Returns how many went. */
export async function pruneEvents(db: Db, { days, stop }: EventRetention): Promise<number> {
  let pruned = 0;
  for (const { workspaceId } of await withOldEvents(db, days)) {
    const live = await firstOfLive(db, workspaceId);
    for (let taken = batchEvents; taken >= batchEvents && !stop.aborted; pruned += taken) {
      taken = await pruneBatch(db, workspaceId, live, days);
    }
  }
  return pruned;
}

function withOldEvents(db: Db, days: number): Promise<{ workspaceId: string }[]> {
  return db.prisma.$queryRaw`
    SELECT l.workspace_id::text AS "workspaceId" FROM workspace_log l, LATERAL (
      SELECT e.at FROM lifecycle_event e WHERE e.workspace_id = l.workspace_id AND e.position > l.horizon ORDER BY e.position LIMIT 1
    ) oldest WHERE oldest.at < clock_timestamp() - make_interval(days => ${days}::int)`;
}

/**
 * Where the oldest log of a subject begins that something may still happen to: it is unfinished, or a child, a publication or a delivery
 * is. Read once, since what becomes live later begins, or goes on, beyond all that is old.
 */
async function firstOfLive(db: Db, workspaceId: string): Promise<bigint | null> {
  const [live] = await db.prisma.$queryRaw<{ position: bigint | null }[]>`
    SELECT least(
      (SELECT min(first.position) FROM data_run r, LATERAL (
         SELECT e.position FROM lifecycle_event e WHERE e.data_run_id = r.id ORDER BY e.sequence LIMIT 1
       ) first
       WHERE r.workspace_id = ${workspaceId}::uuid AND (r.settled_at IS NULL OR r.active_children > 0 OR r.cancelling_steps > 0)),
      (SELECT min(first.position) FROM export_execution x, LATERAL (
         SELECT e.position FROM lifecycle_event e WHERE e.export_execution_id = x.id ORDER BY e.sequence LIMIT 1
       ) first
       WHERE x.workspace_id = ${workspaceId}::uuid AND (x.settled_at IS NULL OR EXISTS (
         SELECT FROM export_package p WHERE p.execution_id = x.id AND (p.state = 'PENDING' OR EXISTS (
           SELECT FROM export_delivery d WHERE d.package_id = p.id AND d.state = 'PENDING')))))
    ) AS position`;
  return live?.position ?? null;
}

/** The horizon first: the database lets nothing be deleted beyond it. The same statement finds what another process left to take. */
function pruneBatch(db: Db, workspaceId: string, live: bigint | null, days: number): Promise<number> {
  return inTransaction(db, async (tx) => {
    const raised = await tx.sql.$executeRaw`
      UPDATE workspace_log l SET horizon = reach.position
      FROM (
        SELECT least(coalesce(min(position) FILTER (WHERE is_young) - 1, max(position)), ${live}::bigint - 1) AS position
        FROM (
          SELECT e.position, e.at >= clock_timestamp() - make_interval(days => ${days}::int) AS is_young
          FROM workspace_log w, lifecycle_event e
          WHERE w.workspace_id = ${workspaceId}::uuid AND e.workspace_id = w.workspace_id AND e.position > w.horizon
          ORDER BY e.position LIMIT ${batchEvents}
        ) next
      ) reach
      WHERE l.workspace_id = ${workspaceId}::uuid AND reach.position > l.horizon`;
    if (raised === 0) return 0;
    return tx.sql.$executeRaw`
      DELETE FROM lifecycle_event e USING workspace_log l
      WHERE l.workspace_id = ${workspaceId}::uuid AND e.workspace_id = l.workspace_id AND e.position <= l.horizon`;
  });
}
