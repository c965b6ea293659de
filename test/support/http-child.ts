// A remote service in the test's own process: node:http, jobs in memory, and a ledger that is the judge of what was really created. A test
// may take any answer into its own hands.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { WireJob, WireSubmission } from '../../src/job-target/wire.ts';

export type CallName = 'submit' | 'read' | 'find' | 'cancel' | 'cancelByKey';

export interface ChildJob {
  readonly id: string;
  readonly key: string;
  readonly submission: WireSubmission;
  state: WireJob['state'];
  cancelAsked: number;
  more: Partial<WireJob>;
  /** It goes by this id too. */
  alias: string | null;
}

export interface ChildCall {
  readonly name: CallName;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: string;
  /** What it is about, if that is there already. */
  readonly job: ChildJob | undefined;
  /** What an honest service does, effects included; not sent yet. */
  readonly honest: () => { readonly status: number; readonly body: object | null };
  readonly send: (answer: { readonly status: number; readonly body: object | null }) => void;
}

export interface ReceivedCall extends Pick<ChildCall, 'name' | 'body'> {
  readonly key: string | null;
  readonly token: string;
  /** By Date.now(). */
  readonly at: number;
}

export interface HttpChild {
  readonly url: string;
  /** Every job it ever created. */
  readonly jobs: ChildJob[];
  readonly calls: ReceivedCall[];
  job(dataset: string): ChildJob;
  end(dataset: string, state: WireJob['state'], more?: Partial<WireJob>): void;
  /** True: it has answered, or never will. */
  misbehave: ((call: ChildCall) => boolean) | null;
  begins: WireJob['state'];
  connections(): number;
  /** Nobody listens any more; its jobs are kept. */
  goDown(): Promise<void>;
  comeBack(): Promise<void>;
  close(): Promise<void>;
}

const routes: readonly [CallName, string, RegExp][] = [
  ['submit', 'POST', /^\/jobs$/],
  ['find', 'GET', /^\/jobs\?idempotencyKey=(.+)$/],
  ['cancelByKey', 'POST', /^\/jobs\/cancel\?idempotencyKey=(.+)$/],
  ['cancel', 'POST', /^\/jobs\/([^/?]+)\/cancel$/],
  ['read', 'GET', /^\/jobs\/([^/?]+)$/],
];

export async function httpChild(): Promise<HttpChild> {
  const buried = new Set<string>();
  const sockets = new Set<Socket>();
  let connections = 0;
  const ended = (state: string) => state !== 'queued' && state !== 'running';
  const told = (job: ChildJob | undefined, status = 200, id = job?.id) =>
    job === undefined ? { status: 404, body: null } : { status, body: { id, state: job.state, idempotencyKey: job.key, ...job.more } };

  const keyed = new Map<string, ChildJob>();
  const named = new Map<string, ChildJob>();
  const jobOf = (what: string) => named.get(what) ?? child.jobs.find(({ alias }) => alias === what);

  function honest(name: CallName, what: string, key: string, body: string) {
    if (name === 'submit') {
      const known = keyed.get(key);
      if (known !== undefined) return told(known);
      const job: ChildJob = {
        id: `job-${child.jobs.length + 1}`,
        key,
        submission: JSON.parse(body),
        state: buried.has(key) ? 'cancelled' : child.begins,
        cancelAsked: 0,
        more: {},
        alias: null,
      };
      child.jobs.push(job);
      keyed.set(key, job);
      named.set(job.id, job);
      return told(job, 201);
    }
    const byKey = name === 'find' || name === 'cancelByKey';
    const job = byKey ? keyed.get(what) : jobOf(what);
    const id = byKey ? job?.id : what;
    if (name === 'find' || name === 'read') return told(job, 200, id);
    if (name === 'cancelByKey') buried.add(what);
    if (job === undefined) return name === 'cancelByKey' ? { status: 202, body: null } : told(job);
    job.cancelAsked++;
    if (!ended(job.state)) job.state = 'cancelled';
    return told(job, 202, id);
  }

  const server = createServer((request, response) => {
    void answer(request, response).catch(() => response.destroy());
  });
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = (await buffer(request)).toString();
    const { method, url = '', headers } = request;
    const [name, , form] = routes.find(([, verb, path]) => verb === method && path.test(url)) ?? [];
    if (name === undefined || form === undefined) return void response.writeHead(404).end();
    const what = decodeURIComponent(form.exec(url)?.[1] ?? '');
    const key = name === 'submit' ? String(headers['idempotency-key']) : name === 'find' || name === 'cancelByKey' ? what : null;
    child.calls.push({ name, key, body, token: String(headers.authorization).replace(/^Bearer /, ''), at: Date.now() });
    const send: ChildCall['send'] = ({ status, body: said }) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(said === null ? '' : JSON.stringify(said));
    };
    const job = key === null ? jobOf(what) : keyed.get(key);
    const call = { name, request, response, body, job, honest: () => honest(name, what, key ?? '', body), send };
    if (child.misbehave?.(call) !== true) send(call.honest());
  }
  server.on('connection', (socket) => {
    connections++;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  });
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const goDown = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const child: HttpChild = {
    url: `http://127.0.0.1:${port}`,
    jobs: [],
    calls: [],
    misbehave: null,
    begins: 'running',
    job(dataset) {
      const found = child.jobs.findLast(({ submission }) => submission.dataset.name === dataset);
      if (found === undefined) throw new Error(`no job of ${dataset}`);
      return found;
    },
    end(dataset, state, more = {}) {
      Object.assign(child.job(dataset), { state, more });
    },
    connections: () => connections,
    goDown,
    comeBack: () => listen(port),
    close: () => (server.listening ? goDown() : Promise.resolve()),
  };
  return child;
}
