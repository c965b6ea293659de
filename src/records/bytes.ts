// The bytes of a package's file as text readers want them: counted, gunzipped, limited, without a byte order mark.
import { addAbortSignal, pipeline, type Readable, Transform } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { unreadable } from './reading.ts';

export interface FileSource {
  open(): Promise<Readable>;
  progress(doneBytes: number): void;
  readonly gzip: boolean;
  readonly expandedBytesLimit: number;
  readonly signal: AbortSignal;
}

const isZlibError = (error: unknown) =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && error.code.startsWith('Z_');

export async function* fileBytes(source: FileSource): AsyncGenerator<Buffer, void, undefined> {
  // Aborted, it fails at once, also when no byte is coming.
  const raw = addAbortSignal(source.signal, await source.open());
  let done = 0;
  const counter = new Transform({
    transform(chunk: Buffer, _encoding, callback) {
      done += chunk.length;
      source.progress(done);
      callback(null, chunk);
    },
  });
  // pipeline passes a fault of an earlier stream on to the last one, and destroys the first when the reader stops early.
  const plain = source.gzip ? pipeline(raw, counter, createGunzip({ chunkSize: 65_536 }), () => {}) : pipeline(raw, counter, () => {});
  let expanded = 0;
  let mark = true;
  let head: Buffer = Buffer.alloc(0);
  try {
    for await (const piece of plain) {
      let chunk: Buffer = piece;
      expanded += chunk.length;
      if (expanded > source.expandedBytesLimit) {
        throw unreadable('EXPANDED_SIZE_EXCEEDED', `The file expands to more than ${source.expandedBytesLimit} bytes, the limit set here.`);
      }
      if (mark) {
        head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
        if (head.length < 3) continue;
        mark = false;
        chunk = head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf ? head.subarray(3) : head;
      }
      if (chunk.length > 0) yield chunk;
    }
  } catch (error) {
    if (!isZlibError(error)) throw error;
    throw unreadable('MALFORMED_GZIP', `The file is not whole gzip: ${error instanceof Error ? error.message : 'unreadable'}.`);
  }
  if (mark && head.length > 0) yield head;
}

/** Lets a reader take chunks one by one, then hand what is left to a stream. */
export interface ByteReader {
  next(): Promise<Buffer | null>;
  /** Everything not yet taken, `head` first. */
  rest(head: Buffer): AsyncGenerator<Buffer, void, undefined>;
  close(): Promise<void>;
}

export function byteReader(bytes: AsyncGenerator<Buffer, void, undefined>): ByteReader {
  const next = async () => {
    const result = await bytes.next();
    return result.done ? null : result.value;
  };
  return {
    next,
    async *rest(head) {
      if (head.length > 0) yield head;
      for (let chunk = await next(); chunk !== null; chunk = await next()) yield chunk;
    },
    async close() {
      await bytes.return();
    },
  };
}
