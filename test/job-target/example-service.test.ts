// The example job service: it keeps the contract by the kit's own word, and Packhorse loads a package through it.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { startApp } from '../support/app.ts';
import { packhorse } from '../support/command-line.ts';
import { emptyDatabase } from '../support/database.ts';
import { startJobService } from '../support/job-service.ts';
import { createWorkspace, depot, mutate, type Resource, reach, readRun, register, stage, zipOf } from '../support/story.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'packhorse-service-'));
afterAll(() => rmSync(folder, { recursive: true }));
const database = await emptyDatabase();
const env = { PACKHORSE_JWT_SECRET: 'a secret of at least thirty-two bytes', PACKHORSE_HOME: path.join(folder, 'home') };
const keys = path.join(folder, 'keys.json');
writeFileSync(keys, (await packhorse(['target', 'keys'], env)).stdout);
const service = await startJobService(database, keys);
afterAll(() => service.stop());
const targets = path.join(folder, 'targets.json');
writeFileSync(targets, JSON.stringify([{ name: 'crm', baseUrl: service.url, idempotency: 'key' }]));
const app = await startApp({ env: { ...env, PACKHORSE_TARGETS: targets } });

interface Report {
  readonly holds: boolean;
  readonly findings: { name: string; outcome: string; message: string | null }[];
}

it('keeps the contract, says the command that checks it', async () => {
  const { code, stdout, stderr } = await packhorse(['target', 'check', service.url, '--json'], env);
  const report = JSON.parse(stdout) as Report;
  expect(
    report.findings.filter(({ outcome }) => outcome !== 'passed'),
    stderr,
  ).toEqual([]);
  expect([code, report.holds, report.findings.length]).toEqual([0, true, 12]);
});

it('does not for who calls with another key, and the command says so in a table and by its code', async () => {
  const { code, stdout } = await packhorse(['target', 'check', service.url], {
    ...env,
    PACKHORSE_JWT_SECRET: 'another secret of more than thirty-two bytes',
  });
  expect(code).toBe(2);
  expect(stdout).toMatch(/^CHECK +OUTCOME +WHAT\n/);
  expect(stdout).toMatch(/^same-key +FAILED +.*401/m);
  expect(stdout).toContain('It does not keep the contract');
});

it('is told apart from nobody, and from what is no address', async () => {
  expect(await packhorse(['target', 'check', 'http://127.0.0.1:1'], env)).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('Nobody answers'),
  });
  expect(await packhorse(['target', 'check', 'crm'], env)).toMatchObject({ code: 2, stdout: '' });
});

it('loads a package for Packhorse, holds back what points at nothing, and goes on after it was killed', async () => {
  const { port } = new URL(service.url);
  const workspaceId = await createWorkspace(app, 'example');
  const away = (resources: readonly Resource[]) => resources.map((resource) => ({ ...resource, 'packhorse:target': 'crm' }));
  const run = async (name: string, resources: readonly Resource[]) => {
    const id = await register(app, workspaceId, await stage(app, workspaceId, await zipOf(name, away(resources))));
    await mutate(app, 'startDataRun', { dataRunId: id });
    return id;
  };
  const loaded = await reach(app, await run('depot', depot), 'SUCCEEDED');
  expect(loaded.steps.map(({ dataset, rows }: any) => [dataset, rows.source, rows.loaded])).toEqual([
    ['depots', '2', '2'],
    ['tools', '1', '1'],
    ['routes', '3', '3'],
  ]);
  const again = await reach(app, await run('depot', depot), 'SUCCEEDED');
  expect(again.steps.map(({ rows }: any) => rows.unchanged)).toEqual(['2', '1', '3']);
  const broken = depot.map((resource) => (resource.name === 'routes' ? { ...resource, rows: 'id,depot\n9,9\n' } : resource));
  const blocked = await reach(app, await run('depot', broken), 'SUCCEEDED');
  expect(blocked.steps.at(-1)).toMatchObject({ state: 'BLOCKED', blockers: [{ code: 'REFERENCE_MISSING' }], rows: { blocked: '1' } });
  const bad = await reach(app, await run('bad', [{ name: 'bad', rows: 'id,a\n1\n' }]), 'FAILED');
  expect(bad.failure.code).toBe('ROW_INVALID');

  await service.kill();
  const id = await run('later', [
    { name: 'later', rows: 'id\n1\n', schema: { fields: [{ name: 'id', type: 'string' }], primaryKey: 'id' } },
  ]);
  await expect.poll(async () => (await readRun(app, id)).steps[0].state).toBe('SUBMITTING');
  const restarted = await startJobService(database, keys, Number(port));
  onTestFinished(() => restarted.stop());
  await reach(app, id, 'SUCCEEDED', 30_000);
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  const { rows } = await client.query(`SELECT dataset, count(*)::int AS rows FROM record WHERE dataset !~ '^kit-' GROUP BY 1 ORDER BY 1`);
  await client.end();
  expect(rows).toEqual([
    { dataset: 'depots', rows: 2 },
    { dataset: 'later', rows: 1 },
    { dataset: 'routes', rows: 3 },
    { dataset: 'tools', rows: 1 },
  ]);
}, 90_000);
