// Remote targets. How fast others are answered while ten passes wait for a service that takes 3 s, on the smallest pool there may be; and how
// long a submission takes to reach the service once `start` has committed, beside a bare NOTIFY from one connection to another.
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import pg from 'pg';
import yazl from 'yazl';
import type { PostgresServer } from '../src/postgres/embedded.ts';
import { freshDatabase, median, packhorse, post, type ServerProcess, token } from './support.ts';

const slowMs = 3_000;
const passes = 10;
const asked = 300;
const starts = 50;

interface Service {
  readonly url: string;
  delayMs: number;
  /** When the run's submission arrived, by performance.now(). */
  readonly arrival: (runId: string) => Promise<number>;
  underWay: number;
  close(): Promise<void>;
}

async function service(): Promise<Service> {
  const arrived = new EventEmitter();
  const times = new Map<string, number>();
  const arrival = async (runId: string): Promise<number> => times.get(runId) ?? (await once(arrived, runId))[0];
  const made = { delayMs: 0, arrival, underWay: 0 };
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const at = performance.now();
    made.underWay++;
    const body = (await buffer(request)).toString();
    if (request.method === 'POST' && request.url === '/jobs') {
      const { runId } = JSON.parse(body);
      times.set(runId, at);
      arrived.emit(runId, at);
    }
    if (made.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, made.delayMs));
    made.underWay--;
    const job = { id: request.method === 'POST' ? randomUUID() : path.posix.basename(request.url ?? ''), state: 'running' };
    response.writeHead(request.method === 'POST' ? 201 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(job));
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(made, {
    url,
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  });
}

interface Client {
  readonly graphql: (query: string, variables: object) => Promise<any>;
  /** The ids of so many registered runs of one dataset each. */
  readonly registered: (count: number, driving: 'BACKGROUND' | 'ON_REQUEST') => Promise<string[]>;
}

let packages = 0;

async function client({ url }: ServerProcess, slug: string): Promise<Client> {
  const authorization = await token();
  const graphql = async (query: string, variables: object) => {
    const { data, errors } = JSON.parse(await post(`${url}/graphql`, JSON.stringify({ query, variables }), authorization));
    if (errors !== undefined) throw new Error(JSON.stringify(errors));
    return data;
  };
  const mutate = async (name: string, input: object, fields: string) => {
    const type = `${name[0]?.toUpperCase()}${name.slice(1)}Input`;
    const data = await graphql(`mutation ($input: ${type}!) { ${name}(input: $input) { __typename ${fields} ... on Error { message } } }`, {
      input,
    });
    if (data[name].message !== undefined) throw new Error(data[name].message);
    return data[name];
  };
  const { id: workspaceId } = await mutate('createWorkspace', { slug, name: slug }, '... on Workspace { id }');
  return {
    graphql,
    async registered(count, driving) {
      const ids: string[] = [];
      for (let n = 0; n < count; n++) {
        const { packageId, uploadUrl } = await mutate('stagePackage', { workspaceId }, '... on StagedPackage { packageId uploadUrl }');
        await fetch(uploadUrl, { method: 'PUT', body: new Uint8Array(await zip(`package-${++packages}`)) });
        ids.push((await mutate('registerDataRun', { workspaceId, packageId, driving }, '... on DataRun { id }')).id);
      }
      return ids;
    },
  };
}

function zip(name: string): Promise<Buffer> {
  const file = new yazl.ZipFile();
  const resources = [{ name: 'only', path: 'only.csv', 'packhorse:target': 'remote' }];
  file.addBuffer(Buffer.from(JSON.stringify({ name, resources })), 'datapackage.json');
  file.addBuffer(Buffer.from('id\n1\n'), 'only.csv');
  file.end();
  return buffer(file.outputStream);
}

const startMutation = 'mutation ($input: StartDataRunInput!) { startDataRun(input: $input) { __typename } }';

export async function benchTargets(postgres: PostgresServer, home: string): Promise<void> {
  const remote = await service();
  const file = path.join(home, 'targets.json');
  const target = { name: 'remote', baseUrl: remote.url, idempotency: 'key', maxConcurrent: passes, timeoutMs: 2 * slowMs };
  writeFileSync(file, JSON.stringify([target]));
  const url = await freshDatabase(postgres, 'bench_targets');
  const measured = async (env: Record<string, string>, measure: (api: Client) => Promise<void>, slug: string) => {
    const server = await packhorse(url, home, { PACKHORSE_TARGETS: file, ...env });
    try {
      await measure(await client(server, slug));
    } finally {
      await server.stop();
    }
  };
  try {
    await measured({ PACKHORSE_POOL_SIZE: '2' }, (api) => waiting(remote, api), 'waiting');
    await measured({}, (api) => waking(remote, api, url), 'waking');
  } finally {
    await remote.close();
  }
}

/** Others are answered while ten passes wait. */
async function waiting(remote: Service, api: Client): Promise<void> {
  const ids = await api.registered(passes, 'ON_REQUEST');
  const query =
    'query ($slug: String!) { workspace(slug: $slug) { dataRuns(first: 20) { edges { node { id state steps { dataset state } } } } } }';
  const round = async () => {
    const from = performance.now();
    await api.graphql(query, { slug: 'waiting' });
    return performance.now() - from;
  };
  for (let n = 0; n < 50; n++) await round(); // warm
  const idle: number[] = [];
  for (let n = 0; n < asked; n++) idle.push(await round());
  remote.delayMs = slowMs;
  const starting = Promise.all(ids.map((dataRunId) => api.graphql(startMutation, { input: { dataRunId } })));
  while (remote.underWay < passes) await new Promise((resolve) => setTimeout(resolve, 5));
  const busy: number[] = [];
  for (;;) {
    const took = await round();
    if (remote.underWay < passes || busy.length === asked) break;
    busy.push(took);
  }
  await starting;
  remote.delayMs = 0;
  console.log(
    `  a query while ${passes} passes wait ${slowMs} ms for their service, pool of 2: median ${median(busy).toFixed(1)} ms of ${busy.length}, idle ${median(idle).toFixed(1)} ms: ratio ${(median(busy) / median(idle)).toFixed(2)}`,
  );
}

/** From the answer to `start`, which follows its commit, to the request at the service. */
async function waking(remote: Service, api: Client, url: string): Promise<void> {
  const ids = await api.registered(starts, 'BACKGROUND');
  const [ours, bare]: [number[], number[]] = [[], []];
  const listener = new pg.Client({ connectionString: url });
  const teller = new pg.Client({ connectionString: url });
  await Promise.all([listener.connect(), teller.connect()]);
  await listener.query('LISTEN bench');
  for (const dataRunId of ids) {
    const runId = Buffer.from(dataRunId, 'base64').toString().split(':')[1] ?? '';
    await api.graphql(startMutation, { input: { dataRunId } });
    const committed = performance.now();
    // Told, not looked for: a loop here takes a whole core from the server and its database.
    ours.push((await remote.arrival(runId)) - committed); // below zero where it was there before the answer
    const heard = new Promise<number>((resolve) => listener.once('notification', () => resolve(performance.now())));
    await teller.query('BEGIN');
    await teller.query('NOTIFY bench');
    await teller.query('COMMIT');
    const told = performance.now();
    bare.push((await heard) - told);
  }
  await Promise.all([listener.end(), teller.end()]);
  console.log(
    `  start answered → request at the service: median ${median(ours).toFixed(1)} ms of ${ours.length}, bare commit answered → notification ${median(bare).toFixed(2)} ms`,
  );
}
