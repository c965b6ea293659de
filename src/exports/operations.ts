// What a person can ask of an export: to admit one, and to end it. Each reads, checks in the order of answers, and writes one change.
import { v7 as uuidv7 } from 'uuid';
import { type Caller, causeOf } from '../auth/caller.ts';
import type { Sealer } from '../auth/sealed.ts';
import { can, demand, isNamed, type Viewer } from '../auth/viewer.ts';
import { type Db, type Tx, violates } from '../db.ts';
import { ConflictError, InvalidTransitionError, NotFoundError } from '../errors.ts';
import type { ExportExecution } from '../generated/prisma/client.ts';
import { allowedCommands, unmetCommand } from '../lifecycle/lifecycle.ts';
import { change, exportExecutionSubject } from '../lifecycle/transition.ts';
import { once } from '../once.ts';
import type { AllowedHosts } from '../outbound/hosts.ts';
import type { Outbound } from '../outbound/request.ts';
import type { Storage } from '../storage/storage.ts';
import { findWorkspace } from '../workspaces/operations.ts';
import { settle } from './dispatcher.ts';
import { exportLifecycle } from './lifecycle.ts';
import type { Links } from './links.ts';
import { lockExecution } from './rows.ts';
import { wakeDispatcher } from './wake.ts';

/** What the exports' operations and fields stand on. */
export interface Exports {
  readonly db: Db;
  readonly hosts: AllowedHosts;
  readonly sealer: Sealer;
  readonly links: Links;
  /** Exports at once in the whole cluster. */
  readonly slots: number;
  readonly storage: Storage;
  readonly outbound: Outbound;
  /** Destinations that are being tested by this process. */
  readonly pinging: Set<string>;
  /** Of the process. */
  readonly stop: AbortSignal;
}

export interface CommandInput {
  readonly reason?: string | null | undefined;
  readonly idempotencyKey?: string | null | undefined;
}

/** The execution, if the viewer may know of it and act on it. A workspace that the token does not name is as if it were not there. */
export async function findExecution(db: Db, viewer: Viewer, id: string): Promise<ExportExecution> {
  const found = await db.prisma.exportExecution.findUnique({ where: { id }, include: { workspace: { select: { slug: true } } } });
  if (found === null || !isNamed(viewer, found.workspace.slug)) throw new NotFoundError('export');
  const { workspace: _, ...execution } = found;
  return execution;
}

/** Admits an export: settings and cutoff are copied, and what is committed at that moment is what will be exported. */
export async function requestWorkspaceExport(
  db: Db,
  caller: Caller,
  input: { readonly workspaceId: string; readonly idempotencyKey?: string | null | undefined },
): Promise<string> {
  const workspace = await findWorkspace(db, caller.viewer, input.workspaceId);
  demand(caller.viewer, 'data-export:execute');
  const key = {
    workspaceId: workspace.id,
    subject: caller.viewer.subject,
    mutation: 'requestWorkspaceExport',
    key: input.idempotencyKey,
    input: [workspace.id],
  };
  for (let attempt = 1; ; attempt++) {
    try {
      return await once(db, key, (tx) => admit(tx, caller, workspace.id));
    } catch (error) {
      if (!violates(error, 'export_execution_active_key')) throw error;
      const where = { workspaceId: workspace.id, state: { in: ['QUEUED' as const, 'RUNNING' as const] } };
      const holder = await db.prisma.exportExecution.findFirst({ where });
      // The holder may have settled since: then there is room.
      if (holder === null && attempt < 3) continue;
      throw new ConflictError(
        'ACTIVE_EXPORT_EXISTS',
        'This workspace has an export that is queued or running. Let it finish, or cancel it.',
        holder === null ? null : { type: 'ExportExecution', id: holder.id },
      );
    }
  }
}

/**
 * One statement takes settings, datasets, time and snapshot, so all of them are of one moment: the statement's own snapshot is the one
 * that pg_current_snapshot() gives. The settings are locked before, so that an edit under way is waited for, and not half copied.
 */
async function admit(tx: Tx, caller: Caller, workspaceId: string): Promise<string> {
  const { sql } = tx;
  const id = uuidv7();
  const by = causeOf(caller);
  await sql.$queryRaw`SELECT workspace_id::text FROM export_settings WHERE workspace_id = ${workspaceId}::uuid FOR UPDATE`;
  const [made] = await sql.$queryRaw<{ datasets: number }[]>`
    INSERT INTO export_execution (id, workspace_id, requested_by, settings, plan, cutoff, cutoff_snapshot)
    SELECT ${id}::uuid, s.workspace_id, ${by.actor},
      jsonb_build_object('revision', s.revision, 'format', s.format, 'datasets', s.datasets, 'retentionDays', s.retention_days, 'destinations', s.destinations),
      coalesce((
        SELECT jsonb_agg(jsonb_build_object('name', d.name, 'table', d.table_name, 'schema', d.schema, 'rows', d.row_count::text, 'columns', (
            SELECT jsonb_agg(c ORDER BY n) FROM jsonb_array_elements(d.columns) WITH ORDINALITY AS own(c, n) WHERE NOT c ? 'until'
          )) ORDER BY d.name COLLATE "C")
        FROM dataset d WHERE d.workspace_id = s.workspace_id AND d.removed_at IS NULL AND (coalesce(jsonb_typeof(s.datasets), 'null') = 'null' OR s.datasets ? d.name)
      ), '[]'),
      to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), pg_current_snapshot()::text
    FROM export_settings s WHERE s.workspace_id = ${workspaceId}::uuid
    RETURNING jsonb_array_length(plan) AS datasets`;
  if (made === undefined) throw new NotFoundError('workspace');
  if (made.datasets === 0) {
    throw new ConflictError(
      'NOTHING_TO_EXPORT',
      'None of the datasets that the export settings name is in this workspace: there is nothing to export.',
    );
  }
  await wakeDispatcher(tx);
  const row = { id, workspaceId, state: 'QUEUED', revision: 0 };
  await change(tx, exportExecutionSubject, row, { to: 'QUEUED', events: [{ action: 'REQUEST', from: null, to: 'QUEUED' }] }, by);
  return id;
}

/** Ends it, queued or running. Its runner sees it within a tick, and removes what it has written. */
export async function cancelExportExecution(db: Db, caller: Caller, id: string, input: CommandInput): Promise<string> {
  const found = await findExecution(db, caller.viewer, id);
  demand(caller.viewer, 'data-export:execute');
  const by = causeOf(caller, input.reason);
  const key = {
    workspaceId: found.workspaceId,
    subject: by.actor,
    mutation: 'cancelExportExecution',
    key: input.idempotencyKey,
    input: [id, input.reason ?? null],
  };
  return once(db, key, async (tx) => {
    const row = await lockExecution(tx, id);
    if (row === null) throw new NotFoundError('export');
    const [first] = unmetCommand(exportLifecycle, 'CANCEL', row);
    if (first !== undefined)
      throw new InvalidTransitionError(row.state, 'CANCEL', allowedCommands(exportLifecycle, row), `CANCEL is not possible. ${first.says}`);
    await settle(tx, row, 'CANCEL', null, by);
    return id;
  });
}

/** What this viewer could ask for now. */
export function allowedActionsOf(execution: Pick<ExportExecution, 'state'>, viewer: Viewer): (keyof typeof exportLifecycle.commands)[] {
  return can(viewer, 'data-export:execute') ? allowedCommands(exportLifecycle, execution) : [];
}
