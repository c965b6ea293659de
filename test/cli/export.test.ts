// `packhorse export` and what else the command line does with exports, against a real server.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { afterAll, expect, it, onTestFinished, vi } from 'vitest';
import { loaded, readExport } from '../exports/story.ts';
import { startApp, storageRoot } from '../support/app.ts';
import { expectOneLine, jsonLines, packhorse, start } from '../support/command-line.ts';
import { uuidOf } from '../support/states.ts';
import { createWorkspace, depot } from '../support/story.ts';
import { downloadDoor } from './download-door.ts';

vi.setConfig({ testTimeout: 300_000 }); // processes start slowly where much else runs

// Links lead to the door, and everything else to the server: its port must be known before it says so.
const door = await downloadDoor();
const app = await startApp({ env: { PACKHORSE_PUBLIC_URL: door.url, PORT: String(door.freePort) } });
const url = `http://127.0.0.1:${door.freePort}`;
const folder = mkdtempSync(path.join(tmpdir(), 'packhorse-cli-export-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const env = { PACKHORSE_URL: url, PACKHORSE_TOKEN: await app.token() };
const keys = `${url}/.well-known/packhorse-keys.json`;

async function depotIn(slug: string): Promise<string> {
  const id = await createWorkspace(app, slug);
  await loaded(app, id, depot);
  return id;
}

/** Whoever reads the dataset waits until it is let go. */
async function held(workspaceId: string, dataset: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: app.config.databaseUrl ?? '', application_name: 'test hold' });
  await client.connect();
  let open = true;
  const release = async () => {
    if (open) await client.end();
    open = false;
  };
  onTestFinished(release);
  await client.query('BEGIN');
  await client.query(`LOCK TABLE records.${await tableOf(client, workspaceId, dataset)} IN ACCESS EXCLUSIVE MODE`);
  return release;
}

async function tableOf(client: pg.Client, workspaceId: string, dataset: string): Promise<string> {
  const { rows } = await client.query<{ name: string }>('SELECT table_name AS name FROM dataset WHERE workspace_id = $1 AND name = $2', [
    uuidOf(workspaceId),
    dataset,
  ]);
  return rows[0]!.name;
}

const idIn = (stderr: string) => /^export (\S+) of /m.exec(stderr)?.[1] ?? '';

it('exports, shows how far each dataset is, and downloads what verify then finds whole', async () => {
  await depotIn('whole');
  const file = path.join(folder, 'whole.zip');
  const { code, stdout, stderr } = await packhorse(['export', '--workspace', 'whole', '--out', file], env);
  expect(code, stderr).toBe(0);
  expect(stderr).toMatch(/^export \S+ of whole is [A-Z]+, as of \d{4}-\d\d-\d\dT[\d:.]+Z\n/);
  expect(stderr).toMatch(/^routes +SUCCEEDED +3 of 3 rows \(100%\)$/m);
  expect(stdout).toMatch(/^DATASET +ROWS +BYTES\ndepots +2 +\d+\nroutes +3 +\d+\ntools +1 +\d+\ndigest +sha256:[0-9a-f]{64}\narchive +/);
  expect(stdout).toMatch(/\nfile +\S+whole\.zip\nSUCCEEDED, PUBLISHED\n$/);
  expect(stdout).not.toContain('signature=');
  expect(existsSync(`${file}.part`)).toBe(false);

  const verified = await packhorse(['verify', file, '--keys', keys], env);
  expect(verified.code, verified.stderr).toBe(0);
  expect(verified.stdout).toContain(/^digest.*$/m.exec(stdout)?.[0]);

  const id = idIn(stderr);
  const shown = await packhorse(['run', id], env);
  expect(shown.code).toBe(0);
  expect(shown.stdout).toMatch(/^whole as of .*, as CSV\nrequested .* by ann\nDATASET /);
  expect(shown.stdout).toMatch(/\nlink +http\S+signature=\S+ until .*\nSUCCEEDED, PUBLISHED\n$/);
  const listing = await packhorse(['exports', '--workspace', 'whole'], env);
  expect(listing.stdout).toMatch(new RegExp(`^EXPORT .*\\n${id} +SUCCEEDED +PUBLISHED +[\\d,]+ +sha256:[0-9a-f]{12} +\\S+ +ann\\n$`));
  const watched = await packhorse(['watch', id, '--json'], env);
  expect(watched.code).toBe(0);
  const events = jsonLines(watched.stdout);
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
  const actions = events.map(({ action }) => action).filter((action) => action !== 'TAKE_OVER'); // where the machine is too busy to keep a lease
  expect(actions).toEqual(['REQUEST', 'DISPATCH', 'SUCCEED', 'PUBLISH']);
  const told = await packhorse(['watch', id], env);
  expect(told.stdout).toMatch(/ SUCCEED +export +RUNNING → SUCCEEDED .*\n.* PUBLISH +package +PENDING → PUBLISHED /);
});

it('prints a link where nothing is to be downloaded, as JSON a line, and the same export for the same key', async () => {
  await depotIn('linked');
  const args = ['export', '--workspace', 'linked', '--json', '--idempotency-key', 'monday'];
  const { code, stdout, stderr } = await packhorse(args, env);
  expect([code, stderr]).toEqual([0, '']);
  const lines = jsonLines(stdout) as any[];
  expect(lines[0]).toMatchObject({ type: 'requested', export: { workspace: { slug: 'linked' } } });
  expect(lines.slice(1, -1).every(({ type }) => type === 'progress')).toBe(true);
  expect(lines.at(-2)).toMatchObject({
    state: 'SUCCEEDED',
    datasets: [{ dataset: 'depots', progress: { done: '2', total: '2' } }, {}, {}],
  });
  const { export: ended, file, link } = lines.at(-1);
  expect([ended.state, ended.exportPackage.state, file]).toEqual(['SUCCEEDED', 'PUBLISHED', null]);
  expect((await fetch(link.url)).headers.get('content-length')).toBe(ended.exportPackage.bytes);

  const again = await packhorse(args, env);
  expect(again.code, again.stderr).toBe(0);
  expect(jsonLines(again.stdout).at(-1)).toMatchObject({ export: { id: ended.id, manifestDigest: ended.manifestDigest } });
  const reader = { ...env, PACKHORSE_TOKEN: await app.token({ permissions: ['workspace:read'] }) };
  const seen = await packhorse(['run', ended.id], reader);
  expect([seen.code, seen.stdout.includes('signature=')], seen.stderr).toEqual([0, false]);

  const client = new pg.Client({ connectionString: app.config.databaseUrl ?? '' });
  await client.connect();
  await client.query(`UPDATE export_package SET state = 'EXPIRED' WHERE id = $1`, [uuidOf(ended.exportPackage.id)]);
  await client.end();
  const expired = await packhorse([...args, '--out', path.join(folder, 'expired.zip')], env);
  expect(expired.code).toBe(2);
  expectOneLine(expired.stderr, /no longer kept.*\[PACKAGE_EXPIRED\]/);
  const unwaited = await packhorse(['export', '--workspace', 'linked', '--no-wait'], env);
  expect(unwaited.code).toBe(0);
  expect(unwaited.stdout).toBe(`${idIn(unwaited.stderr)}\n`);
});

it('goes on where a download broke off, and begins again where ranges are not known', async () => {
  await depotIn('broken');
  const file = path.join(folder, 'broken.zip');
  const args = ['export', '--workspace', 'broken', '--out', file, '--idempotency-key', 'one']; // the same archive each time
  door.ranges();
  const whole = await packhorse([...args, '--json'], env);
  expect(whole.code, whole.stderr).toBe(0);
  const bytes = readFileSync(file);
  expect(door.ranges()).toEqual([null]);
  door.cut(100, 3);
  const { code, stderr } = await packhorse(args, env);
  expect(code, stderr).toBe(0);
  expect(door.ranges()).toEqual([null, 'bytes=100-', 'bytes=200-', 'bytes=300-']);
  expect(stderr).toMatch(/^the download broke off after 100 of \d+ bytes \(.+\); going on in 0\.2 s$/m);
  expect(readFileSync(file)).toEqual(bytes);
  door.disorder('forgets ranges');
  door.cut(1_000, 1);
  expect(await packhorse(args, env)).toMatchObject({ code: 0 });
  expect(door.ranges()).toEqual([null, 'bytes=1000-']);
  door.disorder(null);
  expect(readFileSync(file)).toEqual(bytes);
});

it('keeps nothing of a download that is not what was published, or that never comes to its end', async () => {
  await depotIn('altered');
  const file = path.join(folder, 'altered.zip');
  writeFileSync(file, 'what was there');
  const args = ['export', '--workspace', 'altered', '--out', file];
  door.disorder('alters a byte');
  const altered = await packhorse(args, env);
  door.disorder(null);
  expect([altered.code, altered.stdout]).toEqual([1, '']);
  expect(altered.stderr).toMatch(/^packhorse: What was downloaded has the digest sha256:\w+; sha256:\w+ was published.*\[BAD_ANSWER\]$/m);
  door.cut(0, 100);
  const cut = await packhorse(args, env);
  const stopping = start(args, env);
  await expect.poll(() => stopping.stderr(), { timeout: 60_000 }).toContain('the download broke off');
  stopping.child.kill('SIGINT');
  const stopped = await stopping.ended;
  door.cut(0, 0);
  expect([stopped.code, stopped.stdout]).toEqual([130, '']);
  expect(stopped.stderr).toMatch(/\nStopped the download\. run \S+ gives a link to the export\.\n$/);
  expect([cut.code, cut.stdout]).toEqual([1, '']);
  expect(cut.stderr).toMatch(/^packhorse: The download broke off after 0 of \d+ bytes, again and again: .*\[UNREACHABLE\]$/m);
  expect(cut.stderr).not.toMatch(/\n\s+at /);
  expect(readFileSync(file, 'utf8')).toBe('what was there');
  expect(existsSync(`${file}.part`)).toBe(false);
});

it('leaves the export running where it is stopped by Ctrl-C, and exits with 4 where it was cancelled', async () => {
  const workspaceId = await depotIn('held');
  const release = await held(workspaceId, 'tools');
  const file = path.join(folder, 'held.zip');
  const exporting = start(['export', '--workspace', 'held', '--out', file], env);
  await expect.poll(() => exporting.stderr(), { timeout: 60_000 }).toMatch(/ RUNNING /);
  const id = idIn(exporting.stderr());
  const shown = await packhorse(['run', id], env);
  expect(shown.code).toBe(0);
  expect(shown.stdout).toMatch(/\nallowed now: CANCEL\nwritten +\d of 6 rows\nRUNNING\n$/);
  exporting.child.kill('SIGINT');
  const stopped = await exporting.ended;
  expect([stopped.code, stopped.stdout]).toEqual([130, '']);
  expect(stopped.stderr).toContain(`\nStopped waiting. The export goes on: watch ${id} follows it, cancel ${id} ends it.\n`);
  expect(await readExport(app, id)).toMatchObject({ state: 'RUNNING' });

  const second = await packhorse(['export', '--workspace', 'held'], env);
  expect([second.code, second.stdout]).toEqual([2, '']);
  expect(second.stderr).toMatch(new RegExp(`\\[ACTIVE_EXPORT_EXISTS\\]\\n +in the way: ${id}\\n$`));
  const watching = start(['watch', id, '--json'], env);
  await expect.poll(() => watching.stdout(), { timeout: 60_000 }).toContain('DISPATCH');
  expect(await packhorse(['cancel', id, '--reason', 'lunch'], env)).toMatchObject({ code: 0, stdout: `${id} is CANCELLED\n` });
  const watched = await watching.ended;
  expect(watched.code).toBe(4);
  expect(jsonLines(watched.stdout).at(-1)).toMatchObject({ action: 'CANCEL', reason: 'lunch', actor: 'ann' });
  await release();

  const again = await held(workspaceId, 'tools');
  const waiting = start(['export', '--workspace', 'held', '--out', file], env);
  await expect.poll(() => waiting.stderr(), { timeout: 60_000 }).toMatch(/ RUNNING /);
  await packhorse(['cancel', idIn(waiting.stderr())], env);
  const cancelled = await waiting.ended;
  expect([cancelled.code, cancelled.stdout]).toEqual([4, 'CANCELLED\n']);
  expect(existsSync(file)).toBe(false);
  expect(await packhorse(['cancel', idIn(waiting.stderr())], env)).toMatchObject({ code: 2 });
  await again();
});

it('exits with 3 where the export failed, or its package could not be stored', async () => {
  const workspaceId = await depotIn('failing');
  const file = path.join(folder, 'failing.zip');
  const exportsFolder = path.join(storageRoot(app), 'exports');
  mkdirSync(exportsFolder, { recursive: true });
  renameSync(exportsFolder, `${exportsFolder}.away`);
  writeFileSync(exportsFolder, 'in the way');
  const unstored = await packhorse(['export', '--workspace', 'failing', '--out', file], env);
  rmSync(exportsFolder);
  renameSync(`${exportsFolder}.away`, exportsFolder);
  expect(unstored.code, unstored.stderr).toBe(3);
  expect(unstored.stdout).toMatch(/\npackage failed: .* \[\w+\]\n(.*\n)*SUCCEEDED, FAILED\n$/);
  expect(await packhorse(['watch', idIn(unstored.stderr)], env)).toMatchObject({ code: 3 });

  const client = new pg.Client({ connectionString: app.config.databaseUrl ?? '' });
  await client.connect();
  await client.query(`DROP TABLE records.${await tableOf(client, workspaceId, 'tools')}`);
  await client.end();
  const failed = await packhorse(['export', '--workspace', 'failing', '--out', file], env);
  expect(failed.code, failed.stderr).toBe(3);
  expect(failed.stdout).toMatch(/^failed: .* \[\w+\]\nFAILED\n$/);
  expect(await packhorse(['run', idIn(failed.stderr)], env)).toMatchObject({ code: 3 });
  expect(existsSync(file)).toBe(false);
});

it('says in one line what it refuses, before it asks for an export where it can', async () => {
  await createWorkspace(app, 'empty');
  const cases = [
    [['export', '--workspace', 'nowhere'], /no such workspace.*\[NOT_FOUND\]/],
    [['exports', '--workspace', 'nowhere'], /no such workspace.*\[NOT_FOUND\]/],
    [['export', '--workspace', 'empty'], /\[NOTHING_TO_EXPORT\]/],
    [['export', '--workspace', 'empty', '--out', folder], /is a folder: name a file in it\. \[NO_FILE\]/],
    [['export', '--workspace', 'empty', '--out', path.join(folder, 'none', 'x.zip')], /cannot be written: ENOENT.*\[NO_FILE\]/],
    [['export', '--workspace', 'empty', '--out', 'x.zip', '--no-wait'], /\[USAGE\]/],
    [['cancel', 'nonsense'], /no such run or export.*\[NOT_FOUND\]/],
    [['watch', 'nonsense'], /no such run or export.*\[NOT_FOUND\]/],
  ] as const;
  const answers = await Promise.all(cases.map(([args]) => packhorse(args, env)));
  for (const [index, { code, stdout, stderr }] of answers.entries()) {
    expect([code, stdout], stderr).toEqual([2, '']);
    expectOneLine(stderr, cases[index]![1]);
  }
  expect((await packhorse(['exports', '--workspace', 'empty'], env)).stdout).toBe('no exports\n');
});
