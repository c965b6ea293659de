// Subscribers of one workspace: what a server spends on each delivery, when the last of a crowd has an event, what one costs that waits, and
// how soon one alone hears of a commit. Beside a bare broadcast, the floor, and PostGraphile, what one would take instead.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PostgresServer } from '../src/postgres/embedded.ts';
import { type Crowd, openCrowd } from './crowd.ts';
import { openSample } from './subscriber-sample.ts';
import { type Side, type Sides, subscriberSides } from './subscriber-sides.ts';
import { clock, freshDatabase, median, refusedSockets, type ServerProcess } from './support.ts';

interface Load {
  readonly size: number;
  readonly everyMs: number;
  readonly events: number;
  /** Of PostGraphile one where it cannot keep up: each of them takes as long as its queue. */
  readonly rounds: { readonly all: number; readonly postgraphile: number };
}

const loads: readonly Load[] = [
  { size: 1_000, everyMs: 100, events: 50, rounds: { all: 3, postgraphile: 3 } },
  { size: 1_000, everyMs: 10, events: 500, rounds: { all: 3, postgraphile: 1 } },
  { size: 10_000, everyMs: 1_000, events: 10, rounds: { all: 3, postgraphile: 3 } },
  { size: 1, everyMs: 20, events: 200, rounds: { all: 3, postgraphile: 3 } },
];

const sampled = 3;

/** Processor time of a process in seconds, user and system. */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Of all processes together. */
function cpuOfMachine(): number {
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = (readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? '')
    .split(/ +/)
    .slice(1)
    .map(Number);
  return (user + nice + system + irq + softirq) / 100;
}

/** Its memory in kB. */
const rssOf = (pid: number) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);

interface Measured {
  /** Of the server, in µs; and of the crowd for each message it took. */
  readonly perDelivery: number;
  readonly perMessage: number;
  /** Of a core, while it went on. */
  readonly serverCores: number;
  readonly crowdCores: number;
  /** What all else on the machine took, Postgres among it: where that is much, times tell little. */
  readonly otherCores: number;
  /** From the commit's return to when the last of all has the event, in ms. */
  readonly p50: number;
  readonly p99: number;
  /** Memory for each that came, in kB. */
  readonly kilobytes: number;
}

/** Commits until an event has reached all: each of them is on the stream then. Returns the next event's number. */
async function settle(side: Side, crowd: Crowd): Promise<number> {
  for (let n = 0; ; n++) {
    await side.commit(n);
    const reached = await crowd.reached(n, 3_000).then(
      () => true,
      (error: unknown) => {
        if (n === 40) throw error;
        return false;
      },
    );
    if (reached) return n + 1;
  }
}

async function measure(side: Side, server: ServerProcess, load: Load, sides: Sides): Promise<Measured> {
  const { size, everyMs, events } = load;
  const url = server.url + side.path;
  const empty = rssOf(server.pid);
  const crowd = await openCrowd(url, side.greeting, size);
  const sample = openSample(url, side === sides.ours && size > 1 ? sampled : 0, sides);
  const everybody = size + sample.size;
  try {
    let next = await settle(side, crowd);
    await sleep(1_000);
    const kilobytes = (rssOf(server.pid) - empty) / everybody;
    const commit = async (count: number): Promise<number[]> => {
      const committed: number[] = [];
      const began = clock();
      for (let n = 0; n < count; n++) {
        await side.commit(next++);
        committed.push(clock());
        await sleep(Math.max(0, began + (n + 1) * everyMs - clock()));
      }
      await crowd.reached(next - 1, 120_000);
      return committed;
    };
    await commit(Math.ceil(events / 5)); // warm
    await sleep(500);
    const from = next;
    const before = {
      clock: clock(),
      crowd: await crowd.report(from, from),
      server: cpuOf(server.pid),
      own: cpuOf(process.pid),
      machine: cpuOfMachine(),
    };
    const committed = await commit(events);
    const seconds = (clock() - before.clock) / 1_000;
    const spent = cpuOf(server.pid) - before.server;
    const rest = cpuOfMachine() - before.machine - spent - (cpuOf(process.pid) - before.own);
    const after = await crowd.report(from, next);
    const short = after.events.filter(({ count }) => count !== size).length;
    if (short + after.faults + after.closed > 0) {
      throw new Error(`${side.name}: ${short} events did not reach all, ${after.faults} came out of order, ${after.closed} sockets closed`);
    }
    await sample.judge(from, next);
    const late = committed.map((at, n) => (after.events[n]?.last ?? Number.NaN) - at).sort((a, b) => a - b);
    const crowdSpent = after.cpuSeconds - before.crowd.cpuSeconds;
    return {
      perDelivery: (spent / events / everybody) * 1e6,
      perMessage: (crowdSpent / (after.messages - before.crowd.messages)) * 1e6,
      serverCores: spent / seconds,
      crowdCores: crowdSpent / seconds,
      otherCores: (rest - crowdSpent) / seconds,
      p50: median(late),
      p99: late[Math.floor(late.length * 0.99)] ?? Number.NaN,
      kilobytes,
    };
  } finally {
    await sample.close();
    await crowd.close();
  }
}

/** Alternated rounds on servers that are new; medians, but the memory of the first round: a heap that has grown does not shrink at once. */
async function measureLoad(load: Load, sides: Sides): Promise<Map<Side, Measured>> {
  const { bare, postgraphile, ours } = sides;
  const servers = new Map<Side, ServerProcess>();
  const found = new Map<Side, Measured[]>();
  try {
    for (const side of [bare, ...(postgraphile === null ? [] : [postgraphile]), ours]) {
      servers.set(side, await side.start({ sockets: load.size }));
      found.set(side, []);
    }
    for (let round = 0; round < load.rounds.all; round++) {
      for (const [side, server] of round % 2 === 0 ? servers : [...servers].reverse()) {
        if (side === postgraphile && round >= load.rounds.postgraphile) continue;
        found.get(side)?.push(await measure(side, server, load, sides));
      }
    }
  } finally {
    for (const server of servers.values()) await server.stop();
  }
  return new Map([...found].map(([side, rounds]) => [side, middleOf(rounds)]));
}

function middleOf(rounds: readonly Measured[]): Measured {
  const middle = (key: keyof Measured) => median(rounds.map((round) => round[key]));
  return {
    perDelivery: middle('perDelivery'),
    perMessage: middle('perMessage'),
    serverCores: middle('serverCores'),
    crowdCores: middle('crowdCores'),
    otherCores: middle('otherCores'),
    p50: middle('p50'),
    p99: middle('p99'),
    kilobytes: rounds[0]?.kilobytes ?? Number.NaN,
  };
}

function show({ size, everyMs }: Load, found: Map<Side, Measured>, { ours, bare, postgraphile }: Sides): void {
  console.log(`  ${size} subscriber${size === 1 ? '' : 's'}, ${1_000 / everyMs} events a second; from commit to the last one's receipt`);
  const many = size > 1; // one alone says nothing of what each costs, and hears of it before the writer does
  const most = size >= 10_000; // of fewer, the heap's own growth hides what each takes
  for (const [side, m] of found) {
    const costs = `; ${m.perDelivery.toFixed(1)} µs of processor a delivery${most ? `; ${m.kilobytes.toFixed(1)} kB each` : ''}`;
    const cores = `cores: server ${m.serverCores.toFixed(2)}, crowd ${m.crowdCores.toFixed(2)} (${m.perMessage.toFixed(1)} µs a message), others ${m.otherCores.toFixed(2)}`;
    console.log(`    ${side.name.padEnd(14)} p50 ${m.p50.toFixed(1)} ms, p99 ${m.p99.toFixed(1)} ms${many ? costs : ''}; ${cores}`);
  }
  if (!many) return;
  const compare = (one: Side, other: Side | null) => {
    const [a, b] = [found.get(one), other === null ? undefined : found.get(other)];
    if (a === undefined || b === undefined) return;
    const processor = (a.perDelivery / b.perDelivery).toFixed(2);
    console.log(`    ${one.name} / ${other?.name}: processor ${processor}, p50 ${(a.p50 / b.p50).toFixed(2)}`);
  };
  compare(ours, bare);
  if (postgraphile !== null) compare(postgraphile, ours);
}

export async function benchSubscribers(postgres: PostgresServer, home: string): Promise<void> {
  const url = await freshDatabase(postgres, 'bench_subscribers');
  const sides = await subscriberSides(url, home);
  try {
    for (const load of loads) {
      const refused = refusedSockets(load.size);
      if (refused === null) show(load, await measureLoad(load, sides), sides);
      else console.log(`  ${load.size} subscribers are left out, as a process may not hold as many sockets: ${refused}`);
    }
  } finally {
    await sides.close();
  }
}
