// PostGraphile, beside which subscriptions are measured. It is large and needs a newer Node than we do: its packages have a folder of their
// own, pinned by its lock, and come when they are first wanted.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { type ProcessOptions, type ServerProcess, serverProcess } from './support.ts';

const folder = path.join(import.meta.dirname, 'peers', 'postgraphile');
const oldestNode = 22;

/** The Node that runs it, its packages being there; or in words why it cannot be measured here. */
export function preparePostgraphile(): { readonly node: string } | { readonly missing: string } {
  if (!existsSync(path.join(folder, 'node_modules', 'postgraphile'))) {
    console.log('  installing PostGraphile into bench/peers/postgraphile (about 480 MB, once)');
    // Without scripts: nothing of it has to be built.
    const { status } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
      timeout: 300_000,
    });
    if (status !== 0) return { missing: 'npm could not install it' };
  }
  if (Number.parseInt(process.versions.node, 10) >= oldestNode) return { node: process.execPath };
  const brought = path.join(folder, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node');
  return existsSync(brought) ? { node: brought } : { missing: `it needs Node ${oldestNode}, and this is ${process.version}` };
}

export function startPostgraphile(databaseUrl: string, node: string, options: ProcessOptions): Promise<ServerProcess> {
  const env = { DATABASE_URL: databaseUrl, GRAPHILE_ENV: 'production' };
  // Mute: it prints a stack for each message to a socket that is closing.
  return serverProcess([path.join(folder, 'server.mjs')], env, { ...options, node, mute: true });
}
