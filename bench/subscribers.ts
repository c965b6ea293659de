// A thousand subscribers of one workspace and a hundred events a second: what the server spends on each delivery, and when the last of them
// has it, beside a bare broadcast of one text. Memory of ten thousand that wait, and how soon one alone hears of a commit.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { WebSocket } from 'ws';
import { inTransaction, openDb } from '../src/db.ts';
import { startBell } from '../src/events/listen.ts';
import { globalId } from '../src/graphql/builder.ts';
import { change, dataRunSubject } from '../src/lifecycle/transition.ts';
import type { PostgresServer } from '../src/postgres/embedded.ts';
import { freshDatabase, median, packhorse, type ServerProcess, seedRuns, serverProcess, token } from './support.ts';

const events = 500;
const everyMs = 10;
const query = `subscription ($w: ID!) { workspaceEvents(workspace: $w) { cursor sequence action from to at reason ... on DataRunEvent { dataset dataRun { id state } } } }`;

interface Crowd {
  /** Of each event by its number: when the last socket had it, and how many had it. */
  readonly seen: Map<number, { last: number; count: number }>;
  close(): void;
}

/** Sockets that count what they are sent. The number of the event stands in it as "#n#". */
async function crowd(url: string, size: number, greet: (socket: WebSocket) => Promise<void>, protocol: string[]): Promise<Crowd> {
  const seen: Crowd['seen'] = new Map();
  const sockets: WebSocket[] = [];
  const number = /#(\d+)#/;
  for (let at = 0; at < size; at += 100) {
    await Promise.all(
      Array.from({ length: Math.min(100, size - at) }, async () => {
        const socket = new WebSocket(url.replace('http', 'ws'), protocol, { perMessageDeflate: false });
        sockets.push(socket);
        await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
        await greet(socket);
        socket.on('message', (data: Buffer) => {
          const [, found] = number.exec(data.toString('latin1')) ?? [];
          if (found === undefined) return;
          const entry = seen.get(Number(found)) ?? { last: 0, count: 0 };
          seen.set(Number(found), { last: performance.now(), count: entry.count + 1 });
        });
      }),
    );
  }
  return {
    seen,
    close() {
      for (const socket of sockets) socket.terminate();
    },
  };
}

const answered = (socket: WebSocket, type: string) =>
  new Promise<void>((resolve) => {
    const look = (data: Buffer) => {
      if (!data.toString().includes(`"${type}"`)) return;
      socket.off('message', look);
      resolve();
    };
    socket.on('message', look);
  });

/** Processor time of a process in seconds, user and system. */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

const rssOf = (pid: number) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);

interface Measured {
  readonly cpuPerDelivery: number;
  readonly p50: number;
  readonly p99: number;
}

async function measure(
  server: ServerProcess,
  size: number,
  people: Crowd,
  send: (n: number) => Promise<void>,
  count = events,
  pauseMs = everyMs,
): Promise<Measured> {
  await sleep(1_000);
  const before = cpuOf(server.pid);
  const sent: number[] = [];
  const began = performance.now();
  for (let n = 0; n < count; n++) {
    await send(n);
    sent.push(performance.now());
    await sleep(Math.max(0, began + (n + 1) * pauseMs - performance.now()));
  }
  for (const limit = performance.now() + 20_000; (people.seen.get(count - 1)?.count ?? 0) < size; ) {
    if (performance.now() > limit) throw new Error(`the last event reached ${people.seen.get(count - 1)?.count ?? 0} of ${size}`);
    await sleep(20);
  }
  const cpu = cpuOf(server.pid) - before;
  const late = sent.map((at, n) => (people.seen.get(n)?.last ?? Number.POSITIVE_INFINITY) - at).sort((a, b) => a - b);
  const short = [...people.seen.values()].filter((entry) => entry.count !== size).length;
  if (short > 0) throw new Error(`${short} events did not reach everybody once`);
  return { cpuPerDelivery: (cpu / count / size) * 1e6, p50: median(late), p99: late[Math.floor(late.length * 0.99)] ?? 0 };
}

export async function benchSubscribers(postgres: PostgresServer, home: string): Promise<void> {
  const url = await freshDatabase(postgres, 'bench_subscribers');
  const [run = ''] = await seedRuns(url, 1, 1);
  const bell = startBell(url, 1_000, () => {});
  const quiet = openDb(url, { poolSize: 4, statementTimeoutMs: 10_000 });
  const db = { ...quiet, announce: (topic: Parameters<typeof bell.ring>[0]) => bell.ring(topic) };
  const workspace = await db.prisma.workspace.findUniqueOrThrow({ where: { slug: 'bench' } });
  const authorization = `Bearer ${await token()}`;
  const write = (n: number) =>
    inTransaction(db, async (tx) => {
      const row = await tx.sql.dataRun.findUniqueOrThrow({ where: { id: run } });
      const event = { action: 'SUBMIT', from: 'PENDING', to: 'SUBMITTING', dataset: 'dataset-0' };
      await change(tx, dataRunSubject, row, { to: row.state, events: [event] }, { actor: 'bench', reason: `#${n}#` });
    });
  const join = async (socket: WebSocket) => {
    const acknowledged = answered(socket, 'connection_ack');
    socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization } }));
    await acknowledged;
    socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query, variables: { w: globalId('Workspace', workspace.id) } } }));
  };
  const sample = JSON.stringify({
    id: '1',
    type: 'next',
    payload: {
      data: {
        workspaceEvents: {
          cursor: 'x'.repeat(64),
          sequence: 1,
          action: 'SUBMIT',
          from: 'PENDING',
          to: 'SUBMITTING',
          at: new Date(),
          reason: '',
          dataset: 'dataset-0',
          dataRun: { id: run, state: 'RUNNING' },
        },
      },
    },
  });
  const bareClient = new pg.Client({ connectionString: url });
  await bareClient.connect();
  const notify = async (n: number) =>
    void (await bareClient.query('SELECT pg_notify($1, $2)', ['bare', sample.replace('"reason":""', `"reason":"#${n}#"`)]));

  const bare = await serverProcess(['--import', 'tsx', 'bench/bare-broadcast.ts'], { DATABASE_URL: url });
  const ours = await packhorse(url, home, { PACKHORSE_ROLE: 'api' });
  try {
    const path = `${ours.url}/graphql`;
    for (const [size, count, pauseMs] of [[1_000, events, everyMs]] as const) {
      const theirs = await crowd(bare.url, size, async () => {}, []);
      const b = await measure(bare, size, theirs, notify, count, pauseMs);
      theirs.close();
      const people = await crowd(path, size, join, ['graphql-transport-ws']);
      const a = await measure(ours, size, people, write, count, pauseMs);
      people.close();
      const show = ({ cpuPerDelivery, p50, p99 }: Measured) =>
        `${cpuPerDelivery.toFixed(1)} µs a delivery, last of all p50 ${p50.toFixed(1)} p99 ${p99.toFixed(1)} ms`;
      console.log(`  ${size} subscribers, ${1_000 / pauseMs} events a second: packhorse ${show(a)}`);
      console.log(`    bare broadcast ${show(b)}: ratio of processor time ${(a.cpuPerDelivery / b.cpuPerDelivery).toFixed(2)}`);
    }
    await sleep(1_000);
    const one = await crowd(path, 1, join, ['graphql-transport-ws']);
    const alone = await measure(ours, 1, one, write, 200, 20);
    one.close();
    console.log(`  commit to a single client: p50 ${alone.p50.toFixed(1)} ms, p99 ${alone.p99.toFixed(1)} ms`);
    await sleep(1_000);
    const idle = 4_000;
    const before = rssOf(ours.pid);
    const waiting = await crowd(path, idle, join, ['graphql-transport-ws']);
    await sleep(2_000);
    console.log(`  ${idle} subscribers that wait: ${((rssOf(ours.pid) - before) / idle).toFixed(1)} kB each`);
    waiting.close();
  } finally {
    await ours.stop();
    await bare.stop();
    await bareClient.end();
    await bell.close();
    await quiet.close();
  }
}
