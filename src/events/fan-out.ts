// Many subscribers, one read: those who follow the same thing with the same operation and the same rights share one stream, one execution
// and one serialised payload of each event. Everybody begins alone, at a cursor of their own, and joins the others where they have caught up.
import { setTimeout as sleep } from 'node:timers/promises';
import { justEnded, type StreamPlace } from './follow.ts';

/** Of an operation, as its library makes it: here it is only handed on, and serialised. */
export type Result = object;

/** Where payloads go: one operation on one socket. */
export interface Outlet {
  /** Sends results, each serialised once for all. False: it does not take more for now, and has taken none of these. */
  readonly send: (payloads: readonly Buffer[]) => boolean;
  /** It cannot keep up: closed, so that its client comes again with its cursor. */
  readonly giveUp: () => void;
}

/** Opens the operation’s stream of results at a place of its own, until the signal ends it. */
export type OpenStream = (place: StreamPlace, signal: AbortSignal) => Promise<AsyncIterable<Result> | Result>;

export interface FanOut {
  /**
   * The results of one subscriber. While it is with the others, they go to its outlet and not through here. `key` says who may share: all
   * that a payload depends on, rights first of all. Ends with the signal.
   */
  subscribe(key: string, open: OpenStream, outlet: Outlet, signal: AbortSignal): AsyncGenerator<Result>;
  /** Subscribers in all; those of them that are with others; and the streams that these share. */
  counts(): { readonly subscribers: number; readonly sharing: number; readonly streams: number };
}

interface Member {
  position: bigint;
  readonly outlet: Outlet;
  /** Called once, when it is with the others no more. */
  readonly left: (how: Leaving) => void;
}

/** How a subscriber left the others, and where it was then. */
interface Left {
  readonly how: Leaving;
  readonly position: bigint;
}

type Leaving = { readonly is: 'behind' } | { readonly is: 'ended' } | { readonly is: 'failed'; readonly error: unknown };

interface Group {
  position: bigint;
  readonly members: Set<Member>;
  readonly stop: AbortController;
}

export interface FanOutOptions {
  /** How many events a reader that was up to date may fall behind before it is given up. */
  readonly backlog: number;
  readonly onDelivered?: (count: number) => void;
}

interface Payload {
  readonly position: bigint;
  readonly json: Buffer;
}

// What is ready together goes out by one write to each socket, which is most of what a delivery costs. After a round of writes the stream
// rests for as long as the round took, so that under a steady flow the next has several events to carry (measured with 1,000 subscribers at
// 100 events/s: 0.79 of a bare broadcast's processor time a delivery, 1.31 with a write for each; twice the rest: 0.51, and the last client
// 20 ms later). A few subscribers are never kept waiting, nor is an event that comes after a lull.
const restPerRound = 1;
const longestRestMs = 10;
const shortestRoundMs = 1;
// Of a long replay, so that a socket's share stays small beside what an outlet takes at once.
const mostPayloads = 16;
const mostPayloadBytes = 16_384;

export function fanOut({ backlog, onDelivered }: FanOutOptions): FanOut {
  const groups = new Map<string, Group>();
  let subscribers = 0;

  function part(key: string, group: Group, member: Member, how: Leaving): void {
    if (!group.members.delete(member)) return;
    if (group.members.size === 0) {
      if (groups.get(key) === group) groups.delete(key);
      group.stop.abort(justEnded);
    }
    member.left(how);
  }

  function begin(key: string, from: bigint, open: OpenStream): Group {
    const group: Group = { position: from, members: new Set(), stop: new AbortController() };
    groups.set(key, group);
    const over = (how: Leaving) => {
      if (groups.get(key) === group) groups.delete(key);
      for (const member of group.members) part(key, group, member, how);
    };
    give(key, group, open).then(
      () => over({ is: 'ended' }),
      (error: unknown) => over({ is: 'failed', error }),
    );
    return group;
  }

  async function give(key: string, group: Group, open: OpenStream): Promise<void> {
    let position = group.position;
    const round = { payloads: [] as Payload[], bytes: 0 };
    const send = () => {
      const { payloads } = round;
      const last = payloads.at(-1);
      if (last === undefined) return;
      Object.assign(round, { payloads: [], bytes: 0 });
      group.position = last.position;
      let taken = 0;
      const all = payloads.map(({ json }) => json);
      for (const member of group.members) {
        // It may have had some of them while it was alone.
        const had = payloads.findIndex((payload) => payload.position > member.position);
        if (had < 0) continue;
        const missing = had === 0 ? all : all.slice(had);
        if (member.outlet.send(missing)) {
          member.position = last.position;
          taken += missing.length;
        } else part(key, group, member, { is: 'behind' });
      }
      onDelivered?.(taken);
    };
    const atTail = (): undefined | Promise<void> => {
      if (round.payloads.length === 0) return undefined;
      const from = performance.now();
      send();
      const took = performance.now() - from;
      if (took < shortestRoundMs) return undefined;
      return sleep(Math.min(restPerRound * took, longestRestMs));
    };
    const place: StreamPlace = { from: position, at: (now) => (position = now), atTail };
    const stream = await open(place, group.stop.signal);
    if (!(Symbol.asyncIterator in stream)) throw new Refused(stream);
    try {
      for await (const result of stream) {
        const json = Buffer.from(JSON.stringify(result));
        round.payloads.push({ position, json });
        round.bytes += json.length;
        if (round.payloads.length === mostPayloads || round.bytes > mostPayloadBytes) send();
      }
    } finally {
      send(); // of a stream that ended or failed before it was at the tail again
    }
  }

  /** With the others at `position`, or null where they have given more than that already. */
  function join(key: string, position: bigint, open: OpenStream, outlet: Outlet, signal: AbortSignal): Promise<Left> | null {
    const known = groups.get(key);
    if (known !== undefined && known.position > position) return null;
    const group = known ?? begin(key, position, open);
    return new Promise((resolve) => {
      const onAbort = () => part(key, group, member, { is: 'ended' });
      const member: Member = {
        position,
        outlet,
        left(how) {
          signal.removeEventListener('abort', onAbort);
          resolve({ how, position: member.position });
        },
      };
      group.members.add(member);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  /**
   * By itself, until it has caught up: returns how it went on with the others, or null where the stream has ended or was given up. Apart
   * from `follow`, whose frame stays for as long as the subscriber: in this one are a stream, its execution and its signal (measured: 8 kB).
   */
  async function* alone(
    key: string,
    from: bigint | null,
    open: OpenStream,
    outlet: Outlet,
    signal: AbortSignal,
  ): AsyncGenerator<Result, { left: Promise<Left> } | null> {
    const own = new AbortController();
    const onAbort = () => own.abort(justEnded);
    signal.addEventListener('abort', onAbort, { once: true });
    let here = 0n;
    const turn: { joined: Promise<Left> | null } = { joined: null };
    const place: StreamPlace = {
      from,
      at: (now) => (here = now),
      atTail() {
        if (own.signal.aborted) return;
        // At once, with nothing between the look and this: what comes from here on comes by the others.
        turn.joined = join(key, here, open, outlet, signal);
        if (turn.joined !== null) own.abort(justEnded);
      },
    };
    try {
      const stream = await open(place, own.signal);
      if (!(Symbol.asyncIterator in stream)) {
        yield stream;
        return null;
      }
      for await (const result of stream) {
        yield result;
        onDelivered?.(1); // its reader has come for the next
        const ahead = groups.get(key)?.position ?? 0n;
        if (from !== null && ahead - here > backlog) {
          outlet.giveUp();
          return null;
        }
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
    return turn.joined === null ? null : { left: turn.joined };
  }

  async function* follow(key: string, open: OpenStream, outlet: Outlet, signal: AbortSignal): AsyncGenerator<Result> {
    let from: bigint | null = null;
    while (!signal.aborted) {
      const joined: { left: Promise<Left> } | null = yield* alone(key, from, open, outlet, signal);
      if (joined === null) return;
      const { how, position }: Left = await joined.left;
      if (how.is === 'failed' && how.error instanceof Refused) return yield how.error.result;
      if (how.is === 'failed') throw how.error;
      if (how.is === 'ended') return;
      from = position;
    }
  }

  return {
    async *subscribe(key, open, outlet, signal) {
      subscribers++;
      try {
        yield* follow(key, open, outlet, signal);
      } finally {
        subscribers--;
      }
    },
    counts() {
      let sharing = 0;
      for (const group of groups.values()) sharing += group.members.size;
      return { subscribers, sharing, streams: groups.size };
    },
  };
}

/** The shared stream could not be opened; the result says why. */
class Refused extends Error {
  override readonly name = 'Refused';
  readonly result: Result;
  constructor(result: Result) {
    super('the stream was refused');
    this.result = result;
  }
}
