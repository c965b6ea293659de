// A subscription that outlives its connection: over graphql-ws, begun again after any disconnect, from the last cursor where there is one.
import { type Client, CloseCode, createClient, MessageType } from 'graphql-ws';
import type { TypedDocumentString } from './gql/graphql.ts';
import { type AnsweredError, baseOf, ClientError, type Connection, causeOf, errorOf, tokenOf } from './request.ts';

export interface SubscribeOptions<Result> {
  /** The cursor of what arrived. It is sent as `after` when the stream is begun again, and what came twice is dropped by it. */
  readonly cursorOf?: (result: Result) => string;
  /** Ends the stream, without an error. */
  readonly signal?: AbortSignal;
  /** The first wait before connecting again; each further one is twice as long, up to `longestWaitMs`. */
  readonly firstWaitMs?: number;
  readonly longestWaitMs?: number;
  /** Told of each disconnect, and how long it waits. */
  readonly onDisconnect?: (reason: string, waitMs: number) => void;
}

const pingEveryMs = 10_000;
const pongWithinMs = 5_000;
const rememberedCursors = 1_000;

/** What the server says itself will pass. */
const passing = new Set(['UNAVAILABLE', 'BUSY', 'TOO_MANY_OPERATIONS']);
/** How the server closes a socket whose token it does not take, or no longer. */
const forbidden = new Set<number>([CloseCode.Unauthorized, CloseCode.Forbidden]);
/** How it is closed where the same again would end the same. */
const senseless = new Set<number>([
  CloseCode.InternalClientError,
  CloseCode.BadRequest,
  CloseCode.BadResponse,
  CloseCode.SubprotocolNotAcceptable,
]);

/** Ends when the server completes the operation, or the signal aborts. Throws ClientError for whatever trying again does not mend. */
export async function* subscribe<Result, Variables extends Record<string, unknown>>(
  connection: Connection,
  document: TypedDocumentString<Result, Variables>,
  variables: Variables,
  options: SubscribeOptions<Result> = {},
): AsyncGenerator<Result, void, undefined> {
  const { cursorOf, signal, firstWaitMs = 200, longestWaitMs = 10_000 } = options;
  const seen = new Set<string>();
  let after: string | null = null;
  let failures = 0;
  const isOver = () => signal?.aborted === true;
  while (!isOver()) {
    const line = open(connection);
    const openedAt = Date.now();
    signal?.addEventListener('abort', line.hangUp, { once: true });
    try {
      const asked = after === null ? variables : { ...variables, after };
      for await (const result of line.client.iterate<Result>({ query: document.toString(), variables: asked })) {
        failures = 0;
        if (result.errors !== undefined) throw errorOf(result.errors[0] ?? { message: 'The server answered with an unknown error.' });
        if (result.data === undefined || result.data === null) continue;
        if (cursorOf !== undefined) {
          const cursor = cursorOf(result.data);
          if (seen.has(cursor)) continue;
          remember(seen, cursor);
          after = cursor;
        }
        yield result.data;
      }
      if (line.wasCompleted() || isOver()) return;
      throw line.closedBy();
    } catch (error) {
      if (isOver()) return;
      const reason = whyAgain(connection, error, line.wasAccepted());
      failures = line.wasAccepted() && Date.now() - openedAt > longestWaitMs ? 1 : failures + 1;
      const waitMs = Math.min(longestWaitMs, firstWaitMs * 2 ** (failures - 1)) * (0.75 + Math.random() / 2); // not all clients at once
      options.onDisconnect?.(reason, Math.round(waitMs));
      await pause(waitMs, signal);
    } finally {
      signal?.removeEventListener('abort', line.hangUp);
      line.hangUp();
    }
  }
}

interface Line {
  readonly client: Client;
  /** Any number of times. */
  readonly hangUp: () => void;
  /** Whether the server took the token. */
  readonly wasAccepted: () => boolean;
  /** Whether the server said that there is no more. */
  readonly wasCompleted: () => boolean;
  /** What ended the connection otherwise. */
  readonly closedBy: () => unknown;
}

/** A connection for one operation. Its library would begin again by itself, but with the first variables and the first token. */
function open(connection: Connection): Line {
  let accepted = false;
  let completed = false;
  let closedBy: unknown = new Error('the connection was closed');
  let pong: ReturnType<typeof setTimeout> | undefined;
  const dispose = () => {
    Promise.resolve(client.dispose()).catch(() => {}); // it rejects where there was never a connection
  };
  const client: Client = createClient({
    url: `${baseOf(connection).replace(/^http/, 'ws')}/graphql`,
    ...(connection.webSocket === undefined ? {} : { webSocketImpl: connection.webSocket }),
    connectionParams: async (): Promise<Record<string, unknown>> => {
      const token = await tokenOf(connection);
      return token === null ? {} : { authorization: `Bearer ${token}` };
    },
    retryAttempts: 0,
    keepAlive: pingEveryMs,
    on: {
      connected: () => {
        accepted = true;
      },
      message: ({ type }) => {
        if (type === MessageType.Complete) completed = true;
      },
      // A peer that is gone without a word, as after a network change, is noticed by its silence.
      ping: (received) => {
        if (!received) pong = setTimeout(() => client.terminate(), pongWithinMs);
      },
      pong: (received) => {
        if (received) clearTimeout(pong);
      },
      closed: (event) => {
        closedBy = event;
        clearTimeout(pong);
        dispose(); // else it begins again at once after a close with 1000, as proxies do, with the old cursor
      },
    },
    onNonLazyError: () => {},
  });
  return {
    client,
    hangUp: () => (accepted ? dispose() : client.terminate()), // disposing would wait for a connection that may never be
    wasAccepted: () => accepted,
    wasCompleted: () => completed,
    closedBy: () => closedBy,
  };
}

/** Why another attempt makes sense, or throws because none does. */
function whyAgain(connection: Connection, error: unknown, accepted: boolean): string {
  const known = error instanceof ClientError ? error : isListOfErrors(error) ? errorOf(error[0]) : null;
  if (known !== null) {
    if (passing.has(known.code)) return known.message;
    throw known;
  }
  if (!isClose(error)) return describe(error);
  if (forbidden.has(error.code) && !(accepted && typeof connection.token === 'function')) {
    throw new ClientError(
      'UNAUTHENTICATED',
      accepted ? 'The access token has expired.' : 'A valid access token is needed: the server refused this one.',
    );
  }
  if (senseless.has(error.code)) throw new ClientError('BAD_REQUEST', error.reason || `The server closed the connection (${error.code}).`);
  return error.reason || `the connection was closed (${error.code})`;
}

function isListOfErrors(error: unknown): error is [AnsweredError] {
  return Array.isArray(error) && typeof (error[0] as Partial<AnsweredError> | undefined)?.message === 'string';
}

/** Not by class: browsers and `ws` each have their own CloseEvent. */
function isClose(error: unknown): error is { code: number; reason: string } {
  return typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'number' && 'reason' in error;
}

function describe(error: unknown): string {
  if (error instanceof Error) return causeOf(error);
  // `ws` gives an event with the error in it; a browser says nothing at all.
  const inner = typeof error === 'object' && error !== null && 'error' in error ? error.error : null;
  return inner instanceof Error ? causeOf(inner) : 'the connection failed';
}

function remember(seen: Set<string>, cursor: string): void {
  seen.add(cursor);
  const [oldest] = seen;
  if (seen.size > rememberedCursors && oldest !== undefined) seen.delete(oldest);
}

function pause(waitMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const over = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', over);
      resolve();
    };
    const timer = setTimeout(over, waitMs);
    signal?.addEventListener('abort', over, { once: true });
  });
}
