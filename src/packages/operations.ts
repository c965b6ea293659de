// Staging a package: a place to put it, and the upload itself. What is in it is judged when a run is registered.
import { createHash, randomUUID } from 'node:crypto';
import { type Readable, Transform } from 'node:stream';
import { v7 as uuidv7 } from 'uuid';
import { isRevoked } from '../auth/revocation.ts';
import { isSignatureOf, signText } from '../auth/signed-text.ts';
import { demand, type Viewer } from '../auth/viewer.ts';
import type { Db } from '../db.ts';
import { ConflictError, InvalidInputError, InvalidPackageError, NotFoundError, type PackageProblem } from '../errors.ts';
import type { DataPackage } from '../generated/prisma/client.ts';
import type { Storage } from '../storage/storage.ts';
import { findWorkspace } from '../workspaces/operations.ts';
import { checkArchive } from './archive.ts';
import type { PackageLimits } from './limits.ts';

export interface Packages {
  readonly db: Db;
  readonly storage: Storage;
  readonly limits: PackageLimits;
  /** Signs upload URLs. */
  readonly secret: Uint8Array;
  /** What links begin with; known only once the server listens. */
  readonly publicUrl: () => string;
  /** How long staged bytes are kept at least, and how long an upload URL is good for. */
  readonly stagedHours: number;
}

export interface StagedPackage {
  readonly packageId: string;
  readonly uploadUrl: string;
  readonly expiresAt: Date;
}

/** Reserves an id, and a signed URL that one package may be PUT to until it expires. */
export async function stagePackage(packages: Packages, viewer: Viewer, workspaceId: string): Promise<StagedPackage> {
  const { db, stagedHours } = packages;
  const workspace = await findWorkspace(db, viewer, workspaceId);
  demand(viewer, 'data-run');
  const id = uuidv7();
  const [row] = await db.prisma.$queryRaw<{ expiresAt: Date }[]>`
    INSERT INTO data_package (id, workspace_id, staged_by, expires_at)
    VALUES (${id}::uuid, ${workspace.id}::uuid, ${viewer.subject}, clock_timestamp() + make_interval(hours => ${stagedHours})) RETURNING expires_at AS "expiresAt"`;
  if (row === undefined) throw new Error('an insert returned no row');
  const expires = row.expiresAt.getTime();
  const uploadUrl = `${packages.publicUrl()}/uploads/${id}?expires=${expires}&signature=${signText(packages.secret, toSign(id, expires))}`;
  return { packageId: id, uploadUrl, expiresAt: row.expiresAt };
}

const toSign = (id: string, expires: number) => `PUT /uploads/${id} ${expires}`;

/** Throws NotFoundError for a signature that is not ours, is for another package, or has expired: the three are not told apart. */
export function checkUploadUrl(packages: Packages, id: string, expires: string, signature: string): void {
  const time = Number(expires);
  const same = isSignatureOf(packages.secret, toSign(id, time), signature);
  if (!same || !Number.isSafeInteger(time) || time < Date.now()) throw new NotFoundError('upload');
}

const tooLarge = (limit: number): PackageProblem => ({
  code: 'PACKAGE_TOO_LARGE',
  pointer: '',
  resource: null,
  message: `The package is larger than ${limit} bytes.`,
});

/** Stores and judges what is uploaded. Nothing is kept of what is refused, or of a second, different upload. */
export async function receivePackage(packages: Packages, id: string, body: Readable): Promise<{ digest: string; bytes: number }> {
  const { db, storage, limits } = packages;
  const staged = await db.prisma.dataPackage.findUnique({ where: { id } });
  if (staged === null || (await isRevoked(db.prisma, staged.workspaceId, staged.stagedBy))) throw new NotFoundError('upload');
  const key = `packages/${id}/${randomUUID()}`;
  const hash = createHash('sha256');
  let bytes = 0;
  let first = -1;
  const meter = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (first === -1) first = chunk.find((byte) => !whitespaceOrMark.has(byte)) ?? -1;
      bytes += chunk.length;
      hash.update(chunk);
      done(bytes > limits.archiveBytes ? new InvalidPackageError([tooLarge(limits.archiveBytes)]) : null, chunk);
    },
  });
  body.on('error', (error) => meter.destroy(error));
  body.on('aborted', () => meter.destroy(new InvalidInputError('body', 'The upload broke off.')));
  // Cut while the row was read: no listener of ours heard it, and what is piped from it would never end.
  if (body.destroyed) throw new InvalidInputError('body', 'The upload broke off.');
  let kept = false;
  try {
    await storage.put(key, body.pipe(meter));
    if (bytes === 0)
      throw new InvalidPackageError([{ code: 'NOT_A_PACKAGE', pointer: '', resource: null, message: 'The upload is empty.' }]);
    const kind = first === openingBrace ? 'DESCRIPTOR' : 'ZIP';
    if (kind === 'DESCRIPTOR' && bytes > limits.descriptorBytes) throw new InvalidPackageError([tooLarge(limits.descriptorBytes)]);
    const problems = kind === 'ZIP' ? await checkArchive(storage, key, limits) : [];
    if (problems.length > 0) throw new InvalidPackageError(problems);
    const digest = `sha256:${hash.digest('hex')}`;
    const won = await db.prisma.$executeRaw`
      UPDATE data_package SET storage_key = ${key}, kind = ${kind}, bytes = ${bytes}, digest = ${digest}, uploaded_at = clock_timestamp()
      WHERE id = ${id}::uuid AND storage_key IS NULL AND discarded_at IS NULL`;
    kept = won === 1;
    if (!kept) await sameUpload(db, id, digest);
    return { digest, bytes };
  } finally {
    if (!kept) await storage.delete(key);
  }
}

// Before the brace of a descriptor: white space, or the three bytes of a byte order mark.
const whitespaceOrMark = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf]);
const openingBrace = 0x7b;

/** Sent again after a lost answer, the same bytes are no conflict. */
async function sameUpload(db: Db, id: string, digest: string): Promise<void> {
  const held = await db.prisma.dataPackage.findUnique({ where: { id } });
  if (held?.digest !== digest) throw new ConflictError('ALREADY_UPLOADED', 'Another package was uploaded here. Stage a new one.', null);
}

/** The staged package, for registering it in this workspace. */
export async function findStagedPackage(db: Db, workspaceId: string, id: string): Promise<DataPackage> {
  const found = await db.prisma.dataPackage.findUnique({ where: { id } });
  if (found === null || found.workspaceId !== workspaceId) throw new NotFoundError('package');
  return found;
}
