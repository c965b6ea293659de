// Who is measured: each side starts its server, says how one subscribes to it, and commits an event that its subscribers are to get.
import pg from 'pg';
import { globalId } from '../src/graphql/builder.ts';
import type { Greeting } from './crowd-process.ts';
import { openEventWriter, written } from './event-writer.ts';
import { preparePostgraphile, startPostgraphile } from './postgraphile.ts';
import { type ProcessOptions, packhorse, type ServerProcess, seedRuns, serverProcess, token } from './support.ts';

export interface Side {
  readonly name: string;
  readonly path: string;
  readonly greeting: Greeting;
  start(options: ProcessOptions): Promise<ServerProcess>;
  /** Resolves when event `n` is committed. Its reason is `#n#`. */
  commit(n: number): Promise<void>;
}

export interface Sides {
  readonly ours: Side;
  readonly bare: Side;
  /** null: it cannot be measured here, and the output has said why. */
  readonly postgraphile: Side | null;
  /** What every event holds, but for `reason` and what numbers it. */
  readonly content: Readonly<Record<string, unknown>>;
  readonly operation: { readonly query: string; readonly variables: { readonly w: string } };
  readonly authorization: string;
  close(): Promise<void>;
}

const fields = 'cursor sequence action from to at reason';

export async function subscriberSides(url: string, home: string): Promise<Sides> {
  const [run = ''] = await seedRuns(url, 1, 1);
  const writer = openEventWriter(url, run);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ id: string }>(`SELECT id FROM workspace WHERE slug = 'bench'`);
  const authorization = `Bearer ${await token()}`;
  const variables = { w: globalId('Workspace', rows[0]?.id ?? '') };
  const query = `subscription ($w: ID!) { workspaceEvents(workspace: $w) { ${fields} ... on DataRunEvent { dataset dataRun { id state } } } }`;
  const content = {
    ...written,
    dataset: 'dataset-0',
    dataRun: { id: globalId('DataRun', run), state: 'RUNNING' },
  };
  const greeting = (asked: string): Greeting => ({
    protocol: 'graphql-transport-ws',
    init: JSON.stringify({ type: 'connection_init', payload: { authorization } }),
    subscribe: JSON.stringify({ id: '%ID%', type: 'subscribe', payload: { query: asked, variables } }),
  });
  const eventText = (n: number) =>
    JSON.stringify({ cursor: `${n}`.padStart(64, 'x'), sequence: n + 1, at: new Date(), reason: `#${n}#`, ...content });
  const notify = async (channel: string, text: string) => void (await client.query('SELECT pg_notify($1, $2)', [channel, text]));

  const ours: Side = {
    name: 'packhorse',
    path: '/graphql',
    greeting: greeting(query),
    start: (options) => packhorse(url, home, { PACKHORSE_ROLE: 'api' }, options),
    commit: (n) => writer.write(content.dataset, `#${n}#`),
  };
  const head = '{"id":"00000000-1111-4222-8333-444444444444","type":"next","payload":{"data":{"workspaceEvents":';
  const bare: Side = {
    name: 'bare broadcast',
    path: '/',
    greeting: { protocol: null, init: null, subscribe: null },
    start: (options) => serverProcess(['--import', 'tsx', 'bench/bare-broadcast.ts'], { DATABASE_URL: url }, options),
    commit: (n) => notify('bare', `${head}${eventText(n)}}}}`),
  };
  const prepared = preparePostgraphile();
  if ('missing' in prepared) console.log(`  PostGraphile is left out: ${prepared.missing}`);
  const postgraphile: Side | null =
    'missing' in prepared
      ? null
      : {
          name: 'postgraphile',
          path: '/graphql',
          greeting: greeting(`subscription ($w: ID!) { workspaceEvents(workspace: $w) { ${fields} dataset dataRun { id state } } }`),
          start: (options) => startPostgraphile(url, prepared.node, options),
          commit: (n) => notify('postgraphile', eventText(n)),
        };
  return {
    ours,
    bare,
    postgraphile,
    content,
    operation: { query, variables },
    authorization,
    async close() {
      await client.end();
      await writer.close();
    },
  };
}
