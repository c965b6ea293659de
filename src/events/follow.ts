// Following the log: one loop that replays, joins the tail and stays on it. A slow reader just reads later; nothing is buffered.
import { setTimeout as sleep } from 'node:timers/promises';
import { UnauthenticatedError } from '../auth/token.ts';
import type { Db, Topic } from '../db.ts';
import type { LifecycleEvent } from '../generated/prisma/client.ts';
import { CursorError, decodeCursor } from './cursor.ts';
import type { Bell } from './listen.ts';
import { type LogScope, lastPosition, readAfter } from './log.ts';

const pageSize = 100;

/** What ends a stream besides its reader: the server's stop, a connection that is gone, a token that has expired. */
export interface StreamEnds {
  readonly signals: readonly AbortSignal[];
  /** null: somebody else sees to it. */
  readonly expiresAt: Date | null;
}

const longestTimer = 2 ** 31 - 1; // a longer one fires at once

/**
 * A stream that ends at once when its reader leaves. A generator alone would not: its return() waits for the step it is in, which may be
 * waiting for an event that never comes. Listeners and timer are by hand: Node 20 holds what AbortSignal.any was made from so weakly that
 * a timeout among it is collected and never fires, and what it made so strongly that each request stays with a signal that outlives it.
 */
export function cancellable<T>(
  { signals, expiresAt }: StreamEnds,
  make: (signal: AbortSignal) => AsyncGenerator<T>,
): AsyncIterableIterator<T> {
  const own = new AbortController();
  const abort = () => own.abort();
  if (signals.some((signal) => signal.aborted)) own.abort();
  for (const signal of signals) signal.addEventListener('abort', abort);
  const remaining = expiresAt === null ? longestTimer : Math.max(0, expiresAt.getTime() - Date.now());
  let expired = false;
  const expire = () => {
    expired = true;
    abort();
  };
  const expiry = expiresAt === null ? undefined : setTimeout(expire, Math.min(remaining, longestTimer));
  const source = make(own.signal);
  const over = () => {
    clearTimeout(expiry);
    for (const signal of signals) signal.removeEventListener('abort', abort);
  };
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      let ended = true;
      try {
        const step = await source.next();
        ended = step.done === true;
        if (ended && expired) throw new UnauthenticatedError(); // or the end would look like there being no more
        return step;
      } finally {
        if (ended) over(); // it may also have thrown
      }
    },
    async return() {
      over();
      own.abort();
      return source.return(undefined);
    },
    async throw(error) {
      over();
      own.abort();
      return source.throw(error);
    },
  };
}

/** The position to follow from: the cursor’s, or now. */
export async function startingPoint(db: Db, workspaceId: string, after: string | null | undefined): Promise<bigint> {
  const last = await lastPosition(db, workspaceId);
  if (after === null || after === undefined) return last;
  const position = decodeCursor(workspaceId, after);
  // Ahead of the log: of a database that was restored since, say. Whoever waited there would miss what is written until then.
  if (position > last) throw new CursorError();
  return position;
}

/** Every event after `after`, in order, once each: what is in the log, then what comes. Ends when the signal aborts. */
export async function* follow(db: Db, bell: Bell, scope: LogScope, after: bigint, signal: AbortSignal): AsyncGenerator<LifecycleEvent> {
  using waiter = bell.waiter([`log:${scope.workspaceId}`], signal); // before the first read, or a notice could slip between
  let position = after;
  while (!signal.aborted) {
    const page = await readAfter(db, scope, position, pageSize);
    for (const event of page) {
      if (signal.aborted) return;
      position = event.position;
      yield event;
    }
    if (page.length < pageSize) await waiter.wait();
  }
}

/** At most twice a second for each subject. */
const newestEveryMs = 500;

/** Progress: the newest only, at once and then where it has changed. Completes with the value of a subject that has ended. */
export async function* followNewest<T extends { readonly at: Date }>(
  bell: Bell,
  topics: readonly Topic[],
  read: () => Promise<T>,
  isLast: (value: T) => boolean,
  signal: AbortSignal,
): AsyncGenerator<T> {
  using waiter = bell.waiter(topics, signal);
  for (let shown = ''; !signal.aborted; ) {
    const now = await read();
    const { at: _, ...value } = now;
    const text = JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? part.toString() : part));
    if (text !== shown) {
      shown = text;
      yield now;
    }
    if (isLast(now)) return;
    // Also where nothing was new: every event of a busy workspace wakes us. A dying client must not hold the timer up.
    await sleep(newestEveryMs, undefined, { signal }).catch(() => {});
    await waiter.wait();
  }
}
