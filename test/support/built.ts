// The command line as it is published: it starts in a fraction of the time that the sources take, and without the 100 MiB of what loads them.
import { execFileSync } from 'node:child_process';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');
// As serve.ts: it ends with the test that started it, however that one ends.
const ending = `data:text/javascript,${encodeURIComponent("process.stdin.on('end', () => process.exit(1)).resume().unref?.()")}`;

/** Builds it, and returns what Node runs. */
export function built(): string[] {
  execFileSync(process.execPath, [path.join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json'], {
    cwd: root,
    stdio: 'pipe',
  });
  return ['--enable-source-maps', '--import', ending, path.join(root, 'dist/cli/main.js')];
}
