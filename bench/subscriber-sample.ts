// Real clients among the crowd, which only counts: what these are given is judged field by field.
import { isDeepStrictEqual } from 'node:util';
import { createClient } from 'graphql-ws';
import { WebSocket } from 'ws';
import type { Sides } from './subscriber-sides.ts';

export interface Sample {
  readonly size: number;
  /** Throws unless each is given the events `from` up to before `to`, in order, none twice, with all that an event holds. */
  judge(from: number, to: number): Promise<void>;
  close(): Promise<void>;
}

interface Told {
  readonly cursor: string;
  readonly sequence: number;
  readonly at: string;
  readonly reason: string;
}

const limitMs = 10_000;

export function openSample(url: string, size: number, { operation, authorization, content }: Sides): Sample {
  const clients = Array.from({ length: size }, () => {
    const client = createClient({ url: url.replace('http', 'ws'), webSocketImpl: WebSocket, connectionParams: { authorization } });
    return { client, events: client.iterate<{ workspaceEvents: Told }>(operation) };
  });

  const judgeOne = async (events: (typeof clients)[number]['events'], from: number, to: number) => {
    const cursors = new Set<string>();
    let first: number | null = null;
    for (let n = from; n < to; ) {
      const { value, done } = await events.next();
      if (done === true || value.data == null) throw new Error(`a subscription ended: ${JSON.stringify(value)}`);
      const { cursor, at, ...rest } = value.data.workspaceEvents;
      if (first === null && rest.reason !== `#${from}#`) continue; // from before
      first ??= rest.sequence;
      const expected = { sequence: first + n - from, reason: `#${n}#`, ...content };
      cursors.add(cursor);
      n++;
      if (!isDeepStrictEqual(rest, expected) || Number.isNaN(Date.parse(at)) || cursors.size !== n - from) {
        throw new Error(`expected ${JSON.stringify(expected)} with a new cursor, found ${JSON.stringify(value.data)}`);
      }
    }
  };

  return {
    size,
    async judge(from, to) {
      const limit = new Promise<never>((_, reject) => setTimeout(reject, limitMs, new Error('events did not reach the sample')).unref());
      await Promise.race([limit, Promise.all(clients.map(({ events }) => judgeOne(events, from, to)))]);
    },
    async close() {
      for (const { client } of clients) await client.dispose();
    },
  };
}
