// The zip as other programs read it, and what becomes of it where writing fails.
import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { crc32 } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { type Entry, openPromise } from 'yauzl';
import { type ArchiveEntry, deflatedEntry, writeArchive, type ZipLimits } from '../../src/exports/archive/zip.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'packhorse-archive-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const never = new AbortController().signal;

const contents = new Map<string, Buffer>([
  ['datapackage.json', Buffer.from('{}\n')],
  ['data/Wörter 語.csv', Buffer.from('id,word\n'.repeat(5_000))],
  ['data/empty.csv', Buffer.alloc(0)],
  ['data/noise.parquet', randomBytes(40_000)],
]);

function stored(name: string, content: Buffer): ArchiveEntry {
  const bytes = content.length;
  return { path: name, crc32: crc32(content), bytes, compressedBytes: bytes, method: 0, open: () => Readable.from([content]) };
}

function entriesOf(files: ReadonlyMap<string, Buffer>): ArchiveEntry[] {
  return [...files].map(([name, content]) => (name.endsWith('.parquet') ? stored(name, content) : deflatedEntry(name, content)));
}

async function read(file: string): Promise<{ entries: Entry[]; files: Map<string, Buffer> }> {
  const zip = await openPromise(file, { autoClose: false, strictFileNames: true });
  const entries: Entry[] = [];
  const files = new Map<string, Buffer>();
  for await (const entry of zip.eachEntry()) {
    entries.push(entry);
    files.set(entry.fileName, await buffer(await zip.openReadStreamPromise(entry)));
  }
  zip.close();
  return { entries, files };
}

const python = `
import sys, zipfile, hashlib
z = zipfile.ZipFile(sys.argv[1])
assert z.testzip() is None
for i in z.infolist(): print(i.filename, i.date_time[0], oct(i.external_attr >> 16), hashlib.sha256(z.read(i)).hexdigest())`;
const sha256 = (content: Buffer) => createHash('sha256').update(content).digest('hex');
const has = (program: string, args: readonly string[]) => spawnSync(program, args).status === 0;

const limitsOf: readonly (readonly [string, ZipLimits | undefined])[] = [
  ['plain', undefined],
  ['zip64 by sizes', { size: 1_000, entries: 0xffff }],
  ['zip64 by count', { size: 0xffff_ffff, entries: 2 }],
  ['zip64 for everything', { size: 0, entries: 0 }],
];

describe.each(limitsOf)('an archive, %s,', (name, limits) => {
  const file = path.join(folder, `${name}.zip`);

  it('is read by yauzl as it was given, in the order given', async () => {
    const written = await writeArchive(file, entriesOf(contents), never, 1_000, limits);
    const { entries, files } = await read(file);
    expect([...files]).toEqual([...contents]);
    for (const entry of entries) {
      expect(entry.generalPurposeBitFlag).toBe(0x0800);
      expect(entry.getLastModDate({ forceDosFormat: true, timezone: 'UTC' }).toISOString()).toBe('2000-01-01T00:00:00.000Z');
    }
    const bytes = readFileSync(file);
    expect(written).toMatchObject({ bytes: bytes.length, sha256: sha256(bytes) });
    const blocks = Array.from({ length: Math.ceil(bytes.length / 1_000) }, (_, index) =>
      createHash('sha256')
        .update(bytes.subarray(index * 1_000, index * 1_000 + 1_000))
        .digest(),
    );
    expect(written.blocks).toEqual(Buffer.concat(blocks));
  });

  it.runIf(has('unzip', ['-v']))('is whole for unzip', async () => {
    await writeArchive(file, entriesOf(contents), never, undefined, limits);
    const { status, stdout } = spawnSync('unzip', ['-t', file], { encoding: 'utf8' });
    expect([status, stdout]).toEqual([0, expect.stringMatching(/No errors detected/)]);
  });

  it.runIf(has('python3', ['-c', 'import zipfile']))('is whole for Python', async () => {
    await writeArchive(file, entriesOf(contents), never, undefined, limits);
    const { stdout, stderr } = spawnSync('python3', ['-c', python, file], { encoding: 'utf8', env: { ...process.env, PYTHONUTF8: '1' } });
    const expected = [...contents].map(([name, content]) => `${name} 2000 0o100644 ${sha256(content)}`);
    expect(stdout.trimEnd().split('\n'), stderr).toEqual(expected);
  });
});

it('is the same bytes each time, however the parts come in pieces', async () => {
  async function* pieces(entry: ArchiveEntry): AsyncGenerator<Buffer> {
    const whole = await buffer(entry.open());
    for (let at = 0; at < whole.length; at += 777) yield whole.subarray(at, at + 777);
  }
  const inPieces = entriesOf(contents).map((entry) => ({ ...entry, open: () => Readable.from(pieces(entry)) }));
  const first = await writeArchive(path.join(folder, 'first.zip'), entriesOf(contents), never, 4_096);
  const second = await writeArchive(path.join(folder, 'second.zip'), inPieces, never, 4_096);
  expect(second).toEqual(first);
});

it('holds more entries than a plain zip can count', async () => {
  const many = Array.from({ length: 65_536 }, (_, index) => stored(`data/${index}.csv`, Buffer.from('a')));
  const file = path.join(folder, 'many.zip');
  await writeArchive(file, many, never);
  const zip = await openPromise(file, { autoClose: false });
  expect(zip.entryCount).toBe(65_536);
  zip.close();
});

it('refuses a part of another length, and leaves no file', async () => {
  const entry = deflatedEntry('data/a.csv', Buffer.from('a,b\n'));
  const file = path.join(folder, 'wrong.zip');
  for (const off of [-1, 1]) {
    const lying = { ...entry, compressedBytes: entry.compressedBytes + off };
    await expect(writeArchive(file, [lying], never)).rejects.toThrow(`expected ${lying.compressedBytes} compressed bytes of "data/a.csv"`);
    expect(existsSync(file)).toBe(false);
  }
});

it('passes on what a part failed with', async () => {
  const entry = deflatedEntry('data/a.csv', Buffer.from('a,b\n'));
  const file = path.join(folder, 'gone.zip');
  const gone = { ...entry, open: () => createReadStream(path.join(folder, 'not there')) };
  await expect(writeArchive(file, [gone], never)).rejects.toMatchObject({ code: 'ENOENT' });
  expect(existsSync(file)).toBe(false);
});

it.runIf(existsSync('/dev/full'))('passes on that the disk is full', async () => {
  const file = path.join(folder, 'full.zip');
  symlinkSync('/dev/full', file);
  await expect(writeArchive(file, entriesOf(contents), never)).rejects.toMatchObject({ code: 'ENOSPC' });
  expect(existsSync(file)).toBe(false);
});

it('stops with the reason of the signal, also while a part gives nothing', async () => {
  const stopping = new AbortController();
  const file = path.join(folder, 'stopped.zip');
  const entry = deflatedEntry('data/a.csv', Buffer.from('a,b\n'));
  const silent = new Readable({ read() {} });
  const hanging = {
    ...entry,
    open: () => {
      setImmediate(() => stopping.abort(new Error('enough')));
      return silent;
    },
  };
  await expect(writeArchive(file, [entry, hanging], stopping.signal)).rejects.toThrow('enough');
  expect([existsSync(file), silent.destroyed]).toEqual([false, true]);

  writeFileSync(file, 'of somebody else');
  await expect(writeArchive(file, [entry], stopping.signal)).rejects.toThrow('enough');
  expect(readFileSync(file, 'utf8')).toBe('of somebody else');
});
