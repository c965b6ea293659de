// Prints the lifecycle tables to docs/lifecycles.md.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { deliveryLifecycle, exportLifecycle, packageLifecycle } from '../src/exports/lifecycle.ts';
import { markdown, mermaid } from '../src/lifecycle/describe.ts';
import { runLifecycle, stepLifecycle } from '../src/runs/lifecycle.ts';

export function lifecycleDocument(): string {
  const sections = [
    ['Data run', runLifecycle],
    ['A step of a data run', stepLifecycle],
    ['Workspace data export execution', exportLifecycle],
    ['An export’s package', packageLifecycle],
    ['A package’s delivery', deliveryLifecycle],
  ] as const;
  return [
    '# Lifecycles',
    '',
    'Printed from the tables in `src/*/lifecycle.ts` by `npm run generate`; do not edit.',
    ...sections.flatMap(([title, table]) => ['', `## ${title}`, '', '```mermaid', mermaid(table), '```', '', markdown(table).trimEnd()]),
    '',
  ].join('\n');
}

if (process.argv[1] === import.meta.filename)
  writeFileSync(path.resolve(import.meta.dirname, '../docs/lifecycles.md'), lifecycleDocument());
