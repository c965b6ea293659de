// Published packages as tests of links and downloads need them: of any size, and with the object at hand.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { storageRoot, type TestApp } from '../support/app.ts';
import { uuidOf } from '../support/states.ts';
import { createWorkspace, depot } from '../support/story.ts';
import { linkOf, loaded, published, request } from './story.ts';

export interface StoredPackage {
  /** Global. */
  readonly packageId: string;
  /** The row's. */
  readonly id: string;
  readonly workspaceId: string;
  readonly url: string;
  /** The object. */
  readonly file: string;
  readonly bytes: Buffer;
}

/** An export of a workspace of its own, with a link. */
export async function storedPackage(app: TestApp, slug: string): Promise<StoredPackage> {
  const workspaceId = await createWorkspace(app, slug);
  await loaded(app, workspaceId, depot);
  const { exportPackage } = await published(app, await request(app, workspaceId));
  const id = uuidOf(exportPackage.id);
  const { storageKey } = await app.app.db.prisma.exportPackage.findUniqueOrThrow({ where: { id } });
  const file = path.join(storageRoot(app), storageKey ?? '');
  return { packageId: exportPackage.id, id, workspaceId, url: await linkOf(app, exportPackage.id), file, bytes: readFileSync(file) };
}

/** Other content in its place, in storage and row, as publishing would have left it. */
export async function replaceArchive(app: TestApp, stored: StoredPackage, bytes: Buffer, blockBytes = 1_048_576): Promise<StoredPackage> {
  const sha256 = (part: Buffer) => createHash('sha256').update(part).digest();
  const blocks = Array.from({ length: Math.ceil(bytes.length / blockBytes) }, (_, at) =>
    sha256(bytes.subarray(at * blockBytes, (at + 1) * blockBytes)),
  );
  writeFileSync(stored.file, bytes);
  await app.app.db.prisma.exportPackage.update({
    where: { id: stored.id },
    data: {
      bytes: BigInt(bytes.length),
      digest: `sha256:${sha256(bytes).toString('hex')}`,
      blocks: new Uint8Array(Buffer.concat(blocks)),
      blockBytes,
    },
  });
  return { ...stored, bytes };
}
