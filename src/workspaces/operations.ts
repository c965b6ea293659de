// Making a workspace, and finding one that the viewer may know of.
import { v7 as uuidv7 } from 'uuid';
import { demand, isNamed, maySee, type Viewer } from '../auth/viewer.ts';
import { type Db, inTransaction, violates } from '../db.ts';
import { ConflictError, ForbiddenError, InvalidInputError, NotFoundError } from '../errors.ts';
import type { Workspace } from '../generated/prisma/client.ts';
import { checkText } from '../text.ts';

const slugForm = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** For acting on it: named in the token is enough, the act's own permission is demanded by the act. */
export async function findWorkspace(db: Db, viewer: Viewer, id: string): Promise<Workspace> {
  const found = await db.prisma.workspace.findUnique({ where: { id } });
  if (found === null || !isNamed(viewer, found.slug)) throw new NotFoundError('workspace');
  return found;
}

/** For looking at it. */
export async function seeWorkspace(db: Db, viewer: Viewer, id: string): Promise<Workspace | null> {
  const found = await db.prisma.workspace.findUnique({ where: { id } });
  return found !== null && maySee(viewer, found.slug) ? found : null;
}

export async function createWorkspace(db: Db, viewer: Viewer, input: { slug: string; name: string }): Promise<Workspace> {
  demand(viewer, 'workspace:admin');
  // Before the conflict: whether a slug is taken is nothing that a token without it may learn.
  if (!isNamed(viewer, input.slug)) {
    throw new ForbiddenError('workspace:admin', 'Your token does not name this workspace.', null, 'WORKSPACE_NOT_IN_TOKEN');
  }
  if (!slugForm.test(input.slug)) {
    throw new InvalidInputError('slug', 'A slug has 1 to 63 characters: lower-case letters, digits and hyphens, no hyphen at either end.');
  }
  const name = checkText('name', input.name, { max: 200 });
  if (name.trim() === '') throw new InvalidInputError('name', 'A workspace needs a name.');
  const id = uuidv7();
  try {
    return await inTransaction(db, async ({ sql }) => {
      const workspace = await sql.workspace.create({ data: { id, slug: input.slug, name } });
      await sql.workspaceLog.create({ data: { workspaceId: id } });
      await sql.exportSettings.create({ data: { workspaceId: id } });
      return workspace;
    });
  } catch (error) {
    if (!violates(error, 'workspace_slug_key')) throw error;
    const holder = await db.prisma.workspace.findUnique({ where: { slug: input.slug } });
    throw new ConflictError(
      'SLUG_TAKEN',
      'There is a workspace with this slug.',
      holder === null ? null : { type: 'Workspace', id: holder.id },
    );
  }
}
