// Fault reports from neighbouring systems (../shared/cases), as a user meets them: from upload to rows.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { storeTarget } from '../../src/runs/targets/store.ts';
import { startApp, type TestApp } from '../support/app.ts';
import { freshDatabase } from '../support/database.ts';
import { shared, zipFolder } from '../support/folders.ts';
import { nodesOn } from '../support/nodes.ts';
import { scriptedTarget } from '../support/scripted-target.ts';
import { liveRows, storedDatasets } from '../support/source.ts';
import { uuidOf } from '../support/states.ts';
import { createWorkspace, mutate, reach, readRun, register, stage } from '../support/story.ts';

describe.skipIf(!existsSync(shared('cases')))('cases from neighbouring systems', async () => {
  const target = scriptedTarget();
  const app = await startApp({ targets: (db) => [storeTarget(db), target] });
  const apart = await freshDatabase();
  const nodes = nodesOn(apart);
  const { pool } = app.app.db;

  const folder = (name: string) => shared('cases', name);
  const scripted = (descriptor: any) => ({
    ...descriptor,
    resources: descriptor.resources.map((resource: object) => ({ ...resource, 'packhorse:target': 'scripted' })),
  });

  async function begin(on: TestApp, workspaceId: string, zip: Buffer, more: Record<string, unknown> = {}): Promise<string> {
    const id = await register(on, workspaceId, await stage(on, workspaceId, zip), more);
    expect((await mutate(on, 'startDataRun', { dataRunId: id })).__typename).toBe('DataRun');
    return id;
  }

  async function load(name: string, workspaceId: string): Promise<any> {
    return reach(app, await begin(app, workspaceId, await zipFolder(folder(name))), 'SUCCEEDED');
  }

  const rowsOf = async (workspaceId: string, name: string) => {
    const dataset = (await storedDatasets(pool, workspaceId)).get(name);
    return dataset === undefined ? null : { columns: dataset.columns.map((column) => column.name), rows: await liveRows(pool, dataset) };
  };

  /** As a client sees it. */
  async function preview(workspaceId: string): Promise<Record<string, unknown>[]> {
    const { data, errors } = await app.graphql(
      'query ($id: ID!) { node(id: $id) { ... on Workspace { datasets { edges { node { rows { edges { node { values } } } } } } } } }',
      { id: workspaceId },
    );
    expect(errors).toEqual([]);
    return data.node.datasets.edges[0].node.rows.edges.map(({ node }: any) => node.values);
  }

  const stateOf = (run: any) => Object.fromEntries(run.steps.map(({ dataset, state }: any) => [dataset, state]));

  it('C07: a pause holds further work, whatever reads or advances', async () => {
    const workspaceId = await createWorkspace(app);
    const zip = await zipFolder(folder('C07'), scripted);
    const id = await register(app, workspaceId, await stage(app, workspaceId, zip));
    expect(await mutate(app, 'pauseDataRun', { dataRunId: id })).toMatchObject({
      __typename: 'InvalidTransitionError',
      from: 'REGISTERED',
      action: 'PAUSE',
    });
    await mutate(app, 'startDataRun', { dataRunId: id });
    await expect.poll(async () => stateOf(await readRun(app, id)).depots).toBe('ACTIVE');
    expect(await mutate(app, 'resumeDataRun', { dataRunId: id })).toMatchObject({
      __typename: 'InvalidTransitionError',
      from: 'RUNNING',
      action: 'RESUME',
    });
    expect(await mutate(app, 'pauseDataRun', { dataRunId: id })).toMatchObject({ state: 'PAUSED', activeChildren: 1 });
    target.end('depots', 'succeeded');
    // The background follows it to its end.
    await expect.poll(async () => stateOf(await readRun(app, id))).toEqual({ depots: 'SUCCEEDED', routes: 'PENDING' });
    for (let n = 0; n < 3; n++) {
      expect(await mutate(app, 'advanceDataRun', { dataRunId: id })).toMatchObject({
        __typename: 'InvalidTransitionError',
        from: 'PAUSED',
        action: 'ADVANCE',
      });
    }
    for (let n = 0; n < 5; n++) expect(await readRun(app, id)).toMatchObject({ state: 'PAUSED', whyNotRunning: [{ code: 'PAUSED' }] });
    expect(target.jobs.map(({ dataset }) => dataset)).toEqual(['depots']);
    await mutate(app, 'resumeDataRun', { dataRunId: id });
    await expect.poll(() => target.jobs.map(({ dataset }) => dataset)).toEqual(['depots', 'routes']);
    target.end('routes', 'succeeded');
    await reach(app, id, 'SUCCEEDED');
    expect(target.submissions.filter(({ dataset }) => dataset.name === 'routes')).toHaveLength(1);
  });

  it.each(['blocked', 'failed'] as const)('C08: a diamond with one side %s comes to an end', async (how) => {
    target.jobs.length = 0;
    const workspaceId = await createWorkspace(app);
    const id = await begin(app, workspaceId, await zipFolder(folder('C08'), scripted));
    const submitted = () => target.jobs.map(({ dataset }) => dataset);
    await expect.poll(submitted).toEqual(['regions']);
    target.end('regions', 'succeeded');
    await expect.poll(() => submitted().length).toBe(3);
    expect(submitted().slice(1).sort()).toEqual(['depots', 'drivers']);
    target.end('depots', 'succeeded');
    const blocker = { code: 'MISSING_REFERENCE', dataset: 'drivers', message: 'x', count: 1, sampleKeys: ['9'], clearedBy: ['regions'] };
    target.end('drivers', how, how === 'blocked' ? { blockers: [blocker] } : {});
    const run = await reach(app, id, how === 'blocked' ? 'SUCCEEDED' : 'FAILED');
    expect(run.activeChildren).toBe(0);
    expect(submitted()).not.toContain('shifts');
    const shifts = run.steps.find(({ dataset }: any) => dataset === 'shifts');
    if (how === 'blocked') {
      expect(stateOf(run)).toEqual({ regions: 'SUCCEEDED', depots: 'SUCCEEDED', drivers: 'BLOCKED', shifts: 'BLOCKED' });
      expect(shifts).toMatchObject({ finallyBlocked: true, blockers: [{ code: 'DEPENDENCY_BLOCKED', dataset: 'shifts' }] });
      const { data } = await app.graphql(
        'query ($id: ID!) { dataRun(id: $id) { readiness { ready blockers { dataset clearedBy message } } } }',
        { id },
      );
      expect(data.dataRun.readiness.ready).toBe(false);
      expect(data.dataRun.readiness.blockers).toContainEqual(
        expect.objectContaining({ dataset: 'shifts', clearedBy: ['drivers'], message: expect.stringContaining('drivers') }),
      );
    } else {
      expect(stateOf(run)).toEqual({ regions: 'SUCCEEDED', depots: 'SUCCEEDED', drivers: 'FAILED', shifts: 'SKIPPED' });
      expect(shifts.skippedBecause).toContain('drivers');
      const { data } = await app.graphql('query ($id: ID!) { dataRun(id: $id) { failedStep { dataset } } }', { id });
      expect(data.dataRun.failedStep.dataset).toBe('drivers');
    }
  });

  it('C08: by the built-in loader, parents first', async () => {
    const workspaceId = await createWorkspace(app);
    expect(stateOf(await load('C08', workspaceId))).toEqual({
      regions: 'SUCCEEDED',
      depots: 'SUCCEEDED',
      drivers: 'SUCCEEDED',
      shifts: 'SUCCEEDED',
    });
  });

  it('C09: a cycle is refused with the way round; no run, nothing loaded', async () => {
    const workspaceId = await createWorkspace(app);
    const packageId = await stage(app, workspaceId, await zipFolder(folder('C09')));
    const answer = await mutate(app, 'registerDataRun', { workspaceId, packageId });
    expect(answer).toMatchObject({
      __typename: 'InvalidPackageError',
      problems: [{ code: 'DEPENDENCY_CYCLE', message: expect.stringContaining('crews → workers → crews') }],
    });
    expect((await storedDatasets(pool, workspaceId)).size).toBe(0);
    expect((await pool.query('SELECT FROM data_run WHERE package_id = $1', [uuidOf(packageId)])).rowCount).toBe(0);
  });

  it('C10: without a key equal rows stay, and a second load doubles nothing', async () => {
    const workspaceId = await createWorkspace(app);
    const three = [
      ['2026-01-05', 'G1', '420'],
      ['2026-01-05', 'G1', '420'],
      ['2026-01-06', 'G2', '380'],
    ];
    expect((await load('C10', workspaceId)).steps[0].rows).toMatchObject({ source: '3', loaded: '3' });
    expect((await rowsOf(workspaceId, 'weighings'))?.rows).toEqual(three);
    expect((await load('C10', workspaceId)).steps[0].rows).toMatchObject({ source: '3', loaded: '0', unchanged: '3' });
    expect((await rowsOf(workspaceId, 'weighings'))?.rows).toEqual(three);
  });

  it('C12: a byte order mark and CRLF are not in the data', async () => {
    const workspaceId = await createWorkspace(app);
    expect((await load('C12', workspaceId)).steps[0].rows).toMatchObject({ source: '2', loaded: '2' });
    const stored = await rowsOf(workspaceId, 'bins');
    expect(stored?.columns).toEqual(['bin_id', 'colour']);
    expect(stored?.rows.map(([, colour]) => colour).sort()).toEqual(['amber', 'green']);
    // The key is that column: a second load finds its rows.
    expect((await load('C12', workspaceId)).steps[0].rows).toMatchObject({ loaded: '0', unchanged: '2' });
  });

  it('C13: a header that names a column twice fails the dataset before a row is written', async () => {
    const workspaceId = await createWorkspace(app);
    const run = await reach(app, await begin(app, workspaceId, await zipFolder(folder('C13'))), 'FAILED');
    expect(run.failure).toMatchObject({ code: 'DUPLICATE_HEADER', summary: expect.stringMatching(/remark.*2.*3/) });
    const { data } = await app.graphql('query ($id: ID!) { dataRun(id: $id) { failedStep { dataset } } }', { id: run.id });
    expect(data.dataRun.failedStep.dataset).toBe('items');
    expect(await rowsOf(workspaceId, 'items')).toBeNull();
  });

  it('C14: integers beyond 2^53 digit for digit, in the table and over the API', async () => {
    const workspaceId = await createWorkspace(app);
    await load('C14', workspaceId);
    const ids = ['9007199254740992', '9007199254740993', '9223372036854775807', '-9223372036854775808'];
    expect((await rowsOf(workspaceId, 'scans'))?.rows.map(([id]) => id).sort()).toEqual([...ids].sort());
    expect((await preview(workspaceId)).map((values) => String(values['scan_id'])).sort()).toEqual([...ids].sort());
    for (const values of await preview(workspaceId)) expect(typeof values['scan_id']).toBe('string');
  });

  it('C15: what expands too far is stopped while it streams, memory flat, and other runs go on', async () => {
    const node = nodes.start({ PACKHORSE_MAX_EXPANDED_BYTES: String(1 << 20) });
    await node.ready;
    const client = new pg.Client({ connectionString: apart });
    await client.connect();
    onTestFinished(() => client.end());
    const workspaceId = await createWorkspace(node.app);
    // Warm: what every first load costs is no part of the bomb.
    await reach(node.app, await begin(node.app, workspaceId, await zipFolder(folder('C12'))), 'SUCCEEDED');
    const before = node.peakMiB();
    const bomb = await begin(node.app, workspaceId, await zipFolder(folder('C15')), { onHashMismatch: 'WARN' });
    const other = await begin(node.app, workspaceId, await zipFolder(folder('C14')));
    const run = await reach(node.app, bomb, 'FAILED');
    expect(run.failure).toMatchObject({ code: 'EXPANDED_SIZE_EXCEEDED' });
    await reach(node.app, other, 'SUCCEEDED');
    expect(node.peakMiB() - before).toBeLessThan(50);
    expect((await client.query(`SELECT FROM dataset WHERE name = 'filler'`)).rowCount).toBe(0);
    await node.kill();
  });

  it('C15: a size that is not true refuses the package where it should', async () => {
    const workspaceId = await createWorkspace(app);
    const packageId = await stage(app, workspaceId, await zipFolder(folder('C15')));
    expect(await mutate(app, 'registerDataRun', { workspaceId, packageId })).toMatchObject({ problems: [{ code: 'BYTES_MISMATCH' }] });
  });

  const variants = existsSync(folder('C16'))
    ? ['datapackage.json', ...readdirSync(path.join(folder('C16'), 'variants')).map((name) => `variants/${name}`)]
    : [];
  it('C16: has all six', () => expect(variants).toHaveLength(6));
  it.each(variants)('C16: a path that leaves the package is refused, whether or not something is there (%s)', async (variant) => {
    const workspaceId = await createWorkspace(app);
    const descriptor = readFileSync(path.join(folder('C16'), variant), 'utf8');
    const refused = async (text: string) => {
      const packageId = await stage(app, workspaceId, await zipFolder(folder('C16'), () => JSON.parse(text)));
      return mutate(app, 'registerDataRun', { workspaceId, packageId });
    };
    const answer = await refused(descriptor);
    const stated = [JSON.parse(descriptor).resources[0].path].flat() as string[];
    const bad = stated.at(-1) ?? '';
    expect(answer).toMatchObject({ __typename: 'InvalidPackageError', problems: [{ code: 'UNSAFE_PATH', resource: 'leak' }] });
    expect(answer.problems).toHaveLength(1);
    expect(answer.problems[0].message).toContain(JSON.stringify(bad));
    const gone = (text: string) => text.replaceAll('hostname', 'no-such-file').replaceAll('outside', 'no-such-file');
    expect((await refused(gone(descriptor))).problems).toEqual(
      answer.problems.map((problem: any) => ({ ...problem, message: gone(problem.message) })),
    );
  });

  it('C16: the file that is in the package loads', async () => {
    const workspaceId = await createWorkspace(app);
    const good = (descriptor: any) => ({ ...descriptor, resources: [{ ...descriptor.resources[0], path: 'data/ok.csv' }] });
    await reach(app, await begin(app, workspaceId, await zipFolder(folder('C16'), good)), 'SUCCEEDED');
    expect((await rowsOf(workspaceId, 'leak'))?.rows).toHaveLength(1);
  });

  it('C18: null, the empty text and texts that look like either are stored apart', async () => {
    const workspaceId = await createWorkspace(app);
    await load('C18', workspaceId);
    expect((await rowsOf(workspaceId, 'labels'))?.rows).toEqual([
      ['1', null],
      ['2', ''],
      ['3', 'NULL'],
      ['4', '  '],
      ['5', null],
      ['6', '\\N'],
    ]);
    expect((await preview(workspaceId)).map((values) => values['text'])).toEqual([null, '', 'NULL', '  ', null, '\\N']);
  });
});
