// PUT on an upload URL: the bytes stream into storage, are judged, and kept or not.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ConflictError, InvalidInputError, InvalidPackageError, NotFoundError } from '../errors.ts';
import type { Log } from '../log.ts';
import { checkUploadUrl, type Packages, receivePackage } from '../packages/operations.ts';
import { StorageError } from '../storage/storage.ts';
import { answer } from './answers.ts';

const form = /^\/uploads\/([0-9a-f-]{36})$/;

export function isUpload(path: string): boolean {
  return path.startsWith('/uploads/');
}

export async function handleUpload(
  packages: Packages,
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
  log: Log,
): Promise<void> {
  try {
    if (request.method !== 'PUT') return answer(response, 405, { code: 'METHOD_NOT_ALLOWED', message: 'PUT the package here.' });
    const [, id] = form.exec(url.pathname) ?? [];
    if (id === undefined) throw new NotFoundError('upload');
    checkUploadUrl(packages, id, url.searchParams.get('expires') ?? '', url.searchParams.get('signature') ?? '');
    const declared = Number(request.headers['content-length'] ?? 0);
    if (declared > packages.limits.archiveBytes) {
      response.setHeader('connection', 'close'); // what is on its way is not read
      return answer(response, 413, {
        code: 'PACKAGE_TOO_LARGE',
        message: `The package is larger than ${packages.limits.archiveBytes} bytes.`,
      });
    }
    const { digest, bytes } = await receivePackage(packages, id, request);
    answer(response, 201, { digest, bytes });
  } catch (error) {
    refuse(response, error, log);
  }
}

function refuse(response: ServerResponse, error: unknown, log: Log): void {
  if (response.headersSent || response.destroyed) return;
  response.setHeader('connection', 'close');
  if (error instanceof NotFoundError) return answer(response, 404, { code: error.code, message: error.message });
  if (error instanceof ConflictError) return answer(response, 409, { code: error.code, message: error.message });
  if (error instanceof InvalidInputError) return answer(response, 400, { code: error.code, message: error.message });
  if (error instanceof InvalidPackageError) {
    const tooLarge = error.problems.some(({ code }) => code === 'PACKAGE_TOO_LARGE');
    return answer(response, tooLarge ? 413 : 422, { code: error.code, message: error.message, problems: error.problems });
  }
  log.error({ err: error }, 'an upload failed');
  if (error instanceof StorageError)
    return answer(response, 507, { code: error.code, message: 'The package could not be stored. Try again later.' });
  answer(response, 500, { code: 'INTERNAL_ERROR', message: 'The upload failed. Try again later.' });
}
