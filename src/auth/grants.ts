// Delegated authority: what the caller of start or resume left, so that a run can be driven when nobody asks.
import { v7 as uuidv7 } from 'uuid';
import type { Db, Tx } from '../db.ts';
import type { Grant } from '../generated/prisma/client.ts';
import { mayWriteThrough, type Viewer } from './viewer.ts';

/** In whose name a pass calls targets, and which it may call. */
export interface Authority {
  readonly subject: string;
  readonly mayDrive: (target: string) => boolean;
}

export function ownAuthority(viewer: Viewer): Authority {
  return { subject: viewer.subject, mayDrive: (target) => mayWriteThrough(viewer, target) };
}

/** Leaves a grant for a run, ending with the database's clock. Older grants of the run end with it. */
export async function leaveGrant(
  tx: Tx,
  run: { id: string; workspaceId: string },
  viewer: Viewer,
  targets: readonly string[],
  hours: number,
): Promise<void> {
  await tx.sql.$executeRaw`UPDATE run_grant SET ended_at = clock_timestamp() WHERE run_id = ${run.id}::uuid AND ended_at IS NULL`;
  await tx.sql.$executeRaw`
    INSERT INTO run_grant (id, run_id, workspace_id, subject, targets, expires_at)
    VALUES (${uuidv7()}::uuid, ${run.id}::uuid, ${run.workspaceId}::uuid, ${viewer.subject}, ${[...targets]}::text[],
      clock_timestamp() + make_interval(secs => ${hours * 3_600}))`;
}

/** The grant in force, or null: never left, expired, or taken back. */
export async function liveGrant(db: Db, runId: string): Promise<Grant | null> {
  const [grant] = await db.prisma.$queryRaw<Grant[]>`
    SELECT id, run_id AS "runId", workspace_id AS "workspaceId", subject, targets, granted_at AS "grantedAt", expires_at AS "expiresAt", ended_at AS "endedAt"
    FROM run_grant WHERE run_id = ${runId}::uuid AND ended_at IS NULL AND expires_at > clock_timestamp() ORDER BY granted_at DESC LIMIT 1`;
  return grant ?? null;
}

export function grantedAuthority(grant: Grant | null): Authority {
  return { subject: grant?.subject ?? 'driver', mayDrive: (target) => grant?.targets.includes(target) ?? false };
}
