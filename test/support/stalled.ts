// Sockets that have stopped reading while events pass, and others beside them that read.
import { expect } from 'vitest';
import { encodeCursor } from '../../src/events/cursor.ts';
import { rawSocket } from '../events/raw-socket.ts';
import { ringing, upTo } from '../events/reading.ts';
import { makeYard, runId, write } from '../events/writing.ts';
import type { EventGround } from './event-campaign.ts';

export interface StallReport {
  /** Of the server's resident memory, at most, over what it was before anybody stalled. */
  readonly growthMiB: number;
  /** From a commit until one that reads has its last event. */
  readonly p99Ms: number;
  readonly worstMs: number;
}

const readers = 5;
const query = 'subscription ($id: ID!, $after: String) { dataRunEvents(id: $id, after: $after) { sequence reason } }';

export interface Stall {
  readonly stalled: number;
  readonly events: number;
  /** Of events in a transaction. The next is written when those that read have this one. */
  readonly batch: number;
}

/**
 * Half of them had caught up when they stopped, half are at the log's beginning. Every event is 4 kB, far more than the kernel
 * keeps for a socket. Those that answer no ping are closed after a while: that is the server’s to do.
 */
export async function stalledSockets(ground: EventGround, { stalled, events, batch }: Stall): Promise<StallReport> {
  const db = ringing(ground.db, ground.bell);
  const { workspaceId, runs } = await makeYard(db, 1);
  const [run = ''] = runs;
  // With all the room that it likes V8 puts collecting off (measured: up to 170 MiB), and what is held does not show.
  const node = ground.nodes.start({ PACKHORSE_ROLE: 'api', NODE_OPTIONS: '--max-old-space-size=160' });
  await node.ready;
  const open = async (after: bigint | null) => {
    const raw = await rawSocket(node.app);
    raw.subscribe('s', query, { id: runId(run), after: after === null ? null : encodeCursor(workspaceId, after) });
    return raw;
  };
  const reading = await Promise.all(upTo(readers).map(() => open(0n)));
  await Promise.all(reading.map((raw) => raw.reach(({ type }) => type === 'next')));
  let [written, most] = [1, 0];
  const late: number[] = [];
  const pass = async (count: number) => {
    for (const end = written + count; written < end; ) {
      await write(db, run, 'x'.repeat(4_000), batch);
      const at = performance.now();
      written += batch;
      const had = reading.map(async (raw) => {
        await raw.reach(({ payload }) => payload?.data?.dataRunEvents.sequence === written, 60_000);
        late.push(performance.now() - at);
        const sequences = raw.messages.splice(0).flatMap(({ payload }) => payload?.data?.dataRunEvents.sequence ?? []);
        expect(sequences.filter((sequence) => sequence > written - batch)).toEqual(upTo(batch).map((n) => written - batch + n));
      });
      await Promise.all(had);
      most = Math.max(most, node.rssMiB());
    }
  };
  // What is loaded and cached once is no growth, nor what as many take that read all of it.
  await pass(events / 5);
  const eager = await Promise.all(upTo(stalled).map(() => open(0n)));
  await Promise.all(eager.map((raw) => raw.reach(({ payload }) => payload?.data?.dataRunEvents.sequence === written, 60_000)));
  for (const { socket } of eager) socket.terminate();
  const before = node.rssMiB();
  most = 0;
  late.length = 0;
  const deaf = await Promise.all(upTo(stalled).map((n) => open(n % 2 === 0 ? null : 0n)));
  for (const { socket } of deaf) socket.pause();
  await pass(events);
  expect(node.isAlive, node.log).toBe(true);
  for (const raw of deaf) expect(raw.messages.length).toBeLessThan(events / 2);
  for (const { socket } of [...reading, ...deaf]) socket.terminate();
  const subscribers = async () => /^packhorse_subscribers\S* (\d+)/m.exec(await (await fetch(`${node.app.url}/metrics`)).text())?.[1];
  await expect.poll(subscribers).toBe('0');
  node.signal('SIGTERM');
  expect(await node.exited, node.log).toEqual({ code: 0, signal: null });
  const sorted = late.sort((one, other) => one - other);
  return {
    growthMiB: Math.round(most - before),
    p99Ms: Math.round(sorted[Math.floor(sorted.length * 0.99)] ?? 0),
    worstMs: Math.round(sorted.at(-1) ?? 0),
  };
}
