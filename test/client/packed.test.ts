// What docs/clients.md says, as its readers would do it: with the package as npm packs it, in a project of their own.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { encodeCursor } from '../../src/events/cursor.ts';
import { globalId } from '../../src/graphql/builder.ts';
import { door } from '../events/proxy.ts';
import { upTo } from '../events/reading.ts';
import { makeYard, write } from '../events/writing.ts';
import { startApp } from '../support/app.ts';

const root = path.resolve(import.meta.dirname, '../..');
const tsc = path.join(root, 'node_modules/typescript/bin/tsc');
const app = await startApp({ worker: false });
const { db } = app.app;

const project = mkdtempSync(path.join(tmpdir(), 'packhorse-packed-'));
afterAll(() => rmSync(project, { recursive: true, force: true }));

/**
 * The project has the package, what that says it needs, and what the reader was told to install: all of it as it lies here. Built and packed
 * beside the repository, whose own scripts would write what other tests are reading.
 */
beforeAll(() => {
  const packing = path.join(project, 'packing');
  const installed = path.join(project, 'node_modules/packhorse');
  for (const folder of [packing, installed]) mkdirSync(folder, { recursive: true });
  copyFileSync(path.join(root, 'package.json'), path.join(packing, 'package.json'));
  const info = path.join(project, 'build.tsbuildinfo');
  execFileSync(process.execPath, [tsc, '-p', 'tsconfig.build.json', '--outDir', path.join(packing, 'dist'), '--tsBuildInfoFile', info], {
    cwd: root,
  });
  const file = execFileSync('npm', ['pack', '--silent', '--ignore-scripts'], { cwd: packing, encoding: 'utf8' }).trim();
  execFileSync('tar', ['xzf', path.join(packing, file), '-C', installed, '--strip-components=1']);
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(path.join(installed, 'package.json'), 'utf8'));
  for (const name of Object.keys({ ...dependencies, ...peerDependencies, '@types/node': '' })) {
    const link = path.join(project, 'node_modules', name);
    mkdirSync(path.dirname(link), { recursive: true });
    symlinkSync(path.join(root, 'node_modules', name), link);
  }
  writeFileSync(path.join(project, 'package.json'), '{ "type": "module" }');
}, 120_000);

/** A program of the page, by the comment before it. */
function snippet(name: string): string {
  const text = readFileSync(path.join(root, 'docs/clients.md'), 'utf8');
  const body = new RegExp(`<!-- ${name} -->\\s*\`\`\`\\w+\\n(.*?)\`\`\``, 's').exec(text)?.[1];
  if (body === undefined) throw new Error(`docs/clients.md has no ${name}`);
  const file = path.join(project, name);
  writeFileSync(file, body);
  return file;
}

/** In a group of its own: a shell does not take along what it started. */
function run(command: string, file: string, env: Record<string, string>) {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(command, [file], { cwd: project, env: { PATH, HOME, ...env }, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  onTestFinished(async () => {
    if (child.pid === undefined || child.exitCode !== null) return;
    process.kill(-child.pid, 'SIGKILL');
    await once(child, 'exit');
  });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  return { out: () => out, err: () => err };
}

/** A workspace with events, and what a program needs that follows them. */
async function yard() {
  const { workspaceId, runs } = await makeYard(db, 1);
  const [run = ''] = runs;
  await write(db, run, 'before', 2);
  const cursors = (count: number) => upTo(count).map((position) => encodeCursor(workspaceId, BigInt(position)));
  const env = { PACKHORSE_TOKEN: await app.token(), WORKSPACE: globalId('Workspace', workspaceId), AFTER: encodeCursor(workspaceId, 0n) };
  const lines = (count: number) =>
    cursors(count).map((cursor, index) => `${cursor} ${index === 0 ? 'REGISTER REGISTERED' : 'SUBMIT SUBMITTING'}`);
  return { run, cursors, lines, env };
}

it.each(['follow.mjs', 'follow-urql.mjs'])('goes on where it was cut off: %s', async (name) => {
  const { run: id, lines, env } = await yard();
  const way = await door(app.url);
  const program = run(process.execPath, snippet(name), { ...env, PACKHORSE_URL: new URL(way.url).origin });
  const told = () => [program.err(), program.out().trim().split('\n')];
  await expect.poll(told).toEqual([name === 'follow.mjs' ? '' : 'live \n', lines(3)]);
  way.shut();
  await write(db, id, 'meanwhile', 2);
  way.open();
  await expect.poll(() => program.out().trim().split('\n')).toEqual(lines(5));
});

it.runIf(spawnSync('curl', ['--version']).status === 0)('gives curl the same events, with the same cursors as their ids', async () => {
  const { run: id, cursors, env } = await yard();
  const script = snippet('follow.sh');
  const from = async (after: string, count: number) => {
    const program = run('sh', script, { ...env, AFTER: after, PACKHORSE_URL: app.url });
    const ids = () => [...program.out().matchAll(/^id: (.*)$/gm)].map(([, cursor]) => cursor);
    await expect.poll(() => ids().length).toBe(count);
    expect(program.out().match(/"cursor":"[^"]*"/g)).toEqual(ids().map((cursor) => `"cursor":"${cursor}"`));
    return ids();
  };
  expect(await from(env.AFTER, 3)).toEqual(cursors(3));
  await write(db, id, 'more', 2);
  expect(await from(cursors(3)[2] ?? '', 2)).toEqual(cursors(5).slice(3));
});

it('has types that hold without the packages of this repository', () => {
  writeFileSync(
    path.join(project, 'typed.ts'),
    `import { subscribe } from 'packhorse/client';
    import { ClientError, type Connection } from 'packhorse/client/request';
    import { forwardSubscriptions } from 'packhorse/client/urql';
    const connection: Connection = { url: 'http://127.0.0.1:4000', token: null };
    export const results: AsyncGenerator<{ a: number }> = subscribe<{ a: number }, { id: string }>(connection, '', { id: 'x' });
    export const code: string = new ClientError('A', 'b').code;
    // @ts-expect-error: it is a function
    export const wrong: string = forwardSubscriptions(connection);`,
  );
  const options = ['--noEmit', '--strict', '--target', 'es2023', '--types', 'node', 'typed.ts'];
  for (const [module, resolution] of [
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ] as const) {
    const { stdout } = spawnSync(process.execPath, [tsc, '--module', module, '--moduleResolution', resolution, ...options], {
      cwd: project,
      encoding: 'utf8',
    });
    expect(stdout).toBe('');
  }
});
