// Downloads: whole, in parts, resumed; and what becomes of them when storage or row are not as they were published.
import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { startApp } from '../support/app.ts';
import { ask, type Received, receive } from './receive.ts';
import { replaceArchive, type StoredPackage, storedPackage } from './stored.ts';

const app = await startApp();
const mebibyte = 1_048_576;
const bytes = randomBytes(5 * mebibyte + 12_345);
let large: StoredPackage;
let small: StoredPackage;
const smallBlock = 16_384;
// Once, but within a test: polls are for tests only.
beforeEach(async () => {
  large ??= await replaceArchive(app, await storedPackage(app, 'large'), bytes);
  small ??= await replaceArchive(app, await storedPackage(app, 'small'), randomBytes(12 * smallBlock + 777), smallBlock);
});

const codeOf = ({ body }: Received) => JSON.parse(body.toString()).code;

/** The part as it was published, and said to be that part. */
function expectPart(answer: Received, start: number, end: number): void {
  expect([answer.status, answer.isWhole, answer.headers['content-range'], answer.headers['content-length']]).toEqual([
    206,
    true,
    `bytes ${start}-${end}/${bytes.length}`,
    String(end - start + 1),
  ]);
  expect(answer.body.equals(bytes.subarray(start, end + 1))).toBe(true);
}

function expectAll(answer: Received): void {
  expect([answer.status, answer.isWhole, answer.headers['content-range'], answer.headers['content-length']]).toEqual([
    200,
    true,
    undefined,
    String(bytes.length),
  ]);
  expect(answer.body.equals(bytes)).toBe(true);
}

describe('a download', () => {
  it('is the archive, with what a client needs to keep and to resume it', async () => {
    const answer = await receive(large.url);
    expectAll(answer);
    const { digest, publishedAt } = await app.app.db.prisma.exportPackage.findUniqueOrThrow({ where: { id: large.id } });
    expect(answer.headers).toMatchObject({
      'accept-ranges': 'bytes',
      'cache-control': 'private, no-store',
      'content-disposition': `attachment; filename="large-${publishedAt?.toISOString().slice(0, 10)}.zip"`,
      'content-type': 'application/zip',
      etag: `"${digest}"`,
      'x-content-type-options': 'nosniff',
    });
  });

  it('has the same head when only that is asked for, whatever range is', async () => {
    const { date: _, ...whole } = (await receive(large.url)).headers;
    for (const headers of [{}, { range: 'bytes=0-9' }, { range: `bytes=${bytes.length}-` }] as Record<string, string>[]) {
      const head = await receive(large.url, headers, 'HEAD');
      expect([head.status, head.body.length]).toEqual([200, 0]);
      expect(head.headers).toMatchObject(whole);
    }
  });

  it('can be had by 50 at once', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => receive(large.url)));
    for (const answer of answers) expectAll(answer);
  });
});

describe('a range', () => {
  const last = bytes.length - 1;
  it.each<[string, string, number, number]>([
    ['the first byte', 'bytes=0-0', 0, 0],
    ['the last byte', 'bytes=-1', last, last],
    ['one byte between', 'bytes=1234567-1234567', 1_234_567, 1_234_567],
    ['across the end of a block', `bytes=${mebibyte - 1}-${mebibyte}`, mebibyte - 1, mebibyte],
    ['exactly a block', `bytes=${mebibyte}-${2 * mebibyte - 1}`, mebibyte, 2 * mebibyte - 1],
    ['across three blocks', `bytes=${mebibyte + 5}-${3 * mebibyte + 7}`, mebibyte + 5, 3 * mebibyte + 7],
    ['from a byte on', `bytes=${2 * mebibyte + 1}-`, 2 * mebibyte + 1, last],
    ['from the last byte on', `bytes=${last}-`, last, last],
    ['the last bytes', 'bytes=-20000', last - 19_999, last],
    ['more last bytes than there are', 'bytes=-999999999', 0, last],
    ['to past the end', `bytes=100-${'9'.repeat(30)}`, 100, last],
    ['everything', 'bytes=0-', 0, last],
    ['in capitals', 'BYTES=5-9', 5, 9],
  ])('is %s', async (_, range, start, end) => {
    expectPart(await receive(large.url, { range }), start, end);
  });

  it('is any', async () => {
    const byte = fc.nat(last);
    await fc.assert(
      fc.asyncProperty(byte, byte, async (a, b) => {
        const [start, end] = a < b ? [a, b] : [b, a];
        expectPart(await receive(large.url, { range: `bytes=${start}-${end}` }), start, end);
      }),
      { numRuns: 40 },
    );
  });

  it.each([`bytes=${bytes.length}-`, `bytes=${bytes.length}-${bytes.length + 9}`, `bytes=${'9'.repeat(400)}-`, 'bytes=-0'])(
    'that is not there (%s) is refused, with the length',
    async (range) => {
      const answer = await receive(large.url, { range });
      expect([answer.status, answer.headers['content-range'], codeOf(answer)]).toEqual([
        416,
        `bytes */${bytes.length}`,
        'RANGE_NOT_SATISFIABLE',
      ]);
    },
  );

  it.each([
    'bytes=',
    'bytes=-',
    'bytes=9-5',
    'bytes=a-b',
    'bytes=0x1-5',
    'bytes=1.5-9',
    'bytes=--5',
    'lines=0-5',
    'bytes 0-5',
    'bytes=0-1,5-9',
    'bytes=0-1, -1',
    '0-5',
  ])('that is none, or several (%s), gives the whole', async (range) => {
    expectAll(await receive(large.url, { range }));
  });

  it('is given only of the archive that it was begun with', async () => {
    const { etag = '' } = (await receive(large.url, {}, 'HEAD')).headers;
    const range = 'bytes=10-19';
    expectPart(await receive(large.url, { range, 'if-range': etag }), 10, 19);
    for (const other of [`"sha256:${'0'.repeat(64)}"`, `W/${etag}`, etag.slice(1, -1), new Date().toUTCString()])
      expectAll(await receive(large.url, { range, 'if-range': other }));
    expectAll(await receive(large.url, { range: `bytes=${bytes.length}-`, 'if-range': '"another"' }));
  });

  it('makes up for what was cut off', async () => {
    const answer = await ask(large.url);
    const parts: Buffer[] = [];
    for await (const part of answer) {
      parts.push(part);
      if (Buffer.concat(parts).length > 1_500_000) break; // destroys the connection
    }
    const had = Buffer.concat(parts);
    const rest = await receive(large.url, { range: `bytes=${had.length}-`, 'if-range': answer.headers.etag ?? '' });
    expectPart(rest, had.length, last);
    expect(Buffer.concat([had, rest.body]).equals(bytes)).toBe(true);
  });
});

/** Refused, or broken off; and what did arrive is right and of no altered block. */
function expectNotGood(answer: Received, wanted: Buffer, name = ''): void {
  if (answer.status === 500) return expect([name, codeOf(answer)]).toEqual([name, 'PACKAGE_ALTERED']);
  expect([name, answer.isWhole, answer.body.equals(wanted.subarray(0, answer.body.length))]).toEqual([name, false, true]);
}

describe('what was altered in storage', () => {
  it('is not given out: of 200 flipped bits none, and what is beside them is', async () => {
    const { bytes: good, file, url } = small;
    const size = good.length;
    const statuses = new Set<number>();
    for (let flip = 0; flip < 200; flip += 1) {
      const at = Math.floor(Math.random() * size);
      const bad = Buffer.from(good);
      bad[at] = (bad[at] ?? 0) ^ (1 << (flip % 8));
      writeFileSync(file, bad);
      const name = `bit ${flip % 8} of byte ${at}`;
      const whole = await receive(url);
      expectNotGood(whole, good, name);
      statuses.add(whole.status);
      const block = Math.floor(at / smallBlock) * smallBlock;
      if (whole.status === 200) expect(whole.body.length).toBeLessThanOrEqual(block);
      const from = Math.max(0, at - Math.floor(Math.random() * 40_000));
      const to = Math.min(size - 1, at + Math.floor(Math.random() * 40_000));
      expectNotGood(await receive(url, { range: `bytes=${from}-${to}` }), good.subarray(from, to + 1), name);
      // Not even bytes that are right themselves: they are of that block.
      const near = at === block ? at + 1 : block;
      if (near < size) expectNotGood(await receive(url, { range: `bytes=${near}-${near}` }), good.subarray(near, near + 1), name);
      const [start, end] = block > 0 ? [0, block - 1] : [smallBlock, size - 1];
      const beside = await receive(url, { range: `bytes=${start}-${end}` });
      expect([name, beside.status, beside.isWhole, beside.body.equals(good.subarray(start, end + 1))]).toEqual([name, 206, true, true]);
    }
    expect([...statuses]).toEqual(expect.arrayContaining([200, 500])); // broken off where something was sent before, else refused
    writeFileSync(file, good);
    expect((await receive(url)).body.equals(good)).toBe(true);
  });

  it.each([
    ['cut within the first block', (good: Buffer) => good.subarray(0, 100)],
    ['cut within a later block', (good: Buffer) => good.subarray(0, 5 * smallBlock + 1)],
    ['cut where a block ends', (good: Buffer) => good.subarray(0, 5 * smallBlock)],
    ['cut by one byte', (good: Buffer) => good.subarray(0, -1)],
    ['emptied', () => Buffer.alloc(0)],
    ['replaced by something as long', (good: Buffer) => randomBytes(good.length)],
    ['zeroed', (good: Buffer) => Buffer.alloc(good.length)],
    ['moved by a block', (good: Buffer) => Buffer.concat([good.subarray(smallBlock), good.subarray(0, smallBlock)])],
  ])('is not given out: %s', async (_, alter) => {
    const { bytes: good, file, url } = small;
    const bad = alter(good);
    writeFileSync(file, bad);
    expectNotGood(await receive(url), good);
    const from = 4 * smallBlock + 5;
    expectNotGood(await receive(url, { range: `bytes=${from}-` }), good.subarray(from));
    const head = await receive(url, {}, 'HEAD');
    expect(head.status).toBe(bad.length === good.length ? 200 : 500); // a head has no digest to compare
    writeFileSync(file, good);
  });

  it('gives what was published, and nothing of what was added', async () => {
    const { bytes: good, file, url } = small;
    writeFileSync(file, Buffer.concat([good, randomBytes(3 * smallBlock)]));
    const whole = await receive(url);
    expect([whole.status, whole.isWhole, whole.body.equals(good)]).toEqual([200, true, true]);
    const end = await receive(url, { range: 'bytes=-10' });
    expect([end.status, end.body.equals(good.subarray(-10))]).toEqual([206, true]);
    writeFileSync(file, good);
  });

  it('is gone when it was deleted', async () => {
    const { bytes: good, file, url } = small;
    rmSync(file);
    for (const answer of [await receive(url), await receive(url, { range: 'bytes=5-9' })])
      expect([answer.status, codeOf(answer)]).toEqual([410, 'PACKAGE_GONE']);
    expect((await receive(url, {}, 'HEAD')).status).toBe(410);
    writeFileSync(file, good);
  });
});

describe('what was altered in the row', () => {
  const rowIs = (data: object) => app.app.db.prisma.exportPackage.update({ where: { id: small.id }, data });
  it.each<[string, (good: { bytes: bigint | null; blocks: Uint8Array | null; blockBytes: number | null }) => object]>([
    ['a length that ends where a block does', () => ({ bytes: BigInt(4 * smallBlock) })],
    ['a shorter length', ({ bytes }) => ({ bytes: (bytes ?? 0n) - 1n })],
    ['a longer length', ({ bytes }) => ({ bytes: (bytes ?? 0n) + 1n })],
    ['a much longer length', () => ({ bytes: 1n << 40n })],
    ['other blocks', () => ({ blockBytes: smallBlock * 2 })],
    ['blocks of another size', () => ({ blockBytes: smallBlock - 1 })],
    ['a bit of the last digest', ({ blocks }) => ({ blocks: blocks?.map((byte, at, all) => (at === all.length - 1 ? byte ^ 1 : byte)) })],
    ['digests cut', ({ blocks }) => ({ blocks: blocks?.slice(0, -1) })],
    ['no digests', () => ({ blocks: new Uint8Array() })],
    ['an object of another package', () => ({ storageKey: large.file.slice(large.file.indexOf('exports/')) })],
  ])('is not taken for good: %s', async (_, alter) => {
    const {
      bytes: length,
      blocks,
      blockBytes,
      storageKey,
    } = await app.app.db.prisma.exportPackage.findUniqueOrThrow({ where: { id: small.id } });
    await rowIs(alter({ bytes: length, blocks, blockBytes }));
    expectNotGood(await receive(small.url), small.bytes);
    await rowIs({ bytes: length, blocks, blockBytes, storageKey });
    expect((await receive(small.url)).body.equals(small.bytes)).toBe(true);
  });
});
