// What a person can ask of an export's package: to store it again, links to it, and telling a destination once more.
import { type Caller, causeOf } from '../auth/caller.ts';
import { demand, isNamed, type Viewer } from '../auth/viewer.ts';
import { type Db, inTransaction, violates } from '../db.ts';
import { ConflictError, InvalidInputError, NotFoundError } from '../errors.ts';
import type { ExportPackage } from '../generated/prisma/client.ts';
import { once } from '../once.ts';
import type { DownloadLink } from '../shown.ts';
import { enqueue } from '../tasks/task.ts';
import { beginDelivery } from './deliveries.ts';
import { type Links, linkTo } from './links.ts';
import { findExecution } from './operations.ts';
import { destinationsOf } from './plan.ts';
import { beginPackage } from './publish.ts';
import { lockExecution } from './rows.ts';
import { publishExport } from './wake.ts';

const longestLinkSeconds = 7 * 86_400;

async function findPackage(db: Db, viewer: Viewer, id: string): Promise<{ held: ExportPackage; slug: string }> {
  const found = await db.prisma.exportPackage.findUnique({
    where: { id },
    include: { execution: { select: { workspace: { select: { slug: true } } } } },
  });
  if (found === null || !isNamed(viewer, found.execution.workspace.slug)) throw new NotFoundError('package');
  const { execution, ...held } = found;
  return { held, slug: execution.workspace.slug };
}

/** Throws where there is nothing in storage to give. */
function refuseUnlessPublished({ id, state }: Pick<ExportPackage, 'id' | 'state'>): void {
  if (state === 'PUBLISHED') return;
  const words = {
    PENDING: 'The package is on its way to storage. Wait until it is published.',
    EXPIRED: 'The package is no longer kept. Republish the export.',
    FAILED: 'The package could not be stored. Republish the export.',
  }[state];
  throw new ConflictError(`PACKAGE_${state}`, words, { type: 'ExportPackage', id });
}

/** Begins another package of a succeeded execution whose last one failed or expired: from the cutoff it had, with the digest it had. */
export async function republishExport(
  db: Db,
  caller: Caller,
  id: string,
  input: { readonly idempotencyKey?: string | null | undefined },
): Promise<string> {
  const found = await findExecution(db, caller.viewer, id);
  demand(caller.viewer, 'data-export:execute');
  const by = causeOf(caller);
  const key = { workspaceId: found.workspaceId, subject: by.actor, mutation: 'republishExport', key: input.idempotencyKey, input: [id] };
  return once(db, key, async (tx) => {
    const execution = await lockExecution(tx, id);
    if (execution?.state !== 'SUCCEEDED') {
      throw new ConflictError(
        'EXPORT_NOT_SUCCEEDED',
        `Only an export that SUCCEEDED has a package; this one is ${execution?.state ?? found.state}.`,
      );
    }
    const packages = await tx.sql.exportPackage.findMany({ where: { executionId: id }, select: { id: true, state: true } });
    // A moment after it succeeded it has none yet: the orchestrator begins it.
    if (packages.length === 0) throw new ConflictError('PACKAGE_PENDING', 'Its package is about to be published. Wait until it is.');
    const current = packages.find(({ state }) => state === 'PENDING' || state === 'PUBLISHED');
    if (current !== undefined) {
      throw new ConflictError(`PACKAGE_${current.state}`, `Its package is ${current.state}: there is nothing to republish.`, {
        type: 'ExportPackage',
        id: current.id,
      });
    }
    await beginPackage(tx, id);
    await enqueue(tx.sql, publishExport, { executionId: id }, { jobKey: `publish:${id}` });
    tx.touched.add(`progress:${id}`);
    return id;
  });
}

/** A link that holds for so long, or until the package expires. */
export async function issueDownloadLink(db: Db, links: Links, viewer: Viewer, id: string, seconds: number): Promise<DownloadLink> {
  const { held, slug } = await findPackage(db, viewer, id);
  demand(viewer, 'data-export:execute');
  if (seconds < 1 || seconds > longestLinkSeconds)
    throw new InvalidInputError('expiresInSeconds', `A link holds for 1 to ${longestLinkSeconds} seconds.`);
  const link = linkTo(links, held, slug, seconds);
  // The row says that it is kept until the sweep comes by.
  refuseUnlessPublished(link.expiresAt.getTime() > Date.now() ? held : { id, state: 'EXPIRED' });
  return link;
}

/** All links to the package that are out give nothing any more; new ones can be issued. */
export async function revokeDownloadLinks(db: Db, viewer: Viewer, id: string): Promise<string> {
  await findPackage(db, viewer, id);
  demand(viewer, 'data-export:execute');
  await db.prisma.exportPackage.update({ where: { id }, data: { linkEpoch: { increment: 1 } } });
  return id;
}

/**
 * Another delivery to the same destination, with the same webhook id. It goes to where the settings now have that destination, so that a
 * wrong address can be mended; where they no longer have it, to where it went.
 */
export async function redeliver(db: Db, viewer: Viewer, id: string): Promise<string> {
  const found = await db.prisma.exportDelivery.findUnique({ where: { id } });
  if (found === null) throw new NotFoundError('delivery');
  await findPackage(db, viewer, found.packageId).catch((error: unknown) => {
    throw error instanceof NotFoundError ? new NotFoundError('delivery') : error;
  });
  demand(viewer, 'data-export:execute');
  const inProgress = () =>
    new ConflictError('DELIVERY_PENDING', 'A delivery to this destination is under way.', { type: 'ExportDelivery', id });
  try {
    return await inTransaction(db, async (tx) => {
      // The row says that it is kept until the sweep comes by.
      const [held] = await tx.sql.$queryRaw<Pick<ExportPackage, 'id' | 'state' | 'workspaceId'>[]>`
        SELECT id::text, CASE WHEN state = 'PUBLISHED' AND expires_at <= clock_timestamp() THEN 'EXPIRED' ELSE state::text END AS state, workspace_id::text AS "workspaceId"
        FROM export_package WHERE id = ${found.packageId}::uuid FOR UPDATE`;
      if (held === undefined) throw new NotFoundError('delivery');
      refuseUnlessPublished(held);
      const pending = await tx.sql.exportDelivery.findFirst({
        where: { packageId: held.id, destination: found.destination, state: 'PENDING' },
      });
      if (pending !== null) throw inProgress();
      const settings = await tx.sql.exportSettings.findUnique({ where: { workspaceId: held.workspaceId } });
      const now = destinationsOf(settings ?? { destinations: [] }).find(({ name }) => name === found.destination);
      const { destination: name, webhookId } = found;
      return beginDelivery(tx, held.id, { name, webhookId, url: now?.url ?? found.url, secret: now?.secret ?? found.secret });
    });
  } catch (error) {
    throw violates(error, 'export_delivery_pending_key') ? inProgress() : error;
  }
}
