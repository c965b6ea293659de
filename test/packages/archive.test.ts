import { buffer } from 'node:stream/consumers';
import { deflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { checkArchive, openArchive } from '../../src/packages/archive.ts';
import { defaultPackageLimits, type PackageLimits } from '../../src/packages/limits.ts';
import { StorageError } from '../../src/storage/storage.ts';
import { memoryStorage } from '../support/memory-storage.ts';
import { type ZipEntry, zipBytes } from './zip-bytes.ts';

const file: ZipEntry = { name: 'data/a.csv', content: 'a\n1\n' };

async function codesOf(zip: Buffer, limits: Partial<PackageLimits> = {}): Promise<string[]> {
  const problems = await checkArchive(memoryStorage({ zip }), 'zip', { ...defaultPackageLimits, ...limits });
  for (const { pointer, resource } of problems) expect([pointer, resource]).toEqual(['', null]);
  return problems.map(({ code }) => code);
}

async function readOne(zip: Buffer, path: string): Promise<string> {
  const archive = await openArchive(memoryStorage({ zip }), 'zip', defaultPackageLimits);
  return String(await buffer(await archive.read(path)));
}

describe('an archive is judged before anything of it is read', () => {
  it('accepts files, folders, stored and deflated', async () => {
    const entries = [
      { name: 'data/', mode: 0o040755 },
      { ...file, mode: 0o100644 },
      { name: 'b.csv', content: 'b\n'.repeat(9), deflate: true },
    ];
    expect(await codesOf(zipBytes(entries))).toEqual([]);
  });

  const unsafe: [string, ZipEntry][] = [
    ['leaves its folder', { name: 'data/../../outside.csv' }],
    ['names a sibling with the same beginning', { name: '../pkg-evil' }],
    ['is the parent', { name: '..' }],
    ['would be the parent on Windows', { name: 'a/.. /b' }],
    ['is absolute', { name: '/etc/passwd' }],
    ['has a drive letter', { name: 'C:/windows' }],
    ['has a drive letter and no slash', { name: 'c:evil' }],
    ['holds a backslash', { name: '..\\evil' }],
    ['holds percent-encoded dots', { name: 'data/%2e%2E/x' }],
    ['holds doubly encoded dots', { name: 'data/%252e%252e/x' }],
    ['holds a NUL', { name: 'a.csv\0.png' }],
    ['is empty', { name: '' }],
    ['is a symbolic link', { name: 'link', content: '/etc/passwd', mode: 0o120777 }],
    ['is a device', { name: 'null', mode: 0o020666 }],
    ['is a pipe', { name: 'pipe', mode: 0o010644 }],
    ['is a folder without a slash', { name: 'folder', mode: 0o040755 }],
    ['is a file with a slash', { name: 'file/', mode: 0o100644 }],
  ];
  it.each(unsafe)('refuses an entry that %s', async (_, entry) => {
    expect(await codesOf(zipBytes([file, entry]))).toEqual(['UNSAFE_ENTRY']);
  });

  const twins: [string, string, string][] = [
    ['equal', 'data/a.csv', 'data/a.csv'],
    ['equal but for case', 'data/a.csv', 'DATA/A.csv'],
    ['equal but for the way an accent is composed', 'caf\u00e9.csv', 'cafe\u0301.csv'],
    ['equal but for a dot', 'data/a.csv', './data//a.csv'],
    ['a file and a folder', 'data', 'data/'],
  ];
  it.each(twins)('refuses two names that are %s', async (_, one, other) => {
    expect(await codesOf(zipBytes([{ name: one }, { name: other }]))).toEqual(['DUPLICATE_ENTRY']);
  });

  it('refuses what is encrypted', async () => {
    expect(await codesOf(zipBytes([{ ...file, flags: 0x801 }]))).toEqual(['ENCRYPTED_ENTRY']);
    expect(await codesOf(zipBytes([{ ...file, flags: 0x841 }]))).toEqual(['ENCRYPTED_ENTRY']);
  });

  it('refuses a compression that it cannot expand', async () => {
    expect(await codesOf(zipBytes([{ ...file, method: 12 }]))).toEqual(['ENTRY_COMPRESSION_NOT_SUPPORTED']);
  });

  it('refuses too many entries without listing them', async () => {
    const zip = zipBytes(Array.from({ length: 5 }, (_, index) => ({ name: `${index}.csv` })));
    expect(await codesOf(zip, { entries: 5 })).toEqual([]);
    expect(await codesOf(zip, { entries: 4 })).toEqual(['TOO_MANY_ENTRIES']);
  });

  it('refuses what would expand beyond the limit, all entries together', async () => {
    const zip = zipBytes([
      { name: 'a', content: 'x'.repeat(600) },
      { name: 'b', content: 'x'.repeat(600) },
    ]);
    expect(await codesOf(zip, { expandedBytes: 1_200 })).toEqual([]);
    expect(await codesOf(zip, { expandedBytes: 1_199 })).toEqual(['ARCHIVE_TOO_LARGE']);
  });

  it('refuses an archive that is itself too large', async () => {
    const zip = zipBytes([file]);
    expect(await codesOf(zip, { archiveBytes: zip.length - 1 })).toEqual(['ARCHIVE_TOO_LARGE']);
  });

  it('refuses a bomb by its ratio, and no small file that compresses well', async () => {
    const bomb = { name: 'zeros.csv', content: Buffer.alloc(2 * 1024 ** 2), deflate: true };
    expect(await codesOf(zipBytes([bomb]))).toEqual(['COMPRESSION_RATIO_TOO_HIGH']);
    expect(await codesOf(zipBytes([{ ...bomb, content: Buffer.alloc(1024 ** 2) }]))).toEqual([]);
  });

  it('refuses entries that share bytes', async () => {
    const content = 'x'.repeat(1_000);
    expect(
      await codesOf(
        zipBytes([
          { name: 'a', content },
          { name: 'b', content, offset: 0 },
        ]),
      ),
    ).toEqual(['OVERLAPPING_ENTRIES']);
    expect(
      await codesOf(
        zipBytes([
          { name: 'a', content },
          { name: 'b', content, offset: 500 },
        ]),
      ),
    ).toEqual(['OVERLAPPING_ENTRIES']);
  });

  it('refuses an entry that reaches into the directory', async () => {
    expect(await codesOf(zipBytes([{ ...file, statedBytes: 1_000, statedCompressedBytes: 1_000 }]))).toEqual(['ARCHIVE_BROKEN']);
  });

  it('refuses a stored entry with two sizes', async () => {
    expect(await codesOf(zipBytes([{ ...file, statedBytes: 999 }]))).toEqual(['ARCHIVE_BROKEN']);
  });

  it('tells what is no zip from a zip that is broken', async () => {
    const zip = zipBytes([file, { name: 'b' }]);
    expect(await codesOf(Buffer.from('a,b\n1,2\n'))).toEqual(['NOT_A_ZIP']);
    expect(await codesOf(Buffer.alloc(0))).toEqual(['NOT_A_ZIP']);
    for (const length of [4, 60, zip.length - 22, zip.length - 1]) {
      expect(await codesOf(zip.subarray(0, length)), `cut to ${length}`).toEqual(['ARCHIVE_BROKEN']);
    }
    expect(await codesOf(zipBytes([file], 2))).toEqual(['ARCHIVE_BROKEN']);
    expect(await codesOf(Buffer.concat([zip, Buffer.from('more')]))).toEqual(['ARCHIVE_BROKEN']);
  });

  it('names everything at once', async () => {
    const codes = await codesOf(zipBytes([file, { name: '../a' }, { name: 'l', mode: 0o120777 }, file]));
    expect(codes).toEqual(['UNSAFE_ENTRY', 'UNSAFE_ENTRY', 'DUPLICATE_ENTRY']);
  });

  it('passes on that the object is not there', async () => {
    await expect(checkArchive(memoryStorage(), 'none', defaultPackageLimits)).rejects.toMatchObject({ code: 'NO_SUCH_OBJECT' });
  });

  it('does not blame the archive for a storage that fails', async () => {
    const storage = memoryStorage({ zip: zipBytes([file]) });
    const failing = { ...storage, get: () => Promise.reject(new StorageError('STORAGE_UNAVAILABLE', 'Away.')) };
    await expect(checkArchive(failing, 'zip', defaultPackageLimits)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    const short = { ...storage, get: (key: string) => storage.get(key, { start: 0, end: 3 }) };
    await expect(checkArchive(short, 'zip', defaultPackageLimits)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  });

  it('lists thousands of entries in a few reads', async () => {
    const storage = memoryStorage({
      zip: zipBytes(Array.from({ length: 5_000 }, (_, index) => ({ name: `data/${index}.csv`, content: 'x' }))),
    });
    expect(await checkArchive(storage, 'zip', defaultPackageLimits)).toEqual([]);
    expect(storage.reads.count).toBeLessThan(12);
  });
});

describe('an entry is checked while it is read', () => {
  it('gives its bytes, and its size beforehand', async () => {
    const content = 'id,name\n'.repeat(50_000);
    const zip = zipBytes([
      { name: 'a.csv', content, deflate: true },
      { name: 'b.csv', content },
      { name: 'empty.csv', deflate: true },
    ]);
    const archive = await openArchive(memoryStorage({ zip }), 'zip', defaultPackageLimits);
    expect(archive.entries.get('a.csv')).toEqual({ bytes: content.length });
    for (const path of ['a.csv', 'b.csv']) expect(String(await buffer(await archive.read(path)))).toBe(content);
    expect(String(await buffer(await archive.read('empty.csv')))).toBe('');
    await expect(archive.read('c.csv')).rejects.toMatchObject({ code: 'INVALID_PACKAGE' });
    archive.close();
  });

  const content = 'x'.repeat(100_000);
  const lies: [string, ZipEntry, RegExp][] = [
    ['expands to more than it states', { name: 'a', content, deflate: true, statedBytes: 10 }, /more bytes/],
    ['expands to less than it states', { name: 'a', content, deflate: true, statedBytes: 100_001 }, /fewer bytes/],
    ['has another checksum', { name: 'a', content, deflate: true, crc: 1 }, /checksum/],
    ['is stored with another checksum', { name: 'a', content, crc: 1 }, /checksum/],
    ['is empty with a checksum', { name: 'a', crc: 1 }, /checksum/],
    ['is not deflated data', { name: 'a', content, compressed: Buffer.alloc(50, 0xff), method: 8 }, /cannot be expanded/],
    ['is cut off', { name: 'a', content, compressed: deflateRawSync(content).subarray(0, 40), method: 8 }, /cannot be expanded/],
  ];
  it.each(lies)('fails for an entry that %s', async (_, entry, message) => {
    const failure = await readOne(zipBytes([entry, { name: 'b' }]), 'a').catch((error: unknown) => error);
    expect(failure).toMatchObject({
      name: 'InvalidPackageError',
      problems: [{ code: 'ENTRY_DAMAGED', message: expect.stringMatching(message) }],
    });
  });

  it('fails for an entry that is not where the directory says', async () => {
    const zip = zipBytes([{ name: 'a', content }]);
    zip.writeUInt8(0, 0);
    await expect(readOne(zip, 'a')).rejects.toThrow(/not where the archive says/);
  });

  it('stops expanding where the stated size is passed', async () => {
    // 64 MiB of zeros in 64 kB, which claim to be small enough for every limit.
    const bomb = deflateRawSync(Buffer.alloc(64 * 1024 ** 2));
    const before = process.memoryUsage().rss;
    await expect(readOne(zipBytes([{ name: 'a', compressed: bomb, method: 8, statedBytes: 512 }]), 'a')).rejects.toThrow(/more bytes/);
    expect(process.memoryUsage().rss - before).toBeLessThan(50 * 1024 ** 2);
  });

  it('does not open an archive that is not safe', async () => {
    const zip = zipBytes([{ name: 'datapackage.json', content: '{}' }, { name: '../a' }]);
    await expect(openArchive(memoryStorage({ zip }), 'zip', defaultPackageLimits)).rejects.toMatchObject({
      problems: [{ code: 'UNSAFE_ENTRY' }],
    });
  });

  it('lets a reader leave early', async () => {
    const zip = zipBytes([{ name: 'a', content, deflate: true }]);
    const archive = await openArchive(memoryStorage({ zip }), 'zip', defaultPackageLimits);
    const unread = await archive.read('a');
    unread.destroy();
    for await (const chunk of await archive.read('a')) {
      expect(chunk.length).toBeGreaterThan(0);
      break;
    }
  });

  it('tells a failing storage from a damaged entry', async () => {
    const storage = memoryStorage({ zip: zipBytes([{ name: 'a', content, deflate: true }]) });
    const archive = await openArchive(storage, 'zip', defaultPackageLimits);
    await storage.delete('zip');
    await expect(buffer(await archive.read('a'))).rejects.toMatchObject({ name: 'StorageError' });
  });
});

describe('the root of a package', () => {
  const paths = async (names: readonly string[]): Promise<string[]> => {
    const storage = memoryStorage({ zip: zipBytes(names.map((name) => ({ name }))) });
    return [...(await openArchive(storage, 'zip', defaultPackageLimits)).entries.keys()].sort();
  };

  it('is the one folder around everything, where the descriptor is in it', async () => {
    const names = ['x/', 'x/datapackage.json', 'x/data/a.csv', '__MACOSX/x/._a.csv', 'x/.DS_Store', '.DS_Store'];
    expect(await paths(names)).toEqual(['data/a.csv', 'datapackage.json']);
  });

  it('is the top otherwise', async () => {
    expect(await paths(['datapackage.json', 'x/datapackage.json'])).toEqual(['datapackage.json', 'x/datapackage.json']);
    expect(await paths(['x/datapackage.json', 'y/a.csv'])).toEqual(['x/datapackage.json', 'y/a.csv']);
    expect(await paths(['x/a.csv'])).toEqual(['x/a.csv']);
    expect(await paths(['xa/b', 'x/datapackage.json'])).toEqual(['x/datapackage.json', 'xa/b']);
  });
});
