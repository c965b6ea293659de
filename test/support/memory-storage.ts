// A storage for tests that need bytes and no disk.
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { type Storage, StorageError } from '../../src/storage/storage.ts';

export interface MemoryStorage extends Storage {
  /** How often `get` was called, whatever came of it. */
  readonly reads: { count: number };
}

export function memoryStorage(objects: Readonly<Record<string, Buffer>> = {}): MemoryStorage {
  const kept = new Map(Object.entries(objects));
  const reads = { count: 0 };
  return {
    reads,
    async put(key, body) {
      const bytes = await buffer(body);
      kept.set(key, bytes);
      return { bytes: bytes.length };
    },
    async get(key, range) {
      reads.count += 1;
      const bytes = kept.get(key);
      if (!bytes) throw new StorageError('NO_SUCH_OBJECT', `There is no ${key}.`);
      const part = range ? bytes.subarray(range.start, range.end + 1) : bytes;
      const chunks = Array.from({ length: Math.ceil(part.length / 65_536) }, (_, index) =>
        part.subarray(index * 65_536, (index + 1) * 65_536),
      );
      return Readable.from(chunks, { objectMode: false });
    },
    async size(key) {
      return kept.get(key)?.length ?? null;
    },
    async delete(key) {
      kept.delete(key);
    },
  };
}
