// The campaign on events: writers write and roll back, LISTEN connections are dropped, servers are killed, clients come and go. Every client
// must have received what was committed: all of it, in order, once.
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { type Db, inTransaction } from '../../src/db.ts';
import type { Bell } from '../../src/events/listen.ts';
import { change, dataRunSubject } from '../../src/lifecycle/transition.ts';
import { bells, logOf, openBell, openTestDb, ringing, upTo } from '../events/reading.ts';
import { lockRun, makeYard, type Yard } from '../events/writing.ts';
import { freshDatabase } from './database.ts';
import { type Client, followAs, told } from './event-clients.ts';
import { lastingPort, type Node, type Nodes, nodesOn } from './nodes.ts';
import { type Pace, paced } from './pace.ts';
import { seeded } from './random.ts';

export interface EventCampaign {
  /** The same seed draws the same order of things; how far each has come by then is the machine's affair. */
  readonly seed: number;
  /** Committed ones. A tenth of the transactions are rolled back besides. */
  readonly events: number;
  /** SIGKILLs of servers. */
  readonly kills: number;
  /** How many LISTEN connections are ended: the servers' and the writers'. */
  readonly drops: number;
  /** How often clients hang up by themselves. */
  readonly hangUps: number;
}

export interface EventReport {
  readonly events: number;
  readonly commits: number;
  readonly rollbacks: number;
  readonly kills: number;
  readonly drops: number;
  /** Of the dropped, the writers' own. */
  readonly dropsOfWriters: number;
  readonly hangUps: number;
  readonly clients: number;
  /** Connections that clients began beyond the first of each. */
  readonly reconnects: number;
  /** Events that clients received, and that were compared. */
  readonly received: number;
  readonly seconds: number;
  /** From the last commit until the last client had it. */
  readonly caughtUpMs: number;
}

export interface EventGround {
  readonly db: Db;
  readonly bell: Bell;
  readonly nodes: Nodes;
}

const writers = 8;
const runsEach = 4;
// Nothing polls: what is lost between a drop and the next connection must be found because of it.
const never = 600_000;

/** Where a campaign takes place; of the calling file, so that what is still running when it fails ends with the file. */
export async function eventGround(): Promise<EventGround> {
  const databaseUrl = await freshDatabase();
  return { db: openTestDb(databaseUrl, writers + 4), bell: openBell(databaseUrl, never), nodes: nodesOn(databaseUrl) };
}

/** A server, and those that take its place at the same address. */
interface Place {
  readonly port: number;
  node: Node;
}

export async function eventCampaign(ground: EventGround, campaign: EventCampaign): Promise<EventReport> {
  const { db, bell, nodes } = ground;
  const random = seeded(campaign.seed);
  const began = performance.now();
  const yards = [await makeYard(db, runsEach), await makeYard(db, runsEach)];
  const begin = (port: number) =>
    nodes.start({ PORT: String(port), PACKHORSE_ROLE: 'api', PACKHORSE_POLL_MS: String(never), PACKHORSE_POOL_SIZE: '6' });
  const places: Place[] = [];
  for (const _ of upTo(2)) {
    const port = await lastingPort();
    places.push({ port, node: begin(port) });
  }
  await Promise.all(places.map(({ node }) => node.ready));
  const clients = await clientsOf(yards, places, random);
  const pace = paced(campaign.events);
  const done = { rollbacks: 0, commits: 0, kills: 0, drops: 0, hangUps: 0 };

  const kill = async (place: Place) => {
    await place.node.kill();
    place.node = begin(place.port);
    done.kills++;
  };
  const gone = new Set<number>();
  const drop = async () => {
    // A backend is in the list until it has seen that it is to end.
    const listening = async () => (await bells(db)).filter((pid) => !gone.has(pid));
    let pids = await listening();
    for (; pids.length === 0; pids = await listening()) await pause(5);
    const pid = oneOf(pids, random);
    gone.add(pid);
    const { rows } = await db.pool.query<{ ended: boolean }>('SELECT pg_terminate_backend($1) AS ended', [pid]);
    if (rows[0]?.ended === true) done.drops++;
    else await drop(); // it was a killed server's
  };
  const hangUp = async () => {
    oneOf(clients, random).hangUp();
    done.hangUps++;
  };
  const fate = async () => {
    const share = (count: number, round: number) =>
      Math.round((count * (round + 1)) / campaign.kills) - Math.round((count * round) / campaign.kills);
    let from = 0;
    let [oneButLast, last]: [(() => boolean)[], (() => boolean)[]] = [[], []];
    for (let round = 0; round < campaign.kills; round++) {
      const events = share(campaign.events, round);
      const victim = oneOf(places, random);
      // Nobody is to be far behind, or all would read of the past only. It comes to seconds where nothing is amiss.
      const due = await reachedBy(db, clients);
      await expect.poll(() => oneButLast.filter((isDue) => !isDue()).length, { timeout: 120_000, interval: 20 }).toBe(0);
      oneButLast = last;
      last = due;
      // It has to be there to be killed, or all would die of the same; but now and then it does not even come to listen.
      if (random() < 0.9) await victim.node.ready;
      const things = [
        () => kill(victim),
        ...upTo(share(campaign.drops, round)).map(() => drop),
        ...upTo(share(campaign.hangUps, round)).map(() => hangUp),
      ];
      const happening = things.map(async (thing) => {
        await pace.reached(from + 1 + Math.floor(random() * events));
        await thing();
      });
      pace.allow(from + events);
      await Promise.all(happening);
      from += events;
    }
  };

  const loud = ringing(db, bell);
  const writing = upTo(writers).map((n) => write(loud, yards, pace, done, n, seeded(campaign.seed + n)));
  const failed = Promise.race(clients.map((client) => client.failed));
  try {
    await Promise.race([failed, Promise.all([fate(), ...writing])]);
    const wrote = performance.now();
    const truths = await committed(db, yards, campaign.events);
    const all = (client: Client) => client.reached() === truths.get(keyOf(client))?.at(-1)?.position;
    const behind = () => clients.filter((client) => !all(client)).map(({ name, reached }) => `${name}, at ${reached()}`);
    await Promise.race([failed, expect.poll(behind, { timeout: 60_000, interval: 20 }).toEqual([])]);
    const caughtUpMs = Math.round(performance.now() - wrote);
    await Promise.all(clients.map((client) => client.stop()));
    const received = clients.map((client) => judge(client, truths.get(keyOf(client)) ?? []));
    await Promise.all(places.map(({ node }) => node.ready));
    for (const { node } of places) {
      node.signal('SIGTERM');
      expect(await node.exited, node.log).toEqual({ code: 0, signal: null });
    }
    return {
      events: campaign.events,
      ...done,
      dropsOfWriters: bell.counts().reconnects,
      clients: clients.length,
      reconnects: sum(clients.map((client) => client.counts().connections - 1)),
      received: sum(received),
      seconds: Math.round((performance.now() - began) / 1_000),
      caughtUpMs,
    };
  } finally {
    pace.end();
    await Promise.allSettled([...writing, ...clients.map((client) => client.stop())]);
  }
}

const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);

function oneOf<T>(list: readonly T[], random: () => number): T {
  const found = list[Math.floor(random() * list.length)];
  if (found === undefined) throw new Error('there is nothing to choose from');
  return found;
}

/** Of each workspace, some that follow all of it and one or two of each run; a third of them go from one server to the other. */
async function clientsOf(yards: readonly Yard[], places: readonly Place[], random: () => number): Promise<Client[]> {
  const token = (await places[0]?.node.app.token()) ?? '';
  const clients: Client[] = [];
  for (const { workspaceId, slug, runs } of yards) {
    const whole = { workspaceId };
    const scopes = [whole, whole, whole, whole, whole, whole, ...runs.map((dataRunId) => ({ workspaceId, dataRunId }))];
    for (const [index, scope] of scopes.entries()) {
      const by = index % 2 === 0 ? 'socket' : 'sse';
      const own = seeded(Math.floor(random() * 2 ** 32));
      const at = index % 3 === 2 ? null : places[index % 3];
      const url = () => `http://127.0.0.1:${(at ?? oneOf(places, own)).port}`;
      const name = `${by} ${clients.length} of ${'dataRunId' in scope ? 'a run' : slug} at ${at === null ? 'both' : at?.port}`;
      clients.push(followAs(scope, { name, by, url, token, random: own, beginsNow: index % 4 < 2 }));
    }
  }
  return clients;
}

/** Of each client that follows a workspace: whether it has come as far as that has come now. */
async function reachedBy(db: Db, clients: readonly Client[]): Promise<(() => boolean)[]> {
  const logs = await db.prisma.workspaceLog.findMany();
  return clients.flatMap(({ scope, furthest }) => {
    const position = logs.find(({ workspaceId }) => workspaceId === scope.workspaceId)?.position ?? 0n;
    return scope.dataRunId === undefined ? [() => furthest() >= position] : [];
  });
}

class Undone extends Error {}

/** Transactions of one to five events, and now and then of more than a page; before every ninth one that is rolled back. */
async function write(
  db: Db,
  yards: readonly Yard[],
  pace: Pace,
  done: { commits: number; rollbacks: number },
  name: number,
  random: () => number,
): Promise<void> {
  const attempt = (runId: string, count: number, reason: string, fails: boolean) =>
    inTransaction(db, async (tx) => {
      const run = await lockRun(tx, runId);
      const actions = ['SUBMIT', 'ACCEPT', 'SUCCEED'];
      const events = upTo(count).map((n) => ({ action: oneOf(actions, random), from: run.state, to: run.state, dataset: `d${n}` }));
      await change(tx, dataRunSubject, run, { to: run.state, events }, { actor: 'ann', reason });
      if (fails) throw new Undone();
    });
  for (let turn = 1; ; turn++) {
    const count = await pace.take(random() < 0.005 ? 130 : 1 + Math.floor(random() * 5));
    if (count === 0) return;
    const runId = oneOf(oneOf(yards, random).runs, random);
    if (turn % 9 === 0) {
      await expect(attempt(runId, count, 'rolled back', true)).rejects.toBeInstanceOf(Undone);
      done.rollbacks++;
    }
    await attempt(runId, count, `${runId}, writer ${name}, turn ${turn}`, false);
    done.commits++;
    pace.made(count);
  }
}

interface Line {
  readonly position: bigint;
  readonly text: string;
}

const keyOf = ({ scope }: Client) => scope.dataRunId ?? scope.workspaceId;

/** What the log has at the end, of each workspace and each run. */
async function committed(db: Db, yards: readonly Yard[], events: number): Promise<Map<string, readonly Line[]>> {
  const truths = new Map<string, Line[]>();
  for (const { workspaceId, runs } of yards) {
    const log = await logOf(db, { workspaceId });
    expect(log.every(({ position }, index) => position === BigInt(index + 1))).toBe(true);
    expect(log.filter(({ reason }) => reason === 'rolled back')).toEqual([]);
    for (const event of log) {
      const { position } = event;
      const text = told(event, position);
      for (const key of [workspaceId, event.dataRunId ?? '']) {
        const truth = truths.get(key) ?? [];
        truths.set(key, truth);
        truth.push({ position, text });
      }
    }
    expect(runs.every((id) => truths.has(id))).toBe(true);
  }
  // Each run was registered, besides.
  expect(sum(yards.map(({ workspaceId }) => truths.get(workspaceId)?.length ?? 0))).toBe(events + yards.length * runsEach);
  return truths;
}

/** Each voyage is what was committed after its start, without a gap, and the last goes to the end. Returns how many were compared. */
function judge({ name, voyages, counts }: Client, truth: readonly Line[]): number {
  let compared = 0;
  for (const [index, { after, received }] of voyages.entries()) {
    const from = after === null ? truth.findIndex(({ text }) => text === received[0]) : truth.findIndex(({ position }) => position > after);
    const start = from < 0 ? truth.length : from;
    const wrong = received.findIndex((text, at) => text !== truth[start + at]?.text);
    if (wrong >= 0) {
      const expected = truth.slice(start + wrong, start + wrong + 3).map(({ text }) => text);
      expect(received.slice(wrong, wrong + 3), `${name}, voyage ${index} after ${after}, event ${wrong} of ${received.length}`).toEqual(
        expected,
      );
    }
    if (index === voyages.length - 1) expect([name, start + received.length]).toEqual([name, truth.length]);
    compared += received.length;
  }
  expect([name, counts().repeats]).toEqual([name, 0]);
  return compared;
}
