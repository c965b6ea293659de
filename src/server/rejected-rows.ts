// GET on a link to the rows that a run left out. They are packed while they are sent, so their length is not known before.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { Log } from '../log.ts';
import type { Packages } from '../packages/operations.ts';
import { openRejectedRows } from '../runs/rejected-rows.ts';
import { answer, isLeaving, longestIdleMs, refusedLink, refusedMethod } from './answers.ts';

export function isRejectedRows(path: string): boolean {
  return path.startsWith('/rejected-rows/');
}

export async function handleRejectedRows(
  packages: Packages,
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
  log: Log,
): Promise<void> {
  try {
    if (refusedMethod(request, response, ['GET'], 'GET the rows here.')) return;
    const archive = await openRejectedRows(packages, url.pathname + url.search);
    response.setTimeout(longestIdleMs, () => response.destroy());
    const name = url.pathname.slice(url.pathname.lastIndexOf('/') + 1, -'.zip'.length);
    response.writeHead(200, {
      'cache-control': 'private, no-store',
      'content-disposition': `attachment; filename="${name}-rejected-rows.zip"`,
      'content-type': 'application/zip',
      'x-content-type-options': 'nosniff',
    });
    await pipeline(archive, response);
  } catch (error) {
    if (isLeaving(error)) return void response.destroy();
    if (response.headersSent) {
      log.error({ err: error }, 'rejected rows were broken off');
      return void response.destroy(); // in the middle of a chunk: no client takes that for the end
    }
    if (refusedLink(response, error)) return;
    log.error({ err: error }, 'rejected rows could not be given');
    answer(response, 500, { code: 'INTERNAL_ERROR', message: 'The rows cannot be read. Try again later.' });
  }
}
