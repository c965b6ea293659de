// Steps of the stories that tests tell: a workspace, a package in it, a run of it.

import { buffer } from 'node:stream/consumers';
import { expect } from 'vitest';
import yazl from 'yazl';
import type { TestApp } from './app.ts';

export interface Resource {
  readonly name: string;
  readonly rows: string;
  readonly schema?: object;
  readonly [key: string]: unknown;
}

/** A zip of CSV resources: `name` and the file's text, the rest as it stands in the descriptor. */
export async function zipOf(name: string, resources: readonly Resource[]): Promise<Buffer> {
  const zip = new yazl.ZipFile();
  const described = resources.map(({ rows: _, ...resource }) => ({ path: `${resource.name}.csv`, ...resource }));
  zip.addBuffer(Buffer.from(JSON.stringify({ name, resources: described })), 'datapackage.json');
  for (const { name: file, rows } of resources) zip.addBuffer(Buffer.from(rows), `${file}.csv`);
  zip.end();
  return buffer(zip.outputStream);
}

const text = (...names: string[]) => names.map((field) => ({ name: field, type: 'string' }));

/** Two independent datasets, and two that depend on the first. */
export const depot: readonly Resource[] = [
  { name: 'depots', rows: 'id,city\n1,Bern\n2,Oslo\n', schema: { fields: text('id', 'city'), primaryKey: 'id' } },
  { name: 'tools', rows: 'id,label\n1,Saw\n', schema: { fields: text('id', 'label'), primaryKey: 'id' } },
  {
    name: 'routes',
    rows: 'id,depot\n1,1\n2,2\n3,1\n',
    schema: {
      fields: text('id', 'depot'),
      primaryKey: 'id',
      foreignKeys: [{ fields: 'depot', reference: { resource: 'depots', fields: 'id' } }],
    },
  },
];

let made = 0;

export async function createWorkspace(app: TestApp, slug = `w${++made}`): Promise<string> {
  const { data, errors } = await app.graphql(
    `mutation ($input: CreateWorkspaceInput!) { createWorkspace(input: $input) { __typename ... on Workspace { id } ... on Error { message } } }`,
    { input: { slug, name: slug } },
  );
  expect(errors).toEqual([]);
  expect(data.createWorkspace.__typename, JSON.stringify(data)).toBe('Workspace');
  return data.createWorkspace.id;
}

export async function stage(app: TestApp, workspaceId: string, bytes: Buffer): Promise<string> {
  const { data, errors } = await app.graphql(
    `mutation ($input: StagePackageInput!) { stagePackage(input: $input) { __typename ... on StagedPackage { packageId uploadUrl } ... on Error { message } } }`,
    { input: { workspaceId } },
  );
  expect(errors).toEqual([]);
  const answer = await fetch(data.stagePackage.uploadUrl, { method: 'PUT', body: new Uint8Array(bytes) });
  expect(answer.status, await answer.text()).toBe(201);
  return data.stagePackage.packageId;
}

export const runFields = `id state activeChildren allowedActions failure { code summary } whyNotRunning { code subject }
  steps { dataset state attempt rows { source loaded updated unchanged rejected blocked unprocessed } failure { code summary } blockers { code dataset count } finallyBlocked skippedBecause }`;

function refusals(mutation: string): string {
  const common = '... on Error { code message } ... on ForbiddenError { permission dataset } ... on InvalidInputError { field }';
  const conflict = mutation === 'advanceDataRun' ? '' : '... on ConflictError { conflictingId }';
  const own =
    mutation === 'registerDataRun'
      ? '... on InvalidPackageError { problems { code pointer resource message } }'
      : '... on InvalidTransitionError { from action allowed }';
  return `${common} ${conflict} ${own}`;
}

/** One mutation of a run; the answer's union member. */
export async function mutate(app: TestApp, name: string, input: Record<string, unknown>, token?: string): Promise<any> {
  const type = `${name[0]?.toUpperCase()}${name.slice(1)}Input`;
  const { data, errors } = await app.graphql(
    `mutation ($input: ${type}!) { ${name}(input: $input) { __typename ... on DataRun { ${runFields} } ${refusals(name)} } }`,
    { input },
    token,
  );
  expect(errors).toEqual([]);
  return data[name];
}

export async function register(app: TestApp, workspaceId: string, packageId: string, more: Record<string, unknown> = {}): Promise<string> {
  const made = await mutate(app, 'registerDataRun', { workspaceId, packageId, ...more });
  expect(made.__typename, JSON.stringify(made)).toBe('DataRun');
  return made.id;
}

export async function readRun(app: TestApp, id: string, token?: string): Promise<any> {
  const { data, errors } = await app.graphql(`query ($id: ID!) { dataRun(id: $id) { ${runFields} } }`, { id }, token);
  expect(errors).toEqual([]);
  return data.dataRun;
}

/** Waits until the run is in a state; fails with what it shows instead. */
export async function reach(app: TestApp, id: string, state: string, timeout = 30_000): Promise<any> {
  let run: any;
  await expect
    .poll(
      async () => {
        run = await readRun(app, id);
        return run.state;
      },
      { timeout, interval: 50 },
    )
    .toBe(state);
  return run;
}
