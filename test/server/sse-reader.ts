// A reader of server-sent events over Node's own client, because it can be paused and torn.
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { onTestFinished } from 'vitest';
import { json } from './raw.ts';

interface Told {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: any;
}

interface EventReader {
  readonly response: IncomingMessage;
  readonly text: () => string;
  /** What came so far, but comments. */
  readonly told: () => Told[];
  readonly ended: Promise<void>;
  leave(): void;
}

export interface Asking {
  readonly query: string;
  readonly variables: Record<string, unknown>;
  readonly lastId?: string | undefined;
  readonly url: string;
  readonly token: string;
}

export async function openEvents({ query, variables, lastId, url, token }: Asking): Promise<EventReader> {
  const headers = { ...json(token), accept: 'text/event-stream', ...(lastId === undefined ? {} : { 'last-event-id': lastId }) };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = httpRequest(`${url}/graphql`, { method: 'POST', agent: false, headers }, resolve);
    request.on('error', reject);
    request.end(JSON.stringify({ query, variables }));
  });
  onTestFinished(() => void response.destroy());
  let text = '';
  let from = 0;
  const told: Told[] = [];
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => (text += chunk));
  response.on('error', () => {}); // a test that leaves by itself
  const parse = (block: string): Told => {
    const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, 'm').exec(block)?.[1];
    return { id: field('id'), event: field('event'), data: JSON.parse(field('data') || 'null') };
  };
  return {
    response,
    text: () => text,
    told() {
      for (let end = text.indexOf('\n\n', from); end >= 0; end = text.indexOf('\n\n', from)) {
        const block = text.slice(from, end);
        from = end + 2;
        if (block !== ':') told.push(parse(block));
      }
      return told;
    },
    ended: new Promise((resolve) => response.once('close', () => resolve())),
    leave: () => void response.destroy(),
  };
}

export const count = (stream: EventReader, event = 'next') => stream.told().filter((each) => each.event === event).length;
export const ids = (stream: EventReader) => stream.told().map(({ id }) => id);
