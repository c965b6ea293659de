// Kills processes, and stops them beyond their lease, in the middle of their calls to a service or at any time.
import { setTimeout as pause } from 'node:timers/promises';
import type { CallName, ChildCall } from './http-child.ts';
import type { FaultyChild, Moment } from './ledger-faults.ts';
import type { Node } from './nodes.ts';
import { processBehind } from './process-behind.ts';

export interface Slot {
  node: Node;
  readonly begin: () => Node;
  /** It listens, or works. */
  isUp: boolean;
  isStopped: boolean;
}

export interface Field {
  readonly slots: readonly Slot[];
  readonly service: FaultyChild;
  readonly random: () => number;
  readonly leaseMs: number;
  /** What the processes log as errors is counted here. */
  readonly logged: Record<string, number>;
}

interface Struck {
  readonly kills: number;
  readonly stops: number;
  readonly hits: Readonly<Record<string, number>>;
}

const moments: readonly Moment[] = ['arrives', 'accepted', 'answered'];
const names: readonly CallName[] = ['submit', 'submit', 'read', 'find', 'cancel'];

/** Kills and stops processes: at a moment of a call whoever made it, or, where none comes, anybody at any time. */
export async function strike(
  { slots, service, random, logged, leaseMs }: Field,
  { kills, stops }: { readonly kills: number; readonly stops: number },
): Promise<Struck> {
  const hits: Record<string, number> = {};
  const resuming: Promise<void>[] = [];
  let [killed, stopped] = [0, 0];
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)] as T;
  const stoppedNow = () => slots.filter(({ isStopped }) => isStopped).length;
  while (killed < kills || stopped < stops) {
    const wantsStop = stopped < stops && (killed >= kills || random() < stops / (kills + stops));
    if (wantsStop && stoppedNow() >= 2) {
      await pause(50);
      continue;
    }
    const signal = wantsStop ? 'SIGSTOP' : 'SIGKILL';
    const [moment, name] = [pick(moments), pick(names)];
    let slot = random() < 0.7 ? await callerAt(slots, service, moment, name, signal) : null;
    let hit = `${name} ${moment}`;
    if (slot === null) {
      await pause(random() * 300);
      hit = 'any time';
      const able = slots.filter(({ isStopped }) => !isStopped);
      const up = able.filter(({ isUp }) => isUp);
      // Killed faster than they start, none would ever do anything; now and then one is killed while it starts.
      slot = (random() < 0.03 ? pick(able) : up.length > 1 ? pick(up) : undefined) ?? null;
      if (slot === null) continue;
      slot.node.signal(signal);
    }
    hits[`${signal} ${hit}`] = (hits[`${signal} ${hit}`] ?? 0) + 1;
    if (wantsStop) {
      stopped++;
      resuming.push(goOnLater(slot, leaseMs * (1.1 + random() * 0.7)));
    } else {
      killed++;
      await again(slot, logged);
    }
  }
  for (const slot of slots) await slot.node.ready;
  await Promise.all(resuming);
  return { kills: killed, stops: stopped, hits };
}

/** Sends the signal at that moment of the next such call, before anything else happens; null where none came within a second. */
async function callerAt(
  slots: readonly Slot[],
  service: FaultyChild,
  moment: Moment,
  name: CallName,
  signal: NodeJS.Signals,
): Promise<Slot | null> {
  const found = new Promise<Slot>((resolve) => {
    service.at = (now: Moment, { name: called, request }: ChildCall) => {
      if (now !== moment || called !== name) return;
      const able = slots.filter(({ isStopped }) => !isStopped);
      const pid = processBehind(
        request.socket,
        able.map(({ node }) => node.pid),
      );
      const slot = able.find(({ node }) => node.pid === pid);
      if (slot === undefined) return; // killed meanwhile
      service.at = () => {};
      slot.node.signal(signal);
      resolve(slot);
    };
  });
  const slot = await Promise.race([found, pause(1_000, null)]);
  service.at = () => {};
  return slot;
}

async function goOnLater(slot: Slot, ms: number): Promise<void> {
  slot.isStopped = true;
  await pause(ms);
  slot.node.signal('SIGCONT');
  slot.isStopped = false;
}

async function again(slot: Slot, logged: Record<string, number>): Promise<void> {
  await slot.node.exited;
  countErrors(slot.node, logged);
  slot.node = slot.begin();
  slot.isUp = false;
  slot.node.ready.then(
    () => {
      slot.isUp = true;
    },
    () => {}, // killed again
  );
}

export function countErrors({ log }: Node, logged: Record<string, number>): void {
  for (const line of log.split('\n')) {
    if (!line.startsWith('{')) continue;
    const [, message = line.slice(0, 100)] = /"msg":"([^"]+)"/.exec(line) ?? [];
    const [, cause = ''] = /"err":\{[^}]*?"message":"([^"]{0,120})/.exec(line) ?? [];
    const said = `${message}: ${cause}`;
    logged[said] = (logged[said] ?? 0) + 1;
  }
}
