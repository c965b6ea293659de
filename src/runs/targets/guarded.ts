// Calls to one remote target, so that neither side suffers from the other: so many at once, again only what is safe, and not at all for a
// while where it has failed five times in a row or has said when to come back. Kept by each process for itself.
import { bulkhead, ConsecutiveBreaker, circuitBreaker, ExponentialBackoff, handleWhen, retry, wrap } from 'cockatiel';
import { OutboundError } from '../../outbound/failure.ts';
import type { Outbound, OutboundAnswer, OutboundRequest } from '../../outbound/request.ts';

export type Outcome =
  | { readonly is: 'answered'; readonly answer: OutboundAnswer }
  /** `sent`: whether anything may have reached the target. */
  | { readonly is: 'lost'; readonly sent: boolean; readonly message: string };

export interface GuardedCall extends Pick<OutboundRequest, 'method' | 'headers' | 'body' | 'signal'> {
  /** Whether it may be made again where it may have arrived. */
  readonly repeatable: boolean;
}

export type Guarded = (url: string, call: GuardedCall) => Promise<Outcome>;

export interface GuardedOptions {
  readonly outbound: Outbound;
  readonly maxConcurrent: number;
  readonly timeoutMs: number;
  readonly bodyBytes: number;
  /** How long the target is left alone after five faults in a row; then one call tries whether it is back. */
  readonly probeMs: number;
}

const faultsInARow = 5;
const longestWaitMs = 300_000;
const triesMore = 2;

/** A try that came to nothing, and may come to something the next time. */
class Failed extends Error {
  readonly sent: boolean;
  constructor(sent: boolean, message: string) {
    super(message);
    this.sent = sent;
  }
}

export function guarded({ outbound, maxConcurrent, timeoutMs, bodyBytes, probeMs }: GuardedOptions): Guarded {
  const turns = bulkhead(maxConcurrent, Number.POSITIVE_INFINITY);
  const breaker = circuitBreaker(
    handleWhen((error) => error instanceof Failed),
    { halfOpenAfter: probeMs, breaker: new ConsecutiveBreaker(faultsInARow) },
  );
  const again = (which: (failed: Failed) => boolean) =>
    wrap(
      retry(
        handleWhen((error) => error instanceof Failed && which(error)),
        { maxAttempts: triesMore, backoff: new ExponentialBackoff({ initialDelay: 50, maxDelay: 1_000 }) },
      ),
      turns, // a wait between two tries takes nobody's turn
      breaker,
    );
  const anyWay = again(() => true);
  const onlyUnsent = again(({ sent }) => !sent);
  let notBefore = 0;

  return async (url, { method, headers, body, signal, repeatable }) => {
    let sent = false;
    const attempt = async (): Promise<OutboundAnswer> => {
      signal.throwIfAborted();
      const wait = notBefore - performance.now();
      if (wait > 0) throw new Error(`it asked not to be called for another ${Math.ceil(wait / 1_000)} s`);
      const before = sent;
      sent = true;
      const limits = { headersMs: timeoutMs, idleMs: timeoutMs, totalMs: timeoutMs, bodyBytes };
      const answer = await outbound
        .request(url, { method, headers, ...(body === undefined ? {} : { body }), signal, limits })
        .catch((error) => {
          if (!(error instanceof OutboundError)) throw error;
          const arrived = error.code !== 'ADDRESS_NOT_ALLOWED' && error.code !== 'CONNECT_FAILED';
          sent = before || arrived;
          throw new Failed(arrived, error.message);
        });
      const { status, retryAfterSeconds } = answer;
      if (status !== 429 && status < 500) return answer;
      if (retryAfterSeconds !== null && (status === 429 || status === 503)) {
        notBefore = performance.now() + Math.min(retryAfterSeconds * 1_000, longestWaitMs);
      }
      // By the contract 429 means that nothing was accepted. A 503 may come from something between, after the request had gone through.
      sent = before || status !== 429;
      throw new Failed(status !== 429, `it answered ${status}`);
    };
    const policy = repeatable ? anyWay : onlyUnsent;
    const made = policy.execute(attempt, signal).then(
      (answer): Outcome => ({ is: 'answered', answer }),
      (error: unknown): Outcome => ({ is: 'lost', sent, message: error instanceof Error ? error.message : String(error) }),
    );
    // One that still waits for its turn at the deadline says so by then.
    using ended = onAbort(
      signal,
      (reason): Outcome => ({ is: 'lost', sent, message: reason instanceof Error ? reason.message : String(reason) }),
    );
    return await Promise.race([made, ended.promise]);
  };
}

function onAbort<T>(signal: AbortSignal, made: (reason: unknown) => T): Disposable & { readonly promise: Promise<T> } {
  let listener = () => {};
  const promise = new Promise<T>((resolve) => {
    listener = () => resolve(made(signal.reason));
    signal.addEventListener('abort', listener, { once: true });
  });
  return { promise, [Symbol.dispose]: () => signal.removeEventListener('abort', listener) };
}
