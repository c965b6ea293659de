// Answers that count for nothing, each given to a call that it was not worth. `good` is the status that a job may be told with.
import type { ServerResponse } from 'node:http';
import { brotliCompressSync, gzipSync } from 'node:zlib';

export interface Given {
  readonly response: ServerResponse;
  readonly good: number;
  /** What would have been right. */
  readonly job: Record<string, unknown>;
}

const text =
  (body: string | Buffer, headers: Record<string, string> = {}) =>
  ({ response, good }: Given) =>
    void response.writeHead(good, { 'content-type': 'application/json', ...headers }).end(body);
const json = (change: (job: Record<string, unknown>) => unknown) => (given: Given) => text(JSON.stringify(change(given.job)))(given);
const status =
  (code: number, headers: Record<string, string> = {}) =>
  ({ response, job }: Given) =>
    void response.writeHead(code, headers).end(JSON.stringify(job));
const raw =
  (bytes: string, end = true) =>
  ({ response }: Given) => {
    response.socket?.write(bytes);
    if (end) response.socket?.end();
  };

const expanded = Buffer.alloc(256 * 1_024 * 1_024, 0x20);
const gzipBomb = gzipSync(expanded);
const brotliBomb = brotliCompressSync(expanded.subarray(0, 64 * 1_024 * 1_024));
const many = (length: number) =>
  Array.from({ length }, () => ({ code: 'X', dataset: 'd', message: 'm', count: 0, sampleKeys: [], clearedBy: [] }));

export const worthless: Readonly<Record<string, (given: Given) => void>> = {
  'text that is no JSON': text('ok'),
  'a page': text('<!doctype html><title>502</title>', { 'content-type': 'text/html' }),
  'half of a JSON': text('{"id": "job-1", "sta'),
  'two JSONs': ({ response, good, job }) => void response.writeHead(good).end(JSON.stringify(job) + JSON.stringify(job)),
  null: text('null'),
  'a number': text('1'),
  'a list': json((job) => [job]),
  'a text': json(() => 'running'),
  'an object of nothing': text('{}'),
  'no id': json(({ id: _, ...job }) => job),
  'an id that is a number': json((job) => ({ ...job, id: 1 })),
  'an empty id': json((job) => ({ ...job, id: '' })),
  'an endless id': json((job) => ({ ...job, id: 'x'.repeat(501) })),
  'an id with a NUL': json((job) => ({ ...job, id: 'a\0b' })),
  'an id with half a character': text('{"id":"\\ud800","state":"running"}'),
  'no state': json(({ state: _, ...job }) => job),
  'an unknown state': json((job) => ({ ...job, state: 'done' })),
  'a state in capitals': json((job) => ({ ...job, state: 'RUNNING' })),
  'a state of null': json((job) => ({ ...job, state: null })),
  'progress below zero': json((job) => ({ ...job, progress: { done: -1, total: null, unit: 'rows' } })),
  'progress of a half': json((job) => ({ ...job, progress: { done: 0.5, total: null, unit: 'rows' } })),
  'progress in words': json((job) => ({ ...job, progress: 'half' })),
  'progress beyond every number': text('{"id":"job-1","state":"running","progress":{"done":1e999,"total":null,"unit":"rows"}}'),
  'rows without their counts': json((job) => ({ ...job, rows: { source: 1 } })),
  'rows below zero': json((job) => ({
    ...job,
    rows: { source: -1, loaded: 0, updated: 0, unchanged: 0, rejected: 0, blocked: 0, unprocessed: 0 },
  })),
  'blockers that are no list': json((job) => ({ ...job, state: 'blocked', blockers: {} })),
  'blockers without end': json((job) => ({ ...job, state: 'blocked', blockers: many(5_001) })),
  'a failure in words': json((job) => ({ ...job, state: 'failed', failure: 'disk full' })),
  'a failure without a code': json((job) => ({ ...job, state: 'failed', failure: { summary: 'disk full' } })),
  'errors without end': json((job) => ({
    ...job,
    errors: { count: 1_001, first: Array.from({ length: 1_001 }, () => ({ row: 1, field: null, code: 'X', message: 'm' })) },
  })),
  'lists in lists': text('['.repeat(200_000)),
  'a redirect': status(302, { location: '/elsewhere' }),
  'a redirect that keeps the method': status(307, { location: '/elsewhere' }),
  'a redirect for ever': status(308, { location: '/jobs' }),
  'no content': ({ response }) => void response.writeHead(204).end(),
  'a part': status(206),
  'a teapot': status(418),
  'a refusal without a reason': ({ response }) => void response.writeHead(409).end(),
  'a fault': status(500),
  'a fault of something between': status(502),
  'a gone': status(410),
  'a body larger than allowed': text(`{"id":"job-1","state":"running"}${' '.repeat(2 * 1_024 * 1_024)}`),
  'a body without end': ({ response, good }) => {
    response.writeHead(good, { 'content-type': 'application/json' });
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536, 0x20)));
    };
    response.on('drain', more);
    more();
  },
  'a gzip bomb': text(gzipBomb, { 'content-encoding': 'gzip' }),
  'a brotli bomb': text(brotliBomb, { 'content-encoding': 'br' }),
  'gzip that is none': text('{"id":"job-1","state":"running"}', { 'content-encoding': 'gzip' }),
  'less than was stated': ({ response, good }) => {
    response.writeHead(good, { 'content-length': 1_000 }).write('{"id":"job-1","state":"running"}');
    response.socket?.end();
  },
  'a reset': ({ response }) => void response.socket?.resetAndDestroy(),
  'a reset in the middle': ({ response, good }) => {
    response.writeHead(good, { 'content-length': 1_000 }).write('{"id":', () => response.socket?.resetAndDestroy());
  },
  'nothing, ever': () => {},
  'a head and nothing more': ({ response, good }) => response.writeHead(good).flushHeaders(),
  'a slow drip': ({ response, good }) => {
    response.writeHead(good).flushHeaders();
    const drip = setInterval(() => response.write(' '), 10);
    response.on('close', () => clearInterval(drip));
  },
  'another protocol': raw('SSH-2.0-OpenSSH_9.2\r\n'),
  'broken chunks': raw('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n'),
  'a head without end': raw(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`),
};
