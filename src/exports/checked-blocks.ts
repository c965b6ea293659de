// A published archive as it is read from storage: block by block, each compared with the digest that was recorded when it was published,
// so that what was altered in storage is never taken for good.
import { createHash } from 'node:crypto';
import { addAbortSignal } from 'node:stream';
import type { ExportPackage } from '../generated/prisma/client.ts';
import { type Storage, StorageError } from '../storage/storage.ts';

export interface PublishedArchive {
  readonly key: string;
  readonly bytes: number;
  /** Of each block but the last, which may be short. */
  readonly blockBytes: number;
  /** The SHA-256 of each block, 32 bytes after 32 bytes. */
  readonly blocks: Uint8Array;
}

const digestBytes = 32;

export class AlteredError extends Error {
  override readonly name = 'AlteredError';
  constructor() {
    super('what is in storage is not what was published');
  }
}

/** Throws StorageError NO_SUCH_OBJECT where the package has no object any more, AlteredError where its row contradicts itself. */
export function archiveOf({ storageKey, bytes, blocks, blockBytes }: ExportPackage): PublishedArchive {
  if (storageKey === null || bytes === null || blocks === null || blockBytes === null)
    throw new StorageError('NO_SUCH_OBJECT', 'the package is gone');
  const archive = { key: storageKey, bytes: Number(bytes), blockBytes, blocks };
  if (blocks.length !== Math.ceil(archive.bytes / blockBytes) * digestBytes) throw new AlteredError();
  return archive;
}

/**
 * The blocks from the one that has byte `start` to the one that has byte `end`, whole. Throws StorageError, and AlteredError at the first
 * block that is not what was published.
 */
export async function* checkedBlocks(
  storage: Storage,
  archive: PublishedArchive,
  { start, end }: { readonly start: number; readonly end: number },
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const { bytes, blockBytes, blocks } = archive;
  let number = Math.floor(start / blockBytes);
  const stop = Math.min(bytes, (Math.floor(end / blockBytes) + 1) * blockBytes);
  for await (const block of storedBlocks(storage, archive, number * blockBytes, stop, signal)) {
    // Here, and not by crypto.subtle on another thread: that copies the block first, and on two cores a quarter of the throughput is lost.
    const digest = createHash('sha256').update(block).digest();
    if (!digest.equals(blocks.subarray(number * digestBytes, (number + 1) * digestBytes))) throw new AlteredError();
    yield block;
    number += 1;
  }
}

/** A stream that breaks off is opened again where it was, as long as it brings anything: storages end one that a slow client keeps waiting. */
async function* storedBlocks(
  storage: Storage,
  { key, blockBytes }: PublishedArchive,
  first: number,
  stop: number,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  for (let at = first; at < stop; ) {
    const openedAt = at;
    const stream = await storage.get(key, { start: at, end: stop - 1 });
    addAbortSignal(signal, stream);
    try {
      for await (const block of inBlocks(stream, blockBytes, stop - at)) {
        yield block;
        at += block.length;
      }
    } catch (error) {
      if (!(error instanceof StorageError) || at === openedAt) throw error;
      continue;
    }
    if (at < stop) throw new AlteredError(); // the object is shorter than it was
  }
}

async function* inBlocks(stream: AsyncIterable<unknown>, blockBytes: number, bytes: number): AsyncGenerator<Buffer> {
  let left = bytes;
  let parts: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    // a byte stream has no other chunks
    for (let from = 0; from < chunk.length && left > 0; ) {
      const wanted = Math.min(blockBytes, left);
      const part = chunk.subarray(from, from + wanted - size);
      parts.push(part);
      size += part.length;
      from += part.length;
      if (size < wanted) continue;
      const block = parts.length === 1 ? part : Buffer.concat(parts, size);
      // Before it is waited for: the pieces of a block are as large as the block.
      left -= size;
      parts = [];
      size = 0;
      yield block;
    }
  }
}
