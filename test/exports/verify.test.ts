// Every way in which an export can be another than the one that was signed, and archives made to harm who verifies them.
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { crc32, deflateRawSync } from 'node:zlib';
import { parquetMetadata } from 'hyparquet';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { afterAll, describe, expect, it } from 'vitest';
import { parquetMetadataBytes, parquetRows, rowCounter } from '../../src/exports/archive/count-rows.ts';
import { descriptorBytes, manifestDigest } from '../../src/exports/archive/manifest.ts';
import { signRecord } from '../../src/exports/archive/signing.ts';
import { type Verification, verifyExport } from '../../src/exports/archive/verify.ts';
import { type ArchiveEntry, deflatedEntry, writeArchive } from '../../src/exports/archive/zip.ts';
import { type Draft, draft, filesOf, otherKey, ourKey, writeExport } from './exported.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'packhorse-verify-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const ours = [ourKey.publicJwk];
const depots = 'data/depots.csv';
const never = new AbortController().signal;
let files = 0;

function place(): string {
  files += 1;
  return path.join(folder, `${files}.zip`);
}

async function verify(
  content: Iterable<readonly [string, Buffer]>,
  keys: Parameters<typeof verifyExport>[1] = ours,
): Promise<Verification> {
  return verifyExport(await writeExport(place(), content), keys);
}

async function verifyEntries(entries: readonly ArchiveEntry[]): Promise<Verification> {
  const file = place();
  await writeArchive(file, entries, never);
  return verifyExport(file, ours);
}

async function verifyBytes(bytes: Buffer): Promise<Verification> {
  const file = place();
  writeFileSync(file, bytes);
  return verifyExport(file, ours);
}

const found = ({ holds, findings }: Verification) => [holds, ...findings.map(({ code, path: at }) => `${code} ${at}`)];

/** The draft after `change`, with everything recomputed that a careful forger would recompute, but for the record's signature. */
function forged(change: (made: Draft) => void): Draft {
  const made = draft();
  change(made);
  for (const resource of made.descriptor.resources) {
    const content = made.data.get(String(resource['path']));
    if (content === undefined) continue;
    resource['bytes'] = content.length;
    resource['hash'] = `sha256:${createHash('sha256').update(content).digest('hex')}`;
  }
  return made;
}

describe('an export as it was written', () => {
  it.each(['csv', 'ndjson', 'parquet'] as const)('holds, as %s, with its rows counted', async (format) => {
    const made = draft(format);
    const verification = await verify(filesOf(made));
    expect(found(verification)).toEqual([true]);
    expect(verification.files).toMatchObject([
      { dataset: 'depots', path: `data/depots.${format}`, rows: 2n },
      { dataset: 'routes', path: `data/routes.${format}`, rows: 0n },
    ]);
    expect(verification).toMatchObject({ manifestDigest: made.record.manifestDigest, keyIsKnown: true, record: { workspace: 'depot' } });
  });

  it('holds without keys, but not whose key it is', async () => {
    expect(await verify(filesOf(draft()), null)).toMatchObject({ holds: true, keyIsKnown: null });
    expect(await verify(filesOf(draft(), otherKey), null)).toMatchObject({ holds: true, keyIsKnown: null });
  });

  it('holds with any of several keys', async () => {
    expect(await verify(filesOf(draft()), [otherKey.publicJwk, ourKey.publicJwk])).toMatchObject({ holds: true, keyIsKnown: true });
  });

  it('holds where the archive was made by another program from the same files', async () => {
    const entries = [...filesOf(draft())].map(([name, content]): ArchiveEntry => {
      const bytes = content.length;
      return { path: name, crc32: crc32(content), bytes, compressedBytes: bytes, method: 0, open: () => Readable.from([content]) };
    });
    expect(found(await verifyEntries(entries.toReversed()))).toEqual([true]);
  });
});

describe('tampering is found:', () => {
  it('a data file of the same length and another content', async () => {
    const made = draft();
    made.data.set(depots, Buffer.from(made.data.get(depots)!.toString().replace('Bern', 'Genf')));
    expect(found(await verify(filesOf(made)))).toEqual([false, `CHANGED ${depots}`]);
  });

  it('a row more', async () => {
    const made = draft();
    made.data.set(depots, Buffer.concat([made.data.get(depots)!, Buffer.from('3,Oslo\n')]));
    expect(found(await verify(filesOf(made)))).toEqual([false, `CHANGED ${depots}`, `COUNT ${depots}`]);
  });

  it('a missing file, of each kind', async () => {
    for (const gone of [depots, 'datapackage.json', 'packhorse-export.json']) {
      const content = filesOf(draft());
      content.delete(gone);
      expect(found(await verify(content))).toEqual([false, `MISSING ${gone}`]);
    }
  });

  it('a file or a folder more', async () => {
    for (const extra of ['data/depots.csv.bak', '__MACOSX/data', 'data/']) {
      expect(found(await verify([...filesOf(draft()), [extra, Buffer.alloc(0)]]))).toEqual([false, `EXTRA ${extra}`]);
    }
  });

  it('a file that is there twice, whichever of the two is right', async () => {
    const content = [...filesOf(draft())];
    expect(found(await verify([...content, [depots, Buffer.from('id,city\n')]]))).toContain(`DUPLICATE ${depots}`);
    expect(found(await verify([[depots, Buffer.from('id,city\n')], ...content]))).toEqual([false, `DUPLICATE ${depots}`]);
  });

  it('a changed file with its hash made right, and the old digest', async () => {
    const made = forged(({ data }) => data.set(depots, Buffer.from('id,city\n1,Genf\n2,Oslo\n')));
    expect(found(await verify(filesOf(made)))).toEqual([false, 'DIGEST datapackage.json', `COUNT ${depots}`]);
  });

  it('a size that is stated wrong, by the signer himself', async () => {
    const made = draft();
    made.descriptor.resources[0]!['bytes'] = 1;
    const counts = made.record.counts.map((count, index) => (index === 0 ? { ...count, bytes: 1 } : count));
    made.record = { ...made.record, counts, manifestDigest: manifestDigest(made.descriptor) };
    expect(found(await verify(filesOf(made)))).toEqual([false, `CHANGED ${depots}`]);
  });

  it('a changed descriptor with its digest made right, and the old signature', async () => {
    const made = forged(({ descriptor }) => Object.assign(descriptor, { title: 'More' }));
    const { signature } = signRecord(draft().record, ourKey);
    const content = filesOf(made).set(
      'packhorse-export.json',
      descriptorBytes({ ...made.record, manifestDigest: manifestDigest(made.descriptor), signature }),
    );
    expect(found(await verify(content))).toEqual([false, 'SIGNATURE packhorse-export.json']);
    expect(found(await verify(content, null))).toEqual([false, 'SIGNATURE packhorse-export.json']);
  });

  it('counts that are wrong, missing, doubled, or of a dataset that is not there', async () => {
    const { counts } = draft().record;
    const [first, second] = [counts[0]!, counts[1]!];
    const cases = [
      [[{ ...first, rows: '3' }, second], `COUNT ${depots}`],
      [[{ ...first, bytes: 1 }, second], `COUNT ${depots}`],
      [[second], `COUNT ${depots}`],
      [[first, first, second], 'COUNT packhorse-export.json'],
      [[first, second, { ...second, dataset: 'ghosts' }], 'COUNT packhorse-export.json'],
    ] as const;
    for (const [wrong, finding] of cases) {
      const made = draft();
      made.record = { ...made.record, counts: wrong };
      expect(found(await verify(filesOf(made)))).toEqual([false, finding]);
    }
  });

  it('any change of the record', async () => {
    const signed = signRecord(draft().record, ourKey);
    for (const change of [{ workspace: 'other' }, { cutoff: '2025-11-30T12:00:00.123456Z' }, { executionId: 'x' }, { leftOut: [] }]) {
      const content = filesOf(draft()).set('packhorse-export.json', descriptorBytes({ ...signed, ...change }));
      expect(found(await verify(content)), JSON.stringify(change)).toEqual([false, 'SIGNATURE packhorse-export.json']);
    }
  });

  it('another signer, however carefully all was signed again', async () => {
    expect(found(await verify(filesOf(draft(), otherKey)))).toEqual([false, 'UNKNOWN_KEY packhorse-export.json']);
    // With our key's id over it.
    const signed = signRecord(draft().record, otherKey);
    const signature = { ...signed.signature, keyId: ourKey.keyId };
    const content = filesOf(draft()).set('packhorse-export.json', descriptorBytes({ ...signed, signature }));
    expect(found(await verify(content))).toEqual([false, 'SIGNATURE packhorse-export.json', 'SIGNATURE packhorse-export.json']);
    expect(found(await verify(content, null))).toEqual([false, 'SIGNATURE packhorse-export.json']);
  });

  it('a document that two programs may read as two', async () => {
    const text = descriptorBytes(draft().descriptor).toString();
    const doubled = text.replace('"name": "workspace-export"', '"name": "x",\n  "name": "workspace-export"');
    for (const other of [doubled, text.trimEnd(), `\ufeff${text}`, JSON.stringify(draft().descriptor)]) {
      const content = filesOf(draft()).set('datapackage.json', Buffer.from(other));
      expect(found(await verify(content))).toEqual([false, 'NOT_AN_EXPORT datapackage.json']);
    }
  });

  it('a flipped bit, wherever in the archive it matters', { timeout: 300_000 }, async () => {
    const whole = readFileSync(await writeExport(place(), filesOf(draft())));
    const contentOf = ({ manifestDigest: digest, record, files: verified }: Verification) => ({ digest, record, verified });
    const expected = contentOf(await verifyBytes(whole));
    let unnoticed = 0;
    for (let at = 0; at < whole.length; at += 1) {
      const flipped = Buffer.from(whole);
      flipped[at] = flipped[at]! ^ (1 << (at % 8));
      const verification = await verifyBytes(flipped);
      if (!verification.holds) continue;
      unnoticed += 1;
      expect(contentOf(verification)).toEqual(expected);
    }
    // What is left are times, versions and the like in the headers of four entries, stated twice.
    expect(unnoticed).toBeLessThan(4 * 60);
  });
});

describe('a file that is no export', () => {
  it('is said to be none', async () => {
    for (const bytes of [Buffer.alloc(0), Buffer.from('id,city\n'), Buffer.from('PK\u0003\u0004'), Buffer.alloc(100_000, 'PK')]) {
      expect(found(await verifyBytes(bytes))).toEqual([false, 'NOT_AN_EXPORT null']);
    }
    expect(found(await verify([]))).toEqual([false, 'MISSING datapackage.json', 'MISSING packhorse-export.json']);
  });

  it('is an archive cut off anywhere', async () => {
    const whole = readFileSync(await writeExport(place(), filesOf(draft())));
    for (let length = whole.length - 1; length > 0; length -= 97) {
      expect(found(await verifyBytes(whole.subarray(0, length)))).toEqual([false, 'NOT_AN_EXPORT null']);
    }
  });

  it('cannot be verified where it cannot be read', async () => {
    await expect(verifyExport(path.join(folder, 'none.zip'), null)).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(verifyExport(folder, null)).rejects.toMatchObject({ code: 'EISDIR' });
  });

  it('has documents of another shape', async () => {
    const { signature } = signRecord(draft().record, ourKey);
    const record = { ...draft().record, signature };
    const wrong: readonly unknown[] = [
      null,
      [],
      { ...record, version: 2 },
      { ...record, more: true },
      { ...record, counts: [{ dataset: 'depots', rows: 2, bytes: 1 }] },
      { ...record, signature: { ...signature, value: 'AAAA' } },
      { ...record, signature: { ...signature, value: `${signature.value.slice(0, -1)}_` } },
      { ...record, signature: { ...signature, algorithm: 'none' } },
    ];
    for (const document of wrong) {
      const content = filesOf(draft()).set('packhorse-export.json', descriptorBytes(document as object));
      expect(found(await verify(content)), JSON.stringify(document)).toEqual([false, 'NOT_AN_EXPORT packhorse-export.json']);
    }
  });
});

describe('an archive made to harm', () => {
  it('does so with no document', async () => {
    const { descriptor } = draft();
    const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
    const texts = [
      '['.repeat(1_000_000),
      nested(20_000),
      JSON.stringify(descriptor).replace(/}$/, `,"title":${nested(20_000)}}`),
      descriptorBytes({ ...descriptor, title: '\ud800' }).toString(),
      `{"resources":[${'1,'.repeat(2_000_000)}1]}`,
      `{"__proto__":{"resources":[]}}`,
    ];
    for (const text of texts) {
      const content = filesOf(draft()).set('datapackage.json', Buffer.from(text));
      expect(found(await verify(content)), text.slice(0, 100)).toEqual([false, 'NOT_AN_EXPORT datapackage.json']);
    }
  });

  it('does so with no document that expands without end', async () => {
    const bomb = Buffer.alloc(100 * 1024 ** 2, ' ');
    const verification = await verify(filesOf(draft()).set('datapackage.json', bomb));
    expect(verification.findings).toMatchObject([{ code: 'NOT_AN_EXPORT', message: expect.stringContaining('has more than') }]);
  });

  it('reads no file twice because it is named twice', async () => {
    const made = draft();
    made.descriptor.resources.push(...Array.from({ length: 3 }, () => made.descriptor.resources[0]!));
    const verification = await verify(filesOf(made));
    expect(verification.findings.filter(({ code }) => code === 'NOT_AN_EXPORT')).toHaveLength(3);
    expect(verification.files).toHaveLength(2);
    made.descriptor.resources = [{ ...made.descriptor.resources[0], path: 'packhorse-export.json' }];
    expect(found(await verify(filesOf(made)))).toContain('NOT_AN_EXPORT packhorse-export.json');
  });

  it('refuses entries that share bytes', async () => {
    const content = Buffer.alloc(1_000_000);
    const whole = readFileSync(await writeExport(place(), [...filesOf(draft()), ['a', content], ['b', content]]));
    const directory = whole.readUInt32LE(whole.length - 6);
    // Each entry of the directory is made to claim the whole archive.
    for (let at = whole.indexOf('PK\u0001\u0002', directory); at >= 0; at = whole.indexOf('PK\u0001\u0002', at + 4)) {
      whole.writeUInt32LE(whole.length - 1_000, at + 20);
    }
    expect((await verifyBytes(whole)).findings).toMatchObject([{ code: 'NOT_AN_EXPORT', message: expect.stringContaining('overlap') }]);
  });

  it('points with zip64 to where no file reaches', async () => {
    const file = place();
    await writeArchive(file, [deflatedEntry('a', Buffer.from('a'))], never, undefined, { size: 0, entries: 0 });
    const whole = readFileSync(file);
    const record = whole.indexOf('PK\u0006\u0006');
    const locator = whole.indexOf('PK\u0006\u0007');
    for (const at of [record + 48, locator + 8]) {
      for (const value of [2n ** 64n - 1n, 2n ** 63n, 2n ** 53n, 2n ** 40n]) {
        const wrong = Buffer.from(whole);
        wrong.writeBigUInt64LE(value, at);
        const { findings } = await verifyBytes(wrong);
        expect(findings).toMatchObject([{ code: 'NOT_AN_EXPORT', message: expect.stringContaining('points outside itself') }]);
      }
    }
  });

  it('has names that leave the folder, links, and entries with two names', async () => {
    for (const name of ['../a', '/a', 'C:/a', 'a\\b']) {
      const verification = await verify([...filesOf(draft()), [name, Buffer.from('a')]]);
      expect(found(verification)).toEqual([false, 'NOT_AN_EXPORT null']);
    }
    const whole = readFileSync(await writeExport(place(), filesOf(draft())));
    const first = whole.indexOf('PK\u0001\u0002');
    const link = Buffer.from(whole);
    link.writeUInt32LE(0o120777 * 65_536, first + 38);
    expect((await verifyBytes(link)).findings).toMatchObject([{ code: 'CHANGED', message: expect.stringContaining('plain file') }]);
    const named = Buffer.from(whole);
    named.write('X', 30);
    expect((await verifyBytes(named)).findings).toMatchObject([{ code: 'CHANGED', message: expect.stringContaining('two names') }]);
  });

  it('states other lengths than its parts have', async () => {
    const content = filesOf(draft()).get(depots)!;
    const others = [...filesOf(draft())].filter(([name]) => name !== depots).map(([name, bytes]) => deflatedEntry(name, bytes));
    const deflated = deflateRawSync(content);
    const honest = deflatedEntry(depots, content);
    const open = () => Readable.from([deflated]);
    for (const change of [
      { bytes: content.length - 1 },
      { bytes: content.length + 1 },
      { crc32: 1 },
      { method: 0 as const, bytes: deflated.length },
    ]) {
      expect(found(await verifyEntries([...others, { ...honest, open, ...change }]))).toContain(`CHANGED ${depots}`);
    }
  });
});

describe('rows', () => {
  const count = (format: 'csv' | 'ndjson', text: string, size: number) => {
    const counter = rowCounter(format);
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += size) counter.push(bytes.subarray(at, at + size));
    return counter.end();
  };

  it.each([1, 2, 7, 1_000])('are counted the same in pieces of %i bytes', (size) => {
    expect(count('csv', 'a\n', size)).toBe(0n);
    expect(count('csv', 'a\n\n\n', size)).toBe(2n);
    expect(count('csv', 'a,b\n"1\n2","""\n"\nü,\r\n', size)).toBe(2n);
    expect(count('csv', 'a\n1', size)).toBe(1n);
    expect(count('ndjson', '', size)).toBe(0n);
    expect(count('ndjson', '{"a":"\\""}\n{"b":1}\n', size)).toBe(2n);
    expect(() => count('csv', 'a\n"1', size)).toThrow('a quote is never closed');
    expect(() => count('csv', '', size)).toThrow('no header');
  });

  it('of Parquet are those that hyparquet finds', () => {
    for (const rows of [0, 1, 1_000]) {
      const columnData = [
        { name: 'n', data: Array.from({ length: rows }, (_, index) => BigInt(index)), type: 'INT64' as const },
        { name: 'ü'.repeat(200), data: Array.from({ length: rows }, () => null), type: 'STRING' as const },
      ];
      const file = Buffer.from(parquetWriteBuffer({ columnData, rowGroupSize: 100, kvMetadata: [{ key: 'k', value: 'v' }] }));
      const end = file.subarray(-8);
      const metadata = file.subarray(file.length - 8 - parquetMetadataBytes(end), -8);
      expect(parquetRows(metadata)).toBe(BigInt(rows));
      expect(parquetMetadata(new Uint8Array(file).buffer).num_rows).toBe(BigInt(rows));
      for (let length = 0; length < 40; length += 1) expect(() => parquetRows(metadata.subarray(0, length))).toThrow('too early');
    }
  });

  it('of Parquet made to keep a reader busy are not counted', () => {
    const wrong = [
      Buffer.alloc(5_000_000, 0xff), // a field that goes on
      Buffer.concat([Buffer.from([0x15]), Buffer.alloc(5_000_000, 0xff)]), // an integer that goes on
      Buffer.from([0x19, 0xf3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]), // a list of very many bytes
      Buffer.concat([Buffer.from([0x1c]), Buffer.alloc(5_000_000, 0x1c)]), // nested without end
      Buffer.from([0x18, 0xff, 0xff, 0xff, 0xff, 0x0f]),
      Buffer.from([0x1d, 0x00]),
      Buffer.from([0x00]),
    ];
    for (const metadata of wrong) expect(() => parquetRows(metadata)).toThrow(/its metadata/);
  });

  it('of Parquet whose end is wrong are not counted, and that is said', async () => {
    const made = draft('parquet');
    const file = 'data/depots.parquet';
    const whole = made.data.get(file)!;
    const far = Buffer.from(whole);
    far.writeUInt32LE(0xffff_ffff, far.length - 8);
    for (const [content, why] of [
      [Buffer.from('PAR1'), 'does not end as'],
      [whole.subarray(0, -1), 'does not end as'],
      [far, 'longer than the file'],
    ] as const) {
      made.data.set(file, content);
      const verification = await verify(filesOf(made));
      expect(verification.findings).toMatchObject([
        { code: 'CHANGED', path: file },
        { code: 'COUNT', message: expect.stringContaining(why) },
      ]);
    }
  });
});
