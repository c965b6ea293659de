// GET on a download link: the archive, whole or a range of it. No byte is sent of a block that is not what was published: the answer
// breaks off instead, short of the length that it stated.
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { AlteredError, archiveOf, checkedBlocks, type PublishedArchive } from '../exports/checked-blocks.ts';
import { followLink } from '../exports/links.ts';
import type { Exports } from '../exports/operations.ts';
import type { ExportPackage } from '../generated/prisma/client.ts';
import type { Log } from '../log.ts';
import { type Storage, StorageError } from '../storage/storage.ts';
import { answer, isLeaving, longestIdleMs, refusedLink, refusedMethod } from './answers.ts';

export function isDownload(path: string): boolean {
  return path.startsWith('/exports/');
}

export async function handleDownload(
  exports: Exports,
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
  log: Log,
  idleMs = longestIdleMs,
): Promise<void> {
  let packageId: string | null = null;
  try {
    if (refusedMethod(request, response, ['GET', 'HEAD'], 'GET the archive here.')) return;
    const held = await followLink(exports.db, exports.links, url.pathname + url.search);
    packageId = held.id;
    response.setTimeout(idleMs, () => response.destroy());
    await send(exports.storage, held, url, request, response);
  } catch (error) {
    refuse(response, error, log, packageId);
  }
}

async function send(storage: Storage, held: ExportPackage, url: URL, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const archive = archiveOf(held);
  const etag = `"${held.digest}"`;
  const name = url.pathname.slice(url.pathname.lastIndexOf('/') + 1, -'.zip'.length);
  const headers = {
    'accept-ranges': 'bytes',
    'cache-control': 'private, no-store',
    'content-disposition': `attachment; filename="${name}-${held.publishedAt?.toISOString().slice(0, 10)}.zip"`,
    'content-type': 'application/zip',
    etag,
    'x-content-type-options': 'nosniff',
  };
  if (request.method === 'HEAD') {
    await refuseUnlessWhole(storage, archive);
    return void response.writeHead(200, { ...headers, 'content-length': archive.bytes }).end();
  }
  const range = rangeOf(request, archive.bytes, etag);
  if (range === 'unsatisfiable') {
    response.setHeader('content-range', `bytes */${archive.bytes}`);
    return answer(response, 416, { code: 'RANGE_NOT_SATISFIABLE', message: `The archive has ${archive.bytes} bytes.` });
  }
  const { start, end } = range ?? { start: 0, end: archive.bytes - 1 };
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  if (response.destroyed) return;
  const parts = cut(checkedBlocks(storage, archive, { start, end }, gone.signal), start % archive.blockBytes, end - start + 1);
  await begin(parts, response, range === null ? 200 : 206, {
    ...headers,
    'content-length': end - start + 1,
    ...(range === null ? {} : { 'content-range': `bytes ${start}-${end}/${archive.bytes}` }),
  });
  await pipeline(parts, response);
}

/** Says nothing before the first part is there, so that a fault can be said instead. A function of its own, or the part is held to the end. */
async function begin(parts: AsyncGenerator<Buffer>, response: ServerResponse, status: number, headers: OutgoingHttpHeaders): Promise<void> {
  const first = await parts.next();
  response.writeHead(status, headers);
  if (!first.done) response.write(first.value);
}

/** Without what comes before, and not more than so many bytes. */
async function* cut(blocks: AsyncIterable<Buffer>, before: number, bytes: number): AsyncGenerator<Buffer> {
  let from = before;
  let left = bytes;
  for await (const block of blocks) {
    const part = block.subarray(from, from + left);
    yield part;
    from = 0;
    left -= part.length;
  }
}

async function refuseUnlessWhole(storage: Storage, { key, bytes }: PublishedArchive): Promise<void> {
  const size = await storage.size(key);
  if (size === null) throw new StorageError('NO_SUCH_OBJECT', `there is no object ${key}`);
  if (size !== bytes) throw new AlteredError();
}

/** One range, as most clients ask for it; null for the whole, also where several are asked for or the archive is another by now. */
function rangeOf({ headers }: IncomingMessage, bytes: number, etag: string): { start: number; end: number } | 'unsatisfiable' | null {
  const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/i.exec(headers.range ?? '') ?? [];
  if (from === '' && to === '') return null;
  if (headers['if-range'] !== undefined && headers['if-range'] !== etag) return null;
  if (from !== '' && to !== '' && Number(to) < Number(from)) return null;
  const start = from === '' ? Math.max(0, bytes - Number(to)) : Number(from);
  const end = from === '' || to === '' ? bytes - 1 : Math.min(Number(to), bytes - 1);
  return start > end ? 'unsatisfiable' : { start, end };
}

function refuse(response: ServerResponse, error: unknown, log: Log, packageId: string | null): void {
  if (isLeaving(error)) return void response.destroy();
  if (response.headersSent) {
    log.error({ err: error, packageId }, 'a download was broken off');
    return void response.destroy();
  }
  if (refusedLink(response, error)) return;
  log.error({ err: error, packageId }, 'a download failed');
  if (error instanceof StorageError && error.code === 'NO_SUCH_OBJECT')
    return answer(response, 410, { code: 'PACKAGE_GONE', message: 'The archive is no longer in storage. Request a new export.' });
  if (error instanceof StorageError)
    return answer(response, 503, { code: error.code, message: 'The archive cannot be read now. Try again later.' });
  if (error instanceof AlteredError) {
    const message = 'What is in storage is not what was published, so it is not given out. Request a new export.';
    return answer(response, 500, { code: 'PACKAGE_ALTERED', message });
  }
  answer(response, 500, { code: 'INTERNAL_ERROR', message: 'The download failed. Try again later.' });
}
