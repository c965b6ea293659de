// What every storage must do. Run over each of them.
import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import type { Storage } from '../../src/storage/storage.ts';

async function keysOf(storage: Storage, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of storage.list(prefix)) keys.push(key);
  return keys.sort();
}

export interface ContractOptions {
  /** False where what is kept is kept in memory. */
  readonly streams?: boolean;
}

export function storageContract(name: string, make: () => Promise<Storage>, { streams = true }: ContractOptions = {}): void {
  describe(`${name} keeps the contract of a storage`, () => {
    it('gives back what was put', async () => {
      const storage = await make();
      const body = randomBytes(300_000);
      expect(await storage.put('a/b/c.zip', Readable.from([body.subarray(0, 5), body.subarray(5)]))).toEqual({ bytes: body.length });
      expect(await buffer(await storage.get('a/b/c.zip'))).toEqual(body);
      expect(await storage.size('a/b/c.zip')).toBe(body.length);
    });

    it('gives a range of bytes, both ends included', async () => {
      const storage = await make();
      await storage.put('digits', Readable.from([Buffer.from('0123456789')]));
      expect(String(await buffer(await storage.get('digits', { start: 2, end: 4 })))).toBe('234');
      expect(String(await buffer(await storage.get('digits', { start: 9, end: 9 })))).toBe('9');
    });

    it('leaves out what lies past the end', async () => {
      const storage = await make();
      await storage.put('digits', Readable.from([Buffer.from('0123456789')]));
      expect(String(await buffer(await storage.get('digits', { start: 8, end: 20 })))).toBe('89');
      expect(String(await buffer(await storage.get('digits', { start: 10, end: 20 })))).toBe('');
    });

    it.each([
      { start: 4, end: 3 },
      { start: -1, end: 3 },
      { start: 0.5, end: 3 },
      { start: 0, end: Number.NaN },
    ])('refuses %j as a range', async (range) => {
      const storage = await make();
      await storage.put('digits', Readable.from([Buffer.from('0123456789')]));
      await expect(storage.get('digits', range)).rejects.toThrow('not a range of bytes');
    });

    it('lists what is below a prefix', async () => {
      const storage = await make();
      expect(await keysOf(storage, '')).toEqual([]);
      const before = Date.now();
      for (const key of ['exports/a/1.zip', 'exports/a/2.zip', 'exports/ab/1.zip', 'exports-old', 'packages/a']) {
        await storage.put(key, Readable.from([Buffer.from(key)]));
      }
      expect(await keysOf(storage, '')).toEqual(['exports-old', 'exports/a/1.zip', 'exports/a/2.zip', 'exports/ab/1.zip', 'packages/a']);
      expect(await keysOf(storage, 'exports/')).toEqual(['exports/a/1.zip', 'exports/a/2.zip', 'exports/ab/1.zip']);
      expect(await keysOf(storage, 'exports/a/')).toEqual(['exports/a/1.zip', 'exports/a/2.zip']);
      expect(await keysOf(storage, 'exports/a')).toEqual(['exports/a/1.zip', 'exports/a/2.zip', 'exports/ab/1.zip']);
      expect(await keysOf(storage, 'exports/a/1.zip')).toEqual(['exports/a/1.zip']);
      expect(await keysOf(storage, 'nothing/here')).toEqual([]);
      for await (const { key, bytes, modifiedAt } of storage.list('')) {
        expect(bytes).toBe(key.length);
        expect(Math.abs(modifiedAt.getTime() - before)).toBeLessThan(600_000);
      }
    });

    it('lists an object until it is deleted', async () => {
      const storage = await make();
      await storage.put('a/b', Readable.from([Buffer.from('x')]));
      await storage.put('a/c', Readable.from([Buffer.from('x')]));
      await storage.delete('a/b');
      expect(await keysOf(storage, 'a/')).toEqual(['a/c']);
    });

    it.each(['/', '../', 'a//', 'a/../b/', '.incoming/', 'a b'])('refuses to list below %j', async (prefix) => {
      await expect(keysOf(await make(), prefix)).rejects.toThrow('not the beginning of a storage key');
    });

    it('keeps one of the bodies that are put under one key at once', async () => {
      const storage = await make();
      const bodies = [1, 2, 3, 4].map((byte) => Buffer.alloc(3_000_000 + byte, byte));
      await Promise.all(bodies.map((body) => storage.put('contended', Readable.from([body.subarray(0, 9), body.subarray(9)]))));
      const kept = await buffer(await storage.get('contended'));
      expect(bodies.some((body) => body.equals(kept))).toBe(true);
      expect(await keysOf(storage, '')).toEqual(['contended']);
    });

    it.runIf(streams)('takes and gives what is larger than its memory', { timeout: 300_000 }, async () => {
      const storage = await make();
      const total = 400 * 1_048_576;
      const hash = createHash('md5');
      let highest = 0;
      const heldNow = () => process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed;
      const before = heldNow();
      const look = () => {
        highest = Math.max(highest, heldNow() - before);
      };
      const body = async function* () {
        for (let at = 0; at < total; at += 1_048_576) {
          const chunk = Buffer.alloc(1_048_576, at % 251);
          hash.update(chunk);
          look();
          yield chunk;
        }
      };
      expect(await storage.put('large', Readable.from(body(), { objectMode: false }))).toEqual({ bytes: total });
      expect(await storage.size('large')).toBe(total);
      const read = createHash('md5');
      for await (const chunk of await storage.get('large')) {
        read.update(chunk);
        look();
      }
      expect(read.digest('hex')).toBe(hash.digest('hex'));
      expect(highest).toBeLessThan(150 * 1_048_576);
      await storage.delete('large');
    });

    it('keeps an empty object', async () => {
      const storage = await make();
      expect(await storage.put('empty', Readable.from([]))).toEqual({ bytes: 0 });
      expect(await storage.size('empty')).toBe(0);
      expect((await buffer(await storage.get('empty'))).length).toBe(0);
    });

    it('replaces an object whole', async () => {
      const storage = await make();
      await storage.put('twice', Readable.from([Buffer.from('a long first version')]));
      await storage.put('twice', Readable.from([Buffer.from('second')]));
      expect(String(await buffer(await storage.get('twice')))).toBe('second');
    });

    it('says that there is no such object', async () => {
      const storage = await make();
      await storage.put('folder/object', Readable.from([Buffer.from('x')]));
      for (const key of ['nothing', 'folder', 'folder/object/below']) {
        expect(await storage.size(key)).toBeNull();
        await expect(storage.get(key)).rejects.toMatchObject({ name: 'StorageError', code: 'NO_SUCH_OBJECT' });
      }
    });

    it('deletes, and does not mind what is gone', async () => {
      const storage = await make();
      await storage.put('gone', Readable.from([Buffer.from('x')]));
      await storage.delete('gone');
      await storage.delete('gone');
      expect(await storage.size('gone')).toBeNull();
    });

    it('leaves nothing of a body that breaks off, and passes its error on', async () => {
      const storage = await make();
      const broken = Readable.from(
        (async function* () {
          yield Buffer.from('half');
          throw new Error('the sender is gone');
        })(),
      );
      await expect(storage.put('half', broken)).rejects.toThrow('the sender is gone');
      expect(await storage.size('half')).toBeNull();

      const aborted = new Readable({ read() {} });
      aborted.push('half');
      const putting = storage.put('half', aborted);
      setImmediate(() => aborted.destroy());
      await expect(putting).rejects.toThrow();
      expect(await storage.size('half')).toBeNull();
    });

    it('hears of a body that breaks off before it is read', async () => {
      const storage = await make();
      const body = new Readable({ read() {} });
      // Out of a callback the error is emitted before any promise that the storage waits for goes on.
      const putting = new Promise((resolve) => {
        setImmediate(() => {
          resolve(storage.put('half', body));
          body.destroy(new Error('the sender is gone'));
        });
      });
      await expect(putting).rejects.toThrow('the sender is gone');
      expect(await storage.size('half')).toBeNull();
    });

    it('leaves nothing of a large body that breaks off', async () => {
      const storage = await make();
      const broken = Readable.from(
        (async function* () {
          for (let at = 0; at < 20; at++) yield Buffer.alloc(1_048_576);
          throw new Error('the sender is gone');
        })(),
      );
      await expect(storage.put('half', broken)).rejects.toThrow('the sender is gone');
      expect(await storage.size('half')).toBeNull();
      expect(broken.destroyed).toBe(true);
      expect(await keysOf(storage, '')).toEqual([]);
    });

    it('keeps the object that was there when its replacement breaks off', async () => {
      const storage = await make();
      await storage.put('kept', Readable.from([Buffer.from('whole')]));
      const broken = new Readable({ read: () => broken.destroy(new Error('the sender is gone')) });
      await expect(storage.put('kept', broken)).rejects.toThrow('the sender is gone');
      expect(String(await buffer(await storage.get('kept')))).toBe('whole');
    });

    it.each(['', '/etc/passwd', '../up', 'a/../../up', 'a//b', 'a/', './a', 'a/.b', 'a\\b', 'a\0b', 'a b', `${'a'.repeat(300)}`])(
      'refuses %j as a key',
      async (key) => {
        const storage = await make();
        await expect(storage.put(key, Readable.from([Buffer.from('x')]))).rejects.toThrow('not a storage key');
        await expect(storage.get(key)).rejects.toThrow('not a storage key');
        await expect(storage.size(key)).rejects.toThrow('not a storage key');
        await expect(storage.delete(key)).rejects.toThrow('not a storage key');
      },
    );
  });
}
