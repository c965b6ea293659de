// After `npm ci`: generates the Prisma client. Says nothing where that cannot be: without dev dependencies, or before the sources are there.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..');
const prisma = path.join(root, 'node_modules/prisma/build/index.js');
// Prisma's command comes in as a peer without dev dependencies too; its generator then fails on tsconfig.json, which extends one of them.
const needed = [
  prisma,
  path.join(root, 'node_modules/@tsconfig/strictest'),
  path.join(root, 'prisma/schema.prisma'),
  path.join(root, 'src'),
];

if (needed.every((place) => existsSync(place))) {
  const { status } = spawnSync(process.execPath, [prisma, 'generate'], { cwd: root, stdio: ['ignore', 2, 2] });
  process.exitCode = status ?? 1;
}
