// The list of what is in a zip, read from its end by random access, and judged before anything is expanded.
import { buffer } from 'node:stream/consumers';
import { type Entry, fromRandomAccessReaderPromise, getFileNameLowLevel, RandomAccessReader, type ZipFile } from 'yauzl';
import type { PackageProblem } from '../errors.ts';
import { type Storage, StorageError } from '../storage/storage.ts';
import type { PackageLimits } from './limits.ts';
import { normalPath, whyUnsafePath } from './paths.ts';
import { type Findings, quote, type Report, reportInto } from './problems.ts';

export interface ArchiveDirectory {
  /** null where the archive could not be read at all. The caller closes it. */
  readonly zip: ZipFile | null;
  /** By normal path; folders left out. */
  readonly files: ReadonlyMap<string, Entry>;
  readonly problems: readonly PackageProblem[];
}

export async function readArchiveDirectory(storage: Storage, key: string, limits: PackageLimits): Promise<ArchiveDirectory> {
  const size = await storage.size(key);
  if (size === null) throw new StorageError('NO_SUCH_OBJECT', `There is no ${quote(key)} in the storage.`);
  const findings: Findings = { problems: [], notes: [] };
  const report = reportInto(findings, null);
  const files = new Map<string, Entry>();
  if (size > limits.archiveBytes) {
    report.problem(
      'ARCHIVE_TOO_LARGE',
      `The archive has ${count(size)} bytes, more than the ${count(limits.archiveBytes)} that are allowed.`,
    );
    return { zip: null, files, problems: findings.problems };
  }
  const reader = new StorageReader(storage, key, size);
  let zip: ZipFile | null = null;
  try {
    // Names stay bytes, since yauzl would stop at the first bad one; sizes are ours to judge.
    const options = { autoClose: false, decodeStrings: false, validateEntrySizes: false };
    zip = await fromRandomAccessReaderPromise(reader, size, options);
    // Before the first entry is read, this is where the directory begins (the typings say boolean).
    const directoryStart = Number(zip.readEntryCursor);
    const entries = await listEntries(zip, limits, report);
    judgeEntries(entries, files, limits, report);
    judgeOverlaps(entries, directoryStart, report);
    return { zip, files, problems: findings.problems };
  } catch (error) {
    zip?.close();
    if (reader.failure !== null) throw reader.failure;
    const beginsAsZip = size >= 4 && (await reader.bytes(0, 4)).toString('latin1').startsWith('PK');
    const { message } = asError(error);
    if (message.includes('strong encryption')) report.problem('ENCRYPTED_ENTRY', 'The archive has encrypted entries.');
    else if (beginsAsZip) report.problem('ARCHIVE_BROKEN', `The archive is cut off or damaged: ${sentence(message)}`);
    else report.problem('NOT_A_ZIP', 'The file is not a zip archive.');
    return { zip: null, files, problems: findings.problems };
  }
}

async function listEntries(zip: ZipFile, limits: PackageLimits, report: Report): Promise<Entry[]> {
  const entries: Entry[] = [];
  if (zip.entryCount > limits.entries) {
    report.problem('TOO_MANY_ENTRIES', `The archive has ${count(zip.entryCount)} entries; ${count(limits.entries)} are allowed.`);
    return entries;
  }
  for await (const entry of zip.eachEntry()) entries.push(entry);
  return entries;
}

function judgeEntries(entries: readonly Entry[], files: Map<string, Entry>, limits: PackageLimits, report: Report): void {
  const seen = new Map<string, string>();
  let expandedBytes = 0;
  for (const entry of entries) {
    const name = getFileNameLowLevel(entry.generalPurposeBitFlag, entry.fileNameRaw, entry.extraFields, true);
    const why = whyUnsafePath(name) ?? whyNotRegular(entry, name);
    if (why !== null) report.problem('UNSAFE_ENTRY', `The entry ${quote(name)} is not safe: ${why}.`);

    const path = normalPath(name);
    // Folded, because on another machine the two would be one file.
    const folded = path.replace(/\/$/, '').toLowerCase();
    const twin = seen.get(folded);
    if (twin !== undefined) report.problem('DUPLICATE_ENTRY', `The archive has both ${quote(twin)} and ${quote(name)}.`);
    seen.set(folded, name);

    if (entry.isEncrypted()) report.problem('ENCRYPTED_ENTRY', `The entry ${quote(name)} is encrypted.`);
    else if (entry.compressionMethod !== 0 && entry.compressionMethod !== 8) {
      const words = `The entry ${quote(name)} uses compression method ${entry.compressionMethod}; only stored and deflated entries are read.`;
      report.problem('ENTRY_COMPRESSION_NOT_SUPPORTED', words);
    } else if (entry.compressionMethod === 0 && entry.compressedSize !== entry.uncompressedSize) {
      report.problem('ARCHIVE_BROKEN', `The entry ${quote(name)} is stored, yet states two different sizes.`);
    }
    if (entry.uncompressedSize > limits.ratioFromBytes && entry.uncompressedSize > entry.compressedSize * limits.entryRatio) {
      const words = `The entry ${quote(name)} would expand to more than ${limits.entryRatio} times its size.`;
      report.problem('COMPRESSION_RATIO_TOO_HIGH', words);
    }
    expandedBytes += entry.uncompressedSize;
    if (!name.endsWith('/')) files.set(path, entry);
  }
  if (expandedBytes > limits.expandedBytes) {
    const words = `The archive would expand to ${count(expandedBytes)} bytes, more than the ${count(limits.expandedBytes)} that are allowed.`;
    report.problem('ARCHIVE_TOO_LARGE', words);
  }
}

/** The Unix mode is in the upper half whatever system the archive says it was made on; some programs believe it always. */
function whyNotRegular(entry: Entry, name: string): string | null {
  const kind = (entry.externalFileAttributes >>> 16) & 0o170000;
  const isFolder = name.endsWith('/');
  if (kind === 0 || kind === (isFolder ? 0o040000 : 0o100000)) return null;
  if (kind === 0o120000) return 'it is a symbolic link';
  return isFolder || kind === 0o040000 ? 'its name and its file mode disagree' : 'it is neither a file nor a folder';
}

/** Entries that share bytes are how a small zip expands to petabytes. Judged from the directory: a local header has at least 30 bytes and the name. */
function judgeOverlaps(entries: readonly Entry[], directoryStart: number, report: Report): void {
  const spans = entries.map((entry) => {
    const start = entry.relativeOffsetOfLocalHeader;
    return { start, end: start + 30 + entry.fileNameLength + entry.compressedSize, name: entry.fileNameRaw.toString() };
  });
  spans.sort((a, b) => a.start - b.start);
  for (const [index, span] of spans.entries()) {
    const next = spans[index + 1];
    if (next && span.end > next.start) {
      report.problem('OVERLAPPING_ENTRIES', `The entries ${quote(span.name)} and ${quote(next.name)} share bytes of the archive.`);
    }
    if (span.end > directoryStart) report.problem('ARCHIVE_BROKEN', `The entry ${quote(span.name)} reaches beyond the archive's entries.`);
  }
}

/** One window over the object: the directory is thousands of small reads in a row, and each would be a request to a remote store. */
class StorageReader extends RandomAccessReader {
  /** What the storage itself failed with, which says nothing about the archive. */
  failure: Error | null = null;
  readonly #storage: Storage;
  readonly #key: string;
  readonly #size: number;
  #window: Buffer = Buffer.alloc(0);
  #windowStart = 0;

  constructor(storage: Storage, key: string, size: number) {
    super();
    this.#storage = storage;
    this.#key = key;
    this.#size = size;
  }

  override read(target: Buffer, offset: number, length: number, position: number, callback: (error: Error | null) => void): void {
    // Out of the promise, so that what the callback throws is not swallowed as a failed read.
    this.bytes(position, length).then(
      (bytes) => {
        bytes.copy(target, offset);
        setImmediate(callback, null);
      },
      (error: unknown) => setImmediate(callback, asError(error)),
    );
  }

  async bytes(position: number, length: number): Promise<Buffer> {
    if (position < 0 || position + length > this.#size) throw new Error('it points outside itself');
    if (position < this.#windowStart || position + length > this.#windowStart + this.#window.length) {
      const end = Math.min(this.#size, position + Math.max(length, 65_536)) - 1;
      try {
        this.#window = await buffer(await this.#storage.get(this.#key, { start: position, end }));
        if (this.#window.length <= end - position)
          throw new StorageError('STORAGE_UNAVAILABLE', 'The storage gave fewer bytes than it has.');
      } catch (error) {
        this.failure = asError(error);
        throw this.failure;
      }
      this.#windowStart = position;
    }
    return this.#window.subarray(position - this.#windowStart, position - this.#windowStart + length);
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

function sentence(words: string): string {
  return words.endsWith('.') ? words : `${words}.`;
}

function count(value: number): string {
  return value.toLocaleString('en');
}
