// Storage in a folder of the local file system.
import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, rename, rm, stat, unlink } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { checkKey, checkPrefix, checkRange, isKey } from './checks.ts';
import { type Storage, StorageError, type StoredObject } from './storage.ts';

const abandonedMs = 24 * 3_600_000;
/** Read at once: a block of an export. With Node's own 64 KiB, downloads cost the processor half as much again. */
const readBytes = 1_048_576;

export function folderStorage(root: string): Storage {
  const incoming = path.join(root, '.incoming');
  let swept: Promise<void> | undefined;

  function place(key: string): string {
    checkKey(key);
    return path.join(root, key);
  }

  return {
    async put(key, body) {
      const target = place(key);
      const draft = path.join(incoming, randomUUID());
      body.on('error', () => {}); // one that comes before the body is read has no other listener; reading reports it
      try {
        await storing(mkdir(incoming, { recursive: true }));
        swept ??= sweep(incoming);
        await swept;
        const bytes = await writeDraft(draft, body);
        await storing(publish(draft, target, root));
        return { bytes };
      } catch (error) {
        body.destroy();
        await rm(draft, { force: true }).catch(() => {}); // what is left, a later sweep removes
        throw error;
      }
    },

    async get(key, range) {
      const file = place(key);
      if (range) checkRange(range);
      let handle: FileHandle | undefined;
      try {
        handle = await open(file, 'r');
        if (!(await handle.stat()).isFile()) throw new StorageError('NO_SUCH_OBJECT', `there is no object ${key}`);
        return handle.createReadStream({ ...range, highWaterMark: readBytes }); // closes the handle when it ends or is destroyed
      } catch (error) {
        await handle?.close();
        throw isAbsence(error) ? new StorageError('NO_SUCH_OBJECT', `there is no object ${key}`, { cause: error }) : failure(error);
      }
    },

    async size(key) {
      const found = await unlessGone(stat(place(key)), null);
      return found?.isFile() ? found.size : null;
    },

    async delete(key) {
      try {
        await unlink(place(key));
      } catch (error) {
        if (!isAbsence(error)) throw failure(error);
      }
    },

    async *list(prefix) {
      checkPrefix(prefix);
      yield* below(root, prefix.slice(0, prefix.lastIndexOf('/') + 1), prefix);
    },
  };
}

/** `folder` is relative to the root, and ends with a slash where it is not the root itself. */
async function* below(root: string, folder: string, prefix: string): AsyncGenerator<StoredObject> {
  for (const entry of await unlessGone(readdir(path.join(root, folder), { withFileTypes: true }), [])) {
    const key = folder + entry.name;
    if (!isKey(key)) continue;
    if (entry.isDirectory() && `${key}/`.startsWith(prefix)) yield* below(root, `${key}/`, prefix);
    if (!entry.isFile() || !key.startsWith(prefix)) continue;
    const found = await unlessGone(stat(path.join(root, key)), null);
    if (found !== null) yield { key, bytes: found.size, modifiedAt: found.mtime };
  }
}

async function unlessGone<T, E>(work: Promise<T>, otherwise: E): Promise<T | E> {
  try {
    return await work;
  } catch (error) {
    if (isAbsence(error)) return otherwise;
    throw failure(error);
  }
}

/** An error of the body itself passes through as it is: it is not the storage that failed. */
async function writeDraft(draft: string, body: Readable): Promise<number> {
  const handle = await storing(open(draft, 'wx', 0o600));
  try {
    let bytes = 0;
    for await (const chunk of body) {
      const buffer = typeof chunk === 'string' ? Buffer.from(chunk) : (chunk as Uint8Array); // a byte stream has no other chunks
      for (let at = 0; at < buffer.length; ) {
        at += (await storing(handle.write(buffer, at))).bytesWritten;
      }
      bytes += buffer.length;
    }
    await storing(handle.sync());
    return bytes;
  } finally {
    await handle.close();
  }
}

/** Durable in this order: the bytes were synced before, then the name, then the folders that lead to it. */
async function publish(draft: string, target: string, root: string): Promise<void> {
  const folder = path.dirname(target);
  const made = await mkdir(folder, { recursive: true });
  await rename(draft, target);
  const top = made === undefined ? folder : root;
  for (let at = folder; ; at = path.dirname(at)) {
    const handle = await open(at, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (at === top) return;
  }
}

/** Removes what a process that was killed left half written. Others may be writing to the same folder, so only what is old. */
async function sweep(incoming: string): Promise<void> {
  for (const name of await storing(readdir(incoming))) {
    const file = path.join(incoming, name);
    const found = await stat(file).catch(() => null);
    if (found !== null && found.mtimeMs < Date.now() - abandonedMs) await rm(file, { force: true }).catch(() => {});
  }
}

async function storing<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw failure(error);
  }
}

function isAbsence(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(codeOf(error));
}

function failure(error: unknown): unknown {
  if (error instanceof StorageError || codeOf(error) === '') return error;
  return ['ENOSPC', 'EDQUOT'].includes(codeOf(error))
    ? new StorageError('STORAGE_FULL', 'the storage is full', { cause: error })
    : new StorageError('STORAGE_UNAVAILABLE', `the storage cannot be used (${codeOf(error)})`, { cause: error });
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
