// Role × field × {own, other, none}: every way into the graph, as the schema lists them. A new one without a row fails by name.
import { randomUUID } from 'node:crypto';
import { type GraphQLObjectType, getNamedType, isLeafType, isRequiredArgument } from 'graphql';
import { beforeAll, describe, expect, it } from 'vitest';
import { decodeGlobal, everythingOf, nodeTypes, rootFields, schema } from '../graphql/walk.ts';
import { events, rawSocket } from '../server/raw.ts';
import { startApp } from '../support/app.ts';
import { mutate, register, stage, zipOf } from '../support/story.ts';
import { setAccess } from './access-story.ts';
import { type Row, refused, table } from './matrix-rows.ts';
import { hookHosts, nobody, type Role, roleNames, roles, type Tenant, tenant } from './tenants.ts';

// Documents that ask for everything are long; the limits have tests of their own.
const app = await startApp({
  env: { PACKHORSE_MAX_TOKENS: '100000', PACKHORSE_MAX_COMPLEXITY: '1000000', PACKHORSE_MAX_DEPTH: '40', ...hookHosts },
});
const tokens = {} as Record<Role, string | null>;
const places = {} as Record<Place, Tenant>;
type Place = 'own' | 'other' | 'none';

beforeAll(async () => {
  places.own = await tenant(app, 'own', 'mine');
  places.other = await tenant(app, 'other', 'CANARY');
  places.none = nobody();
  for (const role of roleNames) tokens[role] = roles[role] === null ? null : await app.token(roles[role]);
  await setAccess(app, 'revokeAccess', places.own.workspace, 'eve');
});

function outcome(answer: any, find: unknown): string {
  const [error] = answer.errors ?? [];
  if (error !== undefined) return error.extensions?.code ?? error.message;
  const { it: value } = answer.data;
  if (find !== undefined) return value.edges.some((edge: any) => edge.node.id === find) ? 'found' : 'without';
  if (value === null || JSON.stringify(value) === '[null]') return JSON.stringify(value);
  if (String(value.__typename).endsWith('Error'))
    return value.__typename === 'ForbiddenError' ? `ForbiddenError ${value.permission}` : value.__typename;
  return 'found';
}

/** The whole answer: status and body. */
async function ask(row: Row, role: Role, place: Place): Promise<{ status: number; body: any }> {
  const { find: _, ...variables } = row.variables(places[place]);
  if (!row.query.startsWith('subscription')) {
    const { status, data, errors } = await app.graphql(row.query, variables, tokens[role]);
    return { status, body: { data, errors: errors.length > 0 ? errors : undefined } };
  }
  const stream = await events(app.url, tokens[role], row.query, variables);
  const body = await stream.next();
  stream.close();
  return { status: stream.status, body };
}

it('has a row for every root field and node type of the schema, and for nothing else', () => {
  const wanted = [...rootFields, ...nodeTypes.flatMap((type) => [`node(${type})`, `nodes(${type})`])];
  expect(Object.keys(table).sort()).toEqual(wanted.sort());
});

it.each(Object.entries(table))('%s answers each role as its row says', async (_name, row) => {
  const got = {} as Record<Role, string[]>;
  for (const role of roleNames) {
    const answers = [await ask(row, role, 'own'), await ask(row, role, 'other'), await ask(row, role, 'none')] as const;
    got[role] = [
      outcome(answers[0].body, row.variables(places.own).find),
      outcome(answers[1].body, row.variables(places.other).find),
      outcome(answers[2].body, row.variables(places.none).find),
    ];
    if (role === 'expired token') expect(answers.map(({ status }) => status)).toEqual([401, 401, 401]);
    // Another tenant's is not told apart from what is not there, to the letter.
    if (role !== 'everywhere') expect(answers[1], role).toEqual(answers[2]);
  }
  expect(got).toEqual(row.roles);
});

describe('over websocket', () => {
  const subscriptions = Object.entries(table).filter(([, { query }]) => query.startsWith('subscription'));

  it.each(subscriptions)('%s', async (_name, row) => {
    for (const role of roleNames) {
      const socket = await rawSocket(app.url);
      socket.say({ type: 'connection_init', payload: tokens[role] === null ? {} : { authorization: `Bearer ${tokens[role]}` } });
      if (row.roles[role] === refused) {
        expect((await socket.closed).code, role).toBe(4403);
        continue;
      }
      await socket.until(({ type }) => type === 'connection_ack');
      const answers = [];
      for (const place of ['own', 'other', 'none'] as const) {
        socket.say({ id: place, type: 'subscribe', payload: { query: row.query, variables: row.variables(places[place]) } });
        const { payload } = await socket.until(({ id, type }) => id === place && (type === 'next' || type === 'error'));
        answers.push(Array.isArray(payload) ? { errors: payload } : payload);
      }
      expect(
        answers.map((answer) => outcome(answer, undefined)),
        role,
      ).toEqual(row.roles[role]);
      if (role !== 'everywhere') expect(answers[1], role).toEqual(answers[2]);
      socket.socket.close();
    }
  });
});

describe('what is reached from one’s own', () => {
  it.each(nodeTypes)('%s holds nothing of another tenant', async (type) => {
    const key = {
      Workspace: 'workspace',
      DataRun: 'run',
      DataRunStep: 'step',
      DataPackage: 'package',
      Dataset: 'dataset',
      ExportExecution: 'execution',
      ExportPackage: 'exportPackage',
      ExportDelivery: 'delivery',
    }[type] as keyof Tenant;
    const fields = Object.values((schema.getType(type) as GraphQLObjectType).getFields());
    const texts = { own: '', staffOfOther: '', everywhere: '' };
    // A field a document: all at once are more than one may ask for.
    for (const field of fields.filter(({ args }) => !args.some(isRequiredArgument))) {
      const selection = everythingOf(getNamedType(field.type), 1);
      const query = `query ($id: ID!) { node(id: $id) { ... on ${type} { ${field.name} ${selection} } } }`;
      const { data, errors } = await app.graphql(query, { id: places.own[key] }, tokens.staff);
      expect(errors, field.name).toEqual([]);
      texts.own += JSON.stringify(data);
      texts.staffOfOther += JSON.stringify((await app.graphql(query, { id: places.other[key] }, tokens.staff)).data);
      texts.everywhere += JSON.stringify((await app.graphql(query, { id: places.other[key] })).data);
    }
    expect(texts.own).toContain('mine');
    expect(texts.own).not.toContain('CANARY');
    expect(texts.staffOfOther).not.toContain('CANARY');
    // The canary would be seen where it may be.
    expect(texts.everywhere).toContain('CANARY');
  });

  it('an upload is only for the package that its URL was signed for', async () => {
    const input = { workspaceId: places.own.workspace };
    const { data } = await app.graphql(
      'mutation ($input: StagePackageInput!) { stagePackage(input: $input) { ... on StagedPackage { uploadUrl } } }',
      { input },
      tokens.staff,
    );
    const answers = [places.other.staged, places.none.staged].map(async (id) => {
      const url = data.stagePackage.uploadUrl.replace(/uploads\/[0-9a-f-]+/, `uploads/${decodeGlobal(id).id}`);
      const response = await fetch(url, { method: 'PUT', body: 'x' });
      return [response.status, await response.text()];
    });
    const [other, none] = await Promise.all(answers);
    expect(other?.[0]).toBe(404);
    expect(other).toEqual(none);
  });

  it('a mutation’s answer holds the whole run for whoever may act and not look', async () => {
    const bytes = await zipOf('blind', [{ name: 'blinds', rows: 'id\n1\n' }]);
    const run = await register(app, places.own.workspace, await stage(app, places.own.workspace, bytes));
    const { data, errors } = await app.graphql(
      `mutation ($input: CancelDataRunInput!) { cancelDataRun(input: $input) { ... on DataRun {
        state steps { dataset whyNotRunning { code } } outstandingCancellations { dataset whyNotRunning { code } } failedStep { dataset whyNotRunning { code } } progress { done }
        readiness { ready } whyNotRunning { code } package { name resources { name } } workspace { id slug } lastEventCursor } } }`,
      { input: { dataRunId: run } },
      tokens['data-run'],
    );
    expect(errors).toEqual([]);
    expect(data.cancelDataRun).toMatchObject({ state: 'CANCELLED', steps: [{ dataset: 'blinds' }], workspace: { slug: 'own' } });
  });

  it('is not read on from a mutation’s answer without workspace:read', async () => {
    const bytes = await zipOf('silent', [{ name: 'silents', rows: 'id\n1\n' }]);
    const run = await register(app, places.own.workspace, await stage(app, places.own.workspace, bytes));
    // What belongs to the run, and the name of where it is. A field that is new leads on, until it is put here.
    const open = new Set([
      'workspace',
      'package',
      'steps',
      'progress',
      'readiness',
      'failedStep',
      'failure',
      'outstandingCancellations',
      'whyNotRunning',
      'grant',
    ]);
    const fieldsOf = (type: string) =>
      Object.values((schema.getType(type) as GraphQLObjectType).getFields()).filter(({ type: of }) => !isLeafType(getNamedType(of)));
    const paths = [
      ...fieldsOf('DataRun').map((field) => [field.name, `${field.name} ${everythingOf(getNamedType(field.type), 0)}`] as const),
      ...fieldsOf('Workspace').map(
        (field) => [`workspace.${field.name}`, `workspace { ${field.name} ${everythingOf(getNamedType(field.type), 0)} }`] as const,
      ),
    ];
    for (const [name, path] of paths) {
      const { data, errors } = await app.graphql(
        `mutation ($input: CancelDataRunInput!) { cancelDataRun(input: $input) { ... on DataRun { id ${path} } } }`,
        { input: { dataRunId: run, idempotencyKey: 'silent' } },
        tokens['data-run'],
      );
      expect([name, errors.map(({ extensions }) => extensions?.code)]).toEqual([name, open.has(name) ? [] : ['FORBIDDEN']]);
      expect(JSON.stringify(data ?? null), name).not.toMatch(/mine|"edges"/);
    }
    // The run itself is the answer.
    const again = await mutate(app, 'cancelDataRun', { dataRunId: run, idempotencyKey: 'silent' }, tokens['data-run'] ?? '');
    expect(again).toMatchObject({ __typename: 'DataRun', state: 'CANCELLED' });
  });
});

describe('authority on targets', () => {
  it('is asked for by start, resume and advance for the datasets that remain, and the refusal names one', async () => {
    const caller = await app.token({ permissions: ['workspace:read', 'data-run', 'target:elsewhere'], workspaces: ['own'] });
    for (const name of ['startDataRun', 'resumeDataRun', 'advanceDataRun']) {
      const answer = await mutate(app, name, { dataRunId: places.own.waiting }, caller);
      expect(answer).toMatchObject({ __typename: 'ForbiddenError', permission: 'target:store', dataset: 'mine-others' });
    }
    const { data } = await app.graphql(
      'query ($id: ID!) { dataRun(id: $id) { state allowedActions } }',
      { id: places.own.waiting },
      caller,
    );
    expect(data.dataRun).toEqual({ state: 'REGISTERED', allowedActions: ['CANCEL'] });
  });

  it('to force a cancel needs its own permission', async () => {
    const answer = await mutate(app, 'cancelDataRun', { dataRunId: places.own.waiting, force: true }, tokens.staff ?? '');
    expect(answer).toMatchObject({ __typename: 'ForbiddenError', permission: 'data-run:force' });
  });
});

describe('ids that name nothing', () => {
  const malformed = ['', 'x', 'DataRun', 'RGF0YVJ1bjo=', Buffer.from('DataRun:1').toString('base64'), 'é😀', '\0', `${'A'.repeat(30_000)}`];
  const foreign = () => [
    places.own.workspace,
    places.own.step,
    places.own.package,
    places.own.dataset,
    Buffer.from(`Viewer:${randomUUID()}`).toString('base64'),
    Buffer.from(`Query:${randomUUID()}`).toString('base64'),
    Buffer.from(`__proto__:${randomUUID()}`).toString('base64'),
    Buffer.from(`DataRun:${randomUUID().toUpperCase()}`).toString('base64'),
  ];

  it('malformed or of another type are not found, by every field that takes a run’s id', async () => {
    for (const id of [...malformed, ...foreign()]) {
      for (const name of ['startDataRun', 'pauseDataRun', 'resumeDataRun', 'advanceDataRun', 'cancelDataRun', 'resetDataRun'])
        expect((await mutate(app, name, { dataRunId: id })).code, id.slice(0, 50)).toBe('NOT_FOUND');
      const { data, errors } = await app.graphql('query ($id: ID!) { dataRun(id: $id) { id } }', { id });
      expect([data, errors], id.slice(0, 50)).toEqual([{ dataRun: null }, []]);
    }
    for (const id of malformed) {
      const { data, errors } = await app.graphql('query ($id: ID!, $ids: [ID!]!) { node(id: $id) { id } nodes(ids: $ids) { id } }', {
        id,
        ids: [id, places.own.run, id],
      });
      expect([data, errors], id.slice(0, 50)).toEqual([{ node: null, nodes: [null, { id: places.own.run }, null] }, []]);
    }
  });

  it('of another type are not found where a workspace or a package is wanted', async () => {
    const { own } = places;
    for (const [workspaceId, packageId] of [
      [own.run, own.staged],
      [own.workspace, own.run],
      [own.workspace, places.other.staged],
      [own.workspace, 'x'],
    ])
      expect((await mutate(app, 'registerDataRun', { workspaceId, packageId })).code).toBe('NOT_FOUND');
    for (const previousRunId of [own.workspace, places.other.run, 'x'])
      expect((await mutate(app, 'registerDataRun', { workspaceId: own.workspace, packageId: own.staged, previousRunId })).code).toBe(
        'NOT_FOUND',
      );
  });
});

describe('cursors of another workspace', () => {
  it('are refused by every log and list', async () => {
    const { own, other } = places;
    const refusals = await Promise.all([
      app.graphql('query ($id: ID!, $c: String) { dataRun(id: $id) { events(after: $c) { edges { cursor } } } }', {
        id: own.run,
        c: other.cursor,
      }),
      ...(['events', 'dataRuns', 'datasets', 'exportExecutions'] as const).map((field) =>
        app.graphql(`query ($slug: String!, $c: String) { workspace(slug: $slug) { ${field}(after: $c) { edges { cursor } } } }`, {
          slug: 'own',
          c: field === 'events' ? other.cursor : other.cursors[field],
        }),
      ),
    ]);
    for (const { errors } of refusals) expect(errors.map(({ extensions }) => extensions?.code)).toEqual(['CURSOR_INVALID']);
    for (const [query, id] of [
      ['subscription ($id: ID!, $c: String) { dataRunEvents(id: $id, after: $c) { id } }', own.run],
      ['subscription ($id: ID!, $c: String) { exportExecutionEvents(id: $id, after: $c) { id } }', own.execution],
      ['subscription ($id: ID!, $c: String) { workspaceEvents(workspace: $id, after: $c) { id } }', own.workspace],
    ] as const) {
      const stream = await events(app.url, tokens.staff, query, { id, c: other.cursor });
      expect((await stream.next()).errors[0].extensions.code).toBe('CURSOR_INVALID');
      stream.close();
    }
  });
});

describe('the order of answers', () => {
  it('is not found, then forbidden, then invalid input, then what the state says', async () => {
    const long = 'x'.repeat(2_000);
    const nobodys = places.none.run;
    for (const [name, bad] of [
      ['startDataRun', { idempotencyKey: long }],
      ['startDataRun', { planDigest: 'x' }],
      ['pauseDataRun', { reason: long }],
      ['resumeDataRun', { reason: long }],
      ['cancelDataRun', { reason: long }],
    ] as const) {
      expect((await mutate(app, name, { dataRunId: nobodys, ...bad })).code, name).toBe('NOT_FOUND');
      expect((await mutate(app, name, { dataRunId: places.own.run, ...bad }, tokens['workspace:read'] ?? '')).code, name).toBe('FORBIDDEN');
      expect((await mutate(app, name, { dataRunId: places.own.run, ...bad })).__typename, name).toBe('InvalidInputError');
      expect((await mutate(app, name, { dataRunId: name === 'pauseDataRun' ? places.own.waiting : places.own.run })).code, name).toBe(
        'INVALID_TRANSITION',
      );
    }
    const input = { workspaceId: places.own.workspace, packageId: places.own.staged, idempotencyKey: long };
    expect((await mutate(app, 'registerDataRun', { ...input, packageId: places.none.staged })).code).toBe('NOT_FOUND');
    expect((await mutate(app, 'registerDataRun', input, tokens['workspace:read'] ?? '')).code).toBe('FORBIDDEN');
    expect((await mutate(app, 'registerDataRun', input)).__typename).toBe('InvalidInputError');
    const create = (slug: string, name: string, role: Role) =>
      app.graphql(
        'mutation ($input: CreateWorkspaceInput!) { createWorkspace(input: $input) { ... on Error { code } } }',
        { input: { slug, name } },
        tokens[role],
      );
    expect((await create('UPPER', '', 'admin')).data.createWorkspace.code).toBe('WORKSPACE_NOT_IN_TOKEN');
    expect((await create('UPPER', 'x', 'everywhere')).data.createWorkspace.code).toBe('INVALID_INPUT');
    expect((await create('own', '', 'everywhere')).data.createWorkspace.code).toBe('INVALID_INPUT');
    expect((await create('own', 'x', 'everywhere')).data.createWorkspace.code).toBe('SLUG_TAKEN');
  });
});

it('the mutations’ unions all hold the refusals that the matrix speaks of', () => {
  for (const field of Object.values((schema.getType('Mutation') as GraphQLObjectType).getFields())) {
    const members = schema.getPossibleTypes(getNamedType(field.type) as never).map(({ name }) => name);
    expect(members, field.name).toContain('ForbiddenError');
    if (field.name !== 'createWorkspace') expect(members, field.name).toContain('NotFoundError');
  }
});
