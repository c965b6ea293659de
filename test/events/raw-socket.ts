// A graphql-ws client as bytes: what arrives in which order, and a socket that a test can pause or tear.
import { afterAll, expect } from 'vitest';
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
  afterAll(() => socket.terminate());
  const messages: RawMessage[] = [];
  let code: number | undefined;
  socket.on('error', () => {});
  socket.on('close', (given) => {
    code = given;
  });
  socket.on('message', (data) => messages.push(JSON.parse(String(data)) as RawMessage));
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
    async reach(what, timeout = 10_000) {
      let seen = 0;
      let found: RawMessage | undefined;
      await expect
        .poll(
          () => {
            for (; found === undefined && seen < messages.length; seen++) if (what(messages[seen] as RawMessage)) found = messages[seen];
            return found !== undefined;
          },
          { timeout, interval: 5 },
        )
        .toBe(true);
      return found as RawMessage;
    },
  };
  await raw.reach(({ type }) => type === 'connection_ack');
  return raw;
}
