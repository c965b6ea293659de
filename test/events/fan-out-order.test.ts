// The moments of sharing that a real log only now and then gives, made by hand: who is ahead of the others, and how their stream ends.
import { expect, it } from 'vitest';
import { fanOut, type OpenStream, type Result } from '../../src/events/fan-out.ts';
import type { StreamPlace } from '../../src/events/follow.ts';

interface Opened {
  readonly place: StreamPlace;
  readonly signal: AbortSignal;
  /** Gives an event; resolves when the next is asked for. */
  give(position: bigint): Promise<void>;
  end(error?: Error): void;
}

/** Streams that a test feeds, in the order in which they were opened. */
function streams() {
  const opened: Opened[] = [];
  const open: OpenStream = async (place, signal) => {
    const queue: { position: bigint; taken: () => void }[] = [];
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
      give: (position) =>
        new Promise((taken) => {
          queue.push({ position, taken });
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
          yield { data: { n: Number(next.position) } };
          next.taken();
        } else if (over?.error !== undefined) throw over.error;
        else if (over !== undefined) return;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    })();
  };
  return { opened, open };
}

function subscriber(fan: ReturnType<typeof fanOut>, open: OpenStream) {
  const got: number[] = [];
  const leaving = new AbortController();
  const outlet = {
    send: (json: Buffer) => {
      got.push(JSON.parse(json.toString()).data.n);
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
  opened[0]?.place.atTail(); // alone and up to date: the shared stream begins
  await turn();
  const shared = opened[1] as Opened;
  const second = subscriber(fan, open);
  await turn();
  await opened[2]?.give(1n);
  opened[2]?.place.atTail(); // it has read 1 by itself, which the others are still to be given
  await turn();
  expect(fan.counts()).toEqual({ subscribers: 2, sharing: 2, streams: 1 });
  await shared.give(1n);
  await shared.give(2n);
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
  opened[0]?.place.atTail();
  await turn();
  await opened[1]?.give(1n);
  const second = subscriber(fan, open);
  await turn();
  opened[2]?.place.atTail(); // it looked before 1 was there
  expect(fan.counts().sharing).toBe(1);
  await opened[2]?.give(1n);
  opened[2]?.place.atTail();
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
    for (const alone of opened.slice()) alone.place.atTail();
    await turn();
    expect(fan.counts()).toEqual({ subscribers: 2, sharing: 2, streams: 1 });
    opened[2]?.end(error);
    const ends = await Promise.allSettled(both.map(({ done }) => done));
    expect(ends.map(({ status }) => status)).toEqual(error === undefined ? ['fulfilled', 'fulfilled'] : ['rejected', 'rejected']);
    expect(fan.counts()).toEqual({ subscribers: 0, sharing: 0, streams: 0 });
  }
});
