// The only writer of states. One statement locks the row, compares its revision, moves it, bumps the workspace's log and appends the events.
import { Prisma, type Tx } from '../db.ts';
import type { Cause, EventDraft } from '../events/log.ts';

/** A table with a lifecycle: what the statement must know of it. */
export interface Subject {
  readonly table: string;
  readonly stateType: string;
  readonly eventColumn: string;
}

export const dataRunSubject: Subject = { table: 'data_run', stateType: 'data_run_state', eventColumn: 'data_run_id' };
export const exportExecutionSubject: Subject = {
  table: 'export_execution',
  stateType: 'export_execution_state',
  eventColumn: 'export_execution_id',
};

export interface Subjected {
  readonly id: string;
  readonly workspaceId: string;
  readonly state: string;
  readonly revision: number;
}

/** The row was changed since it was read: read it again and decide anew. */
export class Stale extends Error {
  override readonly name = 'Stale';
}

export interface Change {
  /** The new state; the same as before where only facts about the row change. */
  readonly to: string;
  /** In order. They get the subject's next numbers. */
  readonly events: readonly EventDraft[];
  /** Assignments to other columns, set in the same statement. */
  readonly set?: readonly Prisma.Sql[];
  /** The driver's number: a pass that lost its lease changes nothing. */
  readonly fence?: number;
}

/**
 * Writes a change that was decided on `row` as it was read. Throws Stale if the row has moved on since. The workspace's counter is locked
 * after the row and held to the commit, so positions are in commit order and without a gap: call it last in a transaction.
 */
export async function change(
  tx: Tx,
  subject: Subject,
  row: Subjected,
  what: Change,
  by: Cause,
): Promise<{ revision: number; lastSequence: number }> {
  const count = what.events.length;
  const drafts = JSON.stringify(
    what.events.map((event, index) => ({
      i: index + 1,
      action: event.action,
      from: event.from,
      to: event.to,
      dataset: event.dataset ?? null,
      destination: event.destination ?? null,
      cause: event.cause ?? by.cause ?? null,
    })),
  );
  const table = Prisma.raw(subject.table);
  const assignments = Prisma.join([Prisma.sql`last_position = log.position`, ...(what.set ?? [])]);
  const fenced = what.fence === undefined ? Prisma.empty : Prisma.sql`AND fence = ${what.fence}`;
  const written = await tx.sql.$queryRaw<{ revision: number; lastSequence: number }[]>`
    WITH locked AS (
      SELECT id, workspace_id FROM ${table} WHERE id = ${row.id}::uuid AND revision = ${row.revision} ${fenced} FOR UPDATE
    ), log AS (
      UPDATE workspace_log l SET position = l.position + ${count} FROM locked WHERE l.workspace_id = locked.workspace_id RETURNING l.position
    ), moved AS (
      UPDATE ${table} r SET state = ${what.to}::${Prisma.raw(subject.stateType)}, revision = r.revision + 1,
        last_sequence = r.last_sequence + ${count}, ${assignments}
      FROM locked, log WHERE r.id = locked.id
      RETURNING r.id, r.workspace_id, r.revision, r.last_sequence, r.last_position
    ), appended AS (
      INSERT INTO lifecycle_event (workspace_id, position, ${Prisma.raw(subject.eventColumn)}, sequence, action, from_state, to_state, dataset, destination, cause, actor, reason, request_id)
      SELECT m.workspace_id, m.last_position - ${count} + e.i, m.id, m.last_sequence - ${count} + e.i, e.action, e."from", e."to", e.dataset, e.destination, e.cause,
        ${by.actor}, ${by.reason ?? null}, ${by.requestId ?? null}
      FROM moved m, jsonb_to_recordset(${drafts}::jsonb) AS e(i int, action text, "from" text, "to" text, dataset text, destination text, cause text)
    )
    SELECT revision, last_sequence AS "lastSequence" FROM moved`;
  const [first] = written;
  if (first === undefined) throw new Stale(`${subject.table} ${row.id} is no longer at revision ${row.revision}`);
  tx.touched.add(`log:${row.workspaceId}`);
  return first;
}

/** Moves a row that is not a subject of its own, under its parent's lock: its event is the parent's, appended with `change`. */
export async function moveRow(
  tx: Tx,
  table: Pick<Subject, 'table' | 'stateType'>,
  row: { readonly id: string; readonly state: string },
  to: string,
  set: readonly Prisma.Sql[],
): Promise<void> {
  const assignments = Prisma.join([Prisma.sql`state = ${to}::${Prisma.raw(table.stateType)}`, ...set]);
  const moved = await tx.sql.$executeRaw`
    UPDATE ${Prisma.raw(table.table)} SET ${assignments} WHERE id = ${row.id}::uuid AND state = ${row.state}::${Prisma.raw(table.stateType)}`;
  if (moved !== 1) throw new Stale(`${table.table} ${row.id} is no longer ${row.state}`);
}
