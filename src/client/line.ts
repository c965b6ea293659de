// The sockets of a client, over graphql-ws: what is asked of one connection at the same time shares a socket.
import { type Client, createClient, type FormattedExecutionResult, MessageType, type SubscribePayload } from 'graphql-ws/client';
import { baseOf, type Connection, tokenOf } from './request.ts';

/** One operation on a socket. */
export interface Running<Result> {
  /** Ends where the server completed the operation or the socket was closed, and throws what the server refused it with or what cut the socket. */
  readonly results: AsyncIterable<FormattedExecutionResult<Result, unknown>>;
  /** Any number of times. The socket is closed with the last operation on it. */
  readonly end: () => void;
  /** Whether the server took the socket's token. */
  readonly wasAccepted: () => boolean;
  /** Whether the server said that there is no more. */
  readonly wasCompleted: () => boolean;
  /** What closed the socket. */
  readonly closedBy: () => unknown;
  /** No further operation goes on this socket: the server had too many. */
  readonly takeNoMore: () => void;
}

interface Operation {
  readonly onConnected: () => void;
  completed: boolean;
}

interface Line {
  readonly begin: <Result>(payload: SubscribePayload, onConnected: () => void) => Running<Result>;
  readonly hasRoom: () => boolean;
}

const pingEveryMs = 10_000;
const pongWithinMs = 5_000;
/** What a server takes unless it is set otherwise. One that takes fewer says so, see takeNoMore. */
const mostOperations = 20;

const lines = new WeakMap<Connection, Set<Line>>();

/** Begins an operation on a socket of this connection, which is known by its identity. `onConnected`: the server took the token, and is asked. */
export function begin<Result>(connection: Connection, payload: SubscribePayload, onConnected: () => void): Running<Result> {
  const own = lines.get(connection) ?? new Set();
  lines.set(connection, own);
  const line = [...own].find(({ hasRoom }) => hasRoom()) ?? open(connection, own);
  return line.begin(payload, onConnected);
}

/** A socket, which is in `own` as long as it may take operations. Its library would connect again by itself, but with the first variables and the first token. */
function open(connection: Connection, own: Set<Line>): Line {
  const running = new Map<string, Operation>();
  let asked = 0;
  let accepted = false;
  let full = false;
  let closedBy: unknown = new Error('the connection was closed');
  let pong: ReturnType<typeof setTimeout> | undefined;
  const dispose = () => {
    own.delete(line);
    Promise.resolve(client.dispose()).catch(() => {}); // it rejects where there was never a connection
  };
  /** At once when the last has ended, before another comes: the library closes the socket then, and would open the next by itself. */
  const over = (id: string) => {
    if (!running.delete(id) || running.size > 0) return;
    if (accepted) return dispose();
    own.delete(line);
    // Disposing would wait for a connection that may never be, and terminating leaves nobody to hear the error that `ws` gives then.
    socket?.close();
  };
  let socket: { close(): void } | undefined;
  const webSocket = connection.webSocket ?? globalThis.WebSocket; // the library says what is to be done where there is none
  const watched =
    webSocket &&
    new Proxy(webSocket, {
      construct(target, args) {
        socket = Reflect.construct(target, args) as WebSocket; // whatever else it is, it has the methods of one
        return socket;
      },
    });
  const client: Client = createClient({
    url: `${baseOf(connection).replace(/^http/, 'ws')}/graphql`,
    webSocketImpl: watched,
    connectionParams: async (): Promise<Record<string, unknown>> => {
      const token = await tokenOf(connection);
      return token === null ? {} : { authorization: `Bearer ${token}` };
    },
    retryAttempts: 0,
    keepAlive: pingEveryMs,
    generateID: () => String(asked),
    on: {
      connected: () => {
        accepted = true;
        for (const { onConnected } of running.values()) onConnected();
      },
      message: (message) => {
        if (message.type !== MessageType.Complete && message.type !== MessageType.Error) return;
        const operation = running.get(message.id);
        if (operation !== undefined) operation.completed = message.type === MessageType.Complete;
        over(message.id);
      },
      // A peer that is gone without a word, as after a network change, is noticed by its silence.
      ping: (received) => {
        if (!received) pong = setTimeout(() => client.terminate(), pongWithinMs);
      },
      pong: (received) => {
        if (received) clearTimeout(pong);
      },
      error: () => own.delete(line), // its closing may take a while, and the library would open another in its place
      closed: (event) => {
        closedBy = event;
        clearTimeout(pong);
        dispose(); // else it connects again at once after a close with 1000, as proxies do, with the old cursors
      },
    },
    onNonLazyError: () => {},
  });
  const line: Line = {
    hasRoom: () => !full && running.size < mostOperations,
    begin<Result>(payload: SubscribePayload, onConnected: () => void): Running<Result> {
      const id = String(++asked);
      const operation: Operation = { onConnected, completed: false };
      running.set(id, operation);
      const results = client.iterate<Result>(payload);
      if (accepted) onConnected();
      return {
        results,
        end() {
          // Only this wakes whoever waits for a result on a socket that is not connected yet.
          results.throw?.(new Error('ended')).catch(() => {});
          results.return?.().catch(() => {});
          over(id);
        },
        wasAccepted: () => accepted,
        wasCompleted: () => operation.completed,
        closedBy: () => closedBy,
        takeNoMore: () => {
          full = true;
        },
      };
    },
  };
  own.add(line);
  return line;
}
