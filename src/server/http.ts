// One server: GraphQL over HTTP, its sockets, uploads and health. Stops in the order in which nothing is cut off that could end by itself.
import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { GraphQLError } from 'graphql';
import { createYoga, type Plugin, type YogaInitialContext } from 'graphql-yoga';
import { KeysUnavailableError } from '../auth/remote-keys.ts';
import { admit } from '../auth/revocation.ts';
import type { SignIn } from '../auth/sign-in.ts';
import { bearer, type TokenSettings, UnauthenticatedError, verifyToken } from '../auth/token.ts';
import type { TokenHolder } from '../auth/viewer.ts';
import type { StreamEnds } from '../events/follow.ts';
import { publicKeys } from '../exports/keys.ts';
import type { App, Context } from '../graphql/context.ts';
import type { Log } from '../log.ts';
import { dashboard } from './dashboard.ts';
import { handleDownload, isDownload } from './downloads.ts';
import { graphiql } from './graphiql.ts';
import { handleJobLink, isJobLink } from './job-links.ts';
import { documentLimits } from './limits.ts';
import { codedVariables, masked } from './masked.ts';
import { metricsOf } from './metrics.ts';
import { handleRejectedRows, isRejectedRows } from './rejected-rows.ts';
import { schema } from './schema.ts';
import { signInPages } from './sign-in.ts';
import { attachSockets, type SocketContext } from './sockets.ts';
import { eventStreams } from './sse.ts';
import { handleUpload, isUpload } from './uploads.ts';

export interface HttpOptions {
  readonly app: App;
  readonly host: string;
  readonly port: number;
  readonly tokens: TokenSettings;
  /** null: people sign in by a token that they have. */
  readonly signIn: SignIn | null;
  readonly limits: {
    readonly bodyBytes: number;
    readonly tokens: number;
    readonly depth: number;
    readonly complexity: number;
    readonly socketFrameBytes: number;
    readonly socketOperations: number;
    readonly socketsPerSubject: number;
  };
  /** Null when all is well, else what is not ready, in a word. */
  readonly notReady: () => Promise<string | null>;
  readonly log: Log;
  /** How long a stream over HTTP may be silent at most; 12 s if not given. */
  readonly keepAliveMs?: number;
}

export interface RunningServer {
  readonly port: number;
  close(): Promise<void>;
}

const endpoint = '/graphql';
const bodyMs = 30_000;
const idleMs = 60_000;

export async function serve(options: HttpOptions): Promise<RunningServer> {
  const { app, limits, log, tokens } = options;
  const metrics = metricsOf(app);
  const closing = new AbortController();
  setMaxListeners(0, closing.signal); // each stream has one
  const yoga = createYoga<SocketContext, Context>({
    schema,
    graphqlEndpoint: endpoint,
    landingPage: false,
    batching: false,
    multipart: false,
    maxRequestBodySize: false, // limited below, by the stream itself: yoga's own limit costs half of the throughput
    parserAndValidationCache: { validationCache: false }, // limits.ts keeps what may be kept
    plugins: [documentLimits<Context>(limits), jsonOnly(), codedVariables(), eventStreams(options.keepAliveMs)],
    graphiql: false,
    cors: false, // our pages are on this origin, and yoga's default invites every other one
    logging: false,
    maskedErrors: { maskError: (error) => masked(error, log) },
    context: async (initial: YogaInitialContext & SocketContext): Promise<Context> => {
      const requestId = randomUUID();
      const { holder: ofSocket, request } = initial;
      const holder = ofSocket ?? (await holderOfHeader(tokens, request.headers.get('authorization')));
      const viewer = holder === null ? null : await admit(app.db, holder);
      const ends = (workspaceId: string): StreamEnds => ({
        signals: [closing.signal, request.signal],
        expiresAt: viewer?.expiresAt ?? null,
        watch: viewer === null ? null : (onRevoked) => app.access.watch(viewer.subject, workspaceId, onRevoked),
      });
      return { ...app, viewer, requestId, ends };
    },
  });
  const editor = graphiql(endpoint);
  const page = dashboard({ signIn: options.signIn !== null });
  const signing = signInPages({ signIn: options.signIn, secret: tokens.secret, publicUrl: app.packages.publicUrl, log });

  const server = createServer((request, response) => {
    route(request, response).catch((error: unknown) => {
      log.error({ err: error }, 'a request failed');
      if (!response.headersSent) response.writeHead(500).end();
      else response.destroy();
    });
  });
  const route = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (!URL.canParse(request.url ?? '/', 'http://localhost')) return void response.writeHead(400).end();
    const url = new URL(request.url ?? '/', 'http://localhost');
    if (url.pathname === endpoint) {
      if (!limitBody(request, response, limits.bodyBytes)) return;
      await yoga(request, response);
      return;
    }
    if (isUpload(url.pathname)) {
      request.setTimeout(idleMs, () => request.destroy());
      request.once('end', () => request.setTimeout(0)); // judging what has arrived is not the sender's idling
      return handleUpload(app.packages, url, request, response, log);
    }
    if (isJobLink(url.pathname)) return handleJobLink(app.packages, url, request, response, log);
    if (isRejectedRows(url.pathname)) return handleRejectedRows(app.packages, url, request, response, log);
    if (isDownload(url.pathname)) return handleDownload(app.exports, url, request, response, log);
    if (request.method !== 'GET' && request.method !== 'HEAD') return void response.writeHead(405).end();
    if (url.pathname === '/.well-known/packhorse-keys.json') return json(response, await publicKeys(app.db));
    if (url.pathname === '/.well-known/packhorse-call-keys.json') return json(response, app.callKeys);
    if (url.pathname === '/graphiql') return editor(request, response);
    if (url.pathname === '/metrics') return void response.writeHead(200, { 'content-type': metrics.contentType }).end(await metrics.text());
    if (url.pathname === '/healthz') return plain(response, 200, 'ok');
    if (url.pathname === '/readyz') {
      const reason = closing.signal.aborted ? 'stopping' : await options.notReady();
      return plain(response, reason === null ? 200 : 503, reason ?? 'ready');
    }
    if (await signing.handle(url, request, response)) return;
    if (!page(url.pathname, request, response)) plain(response, 404, 'not found');
  };
  // Node's own limit of five minutes a request would cut off the upload of a large package. Each way in has a limit of its own instead.
  server.requestTimeout = 0;
  server.headersTimeout = 30_000;
  const sockets = attachSockets(server, {
    path: endpoint,
    yoga,
    tokens,
    publicUrl: app.packages.publicUrl,
    limits,
    fan: app.fan,
    access: app.access,
    log,
  });

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  const address = server.address();
  return {
    port: address !== null && typeof address === 'object' ? address.port : options.port,
    close: () => close(server, closing, sockets),
  };
}

async function close(server: Server, closing: AbortController, sockets: { dispose(): Promise<void> }): Promise<void> {
  // Made before anything is awaited, or 'close' is missed.
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  closing.abort(); // streams end by themselves, so server-sent events complete
  await sockets.dispose();
  server.closeIdleConnections();
  const limit = setTimeout(() => server.closeAllConnections(), 2_000);
  await closed;
  clearTimeout(limit);
}

function json(response: ServerResponse, body: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function plain(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${text}\n`);
}

/** Refuses a body that says it is too large, and cuts one that turns out to be. */
function limitBody(request: IncomingMessage, response: ServerResponse, limit: number): boolean {
  const refuse = () => {
    if (response.headersSent) return void request.destroy();
    const body = JSON.stringify({
      errors: [{ message: `The request is larger than ${limit} bytes.`, extensions: { code: 'REQUEST_TOO_LARGE' } }],
    });
    response.writeHead(413, { 'content-type': 'application/json', connection: 'close' }).end(body);
  };
  if (Number(request.headers['content-length'] ?? 0) > limit) {
    refuse();
    return false;
  }
  const slow = setTimeout(() => request.destroy(), bodyMs);
  request.once('close', () => clearTimeout(slow));
  request.once('end', () => clearTimeout(slow));
  let seen = 0;
  const push = request.push.bind(request);
  // Counted as it arrives, before anybody reads it: a listener for 'data' would set the stream flowing.
  request.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
    seen += chunk?.length ?? 0;
    if (seen <= limit) return push(chunk, encoding);
    refuse();
    return false;
  };
  return true;
}

async function holderOfHeader(tokens: TokenSettings, header: string | null | undefined): Promise<TokenHolder | null> {
  try {
    const token = bearer(header);
    return token === null ? null : await verifyToken(tokens, token);
  } catch (error) {
    if (!(error instanceof UnauthenticatedError || error instanceof KeysUnavailableError)) throw error;
    const status = error instanceof UnauthenticatedError ? 401 : 503;
    throw new GraphQLError(error.message, { extensions: { code: error.code, http: { status } } });
  }
}

/** Only JSON is read, so that a form on another site can send nothing here that a browser lets through without asking. */
function jsonOnly(): Plugin<Context> {
  return {
    onRequest(hook) {
      const { request, fetchAPI } = hook;
      const refuse = (status: number, headers = {}) =>
        hook.endResponse(new fetchAPI.Response('POST a GraphQL operation as application/json\n', { status, headers }));
      if (request.method !== 'POST') return refuse(405, { allow: 'POST' });
      const type = request.headers.get('content-type') ?? '';
      if (!/^application\/(graphql\+)?json\s*(;|$)/i.test(type)) refuse(415);
    },
  };
}
