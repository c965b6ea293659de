// From an execution's plan to an archive on this machine's disk: every dataset as it was at the cutoff, a few at a time, then the zip.
// What it makes depends on the plan and the cutoff alone, so it may be made again: by whoever takes over, or for publishing it once more.
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pipeline, type Readable } from 'node:stream';
import { createInflateRaw } from 'node:zlib';
import { z } from 'zod';
import type { ExportExecution } from '../generated/prisma/client.ts';
import {
  type DataFormat,
  dataPath,
  descriptorBytes,
  descriptorPath,
  manifestDigest,
  packageDescriptor,
  recordPath,
  type UnsignedRecord,
} from './archive/manifest.ts';
import { type SigningKey, signRecord } from './archive/signing.ts';
import { type ArchiveEntry, deflatedEntry, writeArchive } from './archive/zip.ts';
import type { PartRecord } from './part.ts';
import { type PartSource, partFile, readJson, tallyOf, writeParts } from './parts.ts';
import { type DatasetCount, type DatasetProgress, type PlannedDataset, planOf, settingsOf } from './plan.ts';
import { exportedSchema } from './table-schema.ts';

export interface Generator extends PartSource {
  /** A folder of this machine, where parts and archives are until they are in storage. */
  readonly work: string;
  readonly key: SigningKey;
}

/** How far a generation is: read by whoever keeps the claim, at its own pace. */
export interface Course {
  phase: 'writing' | 'packing';
  readonly progress: () => Promise<DatasetProgress[]>;
}

const archiveRecord = z.object({
  bytes: z.int(),
  sha256: z.string(),
  blockBytes: z.int(),
  /** base64 */
  blocks: z.string(),
  manifestDigest: z.string(),
});

/** An archive that is whole, on this machine's disk. */
export type Archive = z.output<typeof archiveRecord> & { readonly file: string };

/** An execution, and the slug that its record names its workspace by. */
export type ExecutionInWorkspace = ExportExecution & { readonly workspace: { readonly slug: string } };

export interface GeneratedArchive {
  readonly archive: Archive;
  readonly counts: readonly DatasetCount[];
}

const blockBytes = 1_048_576;

export const folderOf = ({ work }: Pick<Generator, 'work'>, executionId: string) => path.join(work, executionId);

export async function generate(
  generator: Generator,
  execution: ExecutionInWorkspace,
  fence: number,
  signal: AbortSignal,
  begin: (course: Course) => void,
): Promise<GeneratedArchive> {
  const plan = planOf(execution);
  const folder = folderOf(generator, execution.id);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await removeOlderDrafts(folder, fence);
  const tally = tallyOf(generator.db, plan);
  const course: Course = { phase: 'writing', progress: tally.read };
  begin(course);
  const parts = await writeParts(generator, execution, plan, { folder, fence, signal, tally });
  course.phase = 'packing';
  const { descriptor, record, entries } = contents(execution, plan, parts, folder);
  const signed = signRecord(record, generator.key);
  const draft = path.join(folder, `package.${fence}.zip`);
  const all = [deflatedEntry(descriptorPath, descriptorBytes(descriptor)), ...entries, deflatedEntry(recordPath, descriptorBytes(signed))];
  const { bytes, sha256, blocks } = await writeArchive(draft, all, signal, blockBytes);
  const kept = { bytes, sha256, blockBytes, blocks: blocks.toString('base64'), manifestDigest: record.manifestDigest };
  const archive = await keepArchive(folder, draft, kept);
  return { archive, counts: record.counts.map((count) => ({ ...count, bytes: String(count.bytes) })) };
}

/** The archive that stands whole on this machine, or null. It is compared with its digest when it is read on its way to storage. */
export async function keptArchive(generator: Pick<Generator, 'work'>, executionId: string): Promise<Archive | null> {
  const folder = folderOf(generator, executionId);
  const record = archiveRecord.safeParse(await readJson(path.join(folder, 'package.json')));
  return record.success ? { ...record.data, file: path.join(folder, 'package.zip') } : null;
}

export async function removeWork(generator: Pick<Generator, 'work'>, executionId: string): Promise<void> {
  await rm(folderOf(generator, executionId), { recursive: true, force: true });
}

/** What those before had begun, which may be as large as the export. One that is still at it has lost its claim, and finds nothing to keep. */
async function removeOlderDrafts(folder: string, fence: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const own = /\.(\d+)\.(draft|zip)(\.json)?$/.exec(name)?.[1];
    if (own !== undefined && Number(own) < fence) await rm(path.join(folder, name), { force: true });
  }
}

async function keepArchive(folder: string, draft: string, record: z.output<typeof archiveRecord>): Promise<Archive> {
  const file = path.join(folder, 'package.zip');
  await writeFile(`${draft}.json`, JSON.stringify(record), { flush: true, mode: 0o600 });
  await rename(draft, file);
  await rename(`${draft}.json`, path.join(folder, 'package.json'));
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
  return { ...record, file };
}

function contents(execution: ExecutionInWorkspace, plan: readonly PlannedDataset[], parts: readonly PartRecord[], folder: string) {
  const settings = settingsOf(execution);
  const format = settings.format.toLowerCase() as DataFormat; // the enum's values are the formats in capitals
  const paths = dataPath(
    plan.map(({ name }) => name),
    format,
  );
  const selected = new Map(plan.map(({ name, columns }) => [name, new Set(columns.map((column) => column.name))]));
  const described = plan.map((dataset, index) => {
    const part = parts[index];
    const place = paths.get(dataset.name);
    if (part === undefined || place === undefined) throw new Error(`there is no part of ${dataset.name}`);
    return { dataset, part, index, place, ...exportedSchema(dataset, part.missingValues, selected) };
  });
  const descriptor = packageDescriptor(
    described.map(({ dataset, part, place, schema }) => {
      const { bytes, sha256 } = part;
      return { name: dataset.name, path: place, format, bytes, sha256, schema };
    }),
  );
  const record: UnsignedRecord = {
    version: 1,
    executionId: execution.id,
    workspace: execution.workspace.slug,
    cutoff: execution.cutoff,
    settings: {
      format,
      datasets: settings.datasets,
      retentionDays: settings.retentionDays,
      destinations: settings.destinations.map(({ name }) => name),
    },
    counts: described.map(({ dataset, part }) => ({ dataset: dataset.name, rows: String(part.rows), bytes: part.bytes })),
    manifestDigest: manifestDigest(descriptor),
    leftOut: described.flatMap(({ dataset, leftOut }) => leftOut.map((foreignKey) => ({ dataset: dataset.name, foreignKey }))),
  };
  return { descriptor, record, entries: described.map(({ part, index, place }) => entryOf(part, place, partFile(folder, index))) };
}

// Loading refuses what expands to more than 200 times its size, as a bomb would: a file of equal rows is stored as it is.
const highestRatio = 100;

function entryOf(part: PartRecord, place: string, file: string): ArchiveEntry {
  const { bytes, compressedBytes, method } = part;
  const read = (): Readable => createReadStream(file, { highWaterMark: 262_144 });
  if (method === 8 && bytes > compressedBytes * highestRatio) {
    return {
      path: place,
      crc32: part.crc32,
      bytes,
      compressedBytes: bytes,
      method: 0,
      open: () => pipeline(read(), createInflateRaw(), () => undefined),
    };
  }
  return { path: place, crc32: part.crc32, bytes, compressedBytes, method, open: read };
}
