// Access that was taken back before the tokens that give it expire. It stands in the database, so every process knows of it at once.
import type { Db, Tx } from '../db.ts';
import { NotFoundError } from '../errors.ts';
import type { Prisma } from '../generated/prisma/client.ts';
import type { TokenHolder, Viewer } from './viewer.ts';

/** Whoever a token is of, as they stand now: asked once a request, and once an operation on a socket. */
export async function admit(db: Db, holder: TokenHolder): Promise<Viewer> {
  const { rows } = await db.pool.query<{ slug: string }>({
    name: 'packhorse_admit', // not by Prisma: it stands before every answer
    text: `SELECT w.slug FROM access_revocation r JOIN workspace w ON w.id = r.workspace_id WHERE r.subject = $1 AND r.restored_at IS NULL`,
    values: [holder.subject],
  });
  return { ...holder, revoked: new Set(rows.map(({ slug }) => slug)) };
}

export async function isRevoked(sql: Prisma.TransactionClient, workspaceId: string, subject: string): Promise<boolean> {
  const [row] = await sql.$queryRaw<{ revoked: boolean }[]>`
    SELECT EXISTS (SELECT 1 FROM access_revocation WHERE workspace_id = ${workspaceId}::uuid AND subject = ${subject} AND restored_at IS NULL) AS revoked`;
  return row?.revoked === true;
}

/**
 * For what outlives the call, such as a grant: from here to the commit access cannot be taken back, so that nothing is left behind a
 * revocation. Throws NotFoundError where it was. Before any lock on a grant: a revocation takes these after the workspace's.
 */
export async function holdAccess({ sql }: Tx, workspaceId: string, subject: string, what: string): Promise<void> {
  await sql.$executeRaw`SELECT FROM workspace WHERE id = ${workspaceId}::uuid FOR SHARE`;
  if (await isRevoked(sql, workspaceId, subject)) throw new NotFoundError(what);
}
