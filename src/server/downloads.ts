// GET on a download link: the archive, whole or a range of it. Each block is compared with its digest before any byte of it is sent, so
// that what was altered in storage is never served as good: the answer breaks off instead, short of the length that it stated.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { NotFoundError } from '../errors.ts';
import { followLink, LinkError } from '../exports/links.ts';
import type { Exports } from '../exports/operations.ts';
import type { ExportPackage } from '../generated/prisma/client.ts';
import { uuidForm } from '../graphql/builder.ts';
import type { Log } from '../log.ts';
import { StorageError } from '../storage/storage.ts';

const form = /^\/exports\/([^/]+)\/([a-z0-9-]+)\.zip$/;

export function isDownload(path: string): boolean {
  return path.startsWith('/exports/');
}

export async function handleDownload(
  exports: Exports,
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
  log: Log,
): Promise<void> {
  try {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      return answer(response, 405, { code: 'METHOD_NOT_ALLOWED', message: 'GET the archive here.' });
    }
    const [, id = '', slug = ''] = form.exec(url.pathname) ?? [];
    if (!uuidForm.test(id)) throw new NotFoundError('download');
    const { searchParams } = url;
    const given = { id, slug, expires: searchParams.get('expires') ?? '', signature: searchParams.get('signature') ?? '' };
    await send(exports, await followLink(exports.db, exports.links, given), slug, request, response);
  } catch (error) {
    refuse(response, error, log);
  }
}

interface Served {
  readonly key: string;
  readonly bytes: number;
  readonly blocks: Uint8Array;
  readonly blockBytes: number;
}

function servedOf({ storageKey, bytes, blocks, blockBytes }: ExportPackage): Served {
  if (storageKey === null || bytes === null || blocks === null || blockBytes === null)
    throw new StorageError('NO_SUCH_OBJECT', 'the package is gone');
  return { key: storageKey, bytes: Number(bytes), blocks, blockBytes };
}

async function send(
  { storage }: Exports,
  held: ExportPackage,
  slug: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const served = servedOf(held);
  const etag = `"${held.digest}"`;
  const headers = {
    'accept-ranges': 'bytes',
    'cache-control': 'private, no-store',
    'content-disposition': `attachment; filename="${slug}-${held.publishedAt?.toISOString().slice(0, 10)}.zip"`,
    'content-type': 'application/zip',
    etag,
    'x-content-type-options': 'nosniff',
  };
  const range = rangeOf(request, served.bytes, etag);
  if (range === 'unsatisfiable') {
    response.setHeader('content-range', `bytes */${served.bytes}`);
    return answer(response, 416, { code: 'RANGE_NOT_SATISFIABLE', message: `The archive has ${served.bytes} bytes.` });
  }
  const { start, end } = range ?? { start: 0, end: served.bytes - 1 };
  const first = Math.floor(start / served.blockBytes) * served.blockBytes;
  const last = Math.min(served.bytes, (Math.floor(end / served.blockBytes) + 1) * served.blockBytes) - 1;
  const stream = request.method === 'HEAD' ? null : await storage.get(served.key, { start: first, end: last });
  const gone = () => stream?.destroy();
  response.once('close', gone);
  response.writeHead(range === null ? 200 : 206, {
    ...headers,
    'content-length': end - start + 1,
    ...(range === null ? {} : { 'content-range': `bytes ${start}-${end}/${served.bytes}` }),
  });
  if (stream === null) return void response.end();
  let at = first;
  for await (const block of checkedBlocks(stream, served, first)) {
    const part = block.subarray(Math.max(0, start - at), Math.min(block.length, end + 1 - at));
    at += block.length;
    if (!response.write(part)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
    if (response.destroyed) return;
  }
  response.end();
}

/** Whole blocks from `first` on, each equal to what was published. Throws where one is not, or is cut off. */
async function* checkedBlocks(stream: Readable, { bytes, blocks, blockBytes }: Served, first: number): AsyncGenerator<Buffer> {
  let at = first;
  let parts: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    let rest = chunk as Buffer; // a byte stream has no other chunks
    while (rest.length > 0) {
      const wanted = Math.min(blockBytes, bytes - at) - size;
      parts.push(rest.subarray(0, wanted));
      size += Math.min(wanted, rest.length);
      rest = rest.subarray(wanted);
      if (size < Math.min(blockBytes, bytes - at)) continue;
      const block = parts.length === 1 ? (parts[0] ?? Buffer.alloc(0)) : Buffer.concat(parts);
      const number = at / blockBytes;
      if (
        !createHash('sha256')
          .update(block)
          .digest()
          .equals(blocks.subarray(number * 32, number * 32 + 32))
      )
        throw new AlteredError();
      yield block;
      at += size;
      parts = [];
      size = 0;
    }
  }
  if (size > 0) throw new AlteredError();
}

class AlteredError extends Error {
  override readonly name = 'AlteredError';
  constructor() {
    super('what is in storage is not what was published');
  }
}

/** One range, as most clients ask for it; null for the whole, also where several are asked for or the archive is another by now. */
function rangeOf({ headers }: IncomingMessage, bytes: number, etag: string): { start: number; end: number } | 'unsatisfiable' | null {
  const [, from = '', to = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(headers.range ?? '') ?? [];
  if (from === '' && to === '') return null;
  if (headers['if-range'] !== undefined && headers['if-range'] !== etag) return null;
  const start = from === '' ? Math.max(0, bytes - Number(to)) : Number(from);
  const end = from === '' || to === '' ? bytes - 1 : Math.min(Number(to), bytes - 1);
  if (from !== '' && to !== '' && Number(to) < Number(from)) return null;
  return start > end ? 'unsatisfiable' : { start, end };
}

function refuse(response: ServerResponse, error: unknown, log: Log): void {
  if (response.headersSent) {
    if (!response.destroyed) log.error({ err: error }, 'a download was broken off');
    return void response.destroy();
  }
  if (error instanceof LinkError) return answer(response, 410, { code: error.code, message: error.message });
  if (error instanceof NotFoundError) return answer(response, 404, { code: error.code, message: error.message });
  log.error({ err: error }, 'a download failed');
  if (error instanceof StorageError && error.code === 'NO_SUCH_OBJECT')
    return answer(response, 410, { code: 'PACKAGE_GONE', message: 'The archive is no longer in storage. Republish the export.' });
  if (error instanceof StorageError)
    return answer(response, 503, { code: error.code, message: 'The archive cannot be read now. Try again later.' });
  answer(response, 500, { code: 'INTERNAL_ERROR', message: 'The download failed. Try again later.' });
}

function answer(response: ServerResponse, status: number, body: object): void {
  if (response.destroyed) return;
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end(JSON.stringify(body));
}
