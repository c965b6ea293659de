// The reader that says what is wrong, and reads the dialects COPY cannot: csv-parse, strict, cell by cell. About a third of the fast path's speed.
import { finished, pipeline } from 'node:stream/promises';
import { CsvError, type Options, parse } from 'csv-parse';
import type pg from 'pg';
import type { CsvDialect, TableSchema } from '../packages/plan.ts';
import type { ByteReader } from './bytes.ts';
import { recordBytesLimit } from './csv-guard.ts';
import { type Matched, matchHeader, matchPositions } from './header.ts';
import type { RowError } from './outcome.ts';
import { addRowFault, noReadFaults, type ReadFaults, unreadable } from './reading.ts';
import { copyInto, createStage, stagedColumn } from './stage.ts';

const batchChars = 1 << 18;

function options(dialect: CsvDialect, skipBlank: boolean): Options {
  // An escape that is the quote means a doubled one. csv-parse takes null for "no escape", not undefined.
  const escapeWith = dialect.escapeChar ?? (dialect.doubleQuote ? dialect.quoteChar : null);
  return {
    delimiter: dialect.delimiter,
    quote: dialect.quoteChar,
    escape: dialect.quoteChar === null ? null : escapeWith,
    // All three end a line: left to itself csv-parse takes the first line's ending for the only one and glues the others' rows together.
    record_delimiter: ['\r\n', '\n', '\r'],
    ltrim: dialect.skipInitialSpace,
    comment: dialect.commentChar,
    comment_no_infix: true,
    // Ragged rows are reported one by one here instead of ending the file.
    relax_column_count: true,
    skip_empty_lines: skipBlank,
    max_record_size: recordBytesLimit,
  };
}

/** Checks the encoding before the parser, which would put U+FFFD in place of what it cannot read. */
async function* checked(bytes: AsyncIterable<Buffer>, rowsRead: () => number): AsyncGenerator<Buffer, void, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let before = 0;
  const refuse = (length: number) =>
    unreadable(
      'INVALID_ENCODING',
      `The file is not UTF-8: there is an invalid sequence between bytes ${before + 1} and ${before + length}.`,
      rowsRead(),
    );
  for await (const chunk of bytes) {
    try {
      decoder.decode(chunk, { stream: true });
    } catch {
      throw refuse(chunk.length);
    }
    before += chunk.length;
    yield chunk;
  }
  try {
    decoder.decode();
  } catch {
    throw refuse(0);
  }
}

/** The first record, and the bytes it took to see it: they are read again with the rest, once it is known how wide the file is. */
async function readAhead(
  reader: ByteReader,
  dialect: CsvDialect,
): Promise<{ record: readonly string[] | null; blankAbove: number; seen: Buffer }> {
  const seen: Buffer[] = [];
  const found: { record: readonly string[] | null; blankAbove: number; error: unknown } = { record: null, blankAbove: 0, error: undefined };
  const parser = parse({
    ...options(dialect, true),
    // Called while the bytes are parsed: a 'data' event would come a turn later, when more bytes were taken already.
    on_record: (cells: string[], info) => {
      if (found.record === null) {
        found.record = cells;
        found.blankAbove = info.empty_lines;
      }
      return null;
    },
  });
  parser.on('error', (error) => {
    found.error = error;
  });
  parser.resume();
  const settled = () => found.record !== null || found.error !== undefined;
  for await (const chunk of checked(reader.rest(Buffer.alloc(0)), () => 0)) {
    seen.push(chunk);
    await new Promise<void>((resolve) => parser.write(chunk, () => resolve()));
    if (settled()) break;
  }
  if (!settled()) {
    parser.end();
    await finished(parser).catch(() => {});
  }
  parser.destroy();
  // A fault further on in the same bytes is found again, with its row.
  if (found.record === null && found.error !== undefined) throw malformed(found.error, 0);
  return { record: found.record, blankAbove: found.blankAbove, seen: Buffer.concat(seen) };
}

function malformed(error: unknown, headers: number): unknown {
  if (!(error instanceof CsvError)) return error;
  // The parser's own count: records still on their way to us are lost when it fails.
  const records = 'records' in error && typeof error.records === 'number' ? error.records - headers : -1;
  const where = records < 0 ? 'the header' : `row ${records + 1}`;
  return unreadable('MALFORMED_CSV', `The CSV is malformed in ${where}: ${error.message}.`, Math.max(records, 0));
}

function rowProblems(row: number, cells: readonly string[], matched: Matched): RowError[] {
  const { width } = matched;
  if (cells.length !== width) {
    const code = cells.length < width ? 'TOO_FEW_CELLS' : 'TOO_MANY_CELLS';
    return [{ row, field: null, code, message: `Row ${row} has ${cells.length} cells, expected ${width}.` }];
  }
  return cells.flatMap((cell, index) => {
    if (!cell.includes('\0')) return [];
    const field = matched.schema.fields[matched.positions.indexOf(index)]?.name ?? null;
    return [{ row, field, code: 'NUL_CHARACTER', message: `Row ${row} has a NUL character in column ${index + 1}.` }];
  });
}

export interface CsvRead {
  readonly matched: Matched;
  readonly rows: number;
  readonly faults: ReadFaults;
}

const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`;

/** What has no fields went through the stage as one text, since nothing else can be written while COPY is. Here it leaves. */
async function rejectUnread(client: pg.ClientBase): Promise<number> {
  const { rowCount } = await client.query(
    `WITH gone AS (DELETE FROM stage WHERE record <> '' RETURNING n, record::json AS read)
     INSERT INTO reject (n, reason, record) SELECT n, read ->> 'reason', read ->> 'cells' FROM gone`,
  );
  return rowCount ?? 0;
}

export async function readCsvSlowly(
  client: pg.ClientBase,
  reader: ByteReader,
  dialect: CsvDialect,
  schema: TableSchema | null,
  keepsRejects: boolean,
  signal: AbortSignal,
): Promise<CsvRead> {
  const { record, blankAbove, seen } = await readAhead(reader, dialect);
  if (record === null && (dialect.header || schema === null)) throw unreadable('EMPTY_FILE', 'The file is empty; a header was expected.');
  const matched = dialect.header ? matchHeader(record ?? [], schema) : matchPositions(schema, record?.length ?? 0);
  await createStage(client, matched.width);
  const faults = noReadFaults();
  let row = 0;
  const parser = parse(options(dialect, matched.width > 1));
  parser.on('error', () => {}); // reaches us through the iteration below; without a listener a late one would end the process
  const bytes = checked(reader.rest(seen), () => row);
  // A fault of the source becomes the parser's, and comes out of the iteration in its place.
  const feed = pipeline(bytes, parser).catch(() => {});
  async function* lines(): AsyncGenerator<Buffer, void, undefined> {
    let out = '';
    // With one column blank lines are cells, but not those above the header.
    let above = dialect.header ? 1 + (matched.width === 1 ? blankAbove : 0) : 0;
    for await (const cells of parser as AsyncIterable<string[]>) {
      if (above > 0) {
        above -= 1;
        continue;
      }
      row += 1;
      const problems = rowProblems(row, cells, matched);
      if (problems.length > 0) {
        addRowFault(faults, problems);
        if (!keepsRejects) continue;
        const reason = problems.map(({ message }) => message).join(' ');
        out += `${row},${quoted(JSON.stringify({ reason, cells: JSON.stringify(cells) }))}${','.repeat(matched.width)}\n`;
      } else {
        out += `${row},,${cells.map(quoted).join(',')}\n`;
      }
      if (out.length >= batchChars) {
        yield Buffer.from(out);
        out = '';
      }
    }
    if (out !== '') yield Buffer.from(out);
  }
  try {
    const columns = ['n', 'record', ...Array.from({ length: matched.width }, (_, index) => stagedColumn(index))];
    const copied = await copyInto(client, lines(), { table: 'stage', columns, delimiter: ',', quote: '"', signal });
    const unread = keepsRejects && faults.rows > 0 ? await rejectUnread(client) : 0;
    return { matched, rows: copied - unread, faults };
  } catch (error) {
    throw malformed(error, dialect.header ? 1 : 0);
  } finally {
    parser.destroy();
    await feed;
  }
}
