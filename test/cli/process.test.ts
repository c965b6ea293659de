// The commands that last or that need no server: serve, worker, migrate, token.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { decodeJwt } from 'jose';
import pg from 'pg';
import { afterAll, expect, it, vi } from 'vitest';
import { expectOneLine, jsonLines, packhorse, type Running, start } from '../support/command-line.ts';
import { emptyDatabase, freshDatabase } from '../support/database.ts';

vi.setConfig({ testTimeout: 300_000 }); // processes start slowly where much else runs

const migrated = await freshDatabase();
const empty = await emptyDatabase();
const home = mkdtempSync(path.join(tmpdir(), 'packhorse-cli-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));
const env = { PACKHORSE_HOME: home, DATABASE_URL: migrated, PORT: '0', NODE_NO_WARNINGS: '1' };
const example = path.resolve(import.meta.dirname, '../../examples/world');

async function urlOf(serving: Running): Promise<string> {
  await expect.poll(() => serving.stdout(), { timeout: 60_000 }).toMatch(/\n/);
  return /http:\/\/\S+/.exec(serving.stdout())?.[0] ?? '';
}

async function stopped(serving: Running): Promise<{ code: number | null; log: Record<string, unknown>[] }> {
  serving.child.kill('SIGTERM');
  const { code, stderr } = await serving.ended;
  return { code, log: jsonLines(stderr) };
}

it('serves from an empty database until SIGTERM, with a line on stdout and its log on stderr', async () => {
  const serving = start(['serve'], { ...env, DATABASE_URL: empty });
  const url = await urlOf(serving);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  expect(serving.stdout().trim().split('\n')).toHaveLength(1);
  const { code, log } = await stopped(serving);
  expect(code).toBe(0);
  expect(log.map(({ msg }) => msg)).toEqual(['ready', 'stopping', 'stopped']);
});

it('serves in one process and works in another, for a person of the same home without a token', async () => {
  const api = start(['serve', '--json'], { ...env, PACKHORSE_ROLE: 'api' });
  const worker = start(['worker'], env);
  await expect.poll(() => api.stdout(), { timeout: 60_000 }).toMatch(/\n/);
  const [{ url, role } = {}] = jsonLines(api.stdout());
  expect(role).toBe('api');
  const loaded = await packhorse(['load', example, '--workspace', 'world', '--create', '--watch', '--json', '--url', String(url)], env);
  expect(loaded.code, loaded.stderr).toBe(0);
  const stranger = await packhorse(['runs', '--workspace', 'world', '--url', String(url)], { ...env, PACKHORSE_HOME: `${home}/other` });
  expect(stranger.code).toBe(2);
  expectOneLine(stranger.stderr, /UNAUTHENTICATED/);
  expect(await stopped(worker)).toMatchObject({ code: 0 });
  expect(await stopped(api)).toMatchObject({ code: 0 });
});

it('says in one line that its port is in use, a setting cannot be used, or the database does not answer', async () => {
  const holder = createServer();
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
  const address = holder.address();
  const port = String(address !== null && typeof address === 'object' ? address.port : 0);
  const cases = [
    [{ PORT: port }, `port ${port} on 127.0.0.1 is in use`],
    [{ PORT: 'x' }, 'PORT: expected a whole number'],
    [{ DATABASE_URL: 'postgresql://ann:hunter2@127.0.0.1:9/x' }, 'the database x at 127.0.0.1:9 does not answer'],
    [{ NODE_ENV: 'production' }, 'PACKHORSE_JWT_SECRET: expected at least 32 bytes'],
  ] as const;
  const answers = await Promise.all(cases.map(([given]) => packhorse(['serve'], { ...env, ...given })));
  holder.close();
  for (const [index, { code, stdout, stderr }] of answers.entries()) {
    expect([code, stdout], stderr).toEqual([1, '']);
    expectOneLine(stderr, cases[index]![1]);
    expect(stderr).not.toContain('hunter2');
  }
});

it('lists what it migrates, and what is missing of it', async () => {
  const database = { ...env, DATABASE_URL: empty };
  expect(await packhorse(['migrate', '--json'], database)).toMatchObject({ code: 0, stdout: '{"applied":[]}\n' });
  expect(await packhorse(['migrate', '--check'], database)).toMatchObject({ code: 0, stdout: 'nothing is missing\n' });
  const client = new pg.Client({ connectionString: empty });
  await client.connect();
  await client.query('DROP INDEX data_run_unfinished_key');
  await client.end();
  const check = await packhorse(['migrate', '--check'], database);
  expect(check.code).toBe(1);
  expect(check.stdout).toMatch(/^the index public\.data_run_unfinished_key is missing/);
  const serving = await packhorse(['serve'], database);
  expect(serving.code).toBe(1);
  expectOneLine(serving.stderr, /lacks 1 thing.*data_run_unfinished_key.*migrate --check/);
});

it('prints a token alone, and none in production', async () => {
  const args = ['token', '--permissions', 'workspace:read,target:store', '--workspaces', 'a,b', '--subject', 'bob', '--expires-in', '60'];
  const made = await packhorse(args, env);
  expect(made.code, made.stderr).toBe(0);
  const lines = made.stdout.trimEnd().split('\n');
  const claims = decodeJwt(lines.at(-1) ?? '');
  expect(claims).toMatchObject({ sub: 'bob', permissions: ['workspace:read', 'target:store'], workspaces: ['a', 'b'] });
  expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(60);
  expect(made.stdout + made.stderr).not.toContain(readFileSync(path.join(home, 'secret'), 'utf8').trim());
  const production = { ...env, NODE_ENV: 'production', PACKHORSE_JWT_SECRET: 'x'.repeat(32) };
  const refused = await packhorse(args, production);
  expect([refused.code, refused.stdout]).toEqual([1, '']);
  expectOneLine(refused.stderr, /NODE_ENV is production/);
  const demo = await packhorse(['demo', '--once'], production);
  expect([demo.code, demo.stdout]).toEqual([1, '']);
  expectOneLine(demo.stderr, /production/);
});

it('refuses a command line that makes no sense with 2, and helps with 0', async () => {
  const wrong = [
    ['fly'],
    ['load'],
    ['load', example],
    ['watch'],
    ['watch', 'id', '--workspace', 'w'],
    ['token', '--permissions', 'all', '--workspaces', '*'],
    ['runs', '--workspace', 'w', '--url', 'nonsense'],
    ['load', example, '--workspace', 'w', '--driving', 'fast'],
  ];
  const answers = await Promise.all(wrong.map((args) => packhorse(args, env)));
  for (const [index, { code, stdout }] of answers.entries()) expect([code, stdout], wrong[index]?.join(' ')).toEqual([2, '']);
  const help = await packhorse(['load', '--help']);
  expect(help.code).toBe(0);
  expect(help.stdout).toMatch(/Exit codes:\n +0 .*\n +1 .*\n +2 .*\n +3 .*\n +4 .*\n +5 /);
});
