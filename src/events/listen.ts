// One LISTEN connection a process. A notice wakes whoever waits for its topic; the tables are read again for what is true.
import pg from 'pg';
import type { Topic } from '../db.ts';

const channel = 'packhorse';
// At once, and then at most this often: a NOTIFY a commit would serialise all commits (measured: 11,500 → 3,300 commits/s).
const relayEveryMs = 5;
const probeEveryMs = 10_000;
const probeLimitMs = 5_000;

export interface Waiter {
  /** Resolves at the next notice since the last wait, on reconnect, on abort, or after the poll period. */
  wait(): Promise<void>;
  [Symbol.dispose](): void;
}

export interface Bell {
  /** Tells this process at once and the others through NOTIFY. Never fails: the poll period is the safety net. */
  ring(topic: Topic): void;
  waiter(topics: readonly Topic[], signal: AbortSignal): Waiter;
  /** How many waiters are open; a test of leaks. */
  waiting(): number;
  close(): Promise<void>;
}

interface Flag {
  dirty: boolean;
  wake: (() => void) | undefined;
}

/** Connects in the background and reconnects by itself; after each (re)connect everybody is woken, since notices may have been missed. */
export function startBell(url: string, pollMs: number, onTrouble: (error: unknown) => void): Bell {
  const flags = new Map<Topic, Set<Flag>>();
  const pending = new Set<Topic>();
  let client: pg.Client | undefined;
  let closed = false;
  let relay: NodeJS.Timeout | undefined;
  let retry: NodeJS.Timeout | undefined;
  let sending: Promise<unknown> = Promise.resolve();
  let open = 0;

  const raise = (flag: Flag) => {
    flag.dirty = true;
    flag.wake?.();
  };
  const wake = (topic: Topic) => {
    for (const flag of flags.get(topic) ?? []) raise(flag);
  };
  const wakeAll = () => {
    for (const set of flags.values()) for (const flag of set) raise(flag);
  };

  const connect = async (waitMs: number): Promise<void> => {
    if (closed) return;
    const next = new pg.Client({
      connectionString: url,
      keepAlive: true,
      connectionTimeoutMillis: 5_000,
      application_name: 'packhorse-bell',
    });
    next.on('error', () => {}); // 'end' follows
    const own = next as unknown as { processID: number | null }; // set by pg when connected, missing from its types
    next.on('notification', ({ payload, processId }) => {
      if (processId === own.processID) return; // rung here already
      for (const topic of payload?.split(' ') ?? []) wake(topic as Topic); // only we notify on our channel
    });
    try {
      await next.connect();
      await next.query(`LISTEN ${channel}`);
      // Only now: a connect that fails emits 'end' as well, and would start a second loop of retries.
      next.on('end', () => {
        if (client === next) client = undefined;
        again(50);
      });
      if (closed) {
        await next.end();
        return;
      }
      client = next;
      wakeAll();
      flush();
    } catch (error) {
      await next.end().catch(() => {});
      onTrouble(error);
      again(Math.min(waitMs * 2, 2_000));
    }
  };
  const again = (waitMs: number) => {
    if (closed) return;
    clearTimeout(retry);
    retry = setTimeout(() => void connect(waitMs).catch(onTrouble), waitMs);
  };

  const flush = () => {
    if (pending.size === 0 || client === undefined) return;
    const topics = [...pending].slice(0, 150); // 150 topics of 47 characters stay under the 8,000 bytes a payload may have
    for (const topic of topics) pending.delete(topic);
    sending = client.query('SELECT pg_notify($1, $2)', [channel, topics.join(' ')]).catch(() => {});
    relay = setTimeout(() => {
      relay = undefined;
      flush();
    }, relayEveryMs);
  };

  // A connection can be half open: no error, no notices. A query that does not come back shows it.
  const probe = setInterval(() => {
    const probed = client;
    if (probed === undefined) return;
    const limit = setTimeout(() => probed.connection.stream.destroy(), probeLimitMs);
    probed
      .query('SELECT 1')
      .catch(() => {})
      .finally(() => clearTimeout(limit))
      .catch(onTrouble);
  }, probeEveryMs);
  probe.unref();

  again(0);
  return {
    ring(topic) {
      wake(topic);
      pending.add(topic);
      if (relay === undefined) flush();
    },
    waiter(topics, signal) {
      const flag: Flag = { dirty: false, wake: undefined };
      for (const topic of topics) {
        const set = flags.get(topic) ?? new Set();
        flags.set(topic, set.add(flag));
      }
      open++;
      const onAbort = () => raise(flag);
      signal.addEventListener('abort', onAbort);
      return {
        async wait() {
          if (!flag.dirty && !signal.aborted) {
            await new Promise<void>((resolve) => {
              const timer = setTimeout(resolve, pollMs);
              flag.wake = () => {
                clearTimeout(timer);
                resolve();
              };
            });
            flag.wake = undefined;
          }
          flag.dirty = false;
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
    async close() {
      closed = true;
      clearInterval(probe);
      clearTimeout(retry);
      clearTimeout(relay);
      wakeAll();
      await sending;
      await client?.end();
    },
  };
}
