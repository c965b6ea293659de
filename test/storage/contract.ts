// What every storage must do. Run over each of them.
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import type { Storage } from '../../src/storage/storage.ts';

export function storageContract(name: string, make: () => Promise<Storage>): void {
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
