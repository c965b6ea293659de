// s3rver in the process of the calling file, made to do what S3 does and it does not: an object is there whole or not at all,
// and an upload can be aborted.
import { createHash, randomUUID } from 'node:crypto';
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import S3rver, { type Store, type Stored } from 's3rver';
import { afterAll } from 'vitest';

export const bucket = 'packhorse';

export interface S3Server {
  readonly port: number;
  /** What the bucket is kept in. */
  readonly folder: string;
}

export async function startS3(): Promise<S3Server> {
  const directory = mkdtempSync(path.join(tmpdir(), 'packhorse-s3-'));
  const server = new S3rver({
    port: 0,
    address: '127.0.0.1',
    silent: true,
    directory,
    vhostBuckets: false,
    configureBuckets: [{ name: bucket }],
  });
  server.on('error', () => {}); // requests that broke off
  writeWhole(server.store, directory);
  server.middleware.unshift(async (context, next) => {
    if (context.method !== 'DELETE' || context.query['uploadId'] === undefined) return next();
    await rm(path.join(server.store.getResourcePath(bucket, '', 'uploads'), context.query['uploadId']), { recursive: true });
    context.status = 204;
  });
  const { port } = await server.run();
  server.httpServer.keepAliveTimeout = 600_000; // who wants a connection ended must do it
  afterAll(async () => {
    server.httpServer.closeAllConnections();
    await new Promise((resolve) => server.httpServer.close(resolve));
    rmSync(directory, { recursive: true });
  });
  return { port, folder: path.join(directory, bucket) };
}

function writeWhole(store: Store, directory: string): void {
  const write = async (content: Readable, target: string): Promise<Stored> => {
    const draft = path.join(directory, `${randomUUID()}.draft`);
    const hash = createHash('md5');
    let size = 0;
    const counted = async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        hash.update(chunk);
        size += chunk.length;
        yield chunk;
      }
    };
    await pipeline(content, counted, createWriteStream(draft));
    await mkdir(path.dirname(target), { recursive: true });
    await rename(draft, target);
    return { size, md5: hash.digest('hex') };
  };
  store.putObject = async ({ bucket: name, key, content, metadata }) => {
    const stored = await write(content, store.getResourcePath(name, key, 'object'));
    await store.putMetadata(name, key, metadata, stored.md5);
    return stored;
  };
  store.putPart = async (name, uploadId, partNumber, content) => {
    const part = path.join(store.getResourcePath(name, '', 'uploads'), uploadId, partNumber);
    const stored = await write(content, part);
    await writeFile(`${part}.md5`, stored.md5);
    return stored;
  };
}
