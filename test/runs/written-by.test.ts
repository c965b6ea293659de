// Which run wrote a row: the one whose load made the version that is there, whatever happened to others.
import { expect, it } from 'vitest';
import { startApp } from '../support/app.ts';
import { freshDatabase } from '../support/database.ts';
import { statementsOf } from '../support/statements.ts';
import { createWorkspace, mutate, type Resource, reach, register, stage, zipOf } from '../support/story.ts';

const databaseUrl = await freshDatabase();
const app = await startApp({ env: { DATABASE_URL: databaseUrl } });
// By itself, so that no worker's statements are among those that are counted. A page of rows in a list of datasets counts as ten pages.
const reading = await startApp({ worker: false, env: { DATABASE_URL: databaseUrl, PACKHORSE_MAX_COMPLEXITY: '100000' } });
const statements = statementsOf(reading);

const keyed = (rows: string): Resource => ({
  name: 'keyed',
  rows: `id,v\n${rows}`,
  schema: {
    fields: [
      { name: 'id', type: 'integer' },
      { name: 'v', type: 'string' },
    ],
    primaryKey: 'id',
  },
});
const keyless = (rows: string): Resource => ({ name: 'keyless', rows: `v\n${rows}` });

async function run(workspaceId: string, resources: readonly Resource[]): Promise<string> {
  const id = await register(app, workspaceId, await stage(app, workspaceId, await zipOf('lines', resources)));
  await mutate(app, 'startDataRun', { dataRunId: id });
  await reach(app, id, 'SUCCEEDED');
  return id;
}

async function rowsOf(workspaceId: string, selection: string, first = 100): Promise<Record<string, any[]>> {
  const { data, errors } = await reading.graphql(
    `query ($id: ID!, $first: Int) { node(id: $id) { ... on Workspace { datasets { edges { node { name rows(first: $first) { edges { node { values ${selection} } } } } } } } } }`,
    { id: workspaceId, first },
  );
  expect(errors).toEqual([]);
  return Object.fromEntries(data.node.datasets.edges.map(({ node }: any) => [node.name, node.rows.edges.map(({ node: row }: any) => row)]));
}

async function writersOf(workspaceId: string): Promise<Record<string, [string, string][]>> {
  const found = await rowsOf(workspaceId, 'writtenBy { id }');
  return Object.fromEntries(Object.entries(found).map(([name, rows]) => [name, rows.map((row) => [row.values.v, row.writtenBy.id])]));
}

it('is the run that brought it or changed it last, and again the earlier one when that is taken back', async () => {
  const workspaceId = await createWorkspace(app);
  const first = await run(workspaceId, [keyed('1,a\n2,b\n3,c\n'), keyless('x\ny\n')]);
  const before = {
    keyed: ['a', 'b', 'c'].map((v) => [v, first]),
    keyless: ['x', 'y'].map((v) => [v, first]),
  };
  expect(await writersOf(workspaceId)).toEqual(before);
  const second = await run(workspaceId, [keyed('2,B\n3,c\n4,d\n'), keyless('y\nz\n')]);
  const between = {
    keyed: [
      ['a', first],
      ['B', second],
      ['c', first],
      ['d', second],
    ],
    keyless: [
      ['y', first],
      ['z', second],
    ],
  };
  expect(await writersOf(workspaceId)).toEqual(between);
  const third = await run(workspaceId, [keyed('2,bb\n')]);
  expect((await writersOf(workspaceId)).keyed).toContainEqual(['bb', third]);
  await mutate(app, 'resetDataRun', { dataRunId: third });
  expect(await writersOf(workspaceId)).toEqual(between);
  await mutate(app, 'resetDataRun', { dataRunId: second });
  expect(await writersOf(workspaceId)).toEqual(before);
});

it('is shown to whoever may read its workspace, and to nobody else', async () => {
  const workspaceId = await createWorkspace(app, 'seen');
  await createWorkspace(app, 'elsewhere');
  const own = await run(workspaceId, [keyless('x\n')]);
  const { data } = await app.graphql('{ workspace(slug: "seen") { datasets { edges { node { id } } } } }');
  const ask = async (permissions: string[], workspaces: string[]) => {
    const token = await app.token({ permissions, workspaces });
    const query = 'query ($id: ID!) { node(id: $id) { ... on Dataset { rows { edges { node { writtenBy { id } } } } } } }';
    const { data: found, errors } = await app.graphql(query, { id: data.workspace.datasets.edges[0].node.id }, token);
    expect(errors).toEqual([]);
    return found.node?.rows.edges.map(({ node }: any) => node.writtenBy.id) ?? null;
  };
  expect(await ask(['workspace:read'], ['seen'])).toEqual([own]);
  expect(await ask(['workspace:read'], ['elsewhere'])).toBeNull();
  expect(await ask(['data-run', 'workspace:admin'], ['seen'])).toBeNull();
});

it('costs no statement unless it is asked for, and then as many for a page of many rows, of several runs, as for one', async () => {
  const workspaceId = await createWorkspace(app);
  const lines = Array.from({ length: 100 }, (_, n) => `${n},v\n`);
  for (let at = 0; at < 100; at += 25) await run(workspaceId, [keyed(lines.slice(at, at + 25).join(''))]);
  const count = async (selection: string, first: number) => {
    await rowsOf(workspaceId, selection, first);
    statements.length = 0;
    const { keyed: rows = [] } = await rowsOf(workspaceId, selection, first);
    expect(rows).toHaveLength(first);
    return { count: statements.length, runs: new Set(rows.map(({ writtenBy }) => writtenBy?.id)).size };
  };
  const none = await count('', 100);
  expect(none.count).toBeLessThanOrEqual(4); // whether access was taken back, the workspace, its datasets, the rows
  const one = await count('writtenBy { id state }', 1);
  expect(one).toEqual({ count: none.count + 1, runs: 1 });
  expect(await count('writtenBy { id state }', 100)).toEqual({ count: one.count, runs: 4 });
  const more = 'writtenBy { id package { name } workspace { slug } steps { dataset } }';
  expect((await count(more, 100)).count).toBe((await count(more, 1)).count);
});
