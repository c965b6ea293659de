// CSV into the stage: COPY on the raw bytes where it can, else, and whenever anything is odd, the strict reader.
import { isUtf8 } from 'node:buffer';
import { CsvError, parse } from 'csv-parse/sync';
import type pg from 'pg';
import type { CsvDialect, TableSchema } from '../packages/plan.ts';
import { type ByteReader, byteReader, type FileSource, fileBytes } from './bytes.ts';
import { csvGuard, firstRecord, GuardObjection, recordBytesLimit } from './csv-guard.ts';
import { type CsvRead, readCsvSlowly } from './csv-slow.ts';
import { csvText, matchHeader, matchPositions } from './header.ts';
import { LoadFailure, noReadFaults, rowLimit, sqlState, unreadable } from './reading.ts';
import { copyInto, createStage, type Staged, stagedColumn } from './stage.ts';

const oneByte = (text: string | null) => text !== null && Buffer.byteLength(text) === 1;

/** Whether COPY's CSV is this dialect. */
function copyReads(dialect: CsvDialect): dialect is CsvDialect & { quoteChar: string } {
  return (
    oneByte(dialect.delimiter) &&
    oneByte(dialect.quoteChar) &&
    dialect.delimiter !== dialect.quoteChar &&
    !/[\r\n\0]/.test(`${dialect.delimiter}${dialect.quoteChar}`) &&
    dialect.doubleQuote &&
    (dialect.escapeChar === null || dialect.escapeChar === dialect.quoteChar) &&
    !dialect.skipInitialSpace &&
    dialect.commentChar === null
  );
}

async function headBytes(reader: ByteReader, quote: number): Promise<{ bytes: Buffer; start: number; end: number }> {
  let bytes: Buffer = Buffer.alloc(0);
  for (;;) {
    const chunk = await reader.next();
    if (chunk !== null) bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
    if (bytes.length > recordBytesLimit) throw new GuardObjection('a very long first record');
    const found = firstRecord(bytes, quote, chunk === null);
    if (found !== null) return { bytes, ...found };
  }
}

export async function readCsvFast(
  client: pg.ClientBase,
  reader: ByteReader,
  dialect: CsvDialect & { quoteChar: string },
  schema: TableSchema | null,
  signal: AbortSignal,
): Promise<CsvRead> {
  const { delimiter, quoteChar: quote } = dialect;
  const head = await headBytes(reader, quote.charCodeAt(0));
  const first = head.bytes.subarray(head.start, head.end);
  if (!isUtf8(first)) throw new GuardObjection('not UTF-8');
  const text = first.toString();
  const [record] = parse(text, { delimiter, quote, record_delimiter: ['\r\n', '\n', '\r'], relax_column_count: true });
  if (record === undefined && (dialect.header || schema === null))
    throw unreadable('EMPTY_FILE', 'The file is empty; a header was expected.');
  const matched = dialect.header ? matchHeader(record ?? [], schema) : matchPositions(schema, record?.length ?? 0);
  await createStage(client, matched.width);
  const guard = csvGuard({ delimiter: delimiter.charCodeAt(0), quote: quote.charCodeAt(0) }, matched.width > 1);
  async function* guarded(): AsyncGenerator<Buffer, void, undefined> {
    const from = dialect.header ? head.end : 0;
    for await (const chunk of reader.rest(head.bytes.subarray(from))) yield* guard.push(chunk);
    guard.end();
  }
  const columns = Array.from({ length: matched.width }, (_, index) => stagedColumn(index));
  const options = { table: 'stage', columns, delimiter, quote, signal };
  const rows = await copyInto(client, guarded(), options).catch((error: unknown) => {
    throw error instanceof LoadFailure ? error.after(guard.records()) : error;
  });
  return { matched, rows, faults: noReadFaults() };
}

/** Whether the strict reader has to look: the guard objected, the header cannot be read, or COPY refused the data (not the machine failed). */
function inDoubt(error: unknown): boolean {
  if (error instanceof GuardObjection || error instanceof CsvError) return true;
  return sqlState(error)?.startsWith('22') ?? false;
}

export async function stageCsv(
  client: pg.ClientBase,
  source: FileSource,
  dialect: CsvDialect,
  schema: TableSchema | null,
  keepsRejects: boolean,
): Promise<Staged> {
  const attempt = async (read: (reader: ByteReader) => Promise<CsvRead>): Promise<CsvRead> => {
    const reader = byteReader(fileBytes(source));
    try {
      return await read(reader);
    } catch (error) {
      throw rowLimit(error, 'reading') ?? error;
    } finally {
      await reader.close();
    }
  };
  const slowly = () => attempt((reader) => readCsvSlowly(client, reader, dialect, schema, keepsRejects, source.signal));
  let read: CsvRead;
  if (copyReads(dialect)) {
    const fast = dialect;
    read = await attempt((reader) => readCsvFast(client, reader, fast, schema, source.signal)).catch((error: unknown) => {
      if (!inDoubt(error)) throw error;
      return slowly();
    });
  } else {
    read = await slowly();
  }
  const { matched } = read;
  return {
    rows: read.rows,
    schema: matched.schema,
    fields: matched.schema.fields.map((field, index) => ({ text: csvText(field, matched.positions[index] ?? null, matched.schema) })),
    kinds: false,
    faults: read.faults,
    source: { from: 'stage', cells: matched.positions.map((position) => (position === null ? 'NULL' : stagedColumn(position))) },
  };
}
