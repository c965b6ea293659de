// A door before a server that passes on all it is asked; downloads a test can put in disorder, as networks and proxies do.
import { request as ask, createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterAll } from 'vitest';

export interface DownloadDoor {
  readonly url: string;
  /** Where the server must listen that requests go to. */
  readonly freePort: number;
  /** From here each download is cut off after so many bytes, as often as stated. */
  cut(afterBytes: number, times: number): void;
  /** From here it does as is said until it is told otherwise; null: everything passes as it is. */
  disorder(kind: 'forgets ranges' | 'alters a byte' | null): void;
  /** The ranges that were asked for since the last look; null for the whole. */
  ranges(): (string | null)[];
}

export async function downloadDoor(): Promise<DownloadDoor> {
  const probe = createServer();
  const freePort = await listen(probe);
  await new Promise((resolve) => probe.close(resolve));
  let cuts = { afterBytes: 0, times: 0 };
  let disorder: 'forgets ranges' | 'alters a byte' | null = null;
  let ranges: (string | null)[] = [];

  const server = createServer((request, response) => {
    const { method, url: path, headers: given } = request;
    const isDownload = path?.startsWith('/exports/') === true;
    const { range, ...others } = given;
    if (isDownload) ranges.push(range ?? null);
    const headers = isDownload && disorder === 'forgets ranges' ? others : given;
    const further = ask({ port: freePort, host: '127.0.0.1', method, path, headers }, (answer) => {
      if (isDownload) return void download(answer, response);
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    further.on('error', () => response.destroy());
    request.pipe(further);
  });

  async function download(answer: IncomingMessage, response: ServerResponse): Promise<void> {
    const bytes = await buffer(answer);
    if (disorder === 'alters a byte') bytes[bytes.length - 1]! ^= 1;
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    if (cuts.times-- <= 0) return void response.end(bytes);
    response.flushHeaders();
    response.write(bytes.subarray(0, cuts.afterBytes), () => response.destroy());
  }

  const port = await listen(server);
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    url: `http://127.0.0.1:${port}`,
    freePort,
    cut: (afterBytes, times) => {
      cuts = { afterBytes, times };
    },
    disorder: (kind) => {
      disorder = kind;
    },
    ranges() {
      const seen = ranges;
      ranges = [];
      return seen;
    },
  };
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}
