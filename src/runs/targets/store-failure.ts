// What a load fails with where it is not the data that are at fault.
import { type Failure, InvalidPackageError } from '../../errors.ts';
import { StorageError } from '../../storage/storage.ts';

/** Of the storage that a package is read from, or of the package as a file; null for every other error. */
export function sourceFailure(error: unknown): Failure | null {
  if (error instanceof StorageError)
    return { code: error.code, origin: 'storage', phase: 'reading', retryable: true, summary: error.message };
  const problem = error instanceof InvalidPackageError ? error.problems[0] : undefined;
  if (problem === undefined) return null;
  return { code: problem.code, origin: 'package', phase: 'reading', retryable: false, summary: problem.message };
}
