// A package's zip, read in place: entries are found through the directory and streamed, and nothing is ever extracted to a disk.
import { pipeline, Readable } from 'node:stream';
import { crc32, createInflateRaw } from 'node:zlib';
import type { Entry, ZipFile } from 'yauzl';
import { InvalidPackageError, type PackageProblem } from '../errors.ts';
import type { Storage } from '../storage/storage.ts';
import { readArchiveDirectory } from './archive-directory.ts';
import type { PackageLimits } from './limits.ts';
import { type PackageProblemCode, quote } from './problems.ts';

/** The files a descriptor can name. Paths are normal paths (`paths.ts`), from the folder of datapackage.json. */
export interface PackageFiles {
  readonly entries: ReadonlyMap<string, { readonly bytes: number }>;
  /** The stream fails with InvalidPackageError ENTRY_DAMAGED where the bytes are not what the archive says of them. */
  read(path: string): Promise<Readable>;
}

export interface OpenArchive extends PackageFiles {
  close(): void;
}

/** What makes the upload unsafe or unreadable; empty when there is nothing. Judged without the descriptor and without expanding anything. */
export async function checkArchive(storage: Storage, key: string, limits: PackageLimits): Promise<readonly PackageProblem[]> {
  const { zip, problems } = await readArchiveDirectory(storage, key, limits);
  zip?.close();
  return problems;
}

/** Judges the archive again: what is stored may have been put there before a limit was lowered. */
export async function openArchive(storage: Storage, key: string, limits: PackageLimits): Promise<OpenArchive> {
  const { zip, files, problems } = await readArchiveDirectory(storage, key, limits);
  if (zip === null || problems.length > 0) {
    zip?.close();
    throw new InvalidPackageError(problems);
  }
  const rooted = fromRoot(files);
  return {
    entries: new Map([...rooted].map(([path, entry]) => [path, { bytes: entry.uncompressedSize }])),
    async read(path) {
      const entry = rooted.get(path);
      if (!entry) throw damaged('FILE_MISSING', `There is no ${quote(path)} in the package.`);
      return Readable.from(checkedBytes(storage, key, zip, entry, path), { objectMode: false });
    },
    close: () => zip.close(),
  };
}

/** People zip the folder as often as its contents: one folder around everything is the root, if the descriptor is there. */
function fromRoot(files: ReadonlyMap<string, Entry>): ReadonlyMap<string, Entry> {
  const wanted = new Map([...files].filter(([path]) => !path.startsWith('__MACOSX/') && !/(^|\/)\.DS_Store$/.test(path)));
  if (wanted.has('datapackage.json')) return wanted;
  const [folder = ''] = /^[^/]+\//.exec([...wanted.keys()][0] ?? '') ?? [];
  const isOneFolder = folder !== '' && [...wanted.keys()].every((path) => path.startsWith(folder));
  const hasDescriptor = ['datapackage.json', 'datapackage.yaml', 'datapackage.yml'].some((name) => wanted.has(folder + name));
  return isOneFolder && hasDescriptor ? new Map([...wanted].map(([path, entry]) => [path.slice(folder.length), entry])) : wanted;
}

/** Opened at the first read, so that a stream nobody reads holds nothing. Destroying the stream ends the generator, which destroys its source. */
async function* checkedBytes(storage: Storage, key: string, zip: ZipFile, entry: Entry, path: string): AsyncGenerator<Buffer> {
  let bytes = 0;
  let checksum = 0;
  for await (const chunk of expandedBytes(storage, key, zip, entry, path)) {
    bytes += chunk.length;
    if (bytes > entry.uncompressedSize) throw damaged('ENTRY_DAMAGED', `${quote(path)} has more bytes than the archive states.`);
    checksum = crc32(chunk, checksum);
    yield chunk;
  }
  if (bytes < entry.uncompressedSize) throw damaged('ENTRY_DAMAGED', `${quote(path)} has fewer bytes than the archive states.`);
  if (checksum !== entry.crc32) throw damaged('ENTRY_DAMAGED', `${quote(path)} does not have the checksum that the archive states.`);
}

async function* expandedBytes(storage: Storage, key: string, zip: ZipFile, entry: Entry, path: string): AsyncGenerator<Buffer> {
  const { fileDataStart } = await zip.readLocalFileHeaderPromise(entry, { minimal: true }).catch((error: unknown) => {
    const isOfArchive = error instanceof Error && !('code' in error);
    throw isOfArchive ? damaged('ENTRY_DAMAGED', `${quote(path)} is not where the archive says: ${error.message}.`) : error;
  });
  if (entry.compressedSize === 0) return;
  const stored = await storage.get(key, { start: fileDataStart, end: fileDataStart + entry.compressedSize - 1 });
  if (entry.compressionMethod === 0) {
    yield* stored;
    return;
  }
  // The generator sees the errors of both, since pipeline hands them on; its own report would be the second.
  const inflated = pipeline(stored, createInflateRaw(), () => undefined);
  try {
    yield* inflated;
  } catch (error) {
    // zlib's errors have a number besides their code; those of a storage pass as they are.
    if (error instanceof Error && 'errno' in error && 'code' in error && String(error.code).startsWith('Z_')) {
      throw damaged('ENTRY_DAMAGED', `${quote(path)} cannot be expanded: ${error.message}.`);
    }
    throw error;
  }
}

function damaged(code: PackageProblemCode, message: string): InvalidPackageError {
  return new InvalidPackageError([{ code, pointer: '', resource: null, message }]);
}
