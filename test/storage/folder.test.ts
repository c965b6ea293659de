import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, describe, expect, it } from 'vitest';
import { folderStorage } from '../../src/storage/folder.ts';
import { storageContract } from './contract.ts';

function newFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'packhorse-storage-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A file system of 64 kB; null where this machine does not let us mount one. */
function smallDisk(): string | null {
  const folder = mkdtempSync(path.join(tmpdir(), 'packhorse-small-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder], { stdio: 'ignore' });
  } catch {
    rmSync(folder, { recursive: true });
    return null;
  }
  afterAll(() => {
    execFileSync('umount', [folder]);
    rmSync(folder, { recursive: true });
  });
  return folder;
}

const files = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) => (entry.isFile() ? [entry.name] : []));

storageContract('a folder', async () => folderStorage(newFolder()));

describe('a folder as storage', () => {
  it('has no file left of a body that broke off', async () => {
    const root = newFolder();
    const broken: Readable = new Readable({ read: () => broken.destroy(new Error('the sender is gone')) });
    await expect(folderStorage(root).put('a/b', broken)).rejects.toThrow('the sender is gone');
    expect(files(root)).toEqual([]);
  });

  it('removes what a killed process left, but nothing recent', async () => {
    const root = newFolder();
    mkdirSync(path.join(root, '.incoming'));
    writeFileSync(path.join(root, '.incoming/old'), 'x');
    writeFileSync(path.join(root, '.incoming/recent'), 'x');
    utimesSync(path.join(root, '.incoming/old'), new Date(0), new Date(0));
    await folderStorage(root).put('object', Readable.from([Buffer.from('x')]));
    expect(files(root).sort()).toEqual(['object', 'recent']);
  });

  it('lists nothing that is half written, or that no key could name', async () => {
    const root = newFolder();
    mkdirSync(path.join(root, '.incoming'));
    writeFileSync(path.join(root, '.incoming/half'), 'x');
    writeFileSync(path.join(root, 'not a key'), 'x');
    writeFileSync(path.join(root, 'object'), 'x');
    const keys = [];
    for await (const { key } of folderStorage(root).list('')) keys.push(key);
    expect(keys).toEqual(['object']);
  });

  it('says that it cannot be used where its root is no folder', async () => {
    const file = path.join(newFolder(), 'file');
    writeFileSync(file, '');
    await expect(folderStorage(file).put('object', Readable.from([Buffer.from('x')]))).rejects.toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
    });
  });

  const small = smallDisk();
  it.skipIf(small === null)('says that it is full, keeps what it has and leaves nothing', async () => {
    const storage = folderStorage(small!);
    await storage.put('first', Readable.from([Buffer.alloc(10_000)]));
    await expect(storage.put('second', Readable.from([Buffer.alloc(30_000), Buffer.alloc(60_000)]))).rejects.toMatchObject({
      name: 'StorageError',
      code: 'STORAGE_FULL',
    });
    expect(files(small!)).toEqual(['first']);
  });
});
