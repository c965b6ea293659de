// GraphQL over WebSocket (graphql-ws), on the HTTP server's own port. The same parsing, limits, masking and context as over HTTP.
import { setMaxListeners } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { type ExecutionArgs, GraphQLError } from 'graphql';
import { CloseCode } from 'graphql-ws';
import { useServer } from 'graphql-ws/use/ws';
import type { YogaServerInstance } from 'graphql-yoga';
import { type WebSocket, WebSocketServer } from 'ws';
import { KeysUnavailableError } from '../auth/remote-keys.ts';
import { bearer, type TokenSettings, verifyToken } from '../auth/token.ts';
import type { TokenHolder } from '../auth/viewer.ts';
import { type AccessWatch, watchLater } from '../events/access.ts';
import type { FanOut, OpenStream } from '../events/fan-out.ts';
import { cancellable, justEnded, type StreamEnds } from '../events/follow.ts';
import { type Context, unauthenticated, viewerOf } from '../graphql/context.ts';
import type { Log } from '../log.ts';
import { masked } from './masked.ts';
import { outletOf, sharingKey, tryAgainLater } from './sharing.ts';

/** Given by sockets, whose token comes with the connection; absent over HTTP, where it comes with the request. */
export interface SocketContext {
  readonly holder?: TokenHolder;
}

export interface SocketOptions {
  readonly path: string;
  readonly yoga: YogaServerInstance<SocketContext, Context>;
  readonly tokens: TokenSettings;
  /** Where our own pages may come from, besides the address that was asked. */
  readonly publicUrl: () => string;
  readonly limits: { readonly socketFrameBytes: number; readonly socketOperations: number; readonly socketsPerSubject: number };
  readonly fan: FanOut;
  readonly access: AccessWatch;
  readonly log: Log;
}

interface Params extends Record<string, unknown> {
  readonly authorization?: unknown;
  readonly Authorization?: unknown;
}

interface Session {
  readonly holder: TokenHolder;
  readonly gone: AbortController;
  readonly expiry: NodeJS.Timeout;
  /** How many operations were refused because too many run. */
  refused: number;
}

const pingEveryMs = 12_000;
const closeLimitMs = 1_000;
// An honest client that is told so opens another connection. Whoever goes on has answers made that nobody reads.
const mostRefusals = 100;
const tooMany = CloseCode.TooManyInitialisationRequests; // 4429: clients do not try again after it
const longestBacklogBytes = 16 * 1024 * 1024;
const longestTimer = 2 ** 31 - 1; // a longer one fires at once

export function attachSockets(server: Server, options: SocketOptions): { dispose(): Promise<void> } {
  const { yoga, tokens, limits, fan, log } = options;
  const sessions = new WeakMap<object, Session>();
  const perSubject = new Map<string, number>();
  const wss = new WebSocketServer({ noServer: true, maxPayload: limits.socketFrameBytes }); // the default is 100 MiB
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    const url = request.url ?? '/';
    if (!URL.canParse(url, 'http://localhost')) return refuse(socket, '400 Bad Request'); // new URL would end the process
    if (new URL(url, 'http://localhost').pathname !== options.path) return refuse(socket, '404 Not Found');
    if (!isOwnOrigin(request, options.publicUrl())) return refuse(socket, '403 Forbidden');
    wss.handleUpgrade(request, socket, head, (opened) => {
      quieten(opened);
      // Streams wait until what they sent has gone out; answers to a client that asks and does not read would pile up.
      opened.on('message', () => {
        if (opened.bufferedAmount > longestBacklogBytes) opened.terminate();
      });
      wss.emit('connection', opened, request);
      // graphql-ws prints the first and leaves a second to end the process. The connection closes by itself, with the right code.
      opened.removeAllListeners('error').on('error', (error) => log.debug({ err: error }, 'a socket had an error'));
    });
  });

  const disposable = useServer<Params>(
    {
      isProd: true, // an error's words stay out of closing frames
      onConnect: async (connection) => {
        const { connectionParams, extra } = connection;
        const given = connectionParams?.authorization ?? connectionParams?.Authorization;
        Object.assign(connection, { connectionParams: undefined }); // the library keeps it; nobody needs a token for as long as a socket is open
        try {
          const token = typeof given === 'string' ? bearer(given) : null;
          if (token === null) return false; // 4403
          const holder = await verifyToken(tokens, token);
          if (extra.socket.readyState !== extra.socket.OPEN) return false; // or its timer would outlive it
          const count = perSubject.get(holder.subject) ?? 0;
          if (count >= limits.socketsPerSubject) {
            extra.socket.close(tryAgainLater, 'Too many connections of this subject');
            return false;
          }
          perSubject.set(holder.subject, count + 1);
          const remaining = Math.min(Math.max(0, holder.expiresAt.getTime() - Date.now()), longestTimer);
          // Forbidden is a code that clients try again after, with a fresh token.
          const expiry = setTimeout(() => {
            extra.socket.close(CloseCode.Forbidden, 'Token expired');
            end(extra.socket);
          }, remaining);
          const gone = new AbortController();
          setMaxListeners(0, gone.signal); // each operation has some
          sessions.set(extra.socket, { holder, gone, expiry, refused: 0 });
          return true;
        } catch (error) {
          if (error instanceof KeysUnavailableError) extra.socket.close(tryAgainLater, 'Tokens cannot be checked now');
          return false;
        }
      },
      onSubscribe: async ({ extra, subscriptions }, id, params) => {
        const session = sessions.get(extra.socket);
        // Its token has expired: until the client answers the closing frame its operations still arrive.
        if (session === undefined) return [unauthenticated()];
        if (Object.keys(subscriptions).length > limits.socketOperations) {
          session.refused++;
          if (session.refused === mostRefusals) {
            extra.socket.close(tooMany, 'Too many operations');
            end(extra.socket);
          }
          return [
            new GraphQLError(`At most ${limits.socketOperations} operations run on a connection at once.`, {
              extensions: { code: 'TOO_MANY_OPERATIONS' },
            }),
          ];
        }
        const { holder } = session;
        const enveloped = yoga.getEnveloped({ request: socketRequest(extra.request), params, holder } as never); // yoga's type wants an HTTP request's parts
        const { schema, execute, subscribe, contextFactory, parse, validate } = enveloped;
        let document: ReturnType<typeof parse>;
        try {
          document = parse(params.query);
        } catch (error) {
          return [error instanceof GraphQLError ? withoutHttp(error) : new GraphQLError('The document cannot be parsed.')];
        }
        const errors = validate(schema, document);
        if (errors.length > 0) return errors.map(withoutHttp);
        const contextValue: Context = await contextFactory();
        const args: ExecutionArgs = {
          schema,
          document,
          operationName: params.operationName ?? null,
          variableValues: params.variables ?? null,
        };
        // Access is watched for each subscriber: a stream that is shared goes on for the others.
        const watch = watchLater(options.access, holder.subject);
        const open: OpenStream = (place, ended) => {
          const ends = (workspaceId: string): StreamEnds => {
            watch.of(workspaceId);
            return { signals: [ended], expiresAt: null, watch: null };
          };
          return subscribe({ ...args, contextValue: { ...contextValue, place, ends } });
        };
        const shared = () => {
          const key = sharingKey(document, params, viewerOf(contextValue));
          const outlet = outletOf(extra.socket, extra.request.socket, id);
          const ends: StreamEnds = { signals: [session.gone.signal], expiresAt: null, watch: watch.begin };
          return cancellable(ends, (ended) => fan.subscribe(key, open, outlet, ended));
        };
        return { ...args, contextValue, rootValue: { execute, subscribe: shared } };
      },
      // The envelope's functions travel in the root value, so that plugins see socket operations too.
      execute: (args) => (args.rootValue as { execute: (a: unknown) => never }).execute(args),
      subscribe: (args) => (args.rootValue as { subscribe: (a: unknown) => never }).subscribe(args),
      // What a stream threw in the middle: its operation fails, and the socket stays.
      onError: (_context, _id, _payload, errors) => errors.map((error) => masked(error, log).toJSON()),
      onDisconnect: ({ extra }) => end(extra.socket),
      onClose: ({ extra }) => end(extra.socket),
    },
    wss,
    pingEveryMs,
  );
  function end(socket: object): void {
    const session = sessions.get(socket);
    if (session === undefined) return;
    clearTimeout(session.expiry);
    session.gone.abort(justEnded);
    sessions.delete(socket);
    const { subject } = session.holder;
    const count = (perSubject.get(subject) ?? 1) - 1;
    if (count === 0) perSubject.delete(subject);
    else perSubject.set(subject, count);
  }
  wss.on('error', (error) => log.warn({ err: error }, 'the socket server had an error'));
  return {
    async dispose() {
      // Whoever has stopped reading does not answer the closing frame, and ws would wait 30 s for it.
      const limit = setTimeout(() => {
        for (const socket of wss.clients) socket.terminate();
      }, closeLimitMs);
      await disposable.dispose();
      clearTimeout(limit);
    },
  };
}

/** Yoga's notes to itself on the status of an HTTP answer, which it takes off there. */
function withoutHttp(error: GraphQLError): GraphQLError {
  const { http: _, ...extensions } = error.extensions;
  return new GraphQLError(error.message, {
    nodes: error.nodes ?? null,
    source: error.source ?? null,
    positions: error.positions ?? null,
    extensions,
  });
}

/** What was lost with its socket is no fault, and graphql-ws would print each message of it. */
function quieten(opened: WebSocket): void {
  const send = opened.send.bind(opened);
  const quiet = (data: string, sent?: (error?: Error) => void) => send(data, () => sent?.());
  opened.send = quiet as typeof opened.send; // graphql-ws calls it in this way only
}

function refuse(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
}

/** Programs send no Origin. A browser does, and only our own pages may open a socket here. */
function isOwnOrigin({ headers }: IncomingMessage, publicUrl: string): boolean {
  if (headers.origin === undefined) return true;
  if (!URL.canParse(headers.origin)) return false;
  const { host, origin } = new URL(headers.origin);
  return host === headers.host || origin === new URL(publicUrl).origin; // a proxy may have changed the host
}

function socketRequest(request: IncomingMessage): { headers: Headers; method: string; url: string } {
  return { headers: new Headers(), method: 'GET', url: request.url ?? '/' };
}
