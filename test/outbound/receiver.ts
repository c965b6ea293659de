// Servers of other people, on loopback: one that answers as a test says and remembers who called, and one that nobody must call.
import { createServer as createHttpServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Receiver {
  readonly host: string;
  readonly url: string;
  readonly calls: readonly Call[];
  /** Connections, whether or not anything was sent. */
  connections(): number;
  /** Those that are open now. */
  open(): number;
}

/** Answers after it has read the whole call. */
export async function receiver(answer: (response: ServerResponse, request: IncomingMessage) => void): Promise<Receiver> {
  const calls: Call[] = [];
  const server = createHttpServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('error', () => {});
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      calls.push({ method, path: url, headers, body: Buffer.concat(chunks).toString() });
      answer(response, request);
    });
  });
  return { ...(await listen(server)), calls };
}

/** Below HTTP. */
export function socketReceiver(serve: (socket: Socket) => void): Promise<Omit<Receiver, 'calls'>> {
  return listen(createServer(serve));
}

async function listen(server: Server): Promise<Omit<Receiver, 'calls'>> {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections++;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { host, url: `http://${host}`, connections: () => connections, open: () => sockets.size };
}
