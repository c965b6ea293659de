// What the ways in beside GraphQL have in common: short answers in JSON, and clients that leave.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { GoneError, NotFoundError } from '../errors.ts';

/** Who does not read an answer holds something open. Long, because a slow client's buffers empty by the megabyte, and so it seems idle between. */
export const longestIdleMs = 300_000;

export function answer(response: ServerResponse, status: number, body: object): void {
  if (response.destroyed) return;
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end(JSON.stringify(body));
}

/** True where it came by another method than those, and was answered. */
export function refusedMethod(
  { method = '' }: IncomingMessage,
  response: ServerResponse,
  allowed: readonly string[],
  message: string,
): boolean {
  if (allowed.includes(method)) return false;
  response.setHeader('allow', allowed.join(', '));
  answer(response, 405, { code: 'METHOD_NOT_ALLOWED', message });
  return true;
}

/** True where it was one of the refusals that a signed link can meet, and was answered. */
export function refusedLink(response: ServerResponse, error: unknown): boolean {
  if (error instanceof GoneError) answer(response, 410, { code: error.code, message: error.message });
  else if (error instanceof NotFoundError) answer(response, 404, { code: error.code, message: error.message });
  else return false;
  return true;
}

/** What a stream says where the client has gone, or was sent away. */
export function isLeaving(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return ['ABORT_ERR', 'ECONNRESET', 'EPIPE', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_PREMATURE_CLOSE'].includes(code);
}
