// A storage for tests that need bytes and no disk.
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { checkKey, checkPrefix, checkRange } from '../../src/storage/checks.ts';
import { type Storage, StorageError } from '../../src/storage/storage.ts';

export interface MemoryStorage extends Storage {
  /** How often `get` was called, whatever came of it. */
  readonly reads: { count: number };
}

export function memoryStorage(objects: Readonly<Record<string, Buffer>> = {}): MemoryStorage {
  const kept = new Map(Object.entries(objects).map(([key, bytes]) => [key, { bytes, modifiedAt: new Date() }]));
  const reads = { count: 0 };
  return {
    reads,
    async put(key, body) {
      checkKey(key);
      const bytes = await buffer(body);
      kept.set(key, { bytes, modifiedAt: new Date() });
      return { bytes: bytes.length };
    },
    async get(key, range) {
      checkKey(key);
      if (range) checkRange(range);
      reads.count += 1;
      const bytes = kept.get(key)?.bytes;
      if (!bytes) throw new StorageError('NO_SUCH_OBJECT', `There is no ${key}.`);
      const part = range ? bytes.subarray(range.start, range.end + 1) : bytes;
      const chunks = Array.from({ length: Math.ceil(part.length / 65_536) }, (_, index) =>
        part.subarray(index * 65_536, (index + 1) * 65_536),
      );
      return Readable.from(chunks, { objectMode: false });
    },
    async size(key) {
      checkKey(key);
      return kept.get(key)?.bytes.length ?? null;
    },
    async delete(key) {
      checkKey(key);
      kept.delete(key);
    },
    async *list(prefix) {
      checkPrefix(prefix);
      for (const [key, { bytes, modifiedAt }] of kept) if (key.startsWith(prefix)) yield { key, bytes: bytes.length, modifiedAt };
    },
  };
}
