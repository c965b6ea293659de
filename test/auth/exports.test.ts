// What the matrix does not ask of exports: ids that name nothing, the order of answers, and where a mutation's answer leads.
import { type GraphQLObjectType, getNamedType, isLeafType } from 'graphql';
import { beforeAll, expect, it } from 'vitest';
import { mutateExport } from '../exports/story.ts';
import { everythingOf, schema } from '../graphql/walk.ts';
import { startApp } from '../support/app.ts';
import { hookHosts, nobody, type Tenant, tenant } from './tenants.ts';

const app = await startApp({ env: hookHosts });
let own: Tenant;
let other: Tenant;
beforeAll(async () => {
  own = await tenant(app, 'own', 'mine');
  other = await tenant(app, 'other', 'CANARY');
});

const executing = () => app.token({ permissions: ['data-export:execute'], workspaces: ['own'] });
const looking = () => app.token({ permissions: ['workspace:read'], workspaces: ['own'] });

const byId = [
  ['cancelExportExecution', 'exportExecutionId', 'execution'],
  ['republishExport', 'exportExecutionId', 'execution'],
  ['issueDownloadLink', 'exportPackageId', 'exportPackage'],
  ['revokeDownloadLinks', 'exportPackageId', 'exportPackage'],
  ['redeliver', 'exportDeliveryId', 'delivery'],
  ['requestWorkspaceExport', 'workspaceId', 'workspace'],
  ['updateExportSettings', 'workspaceId', 'workspace'],
] as const;

it.each(byId)('%s finds nothing under an id that is malformed, of another type, or another tenant’s', async (name, field, kind) => {
  const others = Object.entries(own).flatMap(([key, id]) => (key !== kind && typeof id === 'string' && key !== 'slug' ? [id] : []));
  const named = await app.token({ workspaces: ['own'] });
  for (const id of [
    '',
    'x',
    Buffer.from('ExportExecution:1').toString('base64'),
    '\0',
    'A'.repeat(30_000),
    ...others,
    other[kind],
    nobody()[kind],
  ]) {
    expect((await mutateExport(app, name, { [field]: id }, named)).code, id.slice(0, 60)).toBe('NOT_FOUND');
  }
});

it('answers not found, then forbidden, then invalid input, then what the state says', async () => {
  const long = 'x'.repeat(2_000);
  const bad: Record<string, Record<string, unknown>> = {
    cancelExportExecution: { reason: long },
    republishExport: { idempotencyKey: long },
    issueDownloadLink: { expiresInSeconds: 0 },
    requestWorkspaceExport: { idempotencyKey: long },
    updateExportSettings: { retentionDays: 0 },
  };
  const states: Record<string, string> = {
    cancelExportExecution: 'INVALID_TRANSITION',
    republishExport: 'PACKAGE_PUBLISHED',
    redeliver: 'DELIVERY_PENDING',
  };
  const reader = await looking();
  for (const [name, field, kind] of byId) {
    const wrong = bad[name] ?? {};
    expect((await mutateExport(app, name, { [field]: nobody()[kind], ...wrong }, reader)).code, name).toBe('NOT_FOUND');
    expect((await mutateExport(app, name, { [field]: own[kind], ...wrong }, reader)).code, name).toBe('FORBIDDEN');
    if (bad[name]) expect((await mutateExport(app, name, { [field]: own[kind], ...wrong })).__typename, name).toBe('InvalidInputError');
    if (states[name]) expect((await mutateExport(app, name, { [field]: own[kind] })).code, name).toBe(states[name]);
  }
});

it('an answer holds the export for whoever may act and not look, and leads no further', async () => {
  const token = await executing();
  const key = { workspaceId: own.workspace, idempotencyKey: 'blind' };
  const made = await mutateExport(app, 'requestWorkspaceExport', key, token);
  expect(made).toMatchObject({ __typename: 'ExportExecution', requestedBy: 'ann' });
  // What belongs to the export, and the name of where it is. A field that is new leads on, until it is put here.
  const open = new Set(['workspace', 'settings', 'progress', 'counts', 'failure', 'exportPackage', 'whyNotRunning']);
  const fieldsOf = (type: string) =>
    Object.values((schema.getType(type) as GraphQLObjectType).getFields()).filter(({ type: of }) => !isLeafType(getNamedType(of)));
  const paths = [
    ...fieldsOf('ExportExecution').map((field) => [field.name, `${field.name} ${everythingOf(getNamedType(field.type), 0)}`] as const),
    ...fieldsOf('Workspace').map(
      (field) => [`workspace.${field.name}`, `workspace { ${field.name} ${everythingOf(getNamedType(field.type), 0)} }`] as const,
    ),
  ];
  for (const [name, path] of paths) {
    const { data, errors } = await app.graphql(
      `mutation ($input: RequestWorkspaceExportInput!) { requestWorkspaceExport(input: $input) { ... on ExportExecution { id ${path} } } }`,
      { input: key },
      token,
    );
    expect([name, errors.map(({ extensions }) => extensions?.code)]).toEqual([name, open.has(name) ? [] : ['FORBIDDEN']]);
    expect(JSON.stringify(data ?? null), name).not.toMatch(/CANARY|"edges"/);
  }
});

it('lists a workspace’s exports newest first, by page and by filter, and their events by the same cursors', async () => {
  const list = async (args: string, selection = 'id state requestedBy') => {
    const { data, errors } = await app.graphql(
      `{ workspace(slug: "own") { exportExecutions(${args}) { pageInfo { hasNextPage endCursor } edges { cursor node { ${selection} } } } } }`,
    );
    expect(errors).toEqual([]);
    return data.workspace.exportExecutions;
  };
  const all = await list('first: 10');
  expect(all.edges.length).toBe(2);
  expect(all.edges.at(-1).node.id).toBe(own.execution);
  const first = await list('first: 1');
  expect(first.pageInfo.hasNextPage).toBe(true);
  const rest = await list(`first: 5, after: "${first.pageInfo.endCursor}"`);
  expect([...first.edges, ...rest.edges].map(({ node }: any) => node.id)).toEqual(all.edges.map(({ node }: any) => node.id));
  const ids = async (filter: string) => (await list(`first: 10, filter: { ${filter} }`)).edges.map(({ node }: any) => node.id);
  expect(await ids('requestedBy: "bob"')).toEqual([]);
  expect(await ids('requestedBy: "ann", states: [SUCCEEDED]')).toContain(own.execution);
  expect(await ids('states: [CANCELLED]')).toEqual([]);
  expect(await ids('requestedAfter: "2100-01-01T00:00:00Z"')).toEqual([]);
  expect(await ids('requestedBefore: "2100-01-01T00:00:00Z"')).toHaveLength(2);
  const { data } = await app.graphql(
    `query ($id: ID!) { exportExecution(id: $id) { lastEventCursor events(first: 50) { edges { cursor node { sequence action from to actor destination exportExecution { id } } } } } }`,
    { id: own.execution },
  );
  const { edges } = data.exportExecution.events;
  expect(edges.slice(0, 4).map(({ node }: any) => [node.sequence, node.action, node.from, node.to, node.actor, node.destination])).toEqual([
    [1, 'REQUEST', null, 'QUEUED', 'ann', null],
    [2, 'DISPATCH', 'QUEUED', 'RUNNING', 'dispatcher', null],
    [3, 'SUCCEED', 'RUNNING', 'SUCCEEDED', 'runner', null],
    [4, 'PUBLISH', 'PENDING', 'PUBLISHED', 'orchestrator', null],
  ]);
  expect(edges.at(-1).cursor).toBe(data.exportExecution.lastEventCursor);
});
