// A door before Postgres that a test can shut: politely, or as a network does that has lost its way.
import { connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Door {
  /** The database's URL, through the door. */
  readonly url: string;
  /** How often somebody came, whether or not it was let in. */
  knocks(): number;
  /** Ends what is open and lets nobody in. */
  shut(): void;
  /** Bytes go nowhere in either direction, and no connection ends: half open. New ones hang too. */
  swallow(): void;
  /** From here whoever comes is served; what was swallowed stays so. */
  open(): void;
}

export async function door(databaseUrl: string): Promise<Door> {
  const url = new URL(databaseUrl);
  const { hostname, port } = url;
  const sockets = new Set<Socket>();
  let state: 'open' | 'shut' | 'swallowing' = 'open';
  let knocks = 0;
  const server = createServer((near) => {
    knocks++;
    sockets.add(near);
    near.on('error', () => {});
    near.on('close', () => sockets.delete(near));
    if (state === 'shut') return void near.destroy();
    if (state === 'swallowing') return void near.resume();
    const far = connect(Number(port), hostname);
    far.on('error', () => {});
    near.on('data', (bytes) => far.write(bytes));
    far.on('data', (bytes) => near.write(bytes));
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
    swallowers.add(() => {
      near.removeAllListeners('data').resume();
      far.removeAllListeners('data').resume();
    });
  });
  const swallowers = new Set<() => void>();
  const shut = () => {
    state = 'shut';
    for (const socket of sockets) socket.destroy();
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    shut();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the door has no port');
  url.hostname = '127.0.0.1';
  url.port = String(address.port);
  return {
    url: url.href,
    knocks: () => knocks,
    shut,
    swallow() {
      state = 'swallowing';
      for (const swallow of swallowers) swallow();
      swallowers.clear();
    },
    open() {
      state = 'open';
    },
  };
}
