// Calls to servers that are not ours, by HTTP: only to allowed hosts, never past a redirect, and with an end to their time and size.
import { Agent, fetch, type Response } from 'undici';
import { linkedTo } from '../linked.ts';
import { checkedConnector, type Resolve, resolveByDns } from './connect.ts';
import { OutboundError, reasonOf } from './failure.ts';
import type { AllowedHosts } from './hosts.ts';

export interface OutboundRequest {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
  readonly limits?: Partial<Pick<OutboundLimits, 'headersMs' | 'idleMs' | 'totalMs' | 'bodyBytes'>>;
}

export interface OutboundAnswer {
  readonly status: number;
  /** Its beginning, up to the limit. It may hold any character, NUL too. */
  readonly body: string;
  /** As the server wishes it, which may be long; null where it says nothing that can be read. */
  readonly retryAfterSeconds: number | null;
}

export interface Outbound {
  /**
   * The answer to one request, with any status, redirects too. (fetch repeats a request that was answered 421, which means: not processed.)
   * Rejects with OutboundError, or with the signal's reason where that ended it.
   */
  readonly request: (url: string, request: OutboundRequest) => Promise<OutboundAnswer>;
  /** Lets what is under way end, and takes no more. */
  readonly close: () => Promise<void>;
}

interface OutboundLimits {
  /** To a connection, from the name on: DNS, TCP and TLS. */
  readonly connectMs: number;
  /** To the head of the answer, the connection included. */
  readonly headersMs: number;
  /** Between two parts of the answer. */
  readonly idleMs: number;
  /** To the end of what is read of the answer. */
  readonly totalMs: number;
  /** Of the answer, counted after inflation. What follows is not read. */
  readonly bodyBytes: number;
}

const usualLimits: OutboundLimits = { connectMs: 3_000, headersMs: 10_000, idleMs: 10_000, totalMs: 30_000, bodyBytes: 65_536 };

export function createOutbound(options: {
  readonly hosts: AllowedHosts;
  readonly userAgent?: string;
  readonly resolve?: Resolve;
  readonly limits?: Partial<OutboundLimits>;
  /** False: a connection for each request. One that is used again may be closed by the server just then, and whether it got the request is open. */
  readonly keepAlive?: boolean;
}): Outbound {
  const { hosts, userAgent = 'packhorse', resolve = resolveByDns, keepAlive = true } = options;
  const ownLimits = { ...usualLimits, ...options.limits };
  // Its own time limits are off: they are coarse, and `within` has them all.
  const connect = checkedConnector(hosts, resolve, ownLimits.connectMs);
  const agent = new Agent({ connect, headersTimeout: 0, bodyTimeout: 0, ...(keepAlive ? {} : { pipelining: 0 }) });

  return {
    async request(url, { method, headers, body = null, signal, limits }) {
      const { headersMs, idleMs, totalMs, bodyBytes } = { ...ownLimits, ...limits };
      // Again, though it was checked when it was saved: the list may have changed.
      const refusal = hosts.whyRefused(url);
      if (refusal !== null) throw new OutboundError('ADDRESS_NOT_ALLOWED', refusal);
      const { host } = new URL(url);
      return within({ host, headersMs, idleMs, totalMs, signal }, async (ending, partArrived) => {
        const response = await fetch(url, {
          method,
          headers: { 'user-agent': userAgent, ...headers },
          body,
          redirect: 'manual',
          dispatcher: agent,
          signal: ending,
        });
        partArrived();
        return {
          status: response.status,
          body: await readBeginning(response, bodyBytes, partArrived),
          retryAfterSeconds: readRetryAfter(response.headers.get('retry-after')),
        };
      });
    },

    close: () => agent.close(),
  };
}

/** Timers of its own: on Node 20 `AbortSignal.any` can lose an `AbortSignal.timeout` to the garbage collector. */
async function within<T>(
  { host, headersMs, idleMs, totalMs, signal }: { host: string; headersMs: number; idleMs: number; totalMs: number; signal: AbortSignal },
  work: (ending: AbortSignal, partArrived: () => void) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  using ending = linkedTo(signal);
  const timeout = (ms: number, what: string) =>
    setTimeout(() => ending.abort(new OutboundError('TIMEOUT', `${host} gave no ${what} within ${ms / 1_000} s.`)), ms);
  let next = timeout(headersMs, 'answer');
  const whole = timeout(totalMs, 'whole answer');
  try {
    return await work(ending.signal, () => {
      clearTimeout(next);
      next = timeout(idleMs, 'further part of its answer');
    });
  } catch (error) {
    if (ending.signal.aborted) throw ending.signal.reason;
    throw outboundErrorOf(error, host);
  } finally {
    clearTimeout(next);
    clearTimeout(whole);
  }
}

function outboundErrorOf(error: unknown, host: string): OutboundError {
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof OutboundError) return cause;
  // Of the ports of other protocols, such as 25, fetch says so without a code.
  if (cause instanceof Error && cause.message === 'bad port') {
    return new OutboundError('ADDRESS_NOT_ALLOWED', `${host} has a port that is another protocol's, which is never called.`);
  }
  return new OutboundError('BROKEN_ANSWER', `The answer of ${host} was cut off or is not HTTP (${reasonOf(error)}).`, { cause: error });
}

async function readBeginning({ body }: Response, bytes: number, partArrived: () => void): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let left = bytes;
  for await (const chunk of body ?? []) {
    partArrived();
    text += decoder.decode(chunk.subarray(0, left), { stream: true });
    left -= chunk.length;
    if (left <= 0) break; // which ends the connection
  }
  return text; // without half a character that the limit may have left
}

/** Seconds or a date, as HTTP has it. */
function readRetryAfter(value: string | null): number | null {
  if (value === null) return null;
  if (/^\d{1,9}$/.test(value)) return Number(value);
  const at = Date.parse(value);
  return /^[A-Z][a-z]{2},/.test(value) && !Number.isNaN(at) ? Math.max(0, Math.ceil((at - Date.now()) / 1_000)) : null;
}
