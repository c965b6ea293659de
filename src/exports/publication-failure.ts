// Why an export could not be published, as its package keeps it.
import type { Failure } from '../errors.ts';
import { StorageError } from '../storage/storage.ts';

/** What was generated again is not what the execution recorded: a fault of ours, or rows that were changed behind our back. */
export class DigestChanged extends Error {
  override readonly name = 'DigestChanged';
}

export function publicationFailure(error: unknown): Failure {
  if (error instanceof StorageError)
    return failure(
      error.code,
      'storage',
      `The package could not be stored: ${error.message}. Mend the storage, then republish the export; nothing was lost.`,
    );
  if (error instanceof DigestChanged)
    return failure(
      'DIGEST_CHANGED',
      'system',
      'Generated again from its cutoff, the export has another digest than was recorded. It is not published.',
    );
  const [code] = /^E[A-Z]+$/.exec(error instanceof Error && 'code' in error ? String(error.code) : '') ?? [];
  if (code !== undefined) {
    const isFull = ['ENOSPC', 'EDQUOT', 'EFBIG'].includes(code);
    const summary = `The disk that exports are written to cannot be used (${code}). Mend it, then republish the export; nothing was lost.`;
    return failure(isFull ? 'STORAGE_FULL' : 'STORAGE_UNAVAILABLE', 'storage', summary);
  }
  return failure(
    'INTERNAL_ERROR',
    'system',
    'Publishing stopped on an unexpected fault. It stands in the server’s log under this execution.',
  );
}

function failure(code: string, origin: Failure['origin'], summary: string): Failure {
  return { code, origin, phase: 'publishing', retryable: true, summary };
}
