// Following the log: one loop that replays, joins the tail and stays on it. A slow reader just reads later; nothing is buffered.
import { setTimeout as sleep } from 'node:timers/promises';
import { UnauthenticatedError } from '../auth/token.ts';
import type { Db, Topic } from '../db.ts';
import type { LifecycleEvent } from '../generated/prisma/client.ts';
import { AccessRevokedError } from './access.ts';
import { CursorError, decodeCursor } from './cursor.ts';
import type { Bell } from './listen.ts';
import { type LogScope, lastPosition, readAfter } from './log.ts';

const pageSize = 100;

/** What ends a stream besides its reader: the server's stop, a connection that is gone, a token that has expired, access that was taken back. */
export interface StreamEnds {
  readonly signals: readonly AbortSignal[];
  /** null: somebody else sees to it. */
  readonly expiresAt: Date | null;
  /** Watches the reader's access until it is disposed of. null: somebody else sees to it. */
  readonly watch: ((onRevoked: () => void) => Disposable) | null;
}

/** Given to abort(): without a reason it makes an error, whose stack holds on to all that stood in its frames (measured: 6 kB a stream). */
export const justEnded = 'ended';

const longestTimer = 2 ** 31 - 1; // a longer one fires at once

/**
 * A stream that ends at once when its reader leaves. A generator alone would not: its return() waits for the step it is in, which may be
 * waiting for an event that never comes. Listeners and timer are by hand: Node 20 holds what AbortSignal.any was made from so weakly that
 * a timeout among it is collected and never fires, and what it made so strongly that each request stays with a signal that outlives it.
 */
export function cancellable<T>(
  { signals, expiresAt, watch }: StreamEnds,
  make: (signal: AbortSignal) => AsyncGenerator<T>,
): AsyncIterableIterator<T> {
  const own = new AbortController();
  // Whatever ends it: a stream may be made for a reader that has left meanwhile, and asks for nothing.
  const over = () => {
    clearTimeout(expiry);
    watching?.[Symbol.dispose]();
    for (const signal of signals) signal.removeEventListener('abort', over);
    own.abort(justEnded);
  };
  const remaining = expiresAt === null ? longestTimer : Math.max(0, expiresAt.getTime() - Date.now());
  /** Said to the reader: or the end would look like there being no more. */
  let lost: Error | null = null;
  const lose = (why: Error) => {
    lost ??= why;
    over();
  };
  const expiry = expiresAt === null ? undefined : setTimeout(() => lose(new UnauthenticatedError()), Math.min(remaining, longestTimer));
  const watching = watch?.(() => lose(new AccessRevokedError()));
  for (const signal of signals) signal.addEventListener('abort', over);
  if (signals.some((signal) => signal.aborted)) over();
  const source = make(own.signal);
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      let ended = true;
      try {
        const step = await source.next();
        if (lost !== null) throw lost; // and what was on its way is not given
        ended = step.done === true;
        return step;
      } finally {
        if (ended) over(); // it may also have thrown
      }
    },
    async return() {
      over();
      return source.return(undefined);
    },
    async throw(error) {
      over();
      return source.throw(error);
    },
  };
}

/** The position to follow from: the cursor’s, or now. */
export async function startingPoint(db: Db, scope: LogScope, after: string | null | undefined): Promise<bigint> {
  const last = await lastPosition(db, scope.workspaceId);
  if (after === null || after === undefined) return last;
  const position = decodeCursor(scope.workspaceId, after);
  // Ahead of the log: of a database that was restored since, say. Whoever waited there would miss what is written until then.
  if (position > last) throw new CursorError();
  await readAfter(db, scope, position, 1); // refuses an expired one, so that the operation fails rather than its stream
  return position;
}

/** What a stream of events tells whoever carries it on, and is told by them. */
export interface StreamPlace {
  /** Follow from here, whatever the operation says. */
  readonly from: bigint | null;
  /** The same as a client’s cursor, which is looked at as the operation’s own would be. */
  readonly after?: string | null;
  /** Where the stream begins; then of each event, just before it is given; and how far all is given, just before `atTail`. */
  readonly at: (position: bigint, workspaceId: string) => void;
  /** All that was in the log is given. Called again after each look that found nothing more; what it answers is waited for before the next. */
  readonly atTail: () => void | Promise<void>;
}

/** Every event after `after`, in order, once each: what is in the log, then what comes. Ends when the signal aborts. */
export async function* follow(
  db: Db,
  bell: Bell,
  scope: LogScope,
  after: bigint,
  signal: AbortSignal,
  place?: StreamPlace,
): AsyncGenerator<LifecycleEvent> {
  using waiter = bell.waiter([`log:${scope.workspaceId}`], signal); // before the first read, or a notice could slip between
  let position = after;
  place?.at(position, scope.workspaceId);
  while (!signal.aborted) {
    const page = await readAfter(db, scope, position, pageSize);
    waiter.found(page.events.length);
    for (const event of page.events) {
      if (signal.aborted) return;
      position = event.position;
      place?.at(position, scope.workspaceId);
      yield event;
    }
    // Also past what was not of this scope, so that pruning never overtakes a reader that is up to date.
    position = page.through;
    if (page.events.length === pageSize) continue;
    place?.at(position, scope.workspaceId);
    await place?.atTail();
    if (!signal.aborted) await waiter.wait();
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
