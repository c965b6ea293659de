// The zip of an export as it is verified: whoever made it is not trusted. Found through its directory, streamed, never extracted.
import { type FileHandle, open } from 'node:fs/promises';
import { pipeline } from 'node:stream';
import { crc32, createInflateRaw } from 'node:zlib';
import { type Entry, fromRandomAccessReaderPromise, RandomAccessReader, type ZipFile } from 'yauzl';

export interface ExportArchive {
  /** By path; folders end with a slash. */
  readonly entries: ReadonlyMap<string, Entry>;
  /** Paths that stand more than once in it. */
  readonly duplicates: ReadonlySet<string>;
  /** Fails with DamagedError where the bytes are not what the archive says of them. */
  expand(entry: Entry): AsyncGenerator<Buffer>;
  close(): Promise<void>;
}

export class DamagedError extends Error {
  override readonly name = 'DamagedError';
}

const mostEntries = 1_000_000;
const chunkBytes = 65_536;

/** DamagedError where the file is no sound zip; Node's own where it cannot be read. */
export async function openExportArchive(file: string): Promise<ExportArchive> {
  const handle = await open(file, 'r');
  try {
    const { size } = await handle.stat();
    const zip = await damagedUnlessOfSystem(
      fromRandomAccessReaderPromise(new FileReader(handle, size), size, { autoClose: false, strictFileNames: true }),
    );
    return {
      ...(await damagedUnlessOfSystem(listEntries(zip, size))),
      expand: (entry) => checkedBytes(handle, zip, entry),
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function listEntries(zip: ZipFile, size: number): Promise<Pick<ExportArchive, 'entries' | 'duplicates'>> {
  if (zip.entryCount > mostEntries) throw new DamagedError(`it has ${zip.entryCount} entries`);
  const entries = new Map<string, Entry>();
  const duplicates = new Set<string>();
  let compressedBytes = 0;
  for await (const entry of zip.eachEntry()) {
    if (entries.has(entry.fileName)) duplicates.add(entry.fileName);
    entries.set(entry.fileName, entry);
    compressedBytes += entry.compressedSize;
    // Entries that share bytes are how a small zip expands to petabytes.
    if (compressedBytes > size) throw new DamagedError('its entries overlap');
  }
  return { entries, duplicates };
}

async function* checkedBytes(handle: FileHandle, zip: ZipFile, entry: Entry): AsyncGenerator<Buffer> {
  let bytes = 0;
  let checksum = 0;
  for await (const chunk of expandedBytes(handle, zip, entry)) {
    bytes += chunk.length;
    if (bytes > entry.uncompressedSize) throw new DamagedError('it has more bytes than the archive states');
    checksum = crc32(chunk, checksum);
    yield chunk;
  }
  if (bytes < entry.uncompressedSize) throw new DamagedError('it has fewer bytes than the archive states');
  if (checksum !== entry.crc32) throw new DamagedError('it does not have the checksum that the archive states');
}

async function* expandedBytes(handle: FileHandle, zip: ZipFile, entry: Entry): AsyncGenerator<Buffer> {
  const kind = (entry.externalFileAttributes >>> 16) & 0o170000;
  if (kind !== 0 && kind !== 0o100000) throw new DamagedError('it is not a plain file');
  if (entry.isEncrypted()) throw new DamagedError('it is encrypted');
  if (entry.compressionMethod !== 0 && entry.compressionMethod !== 8) {
    throw new DamagedError(`it uses compression method ${entry.compressionMethod}`);
  }
  const { fileName, fileDataStart } = await damagedUnlessOfSystem(zip.readLocalFileHeaderPromise(entry));
  if (!fileName.equals(entry.fileNameRaw)) throw new DamagedError('the archive has two names for it');
  if (entry.compressedSize === 0) return;
  const stored = span(handle, fileDataStart, fileDataStart + entry.compressedSize);
  if (entry.compressionMethod === 0) {
    yield* stored;
    return;
  }
  // The generator sees the errors of both, since pipeline hands them on; its own report would be the second.
  const inflated = pipeline(stored, createInflateRaw(), () => undefined);
  try {
    yield* inflated;
  } catch (error) {
    if (codeOf(error)?.startsWith('Z_')) throw new DamagedError('it cannot be expanded', { cause: error });
    throw error;
  }
}

/** Not the handle's own stream, which closes it however it is told not to. */
async function* span(handle: FileHandle, start: number, end: number): AsyncGenerator<Buffer> {
  for (let at = start; at < end; ) {
    const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(Math.min(chunkBytes, end - at)), 0, null, at);
    if (bytesRead === 0) throw new DamagedError('the file became shorter');
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}

/** What yauzl objects to has no code; what the file system fails with has one. */
async function damagedUnlessOfSystem<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (codeOf(error) !== undefined || error instanceof DamagedError) throw error;
    throw new DamagedError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

/** Reads inside the file alone: places beyond what a file can have would throw out of yauzl's callbacks. */
class FileReader extends RandomAccessReader {
  readonly #handle: FileHandle;
  readonly #size: number;

  constructor(handle: FileHandle, size: number) {
    super();
    this.#handle = handle;
    this.#size = size;
  }

  override read(target: Buffer, offset: number, length: number, position: number, callback: (error: Error | null) => void): void {
    // Out of the promise, so that what the callback throws is not swallowed as a failed read.
    this.#read(target, offset, length, position).then(
      () => setImmediate(callback, null),
      (error: unknown) => setImmediate(callback, error instanceof Error ? error : new Error(String(error))),
    );
  }

  async #read(target: Buffer, offset: number, length: number, position: number): Promise<void> {
    if (position < 0 || position + length > this.#size) throw new Error('it points outside itself');
    const { bytesRead } = await this.#handle.read(target, offset, length, position);
    if (bytesRead < length) throw new Error('it became shorter');
  }
}
