// The moments of sharing that a real log only now and then gives, made by hand: who is ahead of the others, and how their stream ends.
import { expect, it } from 'vitest';
import { fanOut, type OpenStream, type Result } from '../../src/events/fan-out.ts';
import type { StreamPlace } from '../../src/events/follow.ts';

interface Opened {
  readonly place: StreamPlace;
  readonly signal: AbortSignal;
  /** Gives an event; resolves when the next is asked for. */
  give(position: bigint, bytes?: number): Promise<void>;
  end(error?: Error): void;
}

/** Streams that a test feeds, in the order in which they were opened. */
function streams() {
  const opened: Opened[] = [];
  const open: OpenStream = async (place, signal) => {
    const queue: { position: bigint; bytes: number; taken: () => void }[] = [];
    let wake = () => {};
    let over: { error?: Error } | undefined;
    place.at(place.from ?? 0n, 'w');
    signal.addEventListener('abort', () => {
      over ??= {};
      wake();
    });
    opened.push({
      place,
      signal,
      give: (position, bytes = 0) =>
        new Promise((taken) => {
          queue.push({ position, bytes, taken });
          wake();
        }),
      end(error) {
        over = error === undefined ? {} : { error };
        wake();
      },
    });
    return (async function* (): AsyncGenerator<Result> {
      for (;;) {
        const next = queue.shift();
        if (next !== undefined) {
          place.at(next.position, 'w');
          yield { data: { n: Number(next.position), more: 'x'.repeat(next.bytes) } };
          next.taken();
        } else if (over?.error !== undefined) throw over.error;
        else if (over !== undefined) return;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    })();
  };
  return { opened, open };
}

function subscriber(fan: ReturnType<typeof fanOut>, open: OpenStream, onSend: (count: number) => boolean = () => true) {
  const got: number[] = [];
  const leaving = new AbortController();
  const outlet = {
    send: (payloads: readonly Buffer[]) => {
      if (!onSend(payloads.length)) return false;
      for (const json of payloads) got.push(JSON.parse(json.toString()).data.n);
      return true;
    },
    giveUp: () => {},
  };
  const done = (async () => {
    for await (const result of fan.subscribe('key', open, outlet, leaving.signal)) got.push((result as { data: { n: number } }).data.n);
  })();
  return { got, done, leave: () => leaving.abort() };
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

it('whoever was ahead of the others when it joined them is not given again what it had', async () => {
  const fan = fanOut({ backlog: 100 });
  const { opened, open } = streams();
  const first = subscriber(fan, open);
  await turn();
  await opened[0]?.place.atTail(); // alone and up to date: the shared stream begins
  await turn();
  const shared = opened[1] as Opened;
  const second = subscriber(fan, open);
  await turn();
  await opened[2]?.give(1n);
  await opened[2]?.place.atTail(); // it has read 1 by itself, which the others are still to be given
  await turn();
  expect(fan.counts()).toEqual({ subscribers: 2, sharing: 2, streams: 1 });
  await shared.give(1n);
  await shared.give(2n);
  await shared.place.atTail();
  expect([first.got, second.got]).toEqual([
    [1, 2],
    [1, 2],
  ]);
  for (const one of [first, second]) one.leave();
  await Promise.all([first.done, second.done]);
  expect([fan.counts(), shared.signal.aborted]).toEqual([{ subscribers: 0, sharing: 0, streams: 0 }, true]);
});

it('whoever is behind the others stays alone until it is not', async () => {
  const fan = fanOut({ backlog: 100 });
  const { opened, open } = streams();
  const first = subscriber(fan, open);
  await turn();
  await opened[0]?.place.atTail();
  await turn();
  await opened[1]?.give(1n);
  await opened[1]?.place.atTail();
  const second = subscriber(fan, open);
  await turn();
  await opened[2]?.place.atTail(); // it looked before 1 was there
  expect(fan.counts().sharing).toBe(1);
  await opened[2]?.give(1n);
  await opened[2]?.place.atTail();
  expect(fan.counts().sharing).toBe(2);
  expect(second.got).toEqual([1]);
  for (const one of [first, second]) one.leave();
  await Promise.all([first.done, second.done]);
});

it('a shared stream that fails fails for all, and one that ends ends for all', async () => {
  const fan = fanOut({ backlog: 100 });
  for (const error of [new Error('the database is gone'), undefined]) {
    const { opened, open } = streams();
    const both = [subscriber(fan, open), subscriber(fan, open)];
    await turn();
    for (const alone of opened.slice()) await alone.place.atTail();
    await turn();
    expect(fan.counts()).toEqual({ subscribers: 2, sharing: 2, streams: 1 });
    opened[2]?.end(error);
    const ends = await Promise.allSettled(both.map(({ done }) => done));
    expect(ends.map(({ status }) => status)).toEqual(error === undefined ? ['fulfilled', 'fulfilled'] : ['rejected', 'rejected']);
    expect(fan.counts()).toEqual({ subscribers: 0, sharing: 0, streams: 0 });
  }
});

/** Subscribers that are all with one shared stream, and that stream. */
async function together(count: number, onSend?: (payloads: number) => boolean) {
  const fan = fanOut({ backlog: 100 });
  const { opened, open } = streams();
  const all = Array.from({ length: count }, () => subscriber(fan, open, onSend));
  await turn();
  for (const alone of opened.slice()) await alone.place.atTail();
  await turn();
  expect(fan.counts()).toEqual({ subscribers: count, sharing: count, streams: 1 });
  return {
    fan,
    opened,
    open,
    all,
    shared: opened.at(-1) as Opened,
    leave: async () => {
      for (const one of all) one.leave();
      await Promise.all(all.map(({ done }) => done));
    },
  };
}

it('what is ready together is sent together, a long replay in parts', async () => {
  const sent: number[] = [];
  const { all, shared, leave } = await together(1, (payloads) => sent.push(payloads) > 0);
  for (const n of [1n, 2n, 3n]) await shared.give(n);
  expect(sent).toEqual([]);
  await shared.place.atTail();
  expect(sent).toEqual([3]);
  for (let n = 4n; n <= 43n; n++) await shared.give(n);
  await shared.place.atTail();
  expect(sent).toEqual([3, 16, 16, 8]);
  for (const n of [44n, 45n, 46n]) await shared.give(n, 10_000);
  await shared.place.atTail();
  expect(sent.slice(4)).toEqual([2, 1]);
  expect(all[0]?.got).toEqual(Array.from({ length: 46 }, (_, index) => index + 1));
  await leave();
});

it('who joins while something is ready and not yet sent is given all of it, and what it had by itself not again', async () => {
  const { fan, opened, open, all, shared, leave } = await together(1);
  const before = opened.length;
  await shared.give(1n);
  await shared.give(2n);
  const late = subscriber(fan, open);
  await turn();
  await opened[before]?.give(1n);
  await opened[before]?.place.atTail();
  expect(fan.counts().sharing).toBe(2);
  await shared.place.atTail();
  expect([all[0]?.got, late.got]).toEqual([
    [1, 2],
    [1, 2],
  ]);
  late.leave();
  await leave();
});

it('a subscriber that takes no more is let go with nothing of the round, and reads on by itself from where it was', async () => {
  let full = false;
  const { fan, opened, all, shared, leave } = await together(1, () => !full);
  await shared.give(1n);
  await shared.place.atTail();
  full = true;
  await shared.give(2n);
  await shared.give(3n);
  await shared.place.atTail();
  await turn();
  expect(fan.counts()).toEqual({ subscribers: 1, sharing: 0, streams: 0 });
  expect([all[0]?.got, opened.at(-1)?.place.from]).toEqual([[1], 1n]);
  await leave();
});

it('a stream that ends or fails gives first what it had ready', async () => {
  for (const error of [new Error('the database is gone'), undefined]) {
    const { all, shared } = await together(2);
    await shared.give(1n);
    shared.end(error);
    await Promise.allSettled(all.map(({ done }) => done));
    expect(all.map(({ got }) => got)).toEqual([[1], [1]]);
  }
});

it('the next look waits where the round took long, not where it was short', async () => {
  const slow = () => {
    const until = performance.now() + 2; // as long as a few hundred sockets take
    while (performance.now() < until);
    return true;
  };
  const short = await together(1);
  await short.shared.give(1n);
  expect(short.shared.place.atTail()).toBeUndefined();
  await short.leave();
  const long = await together(1, slow);
  await long.shared.give(1n);
  expect(long.shared.place.atTail()).toBeInstanceOf(Promise);
  expect(long.all[0]?.got).toEqual([1]);
  expect(long.shared.place.atTail()).toBeUndefined(); // nothing to send: nothing to rest from
  await long.leave();
});
