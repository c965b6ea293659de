// A door before a server's downloads that a test can put in disorder, as networks and proxies are: it passes requests on to the server.
import { createServer } from 'node:http';
import { afterAll } from 'vitest';

export interface DownloadDoor {
  /** What links should begin with. */
  readonly url: string;
  /** Where requests go. */
  toward(url: string): void;
  /** From here each answer is cut off after so many bytes, as often as stated. */
  cut(afterBytes: number, times: number): void;
  /** From here it does as is said until it is told otherwise; null: everything passes as it is. */
  disorder(kind: 'forgets ranges' | 'alters a byte' | null): void;
  /** The ranges that were asked for since the last look; null for the whole. */
  ranges(): (string | null)[];
}

export async function downloadDoor(): Promise<DownloadDoor> {
  let target = '';
  let cuts = { afterBytes: 0, times: 0 };
  let disorder: 'forgets ranges' | 'alters a byte' | null = null;
  let ranges: (string | null)[] = [];
  const server = createServer(async (request, response) => {
    const { range, 'if-range': ifRange } = request.headers;
    ranges.push(range ?? null);
    const headers =
      disorder === 'forgets ranges' || range === undefined
        ? {}
        : { range, ...(ifRange === undefined ? {} : { 'if-range': String(ifRange) }) };
    const answer = await fetch(`${target}${request.url}`, { headers });
    const bytes = Buffer.from(await answer.arrayBuffer());
    if (disorder === 'alters a byte') bytes[bytes.length - 1]! ^= 1;
    response.writeHead(answer.status, { 'content-type': 'application/zip', 'content-length': bytes.length });
    if (cuts.times-- <= 0) return void response.end(bytes);
    response.flushHeaders();
    response.write(bytes.subarray(0, cuts.afterBytes), () => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the door has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    toward: (url) => {
      target = url;
    },
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
