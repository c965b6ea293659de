import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { checkBoundaries } from '../../scripts/check-boundaries.ts';

/** The findings on a tree with these files. */
function findings(files: Record<string, string>) {
  const src = mkdtempSync(path.join(tmpdir(), 'packhorse-boundaries-'));
  afterAll(() => rmSync(src, { recursive: true }));
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(src, file)), { recursive: true });
    writeFileSync(path.join(src, file), text);
  }
  return checkBoundaries(src);
}

describe('the check of boundaries', () => {
  it('is content with imports that go one way', () => {
    expect(
      findings({
        'runs/schema.ts': `import { startDataRun } from './operations.ts';\nimport { builder } from '../graphql/builder.ts';`,
        'runs/operations.ts': `import { dataRunLifecycle } from './lifecycle.ts';\nimport type { Config } from '../config.ts';`,
        'runs/lifecycle.ts': `// import { x } from '../exports/operations.ts'\nconst url = 'http://example.org';`,
        'cli/verify.ts': `import { readManifest } from '../exports/archive/manifest.ts';\nimport pg from 'pg';`,
        'cli/serve.ts': `const { main } = await import('../main.ts');`,
        'generated/index.ts': `export * from '../server/http.ts';`,
      }),
    ).toEqual({ violations: [], warnings: [] });
  });

  it.each<[file: string, text: string, message: string]>([
    ['runs/operations.ts', `import { builder } from '../graphql/builder.ts';`, 'imports graphql/builder'],
    ['runs/operations.ts', `import { GraphQLError } from 'graphql';`, 'imports npm:graphql'],
    ['runs/lifecycle.ts', `import {\n  startDataRun,\n  pauseDataRun,\n} from './operations.ts';`, 'imports runs/operations'],
    ['runs/driver.ts', `import type { Export } from '../exports/operations.ts';`, 'imports exports/operations'],
    ['exports/generate.ts', `export { x } from '../runs/driver.ts';\nexport const y = 1;`, 'imports runs/driver'],
    ['runs/tasks.ts', `const worker = await import('../worker.ts');`, 'imports worker'],
    ['events/log.ts', `import '../server/http.ts';`, 'imports server/http'],
    ['dashboard/app.ts', `import { x } from '../runs/operations.ts';`, 'imports runs/operations'],
    ['cli/runs.ts', `import { x } from '../db.ts';`, 'imports db'],
    ['records/load.ts', `import { readConfig } from '../config.ts';`, 'imports config'],
    ['records/load.ts', `import { x } from '../runs/driver.ts';`, 'imports runs/driver'],
    ['errors.ts', `import { z } from 'zod';`, 'imports npm:zod'],
    ['runs/operations.ts', `const zone = process.env.TZ;`, 'reads process.env'],
    ['runs/index.ts', `export const x = 1;`, 'is a barrel'],
    ['runs/all.ts', `// everything\nexport * from './driver.ts';\nexport { y } from './readiness.ts';`, 'is a barrel'],
  ])('goes red where %s has %j', (file, text, message) => {
    const { violations } = findings({ [file]: text });
    expect(violations).toContainEqual(expect.stringContaining(`${file}: ${message}`));
  });

  it('goes red where files import each other in a circle, but not for types', () => {
    const a = `import { b } from './b.ts';`;
    expect(
      findings({ 'runs/a.ts': a, 'runs/b.ts': `import { c } from './c.ts';`, 'runs/c.ts': `import { a } from './a.ts';` }).violations,
    ).toEqual(['a cycle: runs/a → runs/b → runs/c → runs/a']);
    expect(findings({ 'runs/a.ts': a, 'runs/b.ts': `import type { A } from './a.ts';` }).violations).toEqual([]);
  });

  it('warns before a file is too long, and goes red where it is', () => {
    expect(findings({ 'runs/long.ts': 'x;\n'.repeat(501) }).violations).toEqual(['runs/long.ts: 501 lines, over 500: split it by noun']);
    const { violations, warnings } = findings({ 'runs/long.ts': 'x;\n'.repeat(301) });
    expect(violations).toEqual([]);
    expect(warnings).toHaveLength(1);
  });

  it('finds nothing in this repository', () => {
    expect(checkBoundaries(path.resolve(import.meta.dirname, '../../src')).violations).toEqual([]);
  });
});
