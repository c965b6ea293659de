// Signed links to a package: who holds one may fetch the archive until it expires. Nothing is kept of a link; what it says is checked
// against the rows each time, so that revoking, expiry and another workspace end it at once.
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Db } from '../db.ts';
import { NotFoundError } from '../errors.ts';
import type { ExportPackage } from '../generated/prisma/client.ts';

export interface Links {
  readonly secret: Uint8Array;
  readonly publicUrl: () => string;
}

export interface DownloadLink {
  readonly url: string;
  readonly expiresAt: Date;
}

/** Never longer than the package itself is kept. */
export function linkTo(
  { secret, publicUrl }: Links,
  { id, workspaceId, linkEpoch, expiresAt }: Pick<ExportPackage, 'id' | 'workspaceId' | 'linkEpoch' | 'expiresAt'>,
  slug: string,
  seconds: number,
): DownloadLink {
  const asked = Math.floor(Date.now() / 1_000) + seconds;
  const expires = Math.min(asked, Math.floor((expiresAt?.getTime() ?? Number.POSITIVE_INFINITY) / 1_000));
  const signature = sign(secret, { id, workspaceId, slug, linkEpoch, expires });
  return {
    url: `${publicUrl()}/exports/${id}/${slug}.zip?expires=${expires}&signature=${signature}`,
    expiresAt: new Date(expires * 1_000),
  };
}

interface Signed {
  readonly id: string;
  readonly workspaceId: string;
  readonly slug: string;
  readonly linkEpoch: number;
  readonly expires: number;
}

function sign(secret: Uint8Array, { id, workspaceId, slug, linkEpoch, expires }: Signed): string {
  return createHmac('sha256', secret).update(`GET export ${id} ${workspaceId} ${slug} ${linkEpoch} ${expires}`).digest('base64url');
}

/** Why a link gives nothing: a code for programs, a sentence for people. */
export class LinkError extends Error {
  override readonly name = 'LinkError';
  readonly code: 'LINK_EXPIRED' | 'LINK_REVOKED' | 'PACKAGE_EXPIRED';
  constructor(code: LinkError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/** The package that a link gives. NotFoundError where it was never ours: what is told of expiry is told to holders of a real link only. */
export async function followLink(
  db: Db,
  { secret }: Links,
  given: { readonly id: string; readonly slug: string; readonly expires: string; readonly signature: string },
): Promise<ExportPackage> {
  const found = await db.prisma.exportPackage.findUnique({
    where: { id: given.id },
    include: { execution: { select: { workspaceId: true, workspace: { select: { slug: true } } } } },
  });
  if (found === null || !/^\d{1,12}$/.test(given.expires)) throw new NotFoundError('download');
  const { execution, ...held } = found;
  const signed = { id: held.id, workspaceId: execution.workspaceId, slug: execution.workspace.slug, expires: Number(given.expires) };
  const epochs = Array.from({ length: held.linkEpoch + 1 }, (_, back) => held.linkEpoch - back);
  const epoch =
    given.slug === signed.slug ? epochs.find((linkEpoch) => isEqual(sign(secret, { ...signed, linkEpoch }), given.signature)) : undefined;
  if (epoch === undefined) throw new NotFoundError('download');
  if (epoch !== held.linkEpoch) throw new LinkError('LINK_REVOKED', 'This link was revoked. Ask for a new one.');
  if (held.state !== 'PUBLISHED')
    throw new LinkError('PACKAGE_EXPIRED', 'This export is no longer kept. Republish it, or request a new one.');
  if (signed.expires * 1_000 <= Date.now()) throw new LinkError('LINK_EXPIRED', 'This link has expired. Ask for a new one.');
  return held;
}

function isEqual(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}
