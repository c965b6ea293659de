// Clients that are slow, that leave, and that do nothing; storage that breaks off; packages that are deleted while they are read.
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { pino } from 'pino';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { expirePackages } from '../../src/exports/retention.ts';
import { handleDownload } from '../../src/server/downloads.ts';
import { type Storage, StorageError } from '../../src/storage/storage.ts';
import { startApp } from '../support/app.ts';
import { ask, readAll, receive } from './receive.ts';
import { replaceArchive, type StoredPackage, storedPackage } from './stored.ts';

const app = await startApp();
const { db, exports } = app.app;
const mebibyte = 1_048_576;
const blockBytes = mebibyte;
// More than what the kernel takes for a client that does not read.
const bytes = randomBytes(20 * mebibyte + 12_345);
let stored: StoredPackage;
// Once, but within a test: polls are for tests only.
beforeEach(async () => {
  stored ??= await replaceArchive(app, await storedPackage(app, 'slow'), bytes, blockBytes);
});

interface Served {
  readonly url: string;
  readonly responses: ServerResponse[];
  readonly lines: string[];
  /** Of the handler's calls. */
  readonly handled: Promise<void>[];
}

/** The handler alone, with its responses at hand, for the link of the package. */
async function serveDownloads(options: { storage?: Partial<Storage>; idleMs?: number } = {}): Promise<Served> {
  const responses: ServerResponse[] = [];
  const lines: string[] = [];
  const handled: Promise<void>[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
  const storage = { ...exports.storage, ...options.storage };
  const server = createServer((request, response) => {
    responses.push(response);
    handled.push(handleDownload({ ...exports, storage }, new URL(request.url ?? '', app.url), request, response, log, options.idleMs));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}${stored.url.slice(app.url.length)}`, responses, lines, handled };
}

const begun = (url: string, count: number): Promise<IncomingMessage[]> => Promise.all(Array.from({ length: count }, () => ask(url)));

/** Nothing moves any more: the kernel holds what it takes, and the server waits. */
async function stalled(responses: readonly ServerResponse[], count: number): Promise<void> {
  let before = -1;
  await expect
    .poll(
      () => {
        const sent = responses.reduce((sum, { socket }) => sum + (socket?.bytesWritten ?? 0) - (socket?.writableLength ?? 0), 0);
        const isStill = sent === before && responses.length === count && responses.every(({ writableNeedDrain }) => writableNeedDrain);
        before = sent;
        return isStill;
      },
      { interval: 100 },
    )
    .toBe(true);
}

function usedBuffers(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void; // there by the flag
  collect();
  return process.memoryUsage().arrayBuffers;
}

const isLinux = existsSync('/proc/self/fd');
const openFiles = () =>
  readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(stored.file);
    } catch {
      return false; // the one that lists them
    }
  }).length;

it('holds two blocks for a client that does not read, and waits', async () => {
  const { url, responses } = await serveDownloads();
  const before = usedBuffers();
  const answers = await begun(url, 10);
  await stalled(responses, 10);
  // Polled, because what was collected is given back a little later.
  await expect.poll(() => (usedBuffers() - before) / 10).toBeLessThan(2.5 * blockBytes);
  for (const answer of await Promise.all(answers.map(readAll)))
    expect([answer.status, answer.isWhole, answer.body.equals(bytes)]).toEqual([200, true, true]);
});

it.runIf(isLinux)('lets go of the file when the client leaves, at whatever point', async () => {
  const { url, responses, lines } = await serveDownloads();
  const answers = await begun(url, 20);
  await stalled(responses, 20);
  expect(openFiles()).toBe(20);
  for (const answer of answers) answer.destroy();
  await expect.poll(openFiles).toBe(0);
  for (let at = 0; at < 20; at += 1) {
    const answer = await ask(url);
    for await (const _ of answer) if (Math.random() < 0.2) break; // destroys the connection
  }
  await expect.poll(openFiles).toBe(0);
  expect(responses.every(({ destroyed }) => destroyed)).toBe(true);
  expect(lines).toEqual([]); // nobody's fault
});

it('lets go of the stream when the client left before there was one', async () => {
  const streams: Readable[] = [];
  let open = () => {};
  const asked = new Promise<void>((resolve) => {
    open = resolve;
  });
  let give = () => {};
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  const get: Storage['get'] = async (key, range) => {
    open();
    await given;
    const stream = await exports.storage.get(key, range);
    streams.push(stream);
    return stream;
  };
  const { url, responses } = await serveDownloads({ storage: { get } });
  const leaving = ask(url);
  await asked;
  responses[0]?.socket?.destroy();
  await expect(leaving).rejects.toThrow('socket hang up');
  give();
  await expect.poll(() => streams.map(({ destroyed }) => destroyed)).toEqual([true]);
});

it('opens nothing for a client that left while its link was looked up', async () => {
  let gets = 0;
  const get: Storage['get'] = (key, range) => {
    gets += 1;
    return exports.storage.get(key, range);
  };
  const { url, responses, handled, lines } = await serveDownloads({ storage: { get } });
  const holder = await db.pool.connect();
  try {
    await holder.query('BEGIN; LOCK TABLE export_package IN ACCESS EXCLUSIVE MODE');
    const leaving = ask(url);
    const waiting = `SELECT count(*)::int AS waiting FROM pg_locks WHERE relation = 'export_package'::regclass AND NOT granted`;
    await expect.poll(async () => (await holder.query(waiting)).rows[0].waiting).toBeGreaterThan(0);
    responses[0]?.socket?.destroy();
    await expect(leaving).rejects.toThrow('socket hang up');
    await expect.poll(() => responses[0]?.destroyed).toBe(true);
  } finally {
    await holder.query('ROLLBACK');
    holder.release();
  }
  await Promise.all(handled);
  expect([gets, lines]).toEqual([0, []]);
});

it('sends a client away that takes nothing for too long, and no slow one', async () => {
  const { url, responses } = await serveDownloads({ idleMs: 3_000 });
  const idle = await ask(url);
  idle.on('error', () => {});
  await expect.poll(() => responses[0]?.destroyed).toBe(true);
  expect(responses[0]?.writableFinished).toBe(false);
  const began = performance.now();
  let size = 0;
  for await (const part of await ask(url)) {
    size += (part as Buffer).length;
    await sleep(16); // slowness is what is tested
  }
  expect(size).toBe(bytes.length);
  expect(performance.now() - began).toBeGreaterThan(3_000);
});

it('goes on where storage broke off, as long as it brings anything', async () => {
  const gets: number[] = [];
  const get: Storage['get'] = async (key, range) => {
    gets.push(range?.start ?? -1);
    let left = 3 * blockBytes + 1_000;
    return Readable.from(
      (async function* () {
        for await (const chunk of await exports.storage.get(key, range)) {
          left -= (chunk as Buffer).length;
          if (left < 0) throw new StorageError('STORAGE_UNAVAILABLE', 'it broke off');
          yield chunk;
        }
      })(),
      { objectMode: false },
    );
  };
  const { url } = await serveDownloads({ storage: { get } });
  const answer = await receive(url);
  expect([answer.status, answer.isWhole, answer.body.equals(bytes)]).toEqual([200, true, true]);
  expect(gets).toEqual([0, 3, 6, 9, 12, 15, 18].map((block) => block * blockBytes));
});

it('breaks off where storage brings no whole block more, and says so in the log', async () => {
  let gets = 0;
  const get: Storage['get'] = async (key, range) => {
    gets += 1;
    if (gets > 2) throw new StorageError('STORAGE_UNAVAILABLE', 'it is down');
    const start = range?.start ?? 0;
    const brings = gets === 1 ? 2 * blockBytes : blockBytes - 1;
    return Readable.from(
      (async function* () {
        yield* await exports.storage.get(key, { start, end: start + brings - 1 });
        throw new StorageError('STORAGE_UNAVAILABLE', 'it broke off');
      })(),
      { objectMode: false },
    );
  };
  const { url, lines } = await serveDownloads({ storage: { get } });
  const answer = await receive(url);
  expect([answer.status, answer.isWhole, answer.body.equals(bytes.subarray(0, answer.body.length))]).toEqual([200, false, true]);
  expect(answer.body.length).toBeLessThanOrEqual(2 * blockBytes);
  expect(gets).toBe(2);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ packageId: stored.id, msg: 'a download was broken off' }]);
  const down = await receive(url);
  expect([down.status, JSON.parse(down.body.toString()).code]).toEqual([503, 'STORAGE_UNAVAILABLE']);
});

it('never ends short as if it were whole when the archive is cut meanwhile', async () => {
  const { url, responses, lines } = await serveDownloads();
  const answers = await begun(url, 20);
  await stalled(responses, 20);
  truncateSync(stored.file, 16 * blockBytes); // where a block ends
  const received = await Promise.all(answers.map(readAll));
  writeFileSync(stored.file, bytes);
  for (const { status, isWhole, body } of received) {
    expect([status, isWhole]).toEqual([200, false]);
    expect(body.equals(bytes.subarray(0, body.length))).toBe(true);
  }
  // Not merely ended: a connection that is kept would wait for the rest.
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual(Array.from({ length: 20 }, () => 'a download was broken off'));
});

// The last: the package is gone after it.
it('is whole, or breaks off, when the package is deleted meanwhile', async () => {
  const { url, responses } = await serveDownloads();
  const answers = await begun(url, 20);
  await stalled(responses, 20);
  await db.prisma.exportPackage.update({ where: { id: stored.id }, data: { expiresAt: new Date(Date.now() - 1) } });
  await expirePackages(db, exports.storage);
  expect(existsSync(stored.file)).toBe(false);
  const received = await Promise.all(answers.map(readAll));
  for (const { status, isWhole, body } of received) {
    expect(status).toBe(200);
    if (isWhole) expect(body.equals(bytes)).toBe(true);
    else expect(body.length).toBeLessThan(bytes.length);
  }
  expect((await receive(url)).status).toBe(410);
});
