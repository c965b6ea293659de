// One operation over HTTP. Works in Node and in browsers.
import type { TypedDocumentString } from './gql/graphql.ts';

/** A WebSocket class, for Node before 22, which has none of its own. */
export type WebSocketClass = new (url: string, protocols?: string | string[]) => unknown;

export interface Connection {
  /** Where the server is, such as http://127.0.0.1:4000. */
  readonly url: string;
  /** A function is asked for a fresh one each time. Null: none is sent. */
  readonly token: string | null | (() => Promise<string>);
  readonly webSocket?: WebSocketClass;
}

/** What a caller may do about it is in the code; the message is one sentence for a person. */
export class ClientError extends Error {
  override readonly name = 'ClientError';
  readonly code: string;
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

interface Answer<Result> {
  readonly data?: Result | null;
  readonly errors?: readonly AnsweredError[];
}

export interface AnsweredError {
  readonly message: string;
  readonly extensions?: { readonly code?: unknown };
}

export type VariablesOf<Variables> = Variables extends Record<string, never> ? [variables?: Variables] : [variables: Variables];

/** The operation's data. Refusals that are members of a result are data; everything else that is not data is a ClientError. */
export async function execute<Result, Variables>(
  connection: Connection,
  document: TypedDocumentString<Result, Variables>,
  ...[variables]: VariablesOf<Variables>
): Promise<Result> {
  const endpoint = `${baseOf(connection)}/graphql`;
  const token = await tokenOf(connection);
  const response = await reach(connection, endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token === null ? {} : { authorization: `Bearer ${token}` }) },
    body: JSON.stringify({ query: document.toString(), variables: variables ?? {} }),
  });
  const answer = await read<Result>(response, endpoint);
  const [error] = answer.errors ?? [];
  if (error !== undefined) throw errorOf(error, response.status);
  if (answer.data === undefined || answer.data === null) throw notOurs(endpoint, response.status);
  return answer.data;
}

/** `fetch`, but a server that is not there is a ClientError. */
export async function reach(connection: Connection, url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    throw new ClientError('UNREACHABLE', `The server at ${baseOf(connection)} cannot be reached: ${causeOf(error)}.`, { cause: error });
  }
}

export function errorOf({ message, extensions }: AnsweredError, status = 200): ClientError {
  const code = typeof extensions?.code === 'string' ? extensions.code : status === 401 ? 'UNAUTHENTICATED' : 'BAD_REQUEST';
  return new ClientError(code, message);
}

export function baseOf({ url }: Connection): string {
  return url.replace(/\/+$/, '');
}

export async function tokenOf({ token }: Connection): Promise<string | null> {
  return typeof token === 'function' ? token() : token;
}

async function read<Result>(response: Response, endpoint: string): Promise<Answer<Result>> {
  const text = await response.text().catch((error: unknown) => {
    throw new ClientError('UNREACHABLE', `The answer of ${endpoint} was cut off: ${causeOf(error)}.`, { cause: error });
  });
  try {
    const answer: unknown = JSON.parse(text);
    // The server's own schema made the types, so an object with these names is what they say.
    if (typeof answer === 'object' && answer !== null && ('data' in answer || 'errors' in answer)) return answer as Answer<Result>;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw notOurs(endpoint, response.status);
}

function notOurs(endpoint: string, status: number): ClientError {
  return new ClientError('BAD_ANSWER', `${endpoint} answered ${status} and not as a Packhorse server does.`);
}

const meanings: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there (is it running? `packhorse serve`)',
  ENOTFOUND: 'there is no such host',
  ECONNRESET: 'the connection was cut',
  UND_ERR_SOCKET: 'the connection was cut',
};

/** What is behind undici's "fetch failed". */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof AggregateError ? error.cause.errors[0] : (error.cause ?? error);
  if (!(cause instanceof Error)) return error.message;
  const code = 'code' in cause ? String(cause.code) : '';
  return meanings[code] ?? (cause.message || code);
}
