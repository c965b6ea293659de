import { existsSync, readdirSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { inspect } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Patience, s3Storage } from '../../src/storage/s3.ts';
import { storageContract } from './contract.ts';
import { door } from './door.ts';
import { bucket, startS3 } from './s3-server.ts';

// Where the SDK looks for them; nothing else of this machine may lead it elsewhere.
process.env['AWS_ACCESS_KEY_ID'] = 'S3RVER';
process.env['AWS_SECRET_ACCESS_KEY'] = 'the-secret-of-the-tests';

const s3 = await startS3();
const direct = `http://127.0.0.1:${s3.port}`;
let prefixes = 0;

const storageAt = (endpoint: string, { prefix = `p${prefixes++}/deep`, patience }: { prefix?: string; patience?: Patience } = {}) =>
  s3Storage({ kind: 's3', bucket, prefix, endpoint, region: 'us-east-1' }, patience);
const bytes = (length: number) => Readable.from([Buffer.alloc(length)]);
const uploads = () => {
  const folder = path.join(s3.folder, '._S3rver_uploads');
  return existsSync(folder) ? readdirSync(folder) : [];
};
const unavailable = { name: 'StorageError', code: 'STORAGE_UNAVAILABLE' };
const mebibyte = 1_048_576;

/** A server of one answer, where s3rver has none such. */
async function answering(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

storageContract('S3', async () => storageAt(direct));

describe('S3 as storage', () => {
  it('keeps its keys below its prefix, or at the top of the bucket', async () => {
    await storageAt(direct, { prefix: 'some/where' }).put('a/b', bytes(3));
    await storageAt(direct, { prefix: '' }).put('top', bytes(4));
    expect(existsSync(path.join(s3.folder, 'some/where/a/b._S3rver_object'))).toBe(true);
    expect(existsSync(path.join(s3.folder, 'top._S3rver_object'))).toBe(true);
    expect(await storageAt(direct, { prefix: '' }).size('some/where/a/b')).toBe(3);
  });

  it('lists page after page, and nothing that no key could name', async () => {
    const listed = (name: string) =>
      `<Contents><Key>top/${name}</Key><Size>3</Size><LastModified>2026-01-02T03:04:05.000Z</LastModified></Contents>`;
    // s3rver cannot make the token of a next page: its cipher is gone from OpenSSL 3.
    const endpoint = await answering((request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://s3');
      expect(searchParams.get('prefix')).toBe('top/a/');
      const contents =
        searchParams.get('continuation-token') === 'second page' ? [listed('a/3')] : [listed('a/1'), listed('a/not a key'), listed('a/')];
      const next = contents.length === 1 ? '' : '<NextContinuationToken>second page</NextContinuationToken>';
      response.setHeader('content-type', 'application/xml');
      response.end(`<ListBucketResult><IsTruncated>${next !== ''}</IsTruncated>${contents.join('')}${next}</ListBucketResult>`);
    });
    const modifiedAt = new Date('2026-01-02T03:04:05Z');
    const found = [];
    for await (const object of storageAt(endpoint, { prefix: 'top' }).list('a/')) found.push(object);
    expect(found).toEqual([
      { key: 'a/1', bytes: 3, modifiedAt },
      { key: 'a/3', bytes: 3, modifiedAt },
    ]);
  });

  it('leaves no parts of a body that breaks off', async () => {
    const broken = Readable.from(
      (async function* () {
        for (let at = 0; at < 20; at++) yield Buffer.alloc(mebibyte);
        expect(uploads()).toHaveLength(1);
        throw new Error('the sender is gone');
      })(),
    );
    await expect(storageAt(direct).put('half', broken)).rejects.toThrow('the sender is gone');
    expect(uploads()).toEqual([]);
  });

  it.each([
    ['in one piece', mebibyte],
    ['in parts', 20 * mebibyte],
  ])('says that it cannot be used where connections break while it takes a body %s, and leaves nothing', async (_, length) => {
    const { endpoint, lets, knocks } = await door(s3.port);
    const storage = storageAt(endpoint);
    lets.up = 65_536;
    const body = bytes(length);
    await expect(storage.put('half', body)).rejects.toMatchObject(unavailable);
    expect(knocks()).toBeGreaterThanOrEqual(3);
    expect(body.destroyed).toBe(true);
    expect(await storage.size('half')).toBeNull();
    expect(uploads()).toEqual([]);
  });

  it('reports what the body failed with, also where the upload cannot be aborted', async () => {
    const { endpoint, lets } = await door(s3.port);
    const broken = Readable.from(
      (async function* () {
        for (let at = 0; at < 20; at++) yield Buffer.alloc(mebibyte);
        lets.up = 0;
        throw new Error('the sender is gone');
      })(),
    );
    await expect(storageAt(endpoint).put('half', broken)).rejects.toThrow('the sender is gone');
  });

  it('gets over connections that break now and then', async () => {
    const { endpoint, refuse } = await door(s3.port);
    const storage = storageAt(endpoint);
    refuse(2);
    expect(await storage.put('object', bytes(mebibyte))).toEqual({ bytes: mebibyte });
    expect(await storage.size('object')).toBe(mebibyte);
  });

  it('fails a stream that breaks off half-way', async () => {
    const { endpoint, lets } = await door(s3.port);
    const storage = storageAt(endpoint);
    await storage.put('object', bytes(4 * mebibyte));
    lets.down = mebibyte;
    const stream = await storage.get('object');
    let read = 0;
    await expect(
      (async () => {
        for await (const chunk of stream) read += chunk.length;
      })(),
    ).rejects.toMatchObject(unavailable);
    expect(read).toBeGreaterThan(0);
    expect(read).toBeLessThan(4 * mebibyte);
  });

  it('fails a stream that stops half-way, and whatever is not answered', async () => {
    const { endpoint, hold } = await door(s3.port);
    const storage = storageAt(endpoint, { prefix: 'held', patience: { connectMs: 5_000, idleMs: 1_000 } });
    await storageAt(direct, { prefix: 'held' }).put('object', bytes(20 * mebibyte));
    const stream = await storage.get('object');
    hold();
    await expect(buffer(stream)).rejects.toMatchObject({ ...unavailable, message: 'the storage cannot be used (TimeoutError)' });
    await expect(storage.size('object')).rejects.toMatchObject(unavailable);
    await expect(storage.put('other', bytes(1))).rejects.toMatchObject(unavailable);
  });

  it('lets go of a stream that nobody reads to its end', async () => {
    const { endpoint, open } = await door(s3.port);
    const storage = storageAt(endpoint);
    await storage.put('object', bytes(20 * mebibyte));
    const before = open();
    for (let at = 0; at < 12; at++) for await (const _ of await storage.get('object')) break;
    await expect.poll(open).toBeLessThanOrEqual(before);
  });

  it('has connections left while many streams are slow to be read', async () => {
    const storage = storageAt(direct, { prefix: 'slow', patience: { connectMs: 10_000, idleMs: 60_000 } });
    await storage.put('object', bytes(4 * mebibyte));
    const streams = await Promise.all(Array.from({ length: 60 }, () => storage.get('object')));
    expect(await storage.size('object')).toBe(4 * mebibyte);
    for (const stream of streams) stream.destroy();
  });

  it('says that a server is down', async () => {
    const storage = storageAt('http://127.0.0.1:1');
    await expect(storage.put('object', bytes(20 * mebibyte))).rejects.toMatchObject({
      ...unavailable,
      message: 'the storage cannot be used (ECONNREFUSED)',
    });
    await expect(storage.get('object')).rejects.toMatchObject(unavailable);
    await expect(storage.size('object')).rejects.toMatchObject(unavailable);
    await expect(storage.delete('object')).rejects.toMatchObject(unavailable);
    await expect(buffer(Readable.from(storage.list('')))).rejects.toMatchObject(unavailable);
  });

  it('tells a bucket that is not there from an object that is not there', async () => {
    const storage = s3Storage({ kind: 's3', bucket: 'nobodys', prefix: '', endpoint: direct, region: 'us-east-1' });
    await expect(storage.put('object', bytes(1))).rejects.toMatchObject({
      ...unavailable,
      message: expect.stringContaining('NoSuchBucket'),
    });
    await expect(storage.get('object')).rejects.toMatchObject(unavailable);
  });

  it('does not take other bytes for those that it asked for', async () => {
    const storage = storageAt(direct);
    await storage.put('digits', Readable.from([Buffer.from('0123456789')]));
    // s3rver takes an end of 0 for none, and answers with all.
    await expect(storage.get('digits', { start: 0, end: 0 })).rejects.toMatchObject(unavailable);
    const endpoint = await answering((_request, response) => response.end('0123456789'));
    await expect(storageAt(endpoint).get('digits', { start: 2, end: 4 })).rejects.toMatchObject(unavailable);
  });

  it('asks other servers than those of AWS in a way that all of them know', async () => {
    const requests: { url: string; headers: string[] }[] = [];
    const endpoint = await answering((request, response) => {
      requests.push({ url: request.url ?? '', headers: Object.keys(request.headers) });
      request.resume().on('end', () => response.setHeader('content-length', 0).end());
    });
    const storage = storageAt(endpoint.replace('127.0.0.1', 'localhost'), { prefix: 'top' });
    await storage.put('object', bytes(10));
    await buffer(await storage.get('object'));
    for (const { url, headers } of requests) {
      expect(url).toMatch(/^\/packhorse\/top\/object\?x-id=/);
      expect(headers.filter((name) => name.includes('checksum') || name === 'x-amz-trailer')).toEqual([]);
    }
    expect(requests).toHaveLength(2);
  });

  it('says that it is full', async () => {
    const endpoint = await answering((request, response) => {
      request.resume().on('end', () => {
        response.writeHead(507, { 'content-type': 'application/xml' });
        response.end('<Error><Code>XMinioStorageFull</Code><Message>No room.</Message></Error>');
      });
    });
    await expect(storageAt(endpoint).put('object', bytes(10))).rejects.toMatchObject({ name: 'StorageError', code: 'STORAGE_FULL' });
  });

  it('shows no secret, whatever the server repeats of it', async () => {
    const seen: string[] = [];
    const endpoint = await answering((request, response) => {
      const { authorization = '' } = request.headers;
      seen.push(authorization);
      request.resume().on('end', () => {
        response.writeHead(403, { 'content-type': 'application/xml', 'x-amz-request-id': 'R1' });
        response.end(
          `<Error><Code>SignatureDoesNotMatch</Code><Message>${authorization}</Message><StringToSign>${authorization}</StringToSign></Error>`,
        );
      });
    });
    const storage = storageAt(endpoint);
    for (const ask of [() => storage.put('object', bytes(10)), () => storage.get('object'), () => storage.delete('object')]) {
      const error = await ask().then(
        () => null,
        (reason: unknown) => reason,
      );
      expect(error).toMatchObject({
        ...unavailable,
        message: 'the storage cannot be used (SignatureDoesNotMatch, status 403, request R1)',
      });
      expect(inspect(error, { depth: 9, showHidden: true })).not.toMatch(/S3RVER|the-secret|Signature=|Credential=/);
    }
    expect(seen[0]).toContain('Credential=S3RVER/');
  });

  it('says that its credentials are not known', async () => {
    process.env['AWS_ACCESS_KEY_ID'] = 'SOMEBODY';
    onTestFinished(() => {
      process.env['AWS_ACCESS_KEY_ID'] = 'S3RVER';
    });
    const error = await storageAt(direct)
      .size('object')
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject(unavailable);
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('SOMEBODY');
  });
});
