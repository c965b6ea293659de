// Requests as nobody's client would send them: raw bytes over a socket, and server-sent events read one at a time.
import { request as httpRequest, type IncomingHttpHeaders, type RequestOptions } from 'node:http';
import { connect } from 'node:net';
import { WebSocket } from 'ws';

export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** One request with Node's own client: it reads an answer that comes before the body was sent, which fetch does not. */
export function send(
  url: string,
  options: RequestOptions,
  body?: string | Buffer | ((write: (chunk: Buffer) => Promise<void>) => Promise<void>),
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    let answered = false;
    const request = httpRequest(url, { agent: false, ...options }, (response) => {
      answered = true;
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      const done = () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(chunks).toString() });
      response.on('end', done);
      response.on('error', done);
    });
    request.on('error', (error) => {
      if (!answered) reject(error);
    });
    if (typeof body !== 'function') return void request.end(body);
    const write = (chunk: Buffer) =>
      new Promise<void>((drained) => {
        if (answered || request.destroyed || request.write(chunk)) return drained();
        const done = () => {
          for (const event of ['drain', 'close', 'response']) request.off(event, done);
          drained();
        };
        for (const event of ['drain', 'close', 'response']) request.on(event, done);
      });
    body(write).then(() => request.end(), reject);
  });
}

export const json = (token?: string | null): Record<string, string> => ({
  'content-type': 'application/json',
  ...(token ? { authorization: `Bearer ${token}` } : {}),
});

/** Writes bytes as they are and reads until the answer's head is whole, or the server closes. */
export function bytes(port: number, text: string | Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let heard = '';
    socket.on('data', (chunk) => {
      heard += chunk.toString('latin1');
      if (heard.includes('\r\n\r\n')) socket.destroy();
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(heard));
    socket.write(text);
  });
}

export interface Stream {
  readonly status: number;
  /** The next event's `next` payload, or null when the stream has ended. */
  next(): Promise<any>;
  /** The id that the newest event had, which is the cursor to go on after. */
  lastId(): string | undefined;
  readonly close: () => void;
}

/** An operation over server-sent events. */
export async function events(
  url: string,
  token: string | null,
  query: string,
  variables: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Promise<Stream> {
  const stop = new AbortController();
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { ...json(token), accept: 'text/event-stream', ...headers },
    body: JSON.stringify({ query, variables }),
    signal: stop.signal,
  });
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let lastId: string | undefined;
  let plain = !response.headers.get('content-type')?.includes('event-stream');
  return {
    status: response.status,
    async next() {
      for (;;) {
        if (!plain) {
          const end = text.indexOf('\n\n');
          if (end >= 0) {
            const event = text.slice(0, end);
            text = text.slice(end + 2);
            const data = /^data: ?(.*)$/m.exec(event)?.[1];
            lastId = /^id: ?(.*)$/m.exec(event)?.[1] ?? lastId;
            if (/^event: ?next$/m.test(event) && data) return JSON.parse(data);
            continue;
          }
        }
        const read = await reader?.read().catch(() => undefined);
        if (read === undefined || read.done) {
          if (!plain || text === '') return null;
          plain = false;
          const whole = text;
          text = '';
          return JSON.parse(whole);
        }
        text += decoder.decode(read.value, { stream: true });
      }
    },
    lastId: () => lastId,
    close: () => stop.abort(),
  };
}

export interface RawSocket {
  readonly socket: WebSocket;
  readonly heard: any[];
  readonly closed: Promise<{ code: number; reason: string }>;
  say(message: unknown): void;
  /** The next message that a test is waiting for; null if the socket closes first. */
  until(is: (message: any) => boolean): Promise<any>;
}

/** A websocket that speaks graphql-ws only as far as the test does. Resolves once it is open. */
export async function rawSocket(url: string, headers: Record<string, string> = {}, protocol = 'graphql-transport-ws'): Promise<RawSocket> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, protocol, { headers });
  const heard: any[] = [];
  const wakers = new Set<() => void>();
  const wake = () => {
    for (const waker of wakers) waker();
  };
  let over = false;
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.on('close', (code, reason) => {
      over = true;
      wake();
      resolve({ code, reason: reason.toString() });
    });
  });
  socket.on('message', (data: Buffer) => {
    heard.push(JSON.parse(data.toString()));
    wake();
  });
  await new Promise<void>((resolve, reject) => {
    socket.on('open', resolve);
    socket.on('error', reject);
  });
  return {
    socket,
    heard,
    closed,
    say: (message) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
    async until(is) {
      for (;;) {
        const found = heard.find(is);
        if (found !== undefined || over) return found ?? null;
        await new Promise<void>((resolve) => {
          const waker = () => {
            wakers.delete(waker);
            resolve();
          };
          wakers.add(waker);
        });
      }
    },
  };
}

/** A socket that has been acknowledged. */
export async function connected(url: string, token: string): Promise<RawSocket> {
  const socket = await rawSocket(url);
  socket.say({ type: 'connection_init', payload: { authorization: `Bearer ${token}` } });
  await socket.until(({ type }) => type === 'connection_ack');
  return socket;
}
