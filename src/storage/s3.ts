// Storage in S3, or in what speaks its protocol. The SDK is loaded on first use: it takes as long as all the rest of a start.
import { finished, PassThrough, Readable } from 'node:stream';
import type { S3ClientConfig } from '@aws-sdk/client-s3';
import type { S3Place } from '../config-storage.ts';
import { checkKey, checkPrefix, checkRange, isKey } from './checks.ts';
import { type Storage, StorageError } from './storage.ts';

// A put holds two parts and gathers a third. S3 allows 10,000 parts, so an object ends at 78 GiB.
const partBytes = 8 * 1_048_576;
const partsAtOnce = 2;

export interface Patience {
  readonly connectMs: number;
  /** Without a byte in either direction. */
  readonly idleMs: number;
}

export function s3Storage(place: S3Place, patience: Patience = { connectMs: 3_000, idleMs: 30_000 }): Storage {
  const { bucket, prefix } = place;
  const base = prefix === '' ? '' : `${prefix}/`;
  let loading: ReturnType<typeof load> | undefined;
  const connected = () => (loading ??= load(place, patience));
  const objectOf = (key: string) => {
    checkKey(key);
    return { Bucket: bucket, Key: base + key };
  };

  return {
    async put(key, body) {
      const object = objectOf(key);
      const watched = watch(body);
      try {
        const { client, Upload } = await connected();
        const Body = Readable.from(watched.chunks(), { objectMode: false });
        await new Upload({ client, params: { ...object, Body }, partSize: partBytes, queueSize: partsAtOnce }).done();
        return { bytes: watched.bytes };
      } catch (error) {
        // First, because the upload that could not be ended for it may report itself instead.
        if (watched.failure !== null) throw watched.failure.error;
        throw unavailable(error);
      }
    },

    async get(key, range) {
      const object = objectOf(key);
      if (range) checkRange(range);
      const { client, sdk } = await connected();
      try {
        const answer = await client.send(
          new sdk.GetObjectCommand({ ...object, ...(range && { Range: `bytes=${range.start}-${range.end}` }) }),
        );
        if (!(answer.Body instanceof Readable)) throw new TypeError('the answer has no body that Node can read');
        if (range && !isWithin(answer.ContentRange, range)) {
          answer.Body.destroy();
          throw new StorageError('STORAGE_UNAVAILABLE', 'the storage answered with other bytes than it was asked for');
        }
        return failingAsStorage(answer.Body);
      } catch (error) {
        if (nameOf(error) === 'InvalidRange') return Readable.from([], { objectMode: false });
        throw isAbsence(error) ? new StorageError('NO_SUCH_OBJECT', `there is no object ${key}`) : unavailable(error);
      }
    },

    async size(key) {
      const object = objectOf(key);
      const { client, sdk } = await connected();
      try {
        const { ContentLength } = await client.send(new sdk.HeadObjectCommand(object));
        if (ContentLength === undefined) throw new TypeError('the answer has no length');
        return ContentLength;
      } catch (error) {
        if (isAbsence(error)) return null;
        throw unavailable(error);
      }
    },

    async delete(key) {
      const object = objectOf(key);
      const { client, sdk } = await connected();
      try {
        await client.send(new sdk.DeleteObjectCommand(object));
      } catch (error) {
        if (!isAbsence(error)) throw unavailable(error);
      }
    },

    async *list(start) {
      checkPrefix(start);
      const { client, sdk } = await connected();
      try {
        for await (const page of sdk.paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: base + start })) {
          for (const { Key = '', Size, LastModified } of page.Contents ?? []) {
            const key = Key.slice(base.length);
            // Others may keep things in the bucket that no key of ours could name.
            if (isKey(key) && Size !== undefined && LastModified) yield { key, bytes: Size, modifiedAt: LastModified };
          }
        }
      } catch (error) {
        throw unavailable(error);
      }
    },
  };
}

async function load({ endpoint, region }: S3Place, { connectMs, idleMs }: Patience) {
  const [sdk, { Upload }] = await Promise.all([import('@aws-sdk/client-s3'), import('@aws-sdk/lib-storage')]);
  // Downloads hold a connection as long as their readers take, and whoever waits for one looks like a server that cannot be reached.
  const agent = { maxSockets: 500 };
  const settings: S3ClientConfig = {
    maxAttempts: 3,
    requestHandler: { connectionTimeout: connectMs, socketTimeout: idleMs, httpAgent: agent, httpsAgent: agent },
    ...(region !== null && { region }),
    ...(endpoint !== null && {
      endpoint,
      forcePathStyle: true,
      // Servers that do not know the SDK's own checksums refuse them, or keep them as part of the object.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
    }),
  };
  return { sdk, Upload, client: new sdk.S3Client(settings) };
}

interface Watched {
  bytes: number;
  failure: { readonly error: unknown } | null;
  chunks(): AsyncGenerator<Uint8Array>;
}

/** Counts the body, and remembers what it failed with: the SDK does not tell that from a failure of its own. */
function watch(body: Readable): Watched {
  body.on('error', () => {}); // one that comes before the body is read has no other listener; reading reports it
  return {
    bytes: 0,
    failure: null,
    async *chunks() {
      try {
        for await (const chunk of body) {
          const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : (chunk as Uint8Array); // a byte stream has no other chunks
          this.bytes += bytes.length;
          yield bytes;
        }
      } catch (error) {
        this.failure = { error };
        throw error;
      }
    },
  };
}

/** What the stream breaks off with is the storage's failure; to its reader it would look like one of anything. */
function failingAsStorage(source: Readable): Readable {
  const stream = new PassThrough();
  finished(source, (error) => error && stream.destroy(unavailable(error)));
  stream.on('close', () => source.destroy());
  return source.pipe(stream);
}

/** A server that does not know ranges answers with the whole. */
function isWithin(contentRange: string | undefined, { start, end }: { start: number; end: number }): boolean {
  const [, first, last] = /^bytes (\d+)-(\d+)\//.exec(contentRange ?? '') ?? [];
  return Number(first) === start && Number(last) <= end;
}

function isAbsence(error: unknown): boolean {
  return ['NoSuchKey', 'NotFound'].includes(nameOf(error));
}

/** Without its cause: the SDK's errors carry the whole exchange, key ids and signatures with it. */
function unavailable(error: unknown): StorageError {
  if (error instanceof StorageError) return error;
  const { status, requestId } = exchangeOf(error);
  const details = [nameOf(error), status && `status ${status}`, requestId && `request ${requestId}`].filter(Boolean).join(', ');
  return status === 507 || /quota|storagefull/i.test(nameOf(error))
    ? new StorageError('STORAGE_FULL', `the storage is full (${details})`)
    : new StorageError('STORAGE_UNAVAILABLE', `the storage cannot be used (${details})`);
}

/** A code where there is one, as of a socket; else what kind of error it is; a bare one has nothing but its message. */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ('code' in error && typeof error.code === 'string') return error.code;
  return error.name === 'Error' ? error.message : error.name;
}

function exchangeOf(error: unknown): { status?: number | undefined; requestId?: string | undefined } {
  const metadata = error instanceof Error && '$metadata' in error ? error.$metadata : null;
  if (typeof metadata !== 'object' || metadata === null) return {};
  const status = 'httpStatusCode' in metadata && typeof metadata.httpStatusCode === 'number' ? metadata.httpStatusCode : undefined;
  const requestId = 'requestId' in metadata && typeof metadata.requestId === 'string' ? metadata.requestId : undefined;
  return { status, requestId };
}
