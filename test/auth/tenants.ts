// Two tenants that have one of everything, and the roles that ask for it.
import { randomUUID } from 'node:crypto';
import { expect, vi } from 'vitest';
import { mutateExport, readExport, request } from '../exports/story.ts';
import { decodeGlobal } from '../graphql/walk.ts';
import type { TestApp } from '../support/app.ts';
import { createWorkspace, mutate, readRun, register, stage, zipOf } from '../support/story.ts';

export interface Tenant {
  readonly slug: string;
  readonly workspace: string;
  /** Settled. */
  readonly run: string;
  readonly step: string;
  readonly package: string;
  readonly dataset: string;
  /** Registered and never started; of the package that `staged` holds as well. */
  readonly waiting: string;
  /** Settled, with a package in storage, and a destination that nobody listens at. */
  readonly execution: string;
  readonly exportPackage: string;
  readonly delivery: string;
  /** Uploaded, not registered. */
  readonly staged: string;
  /** The place before the first event. */
  readonly cursor: string;
  /** A cursor of each connection under the workspace. */
  readonly cursors: { readonly dataRuns: string; readonly datasets: string; readonly rows: string; readonly exportExecutions: string };
}

const text = (...names: string[]) => names.map((name) => ({ name, type: 'string' }));
const resource = (name: string, canary: string) => ({
  name,
  rows: `id,word\n1,${canary}\n2,${canary}\n`,
  schema: { fields: text('id', 'word'), primaryKey: 'id' },
});

/** What an app needs whose tenants have a destination. */
export const hookHosts = { PACKHORSE_FETCH_HOSTS: '127.0.0.1:9' };

/** A workspace with a loaded dataset, a settled run and a registered one. `canary` is in every text that can hold it. */
export async function tenant(app: TestApp, slug: string, canary: string): Promise<Tenant> {
  const workspace = await createWorkspace(app, slug);
  const loaded = await zipOf(`${canary}-loaded`, [resource(`${canary}-words`, canary)]);
  const run = await register(app, workspace, await stage(app, workspace, loaded));
  await mutate(app, 'startDataRun', { dataRunId: run });
  // expect.poll is for tests only, and this runs in a hook.
  await vi.waitFor(async () => expect((await readRun(app, run)).state).toBe('SUCCEEDED'), { timeout: 30_000, interval: 50 });
  const bytes = await zipOf(`${canary}-waiting`, [resource(`${canary}-others`, canary)]);
  const waiting = await register(app, workspace, await stage(app, workspace, bytes));
  const staged = await stage(app, workspace, bytes);
  const destinations = [{ name: `${canary}-hook`, url: 'http://127.0.0.1:9/hook' }];
  const set = await mutateExport(app, 'updateExportSettings', { workspaceId: workspace, destinations });
  expect(set.__typename, JSON.stringify(set)).toBe('Workspace');
  const execution = await request(app, workspace);
  await vi.waitFor(async () => expect((await readExport(app, execution)).exportPackage?.state).toBe('PUBLISHED'), {
    timeout: 30_000,
    interval: 50,
  });
  const { exportPackage } = await readExport(app, execution);
  const { data, errors } = await app.graphql(
    `query ($slug: String!, $run: ID!) {
      workspace(slug: $slug) { dataRuns { edges { cursor } } exportExecutions { edges { cursor } } datasets { edges { cursor node { id rows { edges { cursor } } } } } }
      dataRun(id: $run) { package { id } steps { id } } }`,
    { slug, run },
  );
  expect(errors).toEqual([]);
  const [dataset] = data.workspace.datasets.edges;
  return {
    slug,
    workspace,
    run,
    step: data.dataRun.steps[0].id,
    package: data.dataRun.package.id,
    dataset: dataset.node.id,
    waiting,
    execution,
    exportPackage: exportPackage.id,
    delivery: exportPackage.deliveries[0].id,
    staged,
    cursor: Buffer.from(`1:${decodeGlobal(workspace).id}:0`).toString('base64url'),
    cursors: {
      exportExecutions: data.workspace.exportExecutions.edges[0].cursor,
      dataRuns: data.workspace.dataRuns.edges[0].cursor,
      datasets: dataset.cursor,
      rows: dataset.node.rows.edges[0].cursor,
    },
  };
}

const globalId = (type: string) => Buffer.from(`${type}:${randomUUID()}`).toString('base64');

/** Ids of the right form that nothing has. */
export function nobody(slug = 'nowhere'): Tenant {
  const workspace = globalId('Workspace');
  return {
    slug,
    workspace,
    run: globalId('DataRun'),
    step: globalId('DataRunStep'),
    package: globalId('DataPackage'),
    dataset: globalId('Dataset'),
    waiting: globalId('DataRun'),
    execution: globalId('ExportExecution'),
    exportPackage: globalId('ExportPackage'),
    delivery: globalId('ExportDelivery'),
    staged: globalId('DataPackage'),
    cursor: Buffer.from(`1:${decodeGlobal(workspace).id}:0`).toString('base64url'),
    cursors: { dataRuns: '', datasets: '', rows: '', exportExecutions: '' },
  };
}

export const single = [
  'workspace:read',
  'workspace:admin',
  'data-run',
  'data-run:force',
  'data-export:execute',
  'target:store',
  'target:*',
] as const;
const all = single.filter((permission) => permission !== 'target:store');

export const roles = {
  'no token': null,
  'expired token': { permissions: all, workspaces: ['*'], expiresInSeconds: -60 },
  'no permission': { permissions: [], workspaces: ['own'] },
  'workspace:read': { permissions: ['workspace:read'], workspaces: ['own'] },
  'workspace:admin': { permissions: ['workspace:admin'], workspaces: ['own'] },
  'data-run': { permissions: ['data-run'], workspaces: ['own'] },
  'data-run:force': { permissions: ['data-run:force'], workspaces: ['own'] },
  'data-export:execute': { permissions: ['data-export:execute'], workspaces: ['own'] },
  'target:store': { permissions: ['target:store'], workspaces: ['own'] },
  'target:*': { permissions: ['target:*'], workspaces: ['own'] },
  staff: { permissions: ['workspace:read', 'data-run', 'target:store'], workspaces: ['own'] },
  admin: { permissions: all, workspaces: ['own'] },
  everywhere: { permissions: all, workspaces: ['*'] },
  'nowhere named': { permissions: all, workspaces: [] },
  revoked: { subject: 'eve', permissions: all, workspaces: ['own'] },
} as const;
export type Role = keyof typeof roles;
export const roleNames = Object.keys(roles) as Role[];
