// Taking a subject's access to a workspace back before their tokens expire, and giving it again.
import { v7 as uuidv7 } from 'uuid';
import { endGrantsOf } from '../auth/grants.ts';
import { can, demand, type Viewer } from '../auth/viewer.ts';
import { type Db, inTransaction, type Tx } from '../db.ts';
import { InvalidInputError } from '../errors.ts';
import type { AccessRevocation } from '../generated/prisma/client.ts';
import { checkText } from '../text.ts';
import { findWorkspace } from './operations.ts';

export interface Access {
  readonly workspaceId: string;
  /** The `sub` of tokens. */
  readonly subject: string;
}

/** From the commit on the subject's calls do not find the workspace, their grants have ended, and their streams end. Once more changes nothing. */
export async function revokeAccess(db: Db, viewer: Viewer, access: Access, input: { readonly reason: string | null }): Promise<string> {
  const { workspaceId, subject } = await checked(db, viewer, access);
  const { reason } = input;
  await inTransaction(db, async (tx) => {
    await lockAccess(tx, workspaceId);
    await tx.sql.$executeRaw`
      INSERT INTO access_revocation (id, workspace_id, subject, reason, revoked_by)
      VALUES (${uuidv7()}::uuid, ${workspaceId}::uuid, ${subject}, ${reason}, ${viewer.subject})
      ON CONFLICT (workspace_id, subject) WHERE restored_at IS NULL DO NOTHING`;
    await endGrantsOf(tx.sql, workspaceId, subject);
  });
  return workspaceId;
}

/** Tokens that name the workspace give access again. What was ended stays ended. Where nothing was revoked nothing changes. */
export async function restoreAccess(db: Db, viewer: Viewer, access: Access): Promise<string> {
  const { workspaceId, subject } = await checked(db, viewer, access);
  await db.prisma.$executeRaw`
    UPDATE access_revocation SET restored_at = clock_timestamp(), restored_by = ${viewer.subject}
    WHERE workspace_id = ${workspaceId}::uuid AND subject = ${subject} AND restored_at IS NULL`;
  return workspaceId;
}

async function checked(db: Db, viewer: Viewer, { workspaceId, subject }: Access): Promise<Access> {
  await findWorkspace(db, viewer, workspaceId);
  demand(viewer, 'workspace:admin');
  if (subject === '') throw new InvalidInputError('subject', 'Expected a token’s `sub`, found nothing.');
  return { workspaceId, subject: checkText('subject', subject, { max: 200 }) };
}

/** Waits for what holds access (auth/revocation.ts), so that the grants of who was let in before are ended too. */
async function lockAccess({ sql }: Tx, workspaceId: string): Promise<void> {
  await sql.$executeRaw`SELECT FROM workspace WHERE id = ${workspaceId}::uuid FOR NO KEY UPDATE`;
}

/** What is revoked now, newest first; null for who may not change it. */
export function revocationsOf(db: Db, viewer: Viewer, workspaceId: string): Promise<AccessRevocation[]> | null {
  if (!can(viewer, 'workspace:admin')) return null;
  return db.prisma.accessRevocation.findMany({ where: { workspaceId, restoredAt: null }, orderBy: { id: 'desc' }, take: mostShown });
}

const mostShown = 1_000;
