// A subscription that outlives its connection: over graphql-ws, begun again after any disconnect, from the last cursor where there is one.
import { CloseCode } from 'graphql-ws/client';
import type { TypedDocumentString } from './gql/graphql.ts';
import { begin, type Running } from './line.ts';
import { type AnsweredError, ClientError, type Connection, causeOf, errorOf } from './request.ts';

export interface SubscribeOptions<Result> {
  /**
   * The cursor of what arrived, null where it has none. It is sent as the variable `after` when the stream is begun again, and what came twice
   * is dropped by it. By default the `cursor` of the root field, where the document selects it; without a cursor the stream is simply begun again.
   */
  readonly cursorOf?: (result: Result) => string | null;
  /** Ends the stream, without an error. */
  readonly signal?: AbortSignal;
  /** The first wait before connecting again; each further one is twice as long, up to `longestWaitMs`. */
  readonly firstWaitMs?: number;
  readonly longestWaitMs?: number;
  /** Told each time that the server is asked, over a socket whose token it took. */
  readonly onConnect?: () => void;
  /** Told of each disconnect, and how long it waits. */
  readonly onDisconnect?: (reason: string, waitMs: number) => void;
}

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

/**
 * Ends when the server completes the operation, or the signal aborts. Throws ClientError for whatever trying again does not mend.
 * What is followed over one and the same `connection` object shares sockets.
 */
export async function* subscribe<Result, Variables extends Record<string, unknown>>(
  connection: Connection,
  document: string | TypedDocumentString<Result, Variables>,
  variables: Variables,
  options: SubscribeOptions<Result> = {},
): AsyncGenerator<Result, void, undefined> {
  const { cursorOf = cursorOfRoot, signal, onConnect = () => {}, firstWaitMs = 200, longestWaitMs = 10_000 } = options;
  const query = document.toString();
  const seen = new Set<string>();
  let after: string | null = null;
  let failures = 0;
  const isOver = () => signal?.aborted === true;
  while (!isOver()) {
    const openedAt = Date.now();
    const asked = after === null ? variables : { ...variables, after };
    const running = begin<Result>(connection, { query, variables: asked }, onConnect);
    signal?.addEventListener('abort', running.end, { once: true });
    try {
      for await (const result of running.results) {
        if (isOver()) return;
        failures = 0;
        if (result.errors !== undefined) throw errorOf(result.errors[0] ?? { message: 'The server answered with an unknown error.' });
        if (result.data === undefined || result.data === null) continue;
        const cursor = cursorOf(result.data);
        if (cursor !== null) {
          if (seen.has(cursor)) continue;
          remember(seen, cursor);
          after = cursor;
        }
        yield result.data;
      }
      if (running.wasCompleted() || isOver()) return;
      throw running.closedBy();
    } catch (error) {
      if (isOver()) return;
      const reason = whyAgain(connection, error, running);
      failures = running.wasAccepted() && Date.now() - openedAt > longestWaitMs ? 1 : failures + 1;
      const waitMs = Math.min(longestWaitMs, firstWaitMs * 2 ** (failures - 1)) * (0.75 + Math.random() / 2); // not all clients at once
      options.onDisconnect?.(reason, Math.round(waitMs));
      await pause(waitMs, signal);
    } finally {
      signal?.removeEventListener('abort', running.end);
      running.end();
    }
  }
}

function cursorOfRoot(result: unknown): string | null {
  const [root] = Object.values(result as Record<string, { readonly cursor?: unknown } | null>); // data is an object, and a subscription has one root field
  return typeof root?.cursor === 'string' ? root.cursor : null;
}

/** Why another attempt makes sense, or throws because none does. */
function whyAgain(connection: Connection, error: unknown, { wasAccepted, takeNoMore }: Running<unknown>): string {
  const accepted = wasAccepted();
  const known = error instanceof ClientError ? error : isListOfErrors(error) ? errorOf(error[0]) : null;
  if (known !== null) {
    if (known.code === 'TOO_MANY_OPERATIONS') takeNoMore();
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
