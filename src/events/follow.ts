// Following the log: one loop that replays, joins the tail and stays on it. A slow reader just reads later; nothing is buffered.
import type { Db } from '../db.ts';
import type { LifecycleEvent } from '../generated/prisma/client.ts';
import type { Bell } from './listen.ts';
import { type LogScope, readAfter } from './log.ts';

const pageSize = 100;

/**
 * A stream that ends at once when its reader leaves. A generator alone would not: its return() waits for the step it is in, which may be
 * waiting for an event that never comes.
 */
export function cancellable<T>(parent: AbortSignal, make: (signal: AbortSignal) => AsyncGenerator<T>): AsyncIterableIterator<T> {
  const own = new AbortController();
  const abort = () => own.abort();
  // By hand: AbortSignal.any keeps each result reachable from a parent that outlives it.
  if (parent.aborted) own.abort();
  parent.addEventListener('abort', abort);
  const source = make(own.signal);
  const over = () => parent.removeEventListener('abort', abort);
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      let ended = true;
      try {
        const step = await source.next();
        ended = step.done === true;
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
