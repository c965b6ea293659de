// The commands that talk to a server, against a real one.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import { startApp } from '../support/app.ts';
import { expectOneLine, jsonLines, packhorse, start } from '../support/command-line.ts';
import { depot, type Resource, zipOf } from '../support/story.ts';

vi.setConfig({ testTimeout: 300_000 }); // processes start slowly where much else runs

const app = await startApp();
const folder = mkdtempSync(path.join(tmpdir(), 'packhorse-cli-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const env = { PACKHORSE_URL: app.url, PACKHORSE_TOKEN: await app.token() };

const routes = depot.find(({ name }) => name === 'routes')!;
const depots = depot.find(({ name }) => name === 'depots')!;

function folderOf(name: string, resources: readonly Resource[]): string {
  const place = path.join(folder, name);
  mkdirSync(place);
  const described = resources.map(({ rows: _, ...resource }) => ({ path: `${resource.name}.csv`, ...resource }));
  writeFileSync(path.join(place, 'datapackage.json'), JSON.stringify({ name, resources: described }));
  for (const { name: file, rows } of resources) writeFileSync(path.join(place, `${file}.csv`), rows);
  return place;
}

it('loads a folder while it watches, as JSON a line, and exits with 0', async () => {
  const { code, stdout, stderr } = await packhorse(
    ['load', folderOf('depot', depot), '--workspace', 'json', '--create', '--watch', '--json'],
    env,
  );
  expect(stderr).toBe('');
  expect(code).toBe(0);
  const lines = jsonLines(stdout);
  expect(lines[0]).toMatchObject({ type: 'started', run: { state: 'RUNNING' } });
  expect(lines.slice(1, -1).every(({ type }) => type === 'progress')).toBe(true);
  expect(lines.at(-2)).toMatchObject({ state: 'SUCCEEDED', steps: depot.map(() => ({ state: 'SUCCEEDED' })) });
  expect(lines.at(-1)).toMatchObject({ type: 'run', run: { state: 'SUCCEEDED', readiness: { ready: true } } });
});

it('loads a zip, and tells a person what became of the rows', async () => {
  const zip = path.join(folder, 'depot.zip');
  writeFileSync(zip, await zipOf('depot', depot));
  const { code, stdout, stderr } = await packhorse(['load', zip, '--workspace', 'zipped', '--create', '--watch'], env);
  expect(code, stderr).toBe(0);
  expect(stdout).toMatch(/^DATASET +STATE +ROWS +LOADED/);
  expect(stdout).toMatch(/^depots +SUCCEEDED +2 +2 +0 +0 +0$/m);
  expect(stdout).toMatch(/\nSUCCEEDED, ready\n$/);
  expect(stderr).toMatch(/^routes +SUCCEEDED +\d+ of \d+ bytes \(100%\)$/m);
});

it('loads what stands beside a datapackage.json', async () => {
  const place = path.join(folderOf('beside', [depots]), 'datapackage.json');
  expect(await packhorse(['load', place, '--workspace', 'beside', '--create', '--watch'], env)).toMatchObject({ code: 0 });
});

it('drives a run that nobody else drives', async () => {
  const place = folderOf('driven', depot);
  const { code, stdout, stderr } = await packhorse(
    ['load', place, '--workspace', 'driven', '--create', '--watch', '--driving', 'on-request'],
    env,
  );
  expect(code, stderr).toBe(0);
  expect(stdout).toMatch(/^routes +SUCCEEDED +3 +3/m);
});

it('exits with 3 where the run failed, and shows the faulty rows', async () => {
  const bad = [{ ...depots, rows: 'id,city\n1,Bern\n1,Oslo\n' }];
  const { code, stdout } = await packhorse(['load', folderOf('bad', bad), '--workspace', 'bad', '--create', '--watch'], env);
  expect(code, stdout).toBe(3);
  expect(stdout).toMatch(/^failed: /m);
  expect(stdout).toMatch(/^ *ROW +FIELD +CODE +FAULT$/m);
  expect(stdout).toMatch(/\nFAILED\n$/);
});

it('exits with 5 where rows are held back', async () => {
  const held = [depots, { ...routes, rows: 'id,depot\n1,1\n2,9\n' }];
  const { code, stdout } = await packhorse(['load', folderOf('held', held), '--workspace', 'held', '--create', '--watch'], env);
  expect(code, stdout).toBe(5);
  expect(stdout).toMatch(/^not ready: .*\[.+\].*9/m);
  expect(stdout).toMatch(/\nSUCCEEDED, not ready\n$/);
  const failing = await packhorse(
    ['load', path.join(folder, 'held'), '--workspace', 'held2', '--create', '--watch', '--on-missing-reference', 'fail'],
    env,
  );
  expect(failing.code).toBe(3);
});

it('leaves rows out that are not valid, and brings them to a file', async () => {
  const place = folderOf('partly', [{ ...depots, rows: 'id,city\n1,Bern\n,Oslo\n1,Rome\n' }]);
  const load = ['load', place, '--workspace', 'partly', '--create', '--on-invalid-row', 'reject'];
  const planned = await packhorse([...load, '--plan'], env);
  expect(planned.code, planned.stderr).toBe(5);
  expect(planned.stdout).toMatch(/ROWS_REJECTED/);
  const id = /^run (\S+) would/m.exec(planned.stdout)?.[1] ?? '';
  expect(await packhorse(['rejected', id], env)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('This run has left no row out.'),
  });
  expect(await packhorse(['start', id], env)).toMatchObject({ code: 0 });
  expect(await packhorse(['watch', id], env)).toMatchObject({ code: 5 });
  const shown = await packhorse(['run', id], env);
  expect(shown.stdout).toMatch(/^depots +SUCCEEDED +3 +1 +0 +0 +2 +0 +0$/m);
  expect(shown.stdout).toContain('not ready: 2 rows of the dataset depots are not in it: not valid, and left out. [ROWS_REJECTED]');
  expect(shown.stdout).toContain(`packhorse rejected ${id} --out`);
  const link = await packhorse(['rejected', id], env);
  expect(link.stdout).toMatch(/^http:\S+\/rejected-rows\/\S+ until /);
  const file = path.join(folder, 'rejected.zip');
  expect(await packhorse(['rejected', id, '--out', file], env)).toMatchObject({ code: 0, stdout: `${file}\n` });
  // A package as any other.
  expect(await packhorse(['load', file, '--workspace', 'mended', '--create', '--watch'], env)).toMatchObject({ code: 0 });
  expect(await packhorse(['rejected', id, '--out', folder], env)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('is a folder'),
  });
  expectOneLine((await packhorse(['rejected', 'x'], env)).stderr, 'NOT_FOUND');
});

it('pauses, resumes, cancels and takes back, lists runs and shows one', async () => {
  const args = ['load', folderOf('held-back', depot), '--workspace', 'control', '--create', '--driving', 'on-request'];
  const { stdout: started, code } = await packhorse(args, env);
  expect(code).toBe(0);
  const id = started.trim();
  expect(await packhorse(['pause', id, '--reason', 'lunch'], env)).toMatchObject({ code: 0, stdout: `${id} is PAUSED\n` });
  const again = await packhorse(['pause', id], env);
  expect(again).toMatchObject({ code: 2, stdout: '' });
  expect(again.stderr).toMatch(/\[INVALID_TRANSITION\]\n +allowed now: /);
  const resumed = await packhorse(['resume', id, '--json'], env);
  expect(jsonLines(resumed.stdout)).toMatchObject([{ id, state: 'RUNNING' }]);
  expect(await packhorse(['cancel', id], env)).toMatchObject({ code: 0, stdout: `${id} is CANCELLED\n` });

  const shown = await packhorse(['run', id], env);
  expect(shown.code).toBe(4);
  expect(shown.stdout).toMatch(/^held-back into control\nregistered .* by ann, driven on request\n/);
  const events = jsonLines((await packhorse(['watch', id, '--json'], env)).stdout);
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
  expect(events.find(({ action }) => action === 'PAUSE')).toMatchObject({ reason: 'lunch', actor: 'ann' });
  const runs = await packhorse(['runs', '--workspace', 'control', '--json'], env);
  expect(jsonLines(runs.stdout)).toMatchObject([{ id, state: 'CANCELLED' }]);

  const reset = await packhorse(['reset', id, '--reason', 'wrong file'], env);
  expect(reset).toMatchObject({ code: 0, stdout: `${id} is CANCELLED, and what it wrote was taken back\n` });
  expect(await packhorse(['reset', id], env)).toMatchObject({ code: 2, stdout: '' });
});

it('tells what a run would do before anything is loaded, and starts it only if that still holds', async () => {
  const held = [depots, { ...routes, rows: 'id,depot\n1,1\n2,9\n' }];
  const place = folderOf('foreseen', held);
  const told = await packhorse(['load', place, '--workspace', 'foreseen', '--create', '--plan'], env);
  expect(told.code, told.stderr).toBe(5);
  expect(told.stdout).toMatch(/^DATASET +WOULD BE +ROWS +INVALID +NEW +CHANGED +UNCHANGED +HELD BACK\n/);
  expect(told.stdout).toMatch(/^routes +BLOCKED +2 +0 +1 +0 +0 +1$/m);
  expect(told.stdout).toMatch(/^1\. depots\n2\. routes\nmissing: .*\[MISSING_REFERENCE\], such as 9$/m);
  const [, digest = '', id = ''] = /^plan (sha256:\S+)\nrun (\S+) would succeed, not ready\n$/m.exec(told.stdout) ?? [];
  const again = await packhorse(['plan', id, '--json'], env);
  expect(again.code).toBe(5);
  expect(jsonLines(again.stdout)).toMatchObject([
    { type: 'plan', dataRunId: id, plan: { digest, datasets: [{ dataset: 'depots' }, { dataset: 'routes' }] } },
  ]);
  const stale = await packhorse(['start', id, '--plan', `sha256:${'0'.repeat(64)}`], env);
  expect(stale).toMatchObject({ code: 2, stdout: '' });
  expectOneLine(stale.stderr, /\[PLAN_STALE\]/);
  expect(await packhorse(['start', id, '--plan', digest], env)).toMatchObject({ code: 0, stdout: `${id} is RUNNING\n` });
  expect((await packhorse(['watch', id], env)).code).toBe(5);
  const late = await packhorse(['plan', id], env);
  expect(late).toMatchObject({ code: 2, stdout: '' });
  expect(late.stderr).toMatch(/\[INVALID_TRANSITION\]/);

  const bad = [{ ...depots, rows: 'id,city\n1,Bern\n1,Oslo\n' }];
  const failing = await packhorse(['load', folderOf('forebad', bad), '--workspace', 'forebad', '--create', '--plan'], env);
  expect(failing.code).toBe(3);
  expect(failing.stdout).toMatch(/^depots +FAILED +2 +1 +0 +0 +0$/m);
  expect(failing.stdout).toMatch(/^ *ROW +FIELD +CODE +FAULT$/m);
  expect(failing.stdout).toMatch(/ would fail\n$/);
});

it('watches a workspace until it is told to stop', async () => {
  const place = folderOf('watched', depot);
  await packhorse(['load', place, '--workspace', 'watched', '--create', '--watch'], env);
  const watching = start(['watch', '--workspace', 'watched', '--json'], env);
  // Only what comes after it has connected is shown, and nothing says when that is.
  await expect
    .poll(
      async () => {
        await packhorse(['load', place, '--workspace', 'watched', '--watch'], env);
        return jsonLines(watching.stdout().replace(/[^\n]*$/, '')).map(({ action, dataset }) => [action, dataset]);
      },
      { timeout: 240_000 }, // each look loads a package in a process of its own
    )
    .toContainEqual(['SUCCEED', null]);
  watching.child.kill('SIGINT');
  await watching.ended;
});

it('refuses a second load with the same idempotency key', async () => {
  const args = ['load', folderOf('once', depot), '--workspace', 'once', '--create', '--idempotency-key', 'monday'];
  expect(await packhorse([...args, '--watch'], env)).toMatchObject({ code: 0 });
  const again = await packhorse(args, env);
  expect(again.code).toBe(2);
  expectOneLine(again.stderr, /\[IDEMPOTENCY_KEY_REUSED\]/);
});

it('lists all that is wrong with a package, and exits with 2', async () => {
  const wrong = [
    { ...routes, schema: { ...routes.schema, foreignKeys: [{ fields: 'depot', reference: { resource: 'gone', fields: 'id' } }] } },
  ];
  const { code, stderr, stdout } = await packhorse(['load', folderOf('wrong', wrong), '--workspace', 'wrong', '--create'], env);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(/\[INVALID_PACKAGE\]\n +routes +\/resources\/0\/schema\/foreignKeys\/0.*\[UNKNOWN_REFERENCE_TARGET\]/);
  const unpacked = await packhorse(['load', folder, '--workspace', 'wrong'], env);
  expect(unpacked.code).toBe(2);
  expect(unpacked.stderr).toMatch(/no datapackage\.json/);
  const missing = await packhorse(['load', path.join(folder, 'nowhere'), '--workspace', 'wrong'], env);
  expect(missing.code).toBe(2);
  expectOneLine(missing.stderr, /nowhere cannot be read: ENOENT/);
});

it('says in one line what it cannot do', async () => {
  const place = path.join(folder, 'depot');
  const noWorkspace = await packhorse(['load', place, '--workspace', 'unmade'], env);
  expect(noWorkspace).toMatchObject({ code: 2, stdout: '' });
  expectOneLine(noWorkspace.stderr, /no workspace unmade.* --create makes it/);
  const wrongToken = await packhorse(['runs', '--workspace', 'json', '--token', 'a.b.c'], env);
  expect(wrongToken.code).toBe(2);
  expectOneLine(wrongToken.stderr, /access token.*\[UNAUTHENTICATED\]/);
  const notThere = await packhorse(['runs', '--workspace', 'json', '--url', 'http://127.0.0.1:9'], env);
  expect(notThere.code).toBe(1);
  expectOneLine(notThere.stderr, /127\.0\.0\.1:9 cannot be reached: /);
  const noRun = await packhorse(['run', 'nonsense'], env);
  expect(noRun.code).toBe(2);
  expectOneLine(noRun.stderr, /no such run or export.*\[NOT_FOUND\]/);
});
