// Fails if schema.graphql breaks clients of the schema that was committed before.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { CriticalityLevel, diff } from '@graphql-inspector/core';
import { buildSchema } from 'graphql';

const root = path.resolve(import.meta.dirname, '..');

function committed(revision: string): string | null {
  try {
    return execFileSync('git', ['show', `${revision}:schema.graphql`], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  } catch {
    return null; // no repository, no such commit, or no schema in it
  }
}

/** What HEAD has; once that is committed, what was before it. */
function previous(working: string): string | null {
  const head = committed('HEAD');
  return head === working ? committed('HEAD~1') : head;
}

const working = readFileSync(path.join(root, 'schema.graphql'), 'utf8');
const before = previous(working);
if (before === null) {
  console.log('schema.graphql: there is no earlier commit to compare with, skipped');
} else {
  const changes = await diff(buildSchema(before), buildSchema(working));
  const breaking = changes.filter((change) => change.criticality.level === CriticalityLevel.Breaking);
  console.log(`schema.graphql: ${changes.length} change(s), ${breaking.length} of them breaking`);
  for (const change of breaking) console.log(`${change.path ?? ''}: ${change.message}`);
  process.exitCode = breaking.length === 0 ? 0 : 1;
}
