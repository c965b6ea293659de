import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { openArchive } from '../../src/packages/archive.ts';
import { defaultPackageLimits } from '../../src/packages/limits.ts';
import { packFolder } from '../../src/packages/pack.ts';
import { memoryStorage } from '../support/memory-storage.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function folderWith(files: Readonly<Record<string, unknown>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'packhorse-pack-'));
  folders.push(folder);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
  }
  return folder;
}

const descriptor = {
  resources: [
    { name: 'a', path: ['data/a1.csv', './data/a2.csv'], schema: 'schemas/a.json', dialect: 'dialect.json' },
    { name: 'b', path: 'b.csv.gz', schema: 'https://example.org/schema.json' },
    { name: 'c', path: 'https://example.org/c.csv' },
    { name: 'd', data: [] },
  ],
};
const files = {
  'datapackage.json': descriptor,
  'data/a1.csv': 'id\n1\n',
  'data/a2.csv': 'id\n2\n',
  'schemas/a.json': {},
  'dialect.json': {},
  'b.csv.gz': 'gz',
};

describe('a folder is packed', () => {
  it('with what the descriptor names and nothing else', async () => {
    const folder = folderWith({ ...files, '.env': 'SECRET=1', 'data/draft.csv': 'no', '.git/config': 'no' });
    const archive = await openArchive(memoryStorage({ zip: await buffer(await packFolder(folder)) }), 'zip', defaultPackageLimits);
    expect([...archive.entries.keys()]).toEqual(Object.keys(files).sort());
    expect(String(await buffer(await archive.read('data/a2.csv')))).toBe('id\n2\n');
  });

  it('to the same bytes each time, wherever and whenever', async () => {
    const first = await buffer(await packFolder(folderWith(files)));
    const other = folderWith(files);
    execFileSync('touch', ['-d', '2001-02-03', join(other, 'data/a1.csv')]);
    execFileSync('chmod', ['600', join(other, 'b.csv.gz')]);
    const zone = process.env.TZ;
    process.env.TZ = 'Pacific/Auckland';
    try {
      expect((await buffer(await packFolder(other))).equals(first)).toBe(true);
    } finally {
      if (zone === undefined) delete process.env.TZ;
      else process.env.TZ = zone;
    }
  });

  it('not without its files, each named', async () => {
    const folder = folderWith({
      'datapackage.json': descriptor,
      'data/a1.csv': 'id',
      'data/a2.csv': 'id',
      'schemas/a.json': {},
      'dialect.json/x': '',
    });
    await expect(packFolder(folder)).rejects.toMatchObject({
      problems: [
        { code: 'FILE_MISSING', pointer: '/resources/0/dialect', resource: 'a' },
        { code: 'FILE_MISSING', pointer: '/resources/1/path', resource: 'b' },
      ],
    });
  });

  it('not with a path that leaves it, nor with a link that does', async () => {
    const outside = folderWith({ secret: 'x' });
    const folder = folderWith({
      'datapackage.json': { resources: [{ path: join(outside, 'secret') }, { path: '../secret' }, { path: 'link' }] },
    });
    symlinkSync(join(outside, 'secret'), join(folder, 'link'));
    await expect(packFolder(folder)).rejects.toMatchObject({
      problems: [0, 1, 2].map((at) => ({ code: 'UNSAFE_PATH', pointer: `/resources/${at}/path` })),
    });
  });

  it('not without a descriptor that can be read', async () => {
    await expect(packFolder(folderWith({ 'datapackage.yml': 'x' }))).rejects.toMatchObject({ problems: [{ code: 'NO_DESCRIPTOR' }] });
    await expect(packFolder(folderWith({ 'datapackage.json': '{' }))).rejects.toMatchObject({
      problems: [{ code: 'DESCRIPTOR_NOT_JSON' }],
    });
  });
});
