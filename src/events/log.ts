// The log: what an event is, and reading it. Events are appended by lifecycle/transition.ts alone, and never changed; retention.ts prunes
// the oldest, up to the log's horizon.
import { type Db, Prisma } from '../db.ts';
import type { LifecycleEvent } from '../generated/prisma/client.ts';
import { CursorExpiredError } from './cursor.ts';

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

/** Events that follow one another in a log, read in one moment. */
export interface LogPage {
  readonly events: LifecycleEvent[];
  /** All that the scope had after where the page begins, up to this position, is in the page. */
  readonly through: bigint;
  /** Whether retention took events from before the page: the workspace’s, or the subject’s. */
  readonly isCutOff: boolean;
}

/**
 * At most `limit` events after a position, in commit order; after null: from the oldest that is left. Throws CursorExpiredError where
 * events of the scope after the position are gone.
 */
export async function readAfter(db: Db, scope: LogScope, after: bigint | null, limit: number): Promise<LogPage> {
  const from = after ?? 0n;
  const ofSubject =
    scope.dataRunId !== undefined
      ? Prisma.sql`AND e.data_run_id = ${scope.dataRunId}::uuid`
      : scope.exportExecutionId !== undefined
        ? Prisma.sql`AND e.export_execution_id = ${scope.exportExecutionId}::uuid`
        : Prisma.empty;
  // One statement: read on its own, the horizon could be that of another moment. By hand, since Prisma's joins take twice as long.
  const rows = await db.prisma.$queryRaw<(LogEnds & (LifecycleEvent | { readonly position: null }))[]>`
    SELECT l.position AS last, l.horizon, ${selected} FROM workspace_log l LEFT JOIN LATERAL (
      SELECT * FROM lifecycle_event e
      WHERE e.workspace_id = l.workspace_id AND e.position > ${from} ${ofSubject} ORDER BY e.position LIMIT ${limit}
    ) e ON true WHERE l.workspace_id = ${scope.workspaceId}::uuid ORDER BY e.position`;
  const [first] = rows;
  if (first === undefined) return { events: [], through: from, isCutOff: false };
  if (after !== null && after < first.horizon && !(await isKeptAfter(db, scope, after))) throw new CursorExpiredError();
  const events = rows.flatMap(({ last: _, horizon: __, ...event }) => (event.position === null ? [] : [event]));
  return {
    events,
    through: events.length < limit ? first.last : (events.at(-1)?.position ?? from),
    isCutOff: first.horizon > 0n && !(ofSubject !== Prisma.empty && events[0]?.sequence === 1),
  };
}

/** At most `limit` events of the workspace before a position, the newest of them; before null: the newest of all. In commit order. What was pruned is not there. */
export async function readBefore(db: Db, workspaceId: string, before: bigint | null, limit: number): Promise<LifecycleEvent[]> {
  const within = before === null ? Prisma.empty : Prisma.sql`AND e.position < ${before}`;
  const events = await db.prisma.$queryRaw<LifecycleEvent[]>`
    SELECT ${selected} FROM lifecycle_event e
    WHERE e.workspace_id = ${workspaceId}::uuid ${within} ORDER BY e.position DESC LIMIT ${limit}`;
  return events.reverse();
}

interface LogEnds {
  readonly last: bigint;
  readonly horizon: bigint;
}

const columns: Readonly<Record<keyof LifecycleEvent, string>> = {
  workspaceId: 'workspace_id',
  position: 'position',
  dataRunId: 'data_run_id',
  exportExecutionId: 'export_execution_id',
  sequence: 'sequence',
  at: 'at',
  action: 'action',
  from: 'from_state',
  to: 'to_state',
  actor: 'actor',
  reason: 'reason',
  requestId: 'request_id',
  cause: 'cause',
  dataset: 'dataset',
  destination: 'destination',
};
const selected = Prisma.raw(
  Object.entries(columns)
    .map(([field, column]) => `e.${column} AS "${field}"`)
    .join(', '),
);

const subjectsEnds = { lastPosition: true, events: { select: { sequence: true }, orderBy: { sequence: 'asc' }, take: 1 } } as const;

/**
 * Whether a subject still has all its events after a position below the horizon: there are none, or none of it was ever pruned. Where some
 * were, which positions they had is not known any more, and the answer is no. What is true here was true of whatever was read before.
 */
async function isKeptAfter(db: Db, { dataRunId, exportExecutionId }: LogScope, after: bigint): Promise<boolean> {
  const ends =
    dataRunId !== undefined
      ? await db.prisma.dataRun.findUnique({ where: { id: dataRunId }, select: subjectsEnds })
      : exportExecutionId !== undefined
        ? await db.prisma.exportExecution.findUnique({ where: { id: exportExecutionId }, select: subjectsEnds })
        : null; // a workspace has no gaps: the event just after was pruned
  return ends !== null && (ends.lastPosition <= after || ends.events[0]?.sequence === 1);
}

/** The position of the workspace's newest committed event. */
export async function lastPosition(db: Db, workspaceId: string): Promise<bigint> {
  const log = await db.prisma.workspaceLog.findUnique({ where: { workspaceId } });
  return log?.position ?? 0n;
}
