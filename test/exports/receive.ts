// A client of downloads that tells a whole answer from one that was broken off, and that can be slow.
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';

export interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** As the protocol has it: as long as was stated. */
  readonly isWhole: boolean;
}

/** An answer whose body nobody reads yet. */
export function ask(url: string, headers: Record<string, string> = {}, method = 'GET'): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request(url, { agent: false, headers, method }, resolve).on('error', reject).end();
  });
}

export function readAll(answer: IncomingMessage): Promise<Received> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    answer.on('data', (chunk: Buffer) => chunks.push(chunk));
    answer.on('error', () => {}); // 'close' follows
    answer.on('close', () => {
      const body = Buffer.concat(chunks);
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body, isWhole: answer.complete });
    });
  });
}

/** Status 0 where the connection broke off before the answer's head had come. */
export async function receive(url: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Received> {
  try {
    return await readAll(await ask(url, headers, method));
  } catch {
    return { status: 0, headers: {}, body: Buffer.alloc(0), isWhole: false };
  }
}
