// The rows that a run left out: told by the run, kept for a while, and given as a data package to whoever may see the run.
import { buffer } from 'node:stream/consumers';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { fromBuffer } from 'yauzl';
import { forgetRejects } from '../../src/records/rejects.ts';
import { startApp } from '../support/app.ts';
import { registered, uuidOf } from '../support/states.ts';
import { createWorkspace, mutate, type Resource, reach, register, stage } from '../support/story.ts';

const app = await startApp();

const fields = (...of: [name: string, type: string][]) => of.map(([name, type]) => ({ name, type }));
const goods: Resource = {
  name: 'goods',
  rows: 'id,name\n1,salt\nx,"tin, ""bars"""\n3,=1+1\n3,ore\n4,wool,5\n',
  schema: { fields: fields(['id', 'integer'], ['name', 'string']), primaryKey: 'id' },
};
const sacks: Resource = {
  name: 'sacks',
  rows: '_row,good\na,1\nb,9\n',
  schema: {
    fields: fields(['_row', 'string'], ['good', 'integer']),
    primaryKey: '_row',
    foreignKeys: [{ fields: 'good', reference: { resource: 'goods', fields: 'id' } }],
  },
};
const rejecting = { onInvalidRow: 'REJECT', onMissingReference: 'REJECT' };

async function ended(workspaceId: string, resources: readonly Resource[] = [goods, sacks], policies: object = rejecting): Promise<string> {
  const id = await registered(app, workspaceId, resources, { ...policies });
  await mutate(app, 'startDataRun', { dataRunId: id });
  await reach(app, id, 'SUCCEEDED');
  return id;
}

async function linkTo(dataRunId: string, more: object = {}, token?: string): Promise<any> {
  const { data, errors } = await app.graphql(
    `mutation ($input: IssueRejectedRowsLinkInput!) { issueRejectedRowsLink(input: $input) { __typename
      ... on DownloadLink { url expiresAt } ... on Error { code message } } }`,
    { input: { dataRunId, ...more } },
    token,
  );
  expect(errors).toEqual([]);
  return data.issueRejectedRowsLink;
}

async function filesOf(archive: Buffer): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  const zip = await new Promise<import('yauzl').ZipFile>((resolve, reject) =>
    fromBuffer(archive, { lazyEntries: true }, (error, opened) => (error === null ? resolve(opened) : reject(error))),
  );
  await new Promise<void>((resolve, reject) => {
    zip.on('end', resolve).on('error', reject);
    zip.on('entry', (entry) =>
      zip.openReadStream(entry, (error, stream) => {
        if (error !== null) return reject(error);
        buffer(stream).then((bytes) => {
          files.set(entry.fileName, bytes.toString());
          zip.readEntry();
        }, reject);
      }),
    );
    zip.readEntry();
  });
  return files;
}

const refused = async (url: string, init: RequestInit = {}) => {
  const response = await fetch(url, init);
  return `${response.status} ${((await response.json()) as { code: string }).code}`;
};

it('a run tells of them: in its account, its faults and its readiness', async () => {
  const id = await ended(await createWorkspace(app));
  const { data } = await app.graphql(
    `query ($id: ID!) { dataRun(id: $id) { state readiness { ready blockers { code dataset message count clearedBy } }
      steps { dataset state rowErrorCount rowErrors { row code } rows { source loaded rejected blocked } } } }`,
    { id },
  );
  expect(data.dataRun).toEqual({
    state: 'SUCCEEDED',
    readiness: {
      ready: false,
      blockers: [
        {
          code: 'ROWS_REJECTED',
          dataset: 'goods',
          message: '3 rows of the dataset goods are not in it: not valid, and left out.',
          count: '3',
          clearedBy: ['goods'],
        },
        {
          code: 'ROWS_REJECTED',
          dataset: 'sacks',
          message: '1 row of the dataset sacks is not in it: not valid, and left out.',
          count: '1',
          clearedBy: ['sacks'],
        },
      ],
    },
    steps: [
      {
        dataset: 'goods',
        state: 'SUCCEEDED',
        rowErrorCount: '3',
        rowErrors: [
          { row: '2', code: 'TYPE' },
          { row: '4', code: 'PRIMARY_KEY' },
          { row: '5', code: 'TOO_MANY_CELLS' },
        ],
        rows: { source: '5', loaded: '2', rejected: '3', blocked: '0' },
      },
      {
        dataset: 'sacks',
        state: 'SUCCEEDED',
        rowErrorCount: '1',
        rowErrors: [{ row: '2', code: 'MISSING_REFERENCE' }],
        rows: { source: '2', loaded: '1', rejected: '1', blocked: '0' },
      },
    ],
  });
});

it('its link gives them as a data package, which can be loaded as it is', async () => {
  const workspaceId = await createWorkspace(app);
  const id = await ended(workspaceId);
  const { __typename, url, expiresAt } = await linkTo(id);
  expect(__typename).toBe('DownloadLink');
  expect(Date.parse(expiresAt) - Date.now()).toBeGreaterThan(500_000);
  const response = await fetch(url);
  expect([response.status, response.headers.get('content-type'), response.headers.get('cache-control')]).toEqual([
    200,
    'application/zip',
    'private, no-store',
  ]);
  expect(response.headers.get('content-disposition')).toMatch(/^attachment; filename="w\d+-rejected-rows\.zip"$/);
  const archive = Buffer.from(await response.arrayBuffer());
  const files = await filesOf(archive);
  expect([...files.keys()]).toEqual(['datapackage.json', 'data/1.csv', 'data/2.csv']);
  const { name, resources } = JSON.parse(files.get('datapackage.json') ?? '');
  expect(name).toMatch(/^package-\d+-rejected-rows$/);
  expect(resources.map((one: any) => [one.name, one.schema.fields.map((field: any) => `${field.name} ${field.type}`)])).toEqual([
    ['goods', ['_row integer', '_reason string', '_record string', 'id string', 'name string']],
    // The dataset has a field _row of its own.
    ['sacks', ['__row integer', '_reason string', '_record string', '_row string', 'good string']],
  ]);
  expect(parse(files.get('data/1.csv') ?? '')).toEqual([
    ['_row', '_reason', '_record', 'id', 'name'],
    ['2', '"id" is not an integer: "x"', '', 'x', 'tin, "bars"'],
    ['4', '"id" repeats a primary key of an earlier row: "3"', '', '3', 'ore'],
    ['5', 'Row 5 has 3 cells, expected 2.', '["4","wool","5"]', '', ''],
  ]);
  expect(parse(files.get('data/2.csv') ?? '')).toEqual([
    ['__row', '_reason', '_record', '_row', 'good'],
    ['2', '"good" refers to goods (id), where there is no such row: "9"', '', 'b', '9'],
  ]);
  const elsewhere = await createWorkspace(app);
  const again = await register(app, elsewhere, await stage(app, elsewhere, archive));
  await mutate(app, 'startDataRun', { dataRunId: again });
  const { steps } = await reach(app, again, 'SUCCEEDED');
  expect(steps.map(({ dataset, rows }: any) => [dataset, rows.loaded])).toEqual([
    ['goods', '3'],
    ['sacks', '1'],
  ]);
});

it('is sent in pages, each row once and in order', async () => {
  const rows = `id,name\n${Array.from({ length: 1_203 }, (_, at) => `x${at},n\n`).join('')}`;
  const id = await ended(await createWorkspace(app), [{ ...goods, rows }]);
  const { url } = await linkTo(id);
  const files = await filesOf(Buffer.from(await (await fetch(url)).arrayBuffer()));
  const [, ...lines] = parse(files.get('data/1.csv') ?? '') as string[][];
  expect(lines.map(([n, , , cell]) => `${n} ${cell}`)).toEqual(Array.from({ length: 1_203 }, (_, at) => `${at + 1} x${at}`));
});

describe('a link', () => {
  it('is made where there is something, for as long as is allowed', async () => {
    const workspaceId = await createWorkspace(app);
    const sound = await ended(workspaceId, [{ ...goods, rows: 'id,name\n1,salt\n' }]);
    expect(await linkTo(sound)).toMatchObject({ __typename: 'ConflictError', code: 'NO_REJECTED_ROWS' });
    const id = await ended(workspaceId);
    for (const expiresInSeconds of [0, -1, 86_401])
      expect(await linkTo(id, { expiresInSeconds })).toMatchObject({ __typename: 'InvalidInputError' });
    expect(await linkTo(id, { expiresInSeconds: 86_400 })).toMatchObject({ __typename: 'DownloadLink' });
  });

  it('of a run that failed gives nothing, since nothing was left out of what was written', async () => {
    const id = await registered(app, await createWorkspace(app), [goods]);
    await mutate(app, 'startDataRun', { dataRunId: id });
    await reach(app, id, 'FAILED');
    expect(await linkTo(id)).toMatchObject({ code: 'NO_REJECTED_ROWS' });
  });

  it('holds as it was signed, for GET, and not longer than it says', async () => {
    const { url } = await linkTo(await ended(await createWorkspace(app)), { expiresInSeconds: 1 });
    const { url: other } = await linkTo(await ended(await createWorkspace(app)));
    const [target, signature] = url.split('&signature=');
    expect(await refused(`${other.split('&signature=')[0]}&signature=${signature}`)).toBe('404 NOT_FOUND');
    expect(await refused(`${target.replace('expires=', 'expires=9')}&signature=${signature}`)).toBe('404 NOT_FOUND');
    expect(await refused(`${target.replace(/&by=[^&]*/, '&by=')}&signature=${signature}`)).toBe('404 NOT_FOUND');
    expect(await refused(`${url}&more=1`)).toBe('404 NOT_FOUND');
    expect(await refused(url, { method: 'POST' })).toBe('405 METHOD_NOT_ALLOWED');
    await expect.poll(() => refused(url).catch(() => null)).toBe('410 LINK_EXPIRED');
  });

  it('gives nothing to who lost access since, nor while they have none', async () => {
    const workspaceId = await createWorkspace(app, 'lost');
    const id = await ended(workspaceId);
    const bob = await app.token({ subject: 'bob', workspaces: ['lost'], permissions: ['workspace:read'] });
    const { url } = await linkTo(id, {}, bob);
    expect((await fetch(url)).status).toBe(200);
    const { data } = await app.graphql('mutation ($input: RevokeAccessInput!) { revokeAccess(input: $input) { __typename } }', {
      input: { workspaceId, subject: 'bob' },
    });
    expect(data.revokeAccess.__typename).toBe('Workspace');
    expect(await refused(url)).toBe('404 NOT_FOUND');
    expect(await linkTo(id, {}, bob)).toMatchObject({ __typename: 'NotFoundError' });
    const { url: anns } = await linkTo(id);
    expect((await fetch(anns)).status).toBe(200);
  });

  it('breaks off where not all rows are there any more, so that nobody takes what came for the whole', async () => {
    const id = await ended(await createWorkspace(app));
    const { url } = await linkTo(id);
    await app.app.db.pool.query(
      'DELETE FROM rejected_row r USING rejected_dataset d WHERE r.rejected_id = d.id AND d.run_id = $1 AND r.n = 5',
      [uuidOf(id)],
    );
    await expect(fetch(url).then((response) => response.arrayBuffer())).rejects.toThrow('terminated');
  });
});

it('they are forgotten after their days, and a link says so', async () => {
  const { pool } = app.app.db;
  const id = await ended(await createWorkspace(app));
  const young = await ended(await createWorkspace(app));
  const { url } = await linkTo(id);
  await pool.query(`UPDATE rejected_dataset SET written_at = written_at - interval '3 days' WHERE run_id = $1`, [uuidOf(id)]);
  const never = new AbortController().signal;
  expect(await forgetRejects(pool, { days: 4, stop: never })).toBe(0);
  expect(await forgetRejects(pool, { days: 2, stop: AbortSignal.abort() })).toBe(0);
  expect(await forgetRejects(pool, { days: 2, stop: never })).toBe(4);
  expect(await refused(url)).toBe('410 REJECTED_ROWS_GONE');
  expect(await linkTo(id)).toMatchObject({ __typename: 'ConflictError', code: 'REJECTED_ROWS_GONE' });
  expect(await linkTo(young)).toMatchObject({ __typename: 'DownloadLink' });
});
