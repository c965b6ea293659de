// Fails if a committed file is not what its generator makes now. Generates in a copy, so that the working tree stays as it is.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';

const generated = ['schema.graphql', 'docs/lifecycles.md', 'src/client/gql', 'prisma/catalog.txt'];

const root = path.resolve(import.meta.dirname, '..');
const copy = path.join(root, '.cache/generated'); // below the root, so that node_modules is found
const leftOut = new Set(['.git', '.cache', '.packhorse', 'node_modules', 'dist']);

/** The paths of all files below, relative to the root; none where there is nothing. */
function filesBelow(base: string, place: string): string[] {
  const found = statSync(path.join(base, place), { throwIfNoEntry: false });
  if (found === undefined) return [];
  return found.isDirectory() ? readdirSync(path.join(base, place)).flatMap((name) => filesBelow(base, path.join(place, name))) : [place];
}

function content(base: string, file: string): string | null {
  const full = path.join(base, file);
  return existsSync(full) ? readFileSync(full, 'utf8') : null;
}

rmSync(copy, { recursive: true, force: true });
for (const name of readdirSync(root).filter((entry) => !leftOut.has(entry))) {
  cpSync(path.join(root, name), path.join(copy, name), { recursive: true });
}
for (const place of generated) rmSync(path.join(copy, place), { recursive: true, force: true });
const { status } = spawnSync('npm', ['run', '--silent', 'generate'], { cwd: copy, stdio: ['ignore', 'ignore', 'inherit'] });
if (status !== 0) {
  console.log('npm run generate failed');
  process.exit(1);
}
const files = new Set(generated.flatMap((place) => [...filesBelow(root, place), ...filesBelow(copy, place)]));
const stale = [...files].sort().filter((file) => content(root, file) !== content(copy, file));
rmSync(copy, { recursive: true, force: true });
console.log(
  stale.length === 0 ? 'the generated files are current' : `not what their generators make (npm run generate):\n${stale.join('\n')}`,
);
process.exitCode = stale.length === 0 ? 0 : 1;
