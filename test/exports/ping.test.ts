// Testing a destination: one webhook, signed as deliveries are and under their guards, of which nothing is kept.
import type { ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { expect, it, onTestFinished } from 'vitest';
import { pingDestination } from '../../src/exports/ping.ts';
import { allowedHosts } from '../../src/outbound/hosts.ts';
import { createOutbound } from '../../src/outbound/request.ts';
import { receiver } from '../outbound/receiver.ts';
import { everything, startApp } from '../support/app.ts';
import { uuidOf } from '../support/states.ts';
import { createWorkspace } from '../support/story.ts';
import { answering, destinationsSet, nobody } from './announced.ts';
import { rowsOf } from './by-hand.ts';

const app = await startApp({ worker: false, env: { PACKHORSE_FETCH_HOSTS: '127.0.0.1' } });

async function ping(workspaceId: string, name = 'crm', token?: string): Promise<any> {
  const { data, errors } = await app.graphql(
    `mutation ($input: PingDestinationInput!) { pingDestination(input: $input) {
       __typename ... on DestinationPing { status code message ms at } ... on Error { code message } ... on ForbiddenError { permission } ... on InvalidInputError { field } } }`,
    { input: { workspaceId, name } },
    token,
  );
  expect(errors).toEqual([]);
  return data.pingDestination;
}

/** A workspace with one destination, and its secret. */
async function withDestination(url: string): Promise<{ workspaceId: string; secret: string }> {
  const workspaceId = await createWorkspace(app);
  const secrets = await destinationsSet(app, workspaceId, [{ name: 'crm', url }]);
  return { workspaceId, secret: secrets['crm'] ?? '' };
}

/** Answers nobody before it is told to. */
async function waiting() {
  const held: ServerResponse[] = [];
  const server = await receiver((response) => void held.push(response));
  const answer = () => {
    for (const response of held.splice(0)) response.end();
  };
  return { ...server, answer };
}

it('is one signed webhook with an id of its own, and nothing is kept of it', async () => {
  const server = await answering(204);
  const { workspaceId, secret } = await withDestination(`${server.url}/hook`);
  expect(await ping(workspaceId)).toEqual({
    __typename: 'DestinationPing',
    status: 204,
    code: 'DELIVERED',
    message: expect.any(String),
    ms: expect.any(Number),
    at: expect.any(String),
  });
  await ping(workspaceId);
  const [first, second, ...more] = server.calls;
  expect(more).toEqual([]);
  const body = new Webhook(secret).verify(first!.body, first!.headers as Record<string, string>);
  expect(body).toMatchObject({ type: 'destination.ping', data: { destination: 'crm' } });
  const ids = [first, second].map((call) => String(call!.headers['webhook-id']));
  for (const id of ids) expect(id).toMatch(/^ping_[0-9a-f-]{36}$/);
  expect(new Set(ids).size).toBe(2);
  expect(await rowsOf(app, 'SELECT 1 FROM lifecycle_event WHERE workspace_id = $1', uuidOf(workspaceId))).toEqual([]);
  expect(await rowsOf(app, 'SELECT 1 FROM export_delivery')).toEqual([]);
  expect(await rowsOf(app, `SELECT 1 FROM graphile_worker.jobs`)).toEqual([]);
});

it.each([
  ['a fault', 500, 'HTTP_500'],
  ['a redirect', 302, 'REDIRECT_REFUSED'],
  ['a destination that wants no more', 410, 'GONE'],
] as const)('tells of %s, and is not sent again', async (_, status, code) => {
  const server = await answering(status);
  const { workspaceId } = await withDestination(server.url);
  expect(await ping(workspaceId)).toMatchObject({ __typename: 'DestinationPing', status, code });
  expect(server.calls).toHaveLength(1);
});

it('tells of a destination that is not there, whose answer is cut off, or whose secret cannot be read', async () => {
  const { workspaceId } = await withDestination(nobody.url);
  expect(await ping(workspaceId)).toMatchObject({ status: null, code: 'CONNECT_FAILED' });
  expect(await ping((await withDestination((await answering('reset')).url)).workspaceId)).toMatchObject({
    status: null,
    code: 'BROKEN_ANSWER',
  });
  const server = await answering(200);
  const own = await withDestination(server.url);
  await rowsOf(
    app,
    `UPDATE export_settings SET destinations = jsonb_set(destinations, '{0,secret}', (SELECT destinations->0->'secret' FROM export_settings WHERE workspace_id = $1)) WHERE workspace_id = $2`,
    uuidOf(workspaceId),
    uuidOf(own.workspaceId),
  );
  expect(await ping(own.workspaceId)).toMatchObject({ status: null, code: 'SECRET_UNREADABLE' });
  expect(server.calls).toEqual([]);
});

const admin = {
  subject: 'ann',
  permissions: new Set(everything),
  workspaces: '*',
  revoked: new Set<string>(),
  expiresAt: new Date(),
} as const;

it('calls no host that the list does not have any more', async () => {
  const server = await answering(200);
  const { workspaceId } = await withDestination(server.url);
  const outbound = createOutbound({ hosts: allowedHosts(['example.org']) });
  onTestFinished(() => outbound.close());
  const input = { workspaceId: uuidOf(workspaceId), name: 'crm' };
  expect(await pingDestination({ ...app.app.exports, outbound }, admin, input)).toMatchObject({
    code: 'ADDRESS_NOT_ALLOWED',
    status: null,
  });
  expect(server.connections()).toBe(0);
});

it('is one at a time for a destination, and holds nothing of the database meanwhile', async () => {
  const server = await waiting();
  const { workspaceId } = await withDestination(server.url);
  await destinationsSet(app, workspaceId, [
    { name: 'crm', url: server.url },
    { name: 'erp', url: (await answering(200)).url },
  ]);
  const first = ping(workspaceId);
  await expect.poll(() => server.calls.length).toBe(1);
  expect(await ping(workspaceId)).toMatchObject({ __typename: 'ConflictError', code: 'PING_BUSY' });
  expect(await ping(workspaceId, 'erp')).toMatchObject({ code: 'DELIVERED' });
  const open = `SELECT query FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND state LIKE 'idle in transaction%'`;
  expect(await rowsOf(app, open)).toEqual([]);
  await destinationsSet(app, workspaceId, [{ name: 'crm', url: server.url }]); // which takes the settings' lock
  server.answer();
  expect(await first).toMatchObject({ code: 'DELIVERED' });
  const again = ping(workspaceId);
  await expect.poll(() => server.calls.length).toBe(2);
  server.answer();
  expect(await again).toMatchObject({ code: 'DELIVERED' });
});

it('ends with the process', async () => {
  const server = await waiting();
  const { workspaceId } = await withDestination(server.url);
  const stopping = new AbortController();
  const { exports } = app.app;
  const input = { workspaceId: uuidOf(workspaceId), name: 'crm' };
  const ended = expect(pingDestination({ ...exports, stop: stopping.signal }, admin, input)).rejects.toThrow('The server is stopping');
  await expect.poll(() => server.calls.length).toBe(1);
  stopping.abort();
  await ended;
  expect(exports.pinging.size).toBe(0);
});

it('is for administrators of the workspace, of a destination that it has', async () => {
  const server = await answering(200);
  const { workspaceId } = await withDestination(server.url);
  const without = await app.token({ permissions: everything.filter((permission) => permission !== 'workspace:admin') });
  expect(await ping(workspaceId, 'x'.repeat(101), without)).toMatchObject({ __typename: 'ForbiddenError', permission: 'workspace:admin' });
  expect(await ping(workspaceId, 'crm', await app.token({ workspaces: ['elsewhere'] }))).toMatchObject({ code: 'NOT_FOUND' });
  expect(await ping(workspaceId, 'x'.repeat(101))).toMatchObject({ __typename: 'InvalidInputError', field: 'name' });
  expect(await ping(workspaceId, 'another')).toMatchObject({ __typename: 'NotFoundError' });
  expect(server.calls).toEqual([]);
});
