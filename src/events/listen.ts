// One LISTEN connection a process. A notice wakes whoever waits for its topic; the tables are read again for what is true.
import pg from 'pg';
import type { Topic } from '../db.ts';

const channel = 'packhorse';
// At once, and then at most this often: a NOTIFY a commit would serialise all commits (measured: 11,500 → 3,300 commits/s).
const relayEveryMs = 5;
const relayAfterFaultMs = 1_000;
const topicsANotice = 150; // of 47 characters each: a payload may have 8,000 bytes
const longestRetryMs = 2_000;
const closeLimitMs = 1_000;

/** How a connection that is half open (no error, no notices) is found: a query that does not come back. */
export interface ProbeTimes {
  readonly everyMs: number;
  readonly limitMs: number;
}

export interface Waiter {
  /** Resolves at the next notice since the last wait, on reconnect, on abort, or after the poll period. */
  wait(): Promise<void>;
  /** How many events its owner found when it looked after the last wait. */
  found(events: number): void;
  [Symbol.dispose](): void;
}

export interface Bell {
  /** Tells this process at once and the others through NOTIFY. Never fails: the poll period is the safety net. */
  ring(topic: Topic): void;
  waiter(topics: readonly Topic[], signal: AbortSignal): Waiter;
  /** How many waiters are open; a test of leaks. */
  waiting(): number;
  counts(): BellCounts;
  close(): Promise<void>;
}

export interface BellCounts {
  /** Topics that were rung here, and that other processes rang. */
  readonly own: number;
  readonly other: number;
  readonly connected: boolean;
  readonly reconnects: number;
  /** Events that waiters found after their poll period, and of which no notice came within another one. */
  readonly foundByPoll: number;
}

type Woken = 'notice' | 'connection' | 'timer' | 'end';

interface Flag {
  /** Why it is to be looked again; null: nothing has come since the last wait. */
  dirty: Woken | null;
  wake: (() => void) | undefined;
}

/** Connects in the background and reconnects by itself; after each (re)connect everybody is woken, since notices may have been missed. */
export function startBell(
  url: string,
  pollMs: number,
  onTrouble: (error: unknown) => void,
  probing: ProbeTimes = { everyMs: 10_000, limitMs: 5_000 },
): Bell {
  const flags = new Map<Topic, Set<Flag>>();
  const pending = new Set<Topic>();
  let client: pg.Client | undefined;
  let newest: pg.Client | undefined; // also while it connects
  let closed = false;
  let relay: NodeJS.Timeout | undefined;
  let retry: NodeJS.Timeout | undefined;
  let connecting: Promise<void> = Promise.resolve();
  let asking: Promise<unknown> | undefined;
  let open = 0;
  const counted = { own: 0, other: 0, connects: 0, foundByPoll: 0 };

  const raise = (flag: Flag, why: Woken) => {
    if (flag.dirty !== 'notice') flag.dirty = why;
    flag.wake?.();
  };
  const wake = (topic: Topic) => {
    for (const flag of flags.get(topic) ?? []) raise(flag, 'notice');
  };
  const wakeAll = (why: Woken) => {
    for (const set of flags.values()) for (const flag of set) raise(flag, why);
  };

  const connect = async (waitMs: number): Promise<void> => {
    const next = new pg.Client({
      connectionString: url,
      keepAlive: true,
      connectionTimeoutMillis: 5_000,
      query_timeout: probing.limitMs,
      application_name: 'packhorse-bell',
    });
    newest = next;
    next.on('error', () => {}); // 'end' follows
    const own = next as unknown as { processID: number | null }; // set by pg when connected, missing from its types
    next.on('notification', ({ payload, processId }) => {
      if (processId === own.processID) return; // rung here already
      const topics = (payload?.split(' ') ?? []) as Topic[]; // only we notify on our channel
      counted.other += topics.length;
      for (const topic of topics) wake(topic);
    });
    try {
      await next.connect();
      await next.query(`LISTEN ${channel}`);
    } catch (error) {
      next.connection.stream.destroy();
      if (!closed) onTrouble(error);
      again(Math.min(Math.max(waitMs, 25) * 2, longestRetryMs));
      return;
    }
    // Only now: a connect that fails emits 'end' as well, and would start a second loop of retries.
    next.on('end', () => {
      if (client === next) client = undefined;
      if (!closed) onTrouble(new Error('the listening connection ended'));
      again(50);
    });
    client = next;
    counted.connects++;
    wakeAll('connection');
    clearTimeout(relay);
    relay = undefined;
    flush();
  };
  const again = (waitMs: number) => {
    if (closed) return;
    clearTimeout(retry);
    retry = setTimeout(() => {
      connecting = connect(waitMs).catch(onTrouble);
    }, waitMs);
  };

  /** One query at a time. False where it failed; a connection that did not answer is given up, and 'end' leads to the next. */
  const ask = async (asked: pg.Client, text: string, values: string[] = []): Promise<boolean> => {
    try {
      await asked.query(text, values);
      return true;
    } catch (error) {
      if (!(error instanceof pg.DatabaseError)) asked.connection.stream.destroy();
      return false;
    }
  };
  const notify = async (asked: pg.Client): Promise<boolean> => {
    const topics = [...pending].slice(0, topicsANotice);
    for (const topic of topics) pending.delete(topic);
    const told = await ask(asked, 'SELECT pg_notify($1, $2)', [channel, topics.join(' ')]);
    if (!told) for (const topic of topics) pending.add(topic);
    return told;
  };
  const flush = () => {
    if (closed || pending.size === 0 || client === undefined || asking !== undefined || relay !== undefined) return;
    asking = notify(client).then((told) => {
      asking = undefined;
      if (closed) return;
      relay = setTimeout(
        () => {
          relay = undefined;
          flush();
        },
        told ? relayEveryMs : relayAfterFaultMs,
      );
    });
  };
  const probe = setInterval(() => {
    if (client === undefined || asking !== undefined) return; // what is being asked is a probe as well
    asking = ask(client, 'SELECT 1').then(() => {
      asking = undefined;
      flush();
    });
  }, probing.everyMs);
  probe.unref();

  again(0);
  return {
    ring(topic) {
      counted.own++;
      wake(topic);
      pending.add(topic);
      flush();
    },
    waiter(topics, signal) {
      const flag: Flag = { dirty: null, wake: undefined };
      let woken: Woken | null = null;
      let unannounced = 0;
      for (const topic of topics) {
        const set = flags.get(topic) ?? new Set();
        flags.set(topic, set.add(flag));
      }
      open++;
      const onAbort = () => raise(flag, 'end');
      signal.addEventListener('abort', onAbort);
      return {
        async wait() {
          if (flag.dirty === null && !signal.aborted) {
            await new Promise<void>((resolve) => {
              const timer = setTimeout(() => {
                flag.dirty ??= 'timer';
                resolve();
              }, pollMs);
              flag.wake = () => {
                clearTimeout(timer);
                resolve();
              };
            });
            flag.wake = undefined;
          }
          woken = flag.dirty;
          flag.dirty = null;
          // A commit just before the timer is found before its notice is here: that one is late, not lost.
          if (woken === 'timer' || woken === 'connection') counted.foundByPoll += unannounced;
          unannounced = 0;
        },
        found(events) {
          if (woken === 'timer') unannounced += events;
        },
        [Symbol.dispose]() {
          open--;
          signal.removeEventListener('abort', onAbort);
          for (const topic of topics) {
            const set = flags.get(topic);
            set?.delete(flag);
            if (set?.size === 0) flags.delete(topic);
          }
        },
      };
    },
    waiting: () => open,
    counts: () => ({
      own: counted.own,
      other: counted.other,
      connected: client !== undefined,
      reconnects: Math.max(0, counted.connects - 1),
      foundByPoll: counted.foundByPoll,
    }),
    async close() {
      closed = true;
      clearInterval(probe);
      clearTimeout(retry);
      clearTimeout(relay);
      wakeAll('end');
      const limit = setTimeout(() => newest?.connection.stream.destroy(), closeLimitMs);
      await connecting;
      await asking;
      // What was committed last is still told, or other processes would learn of it by their poll.
      while (client !== undefined && pending.size > 0 && (await notify(client)));
      await client?.end();
      clearTimeout(limit);
    },
  };
}
