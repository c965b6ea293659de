// Where staged and published files are kept. One implementation a kind of place; keys are relative, with forward slashes.
import type { Readable } from 'node:stream';

export interface Storage {
  /** Writes the whole stream under the key, durably, or leaves nothing. Rejects with StorageError, or with the error of the body as it is. */
  put(key: string, body: Readable): Promise<{ bytes: number }>;
  /**
   * A stream of the object, or of bytes `start`..`end` of it, both inclusive; what lies past its end is left out. Rejects with
   * StorageError NO_SUCH_OBJECT. The stream fails where it breaks off, and may where it is not read for half a minute.
   */
  get(key: string, range?: { start: number; end: number }): Promise<Readable>;
  /** Its size in bytes, or null where there is none. */
  size(key: string): Promise<number | null>;
  /** Deleting what is not there is no error. */
  delete(key: string): Promise<void>;
  /** All whose keys begin with the prefix, in no order; '' is everything. What comes or goes meanwhile may be in it or not. */
  list(prefix: string): AsyncIterable<StoredObject>;
}

export interface StoredObject {
  readonly key: string;
  readonly bytes: number;
  readonly modifiedAt: Date;
}

export class StorageError extends Error {
  override readonly name = 'StorageError';
  readonly code: 'NO_SUCH_OBJECT' | 'STORAGE_FULL' | 'STORAGE_UNAVAILABLE';
  constructor(code: StorageError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
