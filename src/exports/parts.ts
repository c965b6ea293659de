// The datasets of an execution, a few at a time, each a part on this machine's disk; parts that are there whole are not written again.
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Db } from '../db.ts';
import type { ExportExecution, ExportFormat } from '../generated/prisma/client.ts';
import { linkedTo } from '../linked.ts';
import type { DatasetAsOf } from '../records/as-of.ts';
import { primaryKeyOf } from '../records/table.ts';
import { csv } from './formats/csv.ts';
import type { CopyFormat } from './formats/format.ts';
import { ndjson } from './formats/ndjson.ts';
import { writeParquetPart } from './formats/parquet-part.ts';
import { keptPart, type PartPlace, type PartRecord, type PartRequest, writeCopiedPart } from './part.ts';
import { type DatasetProgress, type PlannedDataset, settingsOf } from './plan.ts';
import { requiredFields } from './table-schema.ts';

/** What reading and writing takes. */
export interface PartSource {
  /** Its pool runs statements that last. */
  readonly db: Db;
  readonly databaseUrl: string;
}

const datasetsAtOnce = 2;

type Writer = (source: PartSource, request: PartRequest) => Promise<PartRecord>;

const copied =
  (format: CopyFormat): Writer =>
  ({ db }, request) =>
    writeCopiedPart(db.pool, format, request);

/** The formats. A new one has its line here. */
const writers: Readonly<Record<ExportFormat, Writer>> = { CSV: copied(csv), NDJSON: copied(ndjson), PARQUET: writeParquetPart };

export interface Writing {
  readonly folder: string;
  readonly fence: number;
  readonly signal: AbortSignal;
  readonly tally: Tally;
}

/** The largest first, so that no hand is left alone with it at the end. The first fault stops the others. */
export async function writeParts(
  source: PartSource,
  execution: ExportExecution,
  plan: readonly PlannedDataset[],
  writing: Writing,
): Promise<PartRecord[]> {
  using failed = linkedTo(writing.signal);
  const queue = plan
    .map((dataset, index) => ({ dataset, index }))
    .sort((a, b) => Number(BigInt(b.dataset.rows) - BigInt(a.dataset.rows)))
    .values();
  const parts: PartRecord[] = [];
  const hands = Array.from({ length: datasetsAtOnce }, async () => {
    for (const { dataset, index } of queue) {
      failed.signal.throwIfAborted();
      parts[index] = await writePart(source, execution, dataset, index, { ...writing, signal: failed.signal });
    }
  });
  try {
    await Promise.all(
      hands.map((hand) =>
        hand.catch((error: unknown) => {
          failed.abort(error);
          throw error;
        }),
      ),
    );
    return parts;
  } catch (error) {
    await Promise.allSettled(hands); // none may still be writing when the folder is removed
    throw writing.signal.aborted ? writing.signal.reason : error;
  }
}

async function writePart(
  source: PartSource,
  execution: ExportExecution,
  dataset: PlannedDataset,
  index: number,
  writing: Writing,
): Promise<PartRecord> {
  const { folder, fence, signal, tally } = writing;
  const place: PartPlace = { file: partFile(folder, index), draft: path.join(folder, `${index}.${fence}.draft`) };
  const kept = await keptPart(await readJson(`${place.file}.json`), place.file, signal);
  if (kept !== null && kept.dataset === dataset.name) {
    tally.done(index, kept);
    return kept;
  }
  const asOf: DatasetAsOf = { table: dataset.table, columns: dataset.columns, primaryKey: primaryKeyOf(dataset.schema) };
  const request: PartRequest = {
    name: dataset.name,
    dataset: asOf,
    snapshot: execution.cutoffSnapshot,
    required: requiredFields(dataset),
    place,
    signal,
    working: (backend: number | null) => tally.working(index, backend),
    progress: (bytes: number, rows?: number) => tally.written(index, bytes, rows),
  };
  const part = await writers[settingsOf(execution).format](source, request);
  tally.done(index, part);
  return part;
}

export const partFile = (folder: string, index: number) => path.join(folder, `${index}.part`);

export interface Tally {
  readonly working: (index: number, backend: number | null) => void;
  readonly written: (index: number, bytes: number, rows?: number) => void;
  readonly done: (index: number, part: Pick<PartRecord, 'rows' | 'bytes'>) => void;
  readonly read: () => Promise<DatasetProgress[]>;
}

/** Rows and bytes of each dataset. Postgres counts the rows of a COPY by itself; counting them here would mean parsing them. */
export function tallyOf(db: Db, plan: readonly PlannedDataset[]): Tally {
  const rows = plan.map(({ name }) => ({ dataset: name, rows: 0, bytes: 0 }));
  const backends = new Map<number, number>();
  const update = (index: number, more: Partial<DatasetProgress>) => {
    const row = rows[index];
    if (row !== undefined) Object.assign(row, more);
  };
  return {
    working(index, backend) {
      if (backend === null) backends.delete(index);
      else backends.set(index, backend);
    },
    written: (index, bytes, count) => update(index, { bytes, ...(count === undefined ? {} : { rows: count }) }),
    done: (index, part) => update(index, { rows: part.rows, bytes: part.bytes }),
    async read() {
      if (backends.size > 0) {
        const { rows: seen } = await db.pool.query<{ pid: number; rows: string }>(
          'SELECT pid, tuples_processed AS rows FROM pg_stat_progress_copy WHERE pid = ANY ($1)',
          [[...backends.values()]],
        );
        for (const [index, backend] of backends) {
          const found = seen.find(({ pid }) => pid === backend);
          if (found !== undefined) update(index, { rows: Number(found.rows) });
        }
      }
      return rows.map((row) => ({ ...row }));
    },
  };
}

/** What a file holds, or null: missing, cut off, or no JSON. */
export async function readJson(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, 'utf8'));
  } catch {
    return null;
  }
}
