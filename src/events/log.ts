// The log: what an event is, and reading it. Events are appended by lifecycle/transition.ts alone, and never changed.
import type { Db } from '../db.ts';
import type { LifecycleEvent } from '../generated/prisma/client.ts';

/** Who made something happen and why. */
export interface Cause {
  /** A subject from a token, or `driver`. */
  readonly actor: string;
  readonly reason?: string | null;
  readonly requestId?: string | null;
  /** What led to it where no person did: SETTLED_BY_PASS, CHILD_ENDED, LEASE_LOST … */
  readonly cause?: string | null;
}

export interface EventDraft {
  readonly action: string;
  readonly from: string | null;
  readonly to: string;
  readonly dataset?: string | null;
  /** Of a delivery: whom it was for. */
  readonly destination?: string | null;
  readonly cause?: string | null;
}

/** Whose events: a workspace's, or one subject's in it. */
export interface LogScope {
  readonly workspaceId: string;
  readonly dataRunId?: string;
  readonly exportExecutionId?: string;
}

/** At most `limit` events after a position, in commit order. */
export function readAfter(db: Db, scope: LogScope, after: bigint, limit: number): Promise<LifecycleEvent[]> {
  return db.prisma.lifecycleEvent.findMany({ where: { ...scope, position: { gt: after } }, orderBy: { position: 'asc' }, take: limit });
}

/** The position of the workspace's newest committed event. */
export async function lastPosition(db: Db, workspaceId: string): Promise<bigint> {
  const log = await db.prisma.workspaceLog.findUnique({ where: { workspaceId } });
  return log?.position ?? 0n;
}
