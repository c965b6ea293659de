// Delegated authority: what the caller of start or resume left, so that a run can be driven when nobody asks; and what a canceller left,
// so that the children of a cancelled run can be asked until they have stopped.
import { v7 as uuidv7 } from 'uuid';
import type { Tx } from '../db.ts';
import type { Grant, Prisma } from '../generated/prisma/client.ts';
import { holdAccess, isRevoked } from './revocation.ts';
import { mayWriteThrough, type Viewer } from './viewer.ts';

/** In whose name targets are called, and which submissions may go out. */
export interface Authority {
  readonly subject: string;
  readonly mayDrive: (target: string) => boolean;
}

/** Found anew whenever a pass decides: authority can end while it goes on. */
export type Authorise = (tx: Prisma.TransactionClient) => Promise<Authority>;

export type Purpose = 'DRIVE' | 'CANCEL';

/** The caller's own, for as long as their token holds and their access is not taken back. */
export function ownAuthority(viewer: Viewer, workspaceId: string): Authorise {
  return async (sql) => {
    const isOver = viewer.expiresAt <= new Date() || (await isRevoked(sql, workspaceId, viewer.subject));
    return isOver ? nobodys : { subject: viewer.subject, mayDrive: (target) => mayWriteThrough(viewer, target) };
  };
}

/** Children are followed and stopped all the same, in the driver's own name. */
const nobodys: Authority = { subject: 'driver', mayDrive: () => false };

/** What was left for the background: the first of the purposes with a grant in force. */
export function delegatedAuthority(runId: string, ...purposes: readonly Purpose[]): Authorise {
  return async (sql) => {
    for (const purpose of purposes) {
      const grant = await liveGrant(sql, runId, purpose);
      if (grant !== null) return { subject: grant.subject, mayDrive: (target) => grant.targets.includes(target) };
    }
    return nobodys;
  };
}

/**
 * Leaves a grant that ends with the database's clock. An older one of the run for the same purpose ends with it; no other does. Throws
 * NotFoundError where the viewer's access was taken back meanwhile.
 */
export async function leaveGrant(
  tx: Tx,
  run: { id: string; workspaceId: string },
  viewer: Viewer,
  targets: readonly string[],
  hours: number,
  purpose: Purpose,
): Promise<void> {
  await holdAccess(tx, run.workspaceId, viewer.subject, 'data run');
  await endGrants(tx.sql, run.id, purpose);
  await tx.sql.$executeRaw`
    INSERT INTO run_grant (id, run_id, workspace_id, purpose, subject, targets, granted_at, expires_at)
    SELECT ${uuidv7()}::uuid, ${run.id}::uuid, ${run.workspaceId}::uuid, ${purpose}, ${viewer.subject}, ${[...targets]}::text[],
      here, here + make_interval(secs => ${hours * 3_600}) FROM clock_timestamp() AS here`; // not the transaction's beginning: the newest counts
}

export async function endGrants(sql: Prisma.TransactionClient, runId: string, purpose: Purpose): Promise<void> {
  await sql.$executeRaw`UPDATE run_grant SET ended_at = clock_timestamp() WHERE run_id = ${runId}::uuid AND purpose = ${purpose} AND ended_at IS NULL`;
}

/** All that the subject left in the workspace. */
export async function endGrantsOf(sql: Prisma.TransactionClient, workspaceId: string, subject: string): Promise<void> {
  await sql.$executeRaw`
    UPDATE run_grant SET ended_at = clock_timestamp() WHERE workspace_id = ${workspaceId}::uuid AND subject = ${subject} AND ended_at IS NULL`;
}

/** The grant in force, or null: never left, expired, or ended. */
export async function liveGrant(sql: Prisma.TransactionClient, runId: string, purpose: Purpose): Promise<Grant | null> {
  const [grant] = await sql.$queryRaw<Grant[]>`
    SELECT id, run_id AS "runId", workspace_id AS "workspaceId", purpose, subject, targets, granted_at AS "grantedAt", expires_at AS "expiresAt", ended_at AS "endedAt"
    FROM run_grant WHERE run_id = ${runId}::uuid AND purpose = ${purpose} AND ended_at IS NULL AND expires_at > clock_timestamp() ORDER BY granted_at DESC LIMIT 1`;
  return grant ?? null;
}
