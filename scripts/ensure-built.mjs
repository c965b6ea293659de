// Makes a clone ready to run: packages, the Prisma client, dist/. No dependencies of its own, and nothing on stdout.
import { spawnSync } from 'node:child_process';
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const root = path.resolve(import.meta.dirname, '..');
const at = (...parts) => path.join(root, ...parts);
const built = at('dist/.built');
const lock = at('.cache/build.lock');

/** Installs, generates and builds what is missing or older than its sources. Of commands that start at once one does it, the others wait. */
export async function ensureBuilt() {
  if (!existsSync(at('src')) || isCurrent()) return;
  mkdirSync(at('.cache'), { recursive: true });
  const release = await takeLock();
  try {
    if (isCurrent()) return;
    if (needsInstall()) run('npm', 'ci', '--no-audit', '--no-fund', '--loglevel=error');
    if (needsClient()) run(process.execPath, at('node_modules/prisma/build/index.js'), 'generate');
    if (needsBuild()) build();
  } finally {
    release();
  }
}

function isCurrent() {
  return !needsInstall() && !needsClient() && !needsBuild();
}

function needsInstall() {
  return changedAt(at('package-lock.json')) > changedAt(at('node_modules/.package-lock.json'));
}

function needsClient() {
  return changedAt(at('prisma/schema.prisma')) > changedAt(at('src/generated/prisma/client.ts'));
}

function needsBuild() {
  const sources = ['src', 'package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json', 'vite.config.ts'];
  return Math.max(...sources.map((source) => newest(at(source)))) > changedAt(built);
}

function build() {
  const began = new Date(); // what is edited while it builds is newer than the stamp
  if (!existsSync(built)) rmSync(at('.cache/build.tsbuildinfo'), { force: true }); // else tsc takes files that were deleted for written
  rmSync(built, { force: true });
  run('npm', 'run', '--silent', 'build');
  writeFileSync(built, '');
  utimesSync(built, began, began);
}

function changedAt(file) {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function newest(file) {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) return 0;
  if (!found.isDirectory()) return found.mtimeMs;
  // The folder's own time tells of files that were removed.
  return Math.max(found.mtimeMs, ...readdirSync(file).map((name) => newest(path.join(file, name))));
}

function run(command, ...args) {
  const env = { ...process.env, PATH: `${at('node_modules/.bin')}${path.delimiter}${process.env.PATH}` }; // Prisma looks for its generators there
  const { status, error } = spawnSync(command, args, { cwd: root, env, stdio: ['ignore', 2, 2] }); // stdout belongs to the command that follows
  if (status === 0) return;
  console.error(`packhorse: ${[path.basename(command), ...args].join(' ')} failed${error === undefined ? '' : `: ${error.message}`}`);
  throw new BuildFailed();
}

/** Said already what there is to say. */
export class BuildFailed extends Error {}

/** The file holds the number of the process that builds; one that is gone holds nothing up. */
async function takeLock() {
  const own = `${lock}.${process.pid}`;
  writeFileSync(own, String(process.pid));
  try {
    for (let waited = 0; ; waited++) {
      try {
        linkSync(own, lock); // exclusive, and never seen empty
        return () => rmSync(lock, { force: true });
      } catch (error) {
        if (error.code !== 'EEXIST') throw error;
      }
      if (!isHeld()) rmSync(lock, { force: true });
      else await sleep(100);
      if (waited === 20) console.error(`packhorse: waiting for another command to build (${lock})`);
    }
  } finally {
    rmSync(own, { force: true });
  }
}

function isHeld() {
  try {
    process.kill(Number(readFileSync(lock, 'utf8')), 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM'; // somebody else's process
  }
}
