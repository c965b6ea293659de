// What remote jobs ask of us: GET their data, POST that there is news. The URLs are signed, and no token is looked at.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { Log } from '../log.ts';
import type { Packages } from '../packages/operations.ts';
import { answerCallback, openJobData } from '../runs/job-requests.ts';
import { StorageError } from '../storage/storage.ts';
import { answer, longestIdleMs, refusedLink, refusedMethod } from './answers.ts';

const contentTypes = { csv: 'text/csv', json: 'application/json', ndjson: 'application/x-ndjson' } as const;

export function isJobLink(path: string): boolean {
  return path.startsWith('/jobs/');
}

export async function handleJobLink(
  packages: Packages,
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
  log: Log,
): Promise<void> {
  try {
    const target = url.pathname + url.search;
    const isCallback = url.pathname.endsWith('/callback');
    const method = isCallback ? 'POST' : 'GET';
    if (refusedMethod(request, response, [method], `Only ${method} is answered here.`)) return;
    if (isCallback) {
      request.resume(); // nothing that it may say is looked at
      await answerCallback(packages, target);
      return void response.writeHead(202).end();
    }
    const { dataset, stream } = await openJobData(packages, target);
    response.setTimeout(longestIdleMs, () => response.destroy());
    response.writeHead(200, {
      'cache-control': 'private, no-store',
      'content-length': dataset.bytes,
      'content-type': dataset.gzip ? 'application/gzip' : contentTypes[dataset.format],
      'x-content-type-options': 'nosniff',
    });
    await pipeline(stream, response);
  } catch (error) {
    refuse(response, error, log);
  }
}

function refuse(response: ServerResponse, error: unknown, log: Log): void {
  if (response.headersSent || response.destroyed) {
    log.warn({ err: error }, 'a job read its data and got no further');
    return void response.destroy(); // short of the length that was stated
  }
  if (refusedLink(response, error)) return;
  log.error({ err: error }, 'a job could not be given its data');
  if (error instanceof StorageError)
    return answer(response, 503, { code: error.code, message: 'The data cannot be read now. Try again later.' });
  answer(response, 500, { code: 'INTERNAL_ERROR', message: 'The data cannot be read. Try again later.' });
}
