// How many rows a data file has, counted as it streams past and without trusting it.
import type { DataFormat } from './manifest.ts';

export interface RowCounter {
  push(chunk: Buffer): void;
  /** Throws UncountableError. */
  end(): bigint;
}

export class UncountableError extends Error {
  override readonly name = 'UncountableError';
}

const LF = 10;
const QUOTE = 34;

/** Of text. Parquet says its count in its end: `parquetRows`. */
export function rowCounter(format: Exclude<DataFormat, 'parquet'>): RowCounter {
  const lines = lineCounter(format === 'csv' ? QUOTE : null);
  return {
    push: (chunk) => lines.push(chunk),
    end() {
      const found = lines.end();
      if (format === 'ndjson') return found;
      if (found === 0n) throw new UncountableError('it has no header');
      return found - 1n;
    },
  };
}

/** Lines, but for line ends between an odd and an even quote. A last line without an end counts. */
function lineCounter(quote: number | null): RowCounter {
  let lines = 0;
  let isQuoted = false;
  let isInLine = false;
  return {
    push(chunk) {
      if (chunk.length === 0) return;
      for (const byte of chunk) {
        if (byte === quote) isQuoted = !isQuoted;
        else if (byte === LF && !isQuoted) lines += 1;
      }
      isInLine = isQuoted || chunk.at(-1) !== LF;
    },
    end() {
      if (isQuoted) throw new UncountableError('a quote is never closed');
      return BigInt(lines) + (isInLine ? 1n : 0n);
    },
  };
}

/** The length of the metadata, which stand before these last eight bytes of a Parquet file. */
export function parquetMetadataBytes(tail: Buffer): number {
  if (tail.length < 8 || tail.toString('latin1', 4) !== 'PAR1') throw new UncountableError('it does not end as a Parquet file');
  return tail.readUInt32LE(0);
}

/**
 * `num_rows` of FileMetaData, read from the beginning of the metadata: version, schema, then the count. hyparquet would decode all of
 * them, and crafted ones keep it busy for hours (an integer that goes on for megabytes).
 */
export function parquetRows(metadata: Buffer): bigint {
  const reader = thriftReader(metadata);
  let id = 0;
  for (;;) {
    const { step, type } = reader.field();
    if (type === thrift.stop) throw new UncountableError('its metadata have no count');
    id = step === 0 ? Number(reader.integer()) : id + step;
    if (id === 3 && type === thrift.i64) return reader.integer();
    reader.skip(type, 0);
  }
}

const thrift = { stop: 0, true: 1, false: 2, byte: 3, i16: 4, i32: 5, i64: 6, double: 7, binary: 8, list: 9, set: 10, struct: 12 } as const;
const deepest = 16;

/** What Thrift's compact protocol needs to step over values. */
function thriftReader(bytes: Buffer) {
  let at = 0;

  function byte(): number {
    const value = bytes[at];
    if (value === undefined) throw new UncountableError('its metadata end too early');
    at += 1;
    return value;
  }

  function pass(count: number): void {
    at += count;
    if (at > bytes.length) throw new UncountableError('its metadata end too early');
  }

  function varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const next = byte();
      value |= BigInt(next & 0x7f) << shift;
      if (next < 0x80) return value;
    }
    throw new UncountableError('its metadata have an integer that is too long');
  }

  function integer(): bigint {
    const zigzag = varint();
    return (zigzag >> 1n) ^ -(zigzag & 1n);
  }

  function field(): { step: number; type: number } {
    const head = byte();
    return { step: head >> 4, type: head & 0x0f };
  }

  function skip(type: number, depth: number): void {
    if (depth > deepest) throw new UncountableError('its metadata are nested too deep');
    if (type === thrift.true || type === thrift.false) return; // the type is the value
    if (type === thrift.byte) pass(1);
    else if (type === thrift.i16 || type === thrift.i32 || type === thrift.i64) varint();
    else if (type === thrift.double) pass(8);
    else if (type === thrift.binary) pass(Number(varint()));
    else if (type === thrift.list || type === thrift.set) skipList(depth);
    else if (type === thrift.struct) skipStruct(depth);
    else throw new UncountableError('its metadata have a value of an unknown type');
  }

  function skipList(depth: number): void {
    const { step, type } = field();
    const items = step === 15 ? varint() : BigInt(step);
    for (let item = 0n; item < items; item += 1n) {
      if (type === thrift.true || type === thrift.false) byte();
      else skip(type, depth + 1);
    }
  }

  function skipStruct(depth: number): void {
    for (;;) {
      const { step, type } = field();
      if (type === thrift.stop) return;
      if (step === 0) integer();
      skip(type, depth + 1);
    }
  }

  return { field, integer, skip };
}
