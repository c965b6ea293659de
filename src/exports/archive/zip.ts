// The export's zip, put together from parts that are deflated already, so that datasets are written in parallel. No library takes
// deflated parts as they come from a file: yazl deflates itself. Everything is known beforehand, so there are no data descriptors,
// which some programs misread with zip64.
import { createHash, type Hash } from 'node:crypto';
import { open, rm, writeFile } from 'node:fs/promises';
import { addAbortSignal, Readable } from 'node:stream';
import { crc32, deflateRawSync } from 'node:zlib';

export interface ArchiveEntry {
  readonly path: string;
  /** Of the expanded bytes. */
  readonly crc32: number;
  /** Expanded. */
  readonly bytes: number;
  readonly compressedBytes: number;
  /** 0: as it is; 8: raw deflate. */
  readonly method: 0 | 8;
  /** The compressed bytes. Called once, when its turn has come. */
  open(): Readable;
}

export interface WrittenArchive {
  readonly bytes: number;
  /** Hex digits. */
  readonly sha256: string;
  /** The SHA-256 of each block, 32 bytes after 32 bytes; the last block may be short. */
  readonly blocks: Buffer;
}

/** From which on zip64 is used. Tests give smaller ones. */
export interface ZipLimits {
  readonly size: number;
  readonly entries: number;
}

const wholeSize = 0xffff_ffff;
const wholeCount = 0xffff;
const formatLimits: ZipLimits = { size: wholeSize, entries: wholeCount };

const mebibyte = 1024 ** 2;
const utf8Names = 0x0800;
const plainVersion = 20;
const zip64Version = 45;
const madeBy = (3 << 8) | zip64Version; // Unix, so that the mode is believed
const regularFile = 0o100644 * 0x1_0000;
/** 2000-01-01 00:00:00, in a form that has no zone. */
const dosDate = ((2000 - 1980) << 9) | (1 << 5) | 1;

/**
 * The same entries give the same bytes. On disk when it returns; where it fails, the file is gone. A part of another length than stated
 * is an Error, a full disk Node's own, an abort the signal's reason.
 */
export async function writeArchive(
  file: string,
  entries: readonly ArchiveEntry[],
  signal: AbortSignal,
  blockBytes = mebibyte,
  limits = formatLimits,
): Promise<WrittenArchive> {
  signal.throwIfAborted();
  const handle = await open(file, 'w', 0o600);
  try {
    const digest = blockDigest(blockBytes);
    await writeFile(handle, digest.through(archiveBytes(entries, signal, limits)));
    signal.throwIfAborted();
    await handle.sync();
    await handle.close();
    return digest.end();
  } catch (error) {
    await handle.close();
    await rm(file, { force: true });
    signal.throwIfAborted();
    throw error;
  }
}

/** For files that are small and at hand. */
export function deflatedEntry(path: string, content: Buffer): ArchiveEntry {
  const deflated = deflateRawSync(content);
  return {
    path,
    crc32: crc32(content),
    bytes: content.length,
    compressedBytes: deflated.length,
    method: 8,
    open: () => Readable.from([deflated]),
  };
}

interface PlacedEntry {
  readonly entry: ArchiveEntry;
  readonly offset: number;
}

async function* archiveBytes(entries: readonly ArchiveEntry[], signal: AbortSignal, limits: ZipLimits): AsyncGenerator<Buffer> {
  const placed: PlacedEntry[] = [];
  let offset = 0;
  for (const entry of entries) {
    placed.push({ entry, offset });
    const header = localHeader(entry, limits);
    yield header;
    yield* partBytes(entry, signal);
    offset += header.length + entry.compressedBytes;
  }
  const directory = Buffer.concat(placed.map((each) => directoryHeader(each, limits)));
  yield directory;
  yield directoryEnd(placed.length, directory.length, offset, limits);
}

async function* partBytes(entry: ArchiveEntry, signal: AbortSignal): AsyncGenerator<Buffer> {
  let bytes = 0;
  // A stream of bytes yields buffers; the typings of Readable know only `any`.
  for await (const chunk of addAbortSignal(signal, entry.open()) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > entry.compressedBytes) throw wrongLength(entry, `${bytes} or more`);
    yield chunk;
  }
  if (bytes < entry.compressedBytes) throw wrongLength(entry, String(bytes));
}

function wrongLength({ path, compressedBytes }: ArchiveEntry, found: string): Error {
  return new Error(`expected ${compressedBytes} compressed bytes of ${JSON.stringify(path)}, found ${found}`);
}

function localHeader(entry: ArchiveEntry, limits: ZipLimits): Buffer {
  const name = Buffer.from(entry.path);
  const large = isLarge(entry, limits);
  const extra = large ? zip64Extra([entry.bytes, entry.compressedBytes]) : Buffer.alloc(0);
  return Buffer.concat([u32(0x0403_4b50), sharedFields(entry, large, large, name, extra), name, extra]);
}

function directoryHeader({ entry, offset }: PlacedEntry, limits: ZipLimits): Buffer {
  const name = Buffer.from(entry.path);
  const large = isLarge(entry, limits);
  const far = offset >= limits.size;
  const extra =
    large || far ? zip64Extra([...(large ? [entry.bytes, entry.compressedBytes] : []), ...(far ? [offset] : [])]) : Buffer.alloc(0);
  const shared = sharedFields(entry, large, large || far, name, extra);
  const noComment = u16(0);
  const firstDisk = u16(0);
  const binary = u16(0);
  const where = u32(far ? wholeSize : offset);
  return Buffer.concat([u32(0x0201_4b50), u16(madeBy), shared, noComment, firstDisk, binary, u32(regularFile), where, name, extra]);
}

/** What the header before a part and the one in the directory have alike. */
function sharedFields(entry: ArchiveEntry, large: boolean, zip64: boolean, name: Buffer, extra: Buffer): Buffer {
  return Buffer.concat([
    u16(zip64 ? zip64Version : plainVersion),
    u16(utf8Names),
    u16(entry.method),
    u16(0), // midnight
    u16(dosDate),
    u32(entry.crc32),
    u32(large ? wholeSize : entry.compressedBytes),
    u32(large ? wholeSize : entry.bytes),
    u16(name.length),
    u16(extra.length),
  ]);
}

function directoryEnd(count: number, bytes: number, offset: number, limits: ZipLimits): Buffer {
  const zip64 = count >= limits.entries || bytes >= limits.size || offset >= limits.size;
  const disks = u32(0);
  const rest = u64(44); // what follows of this record
  const versions = Buffer.concat([u16(madeBy), u16(zip64Version)]);
  const record = [u32(0x0606_4b50), rest, versions, disks, disks, u64(count), u64(count), u64(bytes), u64(offset)];
  const locator = [u32(0x0706_4b50), disks, u64(offset + bytes), u32(1)];
  const shortCount = u16(zip64 ? wholeCount : count);
  const places = [u32(zip64 ? wholeSize : bytes), u32(zip64 ? wholeSize : offset)];
  const end = [u32(0x0605_4b50), u16(0), u16(0), shortCount, shortCount, ...places, u16(0)];
  return Buffer.concat([...(zip64 ? [...record, ...locator] : []), ...end]);
}

function isLarge({ bytes, compressedBytes }: ArchiveEntry, { size }: ZipLimits): boolean {
  return bytes >= size || compressedBytes >= size;
}

function zip64Extra(values: readonly number[]): Buffer {
  return Buffer.concat([u16(0x0001), u16(values.length * 8), ...values.map(u64)]);
}

function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

interface BlockDigest {
  /** Hands the chunks on, counted and hashed. */
  through(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer>;
  end(): WrittenArchive;
}

function blockDigest(blockBytes: number): BlockDigest {
  const whole = createHash('sha256');
  const blocks: Buffer[] = [];
  let block: Hash = createHash('sha256');
  let inBlock = 0;
  let bytes = 0;

  function add(chunk: Buffer): void {
    whole.update(chunk);
    bytes += chunk.length;
    for (let at = 0; at < chunk.length; ) {
      const piece = chunk.subarray(at, at + blockBytes - inBlock);
      block.update(piece);
      at += piece.length;
      inBlock += piece.length;
      if (inBlock < blockBytes) continue;
      blocks.push(block.digest());
      block = createHash('sha256');
      inBlock = 0;
    }
  }

  return {
    async *through(chunks) {
      for await (const chunk of chunks) {
        add(chunk);
        yield chunk;
      }
    },
    end() {
      if (inBlock > 0) blocks.push(block.digest());
      return { bytes, sha256: whole.digest('hex'), blocks: Buffer.concat(blocks) };
    },
  };
}
