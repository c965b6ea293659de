// Writes one dataset as a Parquet file, in a thread: the encoding is CPU-bound, and would hold up everything else.
import { on } from 'node:events';
import { rm } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import type { ParquetColumn, ParquetPhysical } from './parquet-types.ts';

/** What the thread is given. Plain data: it is copied. */
export interface ParquetWork {
  readonly databaseUrl: string;
  /** A SELECT of one text (or null) for each column, in their order; the rows in the order they are to have. */
  readonly sql: string;
  readonly columns: readonly ParquetColumn[];
  /** `chooseTypes` over the very rows that `sql` gives. */
  readonly physical: readonly ParquetPhysical[];
  /** Path of the file. What stands there is replaced. */
  readonly file: string;
}

export interface ParquetRequest extends ParquetWork {
  readonly signal: AbortSignal;
  /** Called after each row group (25,000 rows, or fewer that are large) with what is written so far. */
  readonly progress?: (rows: number, bytes: number) => void;
}

export interface ParquetProgress {
  readonly rows: number;
  readonly bytes: number;
}

export interface ParquetFile extends ParquetProgress {
  /** Hex digits. */
  readonly sha256: string;
  readonly crc32: number;
}

/**
 * The same rows and types give the same bytes. Memory is bounded by a row group, not by the rows.
 * Rejects with the signal's reason, with Postgres's error or with Node's (`code` is theirs); then there is no file and no connection.
 */
export async function writeParquet({ signal, progress, ...work }: ParquetRequest): Promise<ParquetFile> {
  signal.throwIfAborted();
  const worker = startWorker(work);
  try {
    let written: ParquetFile | undefined;
    for await (const event of on(worker, 'message', { signal, close: ['exit'] })) {
      const message: ParquetProgress | ParquetFile = event[0];
      if ('sha256' in message) written = message;
      else progress?.(message.rows, message.bytes);
    }
    if (written === undefined) throw new Error('the Parquet worker ended before its file was whole');
    return written;
  } catch (error) {
    await worker.terminate();
    // What went wrong first is what counts: where the path is no file of ours, this fails too.
    await rm(work.file, { force: true }).catch(() => {});
    signal.throwIfAborted();
    throw error;
  }
}

// A server with a heap of 192 MB peaked at 382 MiB over a million rows with it, at 386 and 403 without.
const resourceLimits = { maxYoungGenerationSizeMb: 16 };

function startWorker(workerData: ParquetWork): Worker {
  if (!import.meta.url.endsWith('.ts')) return new Worker(new URL('./parquet-worker.js', import.meta.url), { workerData, resourceLimits });
  // Run from its sources (tests, scripts): Node 20 reads no TypeScript, and in a thread `--import tsx` does nothing.
  const source = JSON.stringify(new URL('./parquet-worker.ts', import.meta.url));
  const tsx = JSON.stringify(import.meta.resolve('tsx/esm/api'));
  return new Worker(`import(${tsx}).then(({ tsImport }) => tsImport(${source}, ${source}))`, { eval: true, workerData });
}
