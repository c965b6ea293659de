// One dataset of an export, written once: COPY from Postgres, counted, hashed and deflated on the way to a file.
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { crc32, createDeflateRaw } from 'node:zlib';
import type pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import { z } from 'zod';
import { linkedTo } from '../linked.ts';
import { type DatasetAsOf, replacedSince } from '../records/as-of.ts';
import type { CopyFormat, Guess } from './formats/format.ts';

const digest = z.string().regex(/^[0-9a-f]{64}$/);

const partRecord = z.object({
  dataset: z.string(),
  rows: z.int(),
  /** Of the data file, and of it as it stands in the part's file. */
  bytes: z.int(),
  compressedBytes: z.int(),
  sha256: digest,
  compressedSha256: digest,
  crc32: z.int(),
  method: z.union([z.literal(0), z.literal(8)]),
  missingValues: z.array(z.string()),
});

/** What is known of a part that is whole. Stands beside it, so that whoever takes over can go on after it. */
export type PartRecord = z.output<typeof partRecord>;

/** Where a part is, and where it is while it is written: by its writer's number, so that one who was taken over spoils nothing. */
export interface PartPlace {
  readonly file: string;
  readonly draft: string;
}

export interface PartRequest {
  readonly name: string;
  readonly dataset: DatasetAsOf;
  readonly snapshot: string;
  /** Fields that the schema lets no value be missing of. */
  readonly required: ReadonlySet<string>;
  readonly place: PartPlace;
  readonly signal: AbortSignal;
  /** The backend at work, from which progress in rows is read, and null when it has ended. */
  readonly working: (backend: number | null) => void;
  /** Bytes of the data file so far, and rows where the writer counts them. */
  readonly progress: (bytes: number, rows?: number) => void;
}

const gatherBytes = 256 * 1_024;
// Level 1 costs a quarter of the default's time for a tenth more bytes.
const level = 1;

export async function writeCopiedPart(pool: pg.Pool, format: CopyFormat, request: PartRequest): Promise<PartRecord> {
  const { dataset, snapshot, signal } = request;
  const look = () =>
    onConnection(pool, signal, (client) => format.missingValues(async (text) => (await client.query(text)).rows, dataset, snapshot));
  const guess = format.guess(dataset);
  const quickly = guess === null ? null : await copyPart(pool, format, request, guess.missingValues, { guess, look });
  return quickly ?? (await copyPart(pool, format, request, await look(), null)) ?? never();
}

function never(): never {
  throw new Error('a part was given up that nothing stood against');
}

interface Doubts {
  readonly guess: Guess;
  readonly look: () => Promise<readonly string[]>;
}

/** The guess was wrong: what is written so far says something else than the data. */
class GuessedWrong extends Error {
  override readonly name = 'GuessedWrong';
}

/** Null where the guess turned out wrong. It is looked at where it first becomes doubtful, while the writing goes on. */
async function copyPart(
  pool: pg.Pool,
  format: CopyFormat,
  request: PartRequest,
  missingValues: readonly string[],
  doubts: Doubts | null,
): Promise<PartRecord | null> {
  const { name, dataset, snapshot, place, signal } = request;
  using stop = linkedTo(signal);
  let looked: Promise<void> | undefined;
  const look = ({ guess, look: ask }: Doubts) => {
    looked ??= ask().then((found) => {
      if (found.join('\0') !== guess.missingValues.join('\0')) stop.abort(new GuessedWrong());
    });
    looked.catch(() => {}); // awaited at the end
  };
  try {
    return await onConnection(pool, stop.signal, async (client) => {
      // One snapshot for the look and the rows: none of them is replaced between the two.
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      const { rows: replaced } = await client.query<{ found: boolean }>(replacedSince(dataset, snapshot));
      const backend = (client as unknown as { processID: number }).processID; // set by pg when connected, missing from its types
      request.working(backend);
      const rows = client.query(
        copyTo(format.copy(dataset, snapshot, missingValues, replaced[0]?.found === false), { highWaterMark: 4 * gatherBytes }),
      );
      const plain = meter(request.progress);
      const packed = meter(() => {});
      await pipeline(
        rows,
        async function* (source: AsyncIterable<Buffer>) {
          const head = format.head(dataset);
          const watched = doubts === null ? source : watching(source, doubts.guess.doubt, () => look(doubts));
          yield* plain.through(gathered(head === '' ? [] : [Buffer.from(head)], watched));
        },
        createDeflateRaw({ level, chunkSize: gatherBytes, memLevel: 9 }),
        packed.through,
        // Durable before its record says that it is whole.
        createWriteStream(place.draft, { flush: true, mode: 0o600 }),
        { signal: stop.signal },
      );
      await looked;
      stop.signal.throwIfAborted();
      await client.query('COMMIT');
      const record: PartRecord = {
        dataset: name,
        rows: rows.rowCount,
        bytes: plain.bytes(),
        compressedBytes: packed.bytes(),
        sha256: plain.sha256(),
        compressedSha256: packed.sha256(),
        crc32: plain.crc32(),
        method: 8,
        missingValues: [...missingValues],
      };
      await keepPart(place, record);
      return record;
    });
  } catch (error) {
    if (error instanceof GuessedWrong && !signal.aborted) return null;
    throw signal.aborted ? signal.reason : error;
  } finally {
    request.working(null);
  }
}

/** Passes everything on, and calls once where two bytes are met, also where a chunk ends between them. */
async function* watching(source: AsyncIterable<Buffer>, pair: Buffer, met: () => void): AsyncGenerator<Buffer> {
  let seen = false;
  let last = -1;
  for await (const chunk of source) {
    if (!seen && (chunk.includes(pair) || (last === pair[0] && chunk[0] === pair[1]))) {
      seen = true;
      met();
    }
    last = chunk.at(-1) ?? last;
    yield chunk;
  }
}

/** For statements that may last: an abort closes the connection under them, and Postgres, which looks after it, ends them too. */
export async function onConnection<T>(pool: pg.Pool, signal: AbortSignal, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  // A connection that is closed in mid-statement says so once more, later.
  const ignore = () => {};
  client.on('error', ignore);
  let released = false;
  const release = (isWhole: boolean) => {
    if (released) return;
    released = true;
    if (isWhole) client.off('error', ignore);
    client.release(!isWhole); // after a COPY that was stopped half-way the connection would hang
  };
  const cut = () => release(false);
  signal.addEventListener('abort', cut, { once: true });
  try {
    signal.throwIfAborted();
    const result = await work(client);
    release(true);
    return result;
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener('abort', cut);
    release(false);
  }
}

/** The part first, then what says that it is whole: found without it, a part is written again. */
export async function keepPart(place: PartPlace, record: PartRecord): Promise<void> {
  await writeFile(`${place.draft}.json`, JSON.stringify(record), { flush: true, mode: 0o600 });
  await rename(place.draft, place.file);
  await rename(`${place.draft}.json`, `${place.file}.json`);
}

/** The record of a part that another runner left whole, or null. Its bytes are compared: they may have been cut off with the machine. */
export async function keptPart(record: unknown, file: string, signal: AbortSignal): Promise<PartRecord | null> {
  const read = partRecord.safeParse(record);
  if (!read.success) return null;
  const seen = meter(() => {});
  try {
    for await (const _ of seen.through(createReadStream(file, { signal, highWaterMark: gatherBytes }))) signal.throwIfAborted();
  } catch {
    signal.throwIfAborted();
    return null;
  }
  return seen.sha256() === read.data.compressedSha256 && seen.bytes() === read.data.compressedBytes ? read.data : null;
}

interface Meter {
  readonly through: (source: AsyncIterable<Buffer>) => AsyncGenerator<Buffer>;
  readonly bytes: () => number;
  readonly sha256: () => string;
  readonly crc32: () => number;
}

/** Counts and hashes what passes. */
export function meter(progress: (bytes: number) => void): Meter {
  const hash = createHash('sha256');
  let bytes = 0;
  let checksum = 0;
  return {
    async *through(source) {
      for await (const chunk of source) {
        hash.update(chunk);
        checksum = crc32(chunk, checksum);
        bytes += chunk.length;
        progress(bytes);
        yield chunk;
      }
    },
    bytes: () => bytes,
    sha256: () => hash.digest('hex'),
    crc32: () => checksum,
  };
}

/** In pieces that are worth a turn of the thread pool. */
async function* gathered(first: readonly Buffer[], source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let parts = [...first];
  let size = first.reduce((sum, { length }) => sum + length, 0);
  for await (const chunk of source) {
    parts.push(chunk);
    size += chunk.length;
    if (size < gatherBytes) continue;
    yield Buffer.concat(parts);
    parts = [];
    size = 0;
  }
  if (size > 0) yield Buffer.concat(parts);
}
