// A graphql-ws client as bytes: what arrives in which order, and a socket that a test can pause or tear.
import { onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import type { TestApp } from '../support/app.ts';

export interface RawMessage {
  readonly id?: string;
  readonly type: string;
  readonly payload?: any;
}

export interface RawSocket {
  readonly socket: WebSocket;
  readonly messages: RawMessage[];
  /** How it was closed; undefined while it is open. */
  closed(): number | undefined;
  subscribe(id: string, query: string, variables?: Record<string, unknown>): void;
  complete(id: string): void;
  /** Waits until a message is there, and returns it. */
  reach(what: (message: RawMessage) => boolean, timeout?: number): Promise<RawMessage>;
}

export async function rawSocket(app: Pick<TestApp, 'url' | 'token'>, token?: string): Promise<RawSocket> {
  const socket = new WebSocket(`${app.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
  onTestFinished(() => socket.terminate());
  const messages: RawMessage[] = [];
  let code: number | undefined;
  socket.on('error', () => {});
  socket.on('close', (given) => {
    code = given;
  });
  socket.on('message', (data: Buffer) => messages.push(JSON.parse(data.toString()) as RawMessage));
  const send = (message: RawMessage) => socket.send(JSON.stringify(message));
  await new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  send({ type: 'connection_init', payload: { authorization: `Bearer ${token ?? (await app.token())}` } });
  const raw: RawSocket = {
    socket,
    messages,
    closed: () => code,
    subscribe: (id, query, variables = {}) => send({ id, type: 'subscribe', payload: { query, variables } }),
    complete: (id) => send({ id, type: 'complete' }),
    reach(what, timeout = 30_000) {
      const found = messages.find(what);
      if (found !== undefined) return Promise.resolve(found);
      return new Promise((resolve, reject) => {
        const fail = () => {
          over();
          reject(new Error(`no such message; the last of ${messages.length} was ${JSON.stringify(messages.at(-1))?.slice(0, 300)}`));
        };
        const look = () => {
          const last = messages.at(-1);
          if (last === undefined || !what(last)) return;
          over();
          resolve(last);
        };
        const timer = setTimeout(fail, timeout);
        const over = () => {
          clearTimeout(timer);
          socket.off('message', look).off('close', fail);
        };
        socket.on('message', look).on('close', fail);
      });
    },
  };
  await raw.reach(({ type }) => type === 'connection_ack');
  return raw;
}
