// One address before several nodes, as a balancer gives it: what links are made with stays, whoever dies.

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';

export interface Front {
  readonly url: string;
  /** Where it sends connections, each in turn; a port where nobody listens costs the caller the connection. */
  readonly ports: readonly number[];
  close(): Promise<void>;
}

export async function frontOf(count: number): Promise<Front> {
  const ports = await Promise.all(Array.from({ length: count }, freePort));
  const open = new Set<Socket>();
  let turn = 0;
  const server = createServer((socket) => {
    const onward = connect(ports[turn++ % ports.length] ?? 0, '127.0.0.1');
    for (const [one, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      open.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        open.delete(one);
        other.destroy();
      });
    }
    socket.pipe(onward).pipe(socket);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ports,
    async close() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
