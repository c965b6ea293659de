// A door before an S3 server, which can break connections after so many bytes.
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Door {
  readonly endpoint: string;
  /** How many bytes a connection lets through before it ends, up to the server and down from it. */
  readonly lets: { up: number; down: number };
  /** So many of the connections that come next are reset at once. */
  readonly refuse: (times: number) => void;
  /** From here no byte passes, and nothing ends. */
  readonly hold: () => void;
  /** How many connections came. */
  readonly knocks: () => number;
  /** How many are open. */
  readonly open: () => number;
}

export async function door(port: number): Promise<Door> {
  const lets = { up: Number.POSITIVE_INFINITY, down: Number.POSITIVE_INFINITY };
  const sockets = new Set<Socket>();
  let knocks = 0;
  let refused = 0;
  let held = false;
  const server = createServer((near) => {
    knocks++;
    sockets.add(near);
    near.on('error', () => {});
    near.on('close', () => sockets.delete(near));
    if (refused > 0) {
      refused--;
      return void near.resetAndDestroy();
    }
    const far = connect(port, '127.0.0.1');
    far.on('error', () => {});
    let up = 0;
    let down = 0;
    near.on('data', (bytes) => {
      up += bytes.length;
      if (up > lets.up) near.resetAndDestroy();
      else if (!held) far.write(bytes);
    });
    far.on('data', (bytes) => {
      if (!held) near.write(bytes.subarray(0, lets.down - down));
      down += bytes.length;
      if (down <= lets.down) return;
      near.end();
      far.destroy();
    });
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lets,
    refuse(times) {
      refused = times;
    },
    hold() {
      held = true;
    },
    knocks: () => knocks,
    open: () => sockets.size,
  };
}
