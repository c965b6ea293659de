// Steps of the stories that tests of exports tell.
import { expect } from 'vitest';
import type { TestApp } from '../support/app.ts';
import { mutate, type Resource, reach, register, stage, zipOf } from '../support/story.ts';

export const exportFields = `id state phase cutoff manifestDigest requestedBy allowedActions failure { code origin phase summary } counts { dataset rows bytes }
  settings { format datasets retentionDays destinations { name url } } whyNotRunning { code message } progress { done total unit }
  exportPackage { id state bytes digest expiresAt failure { code } deliveries { id destination state attempts failure { code } } }`;

const refusals = `... on Error { code message } ... on ForbiddenError { permission } ... on InvalidInputError { field }`;

/** One mutation of an export; the answer's union member. */
export async function mutateExport(app: TestApp, name: string, input: Record<string, unknown>, token?: string): Promise<any> {
  const type = `${name[0]?.toUpperCase()}${name.slice(1)}Input`;
  const conflict = ['updateExportSettings', 'revokeDownloadLinks'].includes(name) ? '' : '... on ConflictError { conflictingId }';
  const transition = name === 'cancelExportExecution' ? '... on InvalidTransitionError { from action allowed }' : '';
  const subject = {
    issueDownloadLink: '... on DownloadLink { url expiresAt }',
    redeliver: '... on ExportDelivery { id destination state attempts webhookId }',
    revokeDownloadLinks: '... on ExportPackage { id state }',
    updateExportSettings: '... on Workspace { id exportSettings { format datasets retentionDays destinations { name url secret } } }',
  }[name];
  const { data, errors } = await app.graphql(
    `mutation ($input: ${type}!) { ${name}(input: $input) { __typename ${subject ?? `... on ExportExecution { ${exportFields} }`} ${refusals} ${conflict} ${transition} } }`,
    { input },
    token,
  );
  expect(errors).toEqual([]);
  return data[name];
}

export async function request(app: TestApp, workspaceId: string, more: Record<string, unknown> = {}): Promise<string> {
  const made = await mutateExport(app, 'requestWorkspaceExport', { workspaceId, ...more });
  expect(made.__typename, JSON.stringify(made)).toBe('ExportExecution');
  return made.id;
}

export async function readExport(app: TestApp, id: string, token?: string): Promise<any> {
  const { data, errors } = await app.graphql(`query ($id: ID!) { exportExecution(id: $id) { ${exportFields} } }`, { id }, token);
  expect(errors).toEqual([]);
  return data.exportExecution;
}

/** Waits until a look at the export finds what is wanted; fails with what it shows instead. */
export async function reachExport(
  app: TestApp,
  id: string,
  look: (found: any) => unknown,
  wanted: unknown,
  timeout = 30_000,
): Promise<any> {
  let found: any;
  await expect
    .poll(
      async () => {
        found = await readExport(app, id);
        return look(found);
      },
      { timeout, interval: 25 },
    )
    .toEqual(wanted);
  return found;
}

export const published = (app: TestApp, id: string) =>
  reachExport(app, id, ({ state, exportPackage }) => [state, exportPackage?.state], ['SUCCEEDED', 'PUBLISHED']);

/** Loads resources as a package; the run has succeeded. */
export async function loaded(app: TestApp, workspaceId: string, resources: readonly Resource[], name = 'given'): Promise<void> {
  await loadedZip(app, workspaceId, await zipOf(name, resources));
}

export async function loadedZip(app: TestApp, workspaceId: string, zip: Buffer, more: Record<string, unknown> = {}): Promise<string> {
  const run = await register(app, workspaceId, await stage(app, workspaceId, zip), more);
  const started = await mutate(app, 'startDataRun', { dataRunId: run });
  expect(started.__typename, JSON.stringify(started)).toBe('DataRun');
  await reach(app, run, 'SUCCEEDED', 120_000);
  return run;
}

export async function linkOf(app: TestApp, exportPackageId: string): Promise<string> {
  const link = await mutateExport(app, 'issueDownloadLink', { exportPackageId });
  expect(link.__typename, JSON.stringify(link)).toBe('DownloadLink');
  return link.url;
}

/** Requests an export, waits until it is published, and fetches it. */
export async function exported(app: TestApp, workspaceId: string): Promise<{ execution: any; zip: Buffer }> {
  const execution = await published(app, await request(app, workspaceId));
  const answer = await fetch(await linkOf(app, execution.exportPackage.id));
  expect(answer.status).toBe(200);
  return { execution, zip: Buffer.from(await answer.arrayBuffer()) };
}
