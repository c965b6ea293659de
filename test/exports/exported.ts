// Exports made by hand, with the writer's own parts, and all that can be done to one before it is written.
import { createHash } from 'node:crypto';
import { parquetWriteBuffer } from 'hyparquet-writer';
import {
  type DataFormat,
  dataPath,
  descriptorBytes,
  manifestDigest,
  packageDescriptor,
  type UnsignedRecord,
} from '../../src/exports/archive/manifest.ts';
import { type SigningKey, signRecord } from '../../src/exports/archive/signing.ts';
import { deflatedEntry, writeArchive } from '../../src/exports/archive/zip.ts';
import { signingKey } from '../../src/exports/keys.ts';

export const ourKey = signingKey(Buffer.from('the secret that the cluster shares'));
export const otherKey = signingKey(Buffer.from('a secret of somebody else entirely'));

const rows = {
  depots: [
    { id: '1', city: 'Bern' },
    { id: '2', city: 'two\n"lines", quoted' },
  ],
  routes: [] as { id: string; city: string }[],
};

function dataOf(format: DataFormat, dataset: keyof typeof rows): Buffer {
  const found = rows[dataset];
  if (format === 'ndjson') return Buffer.from(found.map((row) => `${JSON.stringify(row)}\n`).join(''));
  if (format === 'csv') {
    return Buffer.from(`id,city\n${found.map(({ id, city }) => `${id},"${city.replaceAll('"', '""')}"\n`).join('')}`);
  }
  const columnData = (['id', 'city'] as const).map((name) => ({ name, data: found.map((row) => row[name]), type: 'STRING' as const }));
  return Buffer.from(parquetWriteBuffer({ columnData }));
}

export interface Draft {
  descriptor: { resources: Record<string, unknown>[] } & Record<string, unknown>;
  record: UnsignedRecord;
  readonly data: Map<string, Buffer>;
}

export function draft(format: DataFormat = 'csv'): Draft {
  const datasets = ['depots', 'routes'] as const;
  const paths = dataPath(datasets, format);
  const data = new Map(datasets.map((name) => [paths.get(name)!, dataOf(format, name)]));
  const resources = datasets.map((name) => {
    const path = paths.get(name)!;
    const content = data.get(path)!;
    const measured = { bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') };
    return { name, path, format, ...measured, schema: { fields: [{ name: 'id' }, { name: 'city' }] } };
  });
  const descriptor = packageDescriptor(resources) as Draft['descriptor'];
  const record: UnsignedRecord = {
    version: 1,
    executionId: '0198b4a1-0000-7000-8000-000000000001',
    workspace: 'depot',
    cutoff: '2026-11-30T12:00:00.123456Z',
    settings: { format, datasets: null, retentionDays: 30, destinations: [] },
    counts: resources.map(({ name, bytes }) => ({ dataset: name, rows: String(rows[name].length), bytes })),
    manifestDigest: manifestDigest(descriptor),
    leftOut: [{ dataset: 'routes', foreignKey: '`city` refers to `cities`, which was not selected.' }],
  };
  return { descriptor, record, data };
}

/** The files of the archive, in the order they are written in. */
export function filesOf({ descriptor, record, data }: Draft, key: SigningKey = ourKey): Map<string, Buffer> {
  return new Map([
    ['datapackage.json', descriptorBytes(descriptor)],
    ...data,
    ['packhorse-export.json', descriptorBytes(signRecord(record, key))],
  ]);
}

export async function writeExport(file: string, files: Iterable<readonly [string, Buffer]>): Promise<string> {
  const entries = Array.from(files, ([path, content]) => deflatedEntry(path, content));
  await writeArchive(file, entries, new AbortController().signal);
  return file;
}
