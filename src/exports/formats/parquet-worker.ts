// The worker thread of parquet.ts: rows from a cursor on a connection of its own, gathered by column, written by row group.
import { createHash } from 'node:crypto';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { crc32 } from 'node:zlib';
import { ByteWriter, ParquetWriter, type Writer } from 'hyparquet-writer';
import pg from 'pg';
import Cursor from 'pg-cursor';
import type { ParquetFile, ParquetProgress, ParquetWork } from './parquet.ts';
import { type ParquetValue, schemaElements, valueReader } from './parquet-types.ts';

// A row group is held in memory. It ends by what its rows hold alone, never by how they arrived: same rows, same bytes.
const groupRows = 25_000;
const groupWeight = 16 << 20;
// What a value weighs beside its characters, about.
const valueWeight = 16;

// A read is held in memory too: small at first, then as many rows as should weigh this much.
const firstRead = 16;
const mostRead = 1_000;
const readWeight = 4 << 20;

interface FileWriter {
  readonly writer: Writer;
  close(): Omit<ParquetFile, 'rows'>;
}

/** Written after each row group, and measured as it is written. Synchronous, as the thread has nothing else to do. */
function fileWriter(file: string): FileWriter {
  const descriptor = openSync(file, 'w');
  const hash = createHash('sha256');
  let checksum = 0;
  const buffer = new ByteWriter();
  const flush = () => {
    const bytes = buffer.getBytes();
    writeFileSync(descriptor, bytes);
    hash.update(bytes);
    checksum = crc32(bytes, checksum);
    // `offset`, which counts all that was written, goes on.
    buffer.index = 0;
  };
  const writer = Object.assign(buffer, { flush, finish: flush });
  return {
    writer,
    close() {
      closeSync(descriptor);
      return { bytes: writer.offset, sha256: hash.digest('hex'), crc32: checksum };
    },
  };
}

async function openClient(databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'packhorse-export' });
  await client.connect();
  // The interval: the backend of a thread that was ended notices in the middle of a sort.
  await client.query(
    `SET timezone = 'UTC'; SET datestyle = 'ISO, YMD'; SET jit = off; SET statement_timeout = 0; SET client_connection_check_interval = '500ms'`,
  );
  return client;
}

async function write(work: ParquetWork, report: (progress: ParquetProgress) => void): Promise<ParquetFile> {
  const columns = work.columns.map(({ name }, index) => {
    const type = work.physical[index];
    if (type === undefined) throw new Error(`column ${name} has no Parquet type`);
    return { name, read: valueReader(type), data: [] as (ParquetValue | null)[] };
  });
  const schema = schemaElements(work.columns, work.physical);
  const client = await openClient(work.databaseUrl);
  const file = fileWriter(work.file);
  // Not the library's default name for itself, nor a version: the bytes would change with it.
  const parquet = new ParquetWriter({ writer: file.writer, schema, createdBy: 'packhorse' });
  let rows = 0;
  let held = 0;
  let heldWeight = 0;

  const add = (row: readonly (string | null)[]): number => {
    let weight = columns.length * valueWeight;
    for (const [index, column] of columns.entries()) {
      const text = row[index] ?? null;
      column.data.push(text === null ? null : column.read(text));
      weight += text?.length ?? 0;
    }
    return weight;
  };
  const endGroup = async () => {
    if (held === 0) return;
    await parquet.write({ columnData: columns.map(({ name, data }) => ({ name, data })), rowGroupSize: held });
    for (const column of columns) column.data = [];
    rows += held;
    held = 0;
    heldWeight = 0;
    report({ rows, bytes: file.writer.offset });
  };

  const cursor = client.query(new Cursor<(string | null)[]>(work.sql, [], { rowMode: 'array' }));
  for (let size = firstRead; ; ) {
    const batch = await cursor.read(size);
    if (batch.length === 0) break;
    let batchWeight = 0;
    for (const row of batch) {
      const weight = add(row);
      batchWeight += weight;
      heldWeight += weight;
      held += 1;
      if (held === groupRows || heldWeight >= groupWeight) await endGroup();
    }
    size = Math.min(mostRead, Math.ceil((readWeight * batch.length) / batchWeight));
  }
  await endGroup();
  await client.end();
  await parquet.finish();
  return { rows, ...file.close() };
}

// Whoever fails, throws: the thread ends, and with it its connection and its file descriptor.
const work: ParquetWork = workerData;
parentPort?.postMessage(await write(work, (progress) => parentPort?.postMessage(progress)));
