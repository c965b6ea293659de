// Signed links to a package: who holds one may fetch the archive until it expires. Nothing is kept of a link; what it says is checked
// against the rows each time, so that revoking, expiry and another workspace end it at once.
import { isSignatureOf, signText } from '../auth/signed-text.ts';
import type { Db } from '../db.ts';
import { GoneError, NotFoundError } from '../errors.ts';
import type { ExportPackage } from '../generated/prisma/client.ts';
import type { DownloadLink } from '../shown.ts';

export interface Links {
  readonly secret: Uint8Array;
  readonly publicUrl: () => string;
}

/** Never longer than asked, nor than the package itself is kept. */
export function linkTo(
  { secret, publicUrl }: Links,
  { id, workspaceId, linkEpoch, expiresAt }: Pick<ExportPackage, 'id' | 'workspaceId' | 'linkEpoch' | 'expiresAt'>,
  slug: string,
  seconds: number,
): DownloadLink {
  const asked = Math.floor(Date.now() / 1_000) + seconds;
  const expires = Math.min(asked, Math.floor((expiresAt?.getTime() ?? Number.POSITIVE_INFINITY) / 1_000));
  const unsigned = `/exports/${id}/${slug}.zip?expires=${expires}&epoch=${linkEpoch}`;
  return {
    url: `${publicUrl()}${unsigned}&signature=${signText(secret, toSign(workspaceId, unsigned))}`,
    expiresAt: new Date(expires * 1_000),
  };
}

const toSign = (workspaceId: string, unsigned: string) => `GET ${unsigned} ${workspaceId}`;

// The signature is of the text, so that there is one way only to write a link.
const form =
  /^(\/exports\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\/[a-z0-9-]+\.zip\?expires=(\d{1,12})&epoch=(\d{1,10}))&signature=([\w-]+)$/;

/**
 * The package that a link gives, by what follows the server's address in it. NotFoundError where it was never ours: what is told of
 * expiry is told to holders of a real link only.
 */
export async function followLink(db: Db, { secret }: Links, target: string): Promise<ExportPackage> {
  const [, unsigned = '', id = '', expires, epoch, signature = ''] = form.exec(target) ?? [];
  if (unsigned === '') throw new NotFoundError('download');
  const found = await db.prisma.exportPackage.findUnique({
    where: { id },
    include: { execution: { select: { workspaceId: true } } },
  });
  if (found === null) throw new NotFoundError('download');
  const { execution, ...held } = found;
  const isOurs = isSignatureOf(secret, toSign(execution.workspaceId, unsigned), signature);
  if (!isOurs || held.workspaceId !== execution.workspaceId) throw new NotFoundError('download');
  if (Number(epoch) !== held.linkEpoch) throw new GoneError('LINK_REVOKED', 'This link was revoked. Ask for a new one.');
  // The row may say so a while before the sweep does.
  if (held.state !== 'PUBLISHED' || held.expiresAt === null || held.expiresAt.getTime() <= Date.now())
    throw new GoneError('PACKAGE_EXPIRED', 'This export is no longer kept. Republish it, or request a new one.');
  if (Number(expires) * 1_000 <= Date.now()) throw new GoneError('LINK_EXPIRED', 'This link has expired. Ask for a new one.');
  return held;
}
