// Lists: the same through every page whatever happens between them, filtered, and at a cost that does not grow with their length.
import { beforeAll, describe, expect, it } from 'vitest';
import { startApp } from '../support/app.ts';
import { statementsOf } from '../support/statements.ts';
import { createWorkspace, mutate, register, stage, zipOf } from '../support/story.ts';

const app = await startApp({ worker: false });
const statements = statementsOf(app);
const { pool } = app.app.db;

let workspace: string;
const packages: string[] = [];
const runs: string[] = [];
const resource = (name: string) => ({ name, rows: 'id\n1\n', schema: { fields: [{ name: 'id', type: 'integer' }], primaryKey: 'id' } });

async function newRun(name: string): Promise<string> {
  const packageId = await stage(app, workspace, await zipOf(name, [resource(`${name}-a`), resource(`${name}-b`), resource(`${name}-c`)]));
  packages.push(packageId);
  return register(app, workspace, packageId);
}

beforeAll(async () => {
  workspace = await createWorkspace(app, 'lists');
  for (let at = 0; at < 55; at++) runs.push(await newRun(`p${at}`));
});

async function page(args: Record<string, unknown>, selection = 'id', field = 'dataRuns'): Promise<any> {
  const { data, errors } = await app.graphql(
    `query ($slug: String!, $first: Int, $after: String, $last: Int, $before: String${field === 'dataRuns' ? ', $filter: DataRunFilter' : ''}) {
      workspace(slug: $slug) { ${field}(first: $first, after: $after, last: $last, before: $before${field === 'dataRuns' ? ', filter: $filter' : ''}) {
        edges { cursor node { ${selection} } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`,
    { slug: 'lists', ...args },
  );
  expect(errors).toEqual([]);
  return data.workspace[field];
}
const ids = ({ edges }: { edges: { node: { id: string } }[] }) => edges.map(({ node }) => node.id);

describe('pages', () => {
  it('go through the whole list once, forwards and backwards, and say where they stand', async () => {
    const newestFirst = [...runs].reverse();
    const walked: string[] = [];
    for (let after: string | null = null; ; ) {
      const got = await page({ first: 7, after });
      expect(got.pageInfo).toMatchObject({
        hasPreviousPage: after !== null,
        startCursor: got.edges[0].cursor,
        endCursor: got.edges.at(-1).cursor,
      });
      walked.push(...ids(got));
      if (!got.pageInfo.hasNextPage) break;
      after = got.pageInfo.endCursor;
    }
    expect(walked).toEqual(newestFirst);
    const back: string[] = [];
    for (let before: string | null = null; ; ) {
      const got = await page({ last: 7, before });
      expect(got.pageInfo.hasNextPage).toBe(before !== null);
      back.unshift(...ids(got));
      if (!got.pageInfo.hasPreviousPage) break;
      before = got.pageInfo.startCursor;
    }
    expect(back).toEqual(newestFirst);
    const { edges } = await page({ first: 10 });
    expect(ids(await page({ first: 20, after: edges[2].cursor, before: edges[6].cursor }))).toEqual(newestFirst.slice(3, 6));
    expect(ids(await page({ last: 2, after: edges[2].cursor, before: edges[6].cursor }))).toEqual(newestFirst.slice(4, 6));
    expect(ids(await page({ before: edges[6].cursor }))).toEqual(newestFirst.slice(0, 6));
    expect((await page({ first: 0 })).edges).toEqual([]);
    expect((await page({})).edges.length).toBe(20);
  });

  it('are the same whatever is inserted between them', async () => {
    const first = await page({ first: 5 });
    const added = await newRun('inserted');
    const second = await page({ first: 5, after: first.pageInfo.endCursor });
    expect([...ids(first), ...ids(second)]).toEqual([...runs].reverse().slice(0, 10));
    expect(ids(await page({ last: 1, before: first.pageInfo.startCursor }))).toEqual([added]);
    runs.push(added);
  });

  it('are the same whatever is deleted between them, the row of the cursor too', async () => {
    const doomed = await newRun('doomed');
    const before = await page({ first: 1 });
    expect(ids(before)).toEqual([doomed]);
    await forget(doomed);
    expect(ids(await page({ first: 3, after: before.pageInfo.endCursor }))).toEqual([...runs].reverse().slice(0, 3));
    expect((await page({ first: 3, after: before.pageInfo.endCursor })).pageInfo.hasPreviousPage).toBe(true);
  });

  it('lose no row when the row of the cursor leaves the filter', async () => {
    const filter = { states: ['REGISTERED'] };
    const first = await page({ first: 3, filter });
    const last = ids(first).at(-1) ?? '';
    await mutate(app, 'cancelDataRun', { dataRunId: last });
    const second = await page({ first: 3, filter, after: first.pageInfo.endCursor });
    const all = [...runs].reverse();
    expect(ids(second)).toEqual(all.slice(all.indexOf(last) + 1, all.indexOf(last) + 4));
  });

  it('of the workspaces hold those that are named, across insertions', async () => {
    const slugs = ['wa', 'wb', 'wc', 'wd'];
    for (const slug of slugs) await createWorkspace(app, slug);
    const token = await app.token({ workspaces: [...slugs, 'we'] });
    const ask = async (after: string | null) =>
      (
        await app.graphql(
          'query ($after: String) { workspaces(first: 2, after: $after) { edges { node { slug } } pageInfo { endCursor hasNextPage } } }',
          { after },
          token,
        )
      ).data.workspaces;
    const first = await ask(null);
    await createWorkspace(app, 'we');
    const second = await ask(first.pageInfo.endCursor);
    const third = await ask(second.pageInfo.endCursor);
    expect([first, second, third].flatMap(({ edges }) => edges.map(({ node }: { node: { slug: string } }) => node.slug))).toEqual([
      ...slugs,
      'we',
    ]);
    expect(third.pageInfo.hasNextPage).toBe(false);
  });
});

/** Nothing in Packhorse deletes a run; an operator may. */
async function forget(globalId: string): Promise<void> {
  const id = Buffer.from(globalId, 'base64').toString().split(':')[1];
  const client = await pool.connect();
  try {
    await client.query(`BEGIN; SET LOCAL session_replication_role = replica`);
    await client.query('DELETE FROM lifecycle_event WHERE data_run_id = $1', [id]);
    await client.query('DELETE FROM data_run_step WHERE run_id = $1', [id]);
    await client.query('DELETE FROM data_run WHERE id = $1', [id]);
    await client.query('COMMIT');
  } finally {
    client.release();
  }
}

describe('the filter', () => {
  it('holds for all of its parts at once', async () => {
    const { edges } = await page({ first: 100, filter: { states: ['CANCELLED'] } }, 'id state');
    expect(edges.map(({ node }: any) => node.state)).toEqual(['CANCELLED']);
    expect(ids(await page({ filter: { packageName: 'p7' } }))).toEqual([runs[7]]);
    expect(ids(await page({ filter: { packageName: 'p7', states: ['CANCELLED', 'FAILED'] } }))).toEqual([]);
    expect(ids(await page({ filter: { registeredBy: 'nobody' } }))).toEqual([]);
    expect(ids(await page({ first: 100, filter: { registeredBy: 'ann' } })).length).toBe(runs.length);
    const middle = (await page({ first: 1, filter: { packageName: 'p30' } }, 'id registeredAt')).edges[0].node.registeredAt;
    const after = ids(await page({ first: 100, filter: { registeredAfter: middle } }));
    const before = ids(await page({ first: 100, filter: { registeredBefore: middle } }));
    expect([
      after.includes(runs[31] ?? ''),
      after.includes(runs[30] ?? ''),
      before.includes(runs[29] ?? ''),
      before.includes(runs[30] ?? ''),
    ]).toEqual([true, false, true, false]);
    expect(ids(await page({ first: 100, filter: { registeredAfter: middle, registeredBefore: middle } }))).toEqual([]);
  });

  it('that names nothing matches nothing, and one that is empty matches all', async () => {
    expect(ids(await page({ filter: { states: [] } }))).toEqual([]);
    expect(ids(await page({ filter: { packageName: '' } }))).toEqual([]);
    expect(ids(await page({ filter: { registeredBy: '' } }))).toEqual([]);
    for (const filter of [{}, null, { states: null, packageName: null, registeredBy: null, registeredAfter: null }])
      expect(ids(await page({ first: 100, filter })).length).toBe(runs.length);
  });
});

describe('statements', () => {
  async function count(first: number, selection: string): Promise<number> {
    await page({ first }, selection);
    statements.length = 0;
    expect((await page({ first }, selection)).edges.length).toBe(first);
    return statements.length;
  }
  const plain =
    'id state steps { dataset state progress { done } rows { loaded } } package { name digest } lastEventCursor workspace { slug } allowedActions';
  const more = `${plain} whyNotRunning { code } readiness { ready } progress { done } failedStep { dataset } outstandingCancellations { dataset } previousRun { id }`;

  it('of a list are at most six, for 5 runs as for 50', async () => {
    const [five, fifty] = [await count(5, plain), await count(50, plain)];
    expect([five, fifty]).toEqual([five, five]);
    expect(five).toBeLessThanOrEqual(6);
  });

  it('do not grow with the list whatever is asked of each run', async () => {
    const counts = [await count(5, more), await count(30, more)];
    expect(counts).toEqual([counts[0], counts[0]]);
    expect(counts[0]).toBeLessThanOrEqual(8);
    const steps = 'steps { dataset whyNotRunning { code } }';
    const ofSteps = [await count(5, steps), await count(20, steps)];
    expect(ofSteps).toEqual([ofSteps[0], ofSteps[0]]);
  });

  it('of a run, a workspace and a log are a handful', async () => {
    const of = async (query: string) => {
      await app.graphql(query);
      statements.length = 0;
      expect((await app.graphql(query)).errors).toEqual([]);
      return statements.length;
    };
    expect(await of(`{ dataRun(id: "${runs[0]}") { ${more} } }`)).toBeLessThanOrEqual(7);
    expect(await of('{ workspace(slug: "lists") { id lastEventCursor exportSettings { format } } }')).toBeLessThanOrEqual(3);
    const log = [5, 50].map(
      (first) => `{ workspace(slug: "lists") { events(first: ${first}) { edges { node { action ... on DataRunEvent { dataset } } } } } }`,
    );
    expect([await of(log[0] ?? ''), await of(log[1] ?? '')]).toEqual([3, 3]); // the first of them asks whether access was taken back
  });
});
