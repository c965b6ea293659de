// Who may import whom, checked over src/. `npm run boundaries` prints a line for each violation; CONTRIBUTING.md says why the walls stand there.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

interface Rule {
  /** Files of src/ without their ending. `*` is a part of a name, `**` any number of folders. */
  readonly files: readonly string[];
  readonly except?: readonly string[];
  /** What they must not import; `npm:` stands for packages. */
  readonly never?: readonly string[];
  /** All of src/ that they may import. Packages are not meant. */
  readonly only?: readonly string[];
  /** `import type` is let pass. */
  readonly typesMayPass?: boolean;
  readonly because: string;
}

const entries = ['main', 'cli/main', 'cli/serve', 'cli/worker', 'cli/migrate'];
const graphql = ['graphql/**', '*/schema', 'server/**', 'npm:graphql', 'npm:graphql-yoga', 'npm:@pothos/**'];
const features = ['workspaces/**', 'packages/**', 'records/**', 'runs/**', 'exports/**'];

const rules: readonly Rule[] = [
  {
    files: ['**'],
    except: [...entries, 'server/**', 'cli/demo'],
    never: ['main', 'server/**', 'worker'],
    because: 'nothing but the entries starts a server or a worker',
  },
  {
    files: ['**'],
    except: [...entries, 'server/**', 'worker', 'auth/secret', 'cli/**', 'config'],
    never: ['config'],
    typesMayPass: true,
    because: 'settings are handed down; only the entries read them',
  },
  { files: ['runs/**'], never: ['exports/**'], because: 'runs and exports do not know each other' },
  { files: ['exports/**'], never: ['runs/**'], because: 'runs and exports do not know each other' },
  {
    files: [
      '*/operations*',
      '*/lifecycle*',
      '*/tasks',
      '*/driver',
      '*/dispatcher',
      'records/**',
      'packages/**',
      'runs/targets/**',
      'exports/formats/**',
    ],
    except: ['**/schema'],
    never: graphql,
    because: 'GraphQL is known to schema files only: nothing flows back',
  },
  { files: ['*/lifecycle'], never: ['*/operations*', '*/tasks'], because: 'a lifecycle is a table that operations read' },
  {
    files: ['lifecycle/**', 'events/**', 'tasks/**', 'storage/**', 'outbound/**', 'postgres/**', 'db', 'shown'],
    except: ['*/schema', '*/schema-*'],
    never: [...features, ...graphql],
    because: 'shared mechanism knows no feature',
  },
  { files: ['errors'], never: ['**', 'npm:**'], because: 'refusals stand on nothing' },
  { files: ['records/**', 'packages/**'], never: ['runs/**', 'exports/**'], because: 'they serve runs and exports, and do not know them' },
  { files: ['graphql/**'], never: [...features, 'server/**'], typesMayPass: true, because: 'what the schemas stand on knows none of them' },
  {
    files: ['**'],
    except: ['server/schema', 'server/http', '*/schema', '*/schema-*'],
    never: ['*/schema', '*/schema-*'],
    because: 'schemas are what GraphQL sees: nothing but the server and each other knows them',
  },
  { files: ['client/**'], only: ['client/**'], because: 'a client knows the API and nothing behind it' },
  {
    files: ['dashboard/**'],
    except: ['dashboard/load/pack'],
    only: ['dashboard/**', 'client/**'],
    because: 'the dashboard talks only through the generated documents',
  },
  {
    files: ['dashboard/load/pack'],
    only: ['dashboard/**', 'client/**', 'packages/named-files', 'packages/problems', 'errors'],
    because: 'it packs the files that the command line packs, and knows nothing else of the server',
  },
  {
    files: ['cli/**'],
    except: [...entries, 'cli/verify', 'cli/token', 'cli/target', 'cli/demo'],
    only: ['cli/**', 'client/**'],
    because: 'commands talk to a server through the generated documents',
  },
  {
    files: ['cli/verify'],
    only: ['cli/**', 'client/**', 'exports/archive/**'],
    because: 'it needs what an export says of itself, and no server',
  },
  {
    files: ['exports/archive/**'],
    only: ['exports/archive/**', 'packages/problems', 'packages/shape'],
    because: 'an export is verified where there is no server and no database',
  },
  {
    files: ['exports/archive/**'],
    never: ['npm:pg*', 'npm:@prisma/**', 'npm:graphql*', 'npm:@pothos/**'],
    because: 'an export is verified where there is no server and no database',
  },
  {
    files: ['job-target/**'],
    only: ['job-target/**'],
    because: 'the contract and its conformance kit are for services that have nothing to do with this one',
  },
  {
    files: ['job-target/**'],
    never: ['npm:pg*', 'npm:@prisma/**', 'npm:graphql*', 'npm:@pothos/**'],
    because: 'the contract and its conformance kit need no database',
  },
  {
    files: ['cli/target'],
    only: ['cli/**', 'client/**', 'auth/**', 'config', 'job-target/**'],
    because: 'services are checked where there is no server and no database',
  },
  { files: ['cli/token'], only: ['cli/**', 'client/**', 'auth/**', 'config'], because: 'it needs the local secret, and no server' },
];

const mayReadEnvironment = ['config', 'main', 'cli/main'];
const generated = ['generated/**', 'client/gql/**'];
const manyLines = 300;
const tooManyLines = 500;

interface Import {
  readonly to: string;
  readonly typeOnly: boolean;
}

interface Source {
  readonly name: string;
  readonly file: string;
  readonly text: string;
  readonly imports: readonly Import[];
}

export interface Findings {
  readonly violations: readonly string[];
  readonly warnings: readonly string[];
}

export function checkBoundaries(src: string): Findings {
  const sources = readSources(src);
  return {
    violations: [...sources.flatMap(violationsOf), ...cycles(sources)],
    warnings: sources
      .filter((source) => lines(source) > manyLines)
      .map(({ file, text }) => `${file}: ${text.split('\n').length} lines, over ${manyLines}`),
  };
}

function violationsOf(source: Source): string[] {
  const found = rules
    .filter((rule) => matches(source.name, rule.files) && !matches(source.name, rule.except ?? []))
    .flatMap((rule) => broken(rule, source));
  if (path.basename(source.name) === 'index' || isBarrel(source.text))
    found.push(`${source.file}: is a barrel: import from where things are`);
  if (lines(source) > tooManyLines) found.push(`${source.file}: ${lines(source)} lines, over ${tooManyLines}: split it by noun`);
  if (/\bprocess\s*\.\s*env\b/.test(withoutComments(source.text)) && !matches(source.name, mayReadEnvironment)) {
    found.push(`${source.file}: reads process.env, which is config.ts's to read`);
  }
  return found;
}

function broken(rule: Rule, source: Source): string[] {
  return source.imports
    .filter(({ to, typeOnly }) => {
      if (to === source.name || (typeOnly && rule.typesMayPass)) return false;
      return rule.only === undefined ? matches(to, rule.never ?? []) : !to.startsWith('npm:') && !matches(to, rule.only);
    })
    .map(({ to }) => `${source.file}: imports ${to}: ${rule.because}`);
}

/** One line for each way round; types that go round do not count, they are gone at run time. */
function cycles(sources: readonly Source[]): string[] {
  const next = new Map(sources.map(({ name, imports }) => [name, imports.filter(({ typeOnly }) => !typeOnly).map(({ to }) => to)]));
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (name: string, trail: readonly string[]): void => {
    const start = trail.indexOf(name);
    if (start >= 0) found.push(`a cycle: ${[...trail.slice(start), name].join(' → ')}`);
    if (start >= 0 || done.has(name)) return;
    for (const to of next.get(name) ?? []) visit(to, [...trail, name]);
    done.add(name);
  };
  for (const { name } of sources) visit(name, []);
  return found;
}

function readSources(src: string): Source[] {
  return readdirSync(src, { recursive: true, encoding: 'utf8' })
    .map((file) => file.split(path.sep).join('/'))
    .filter((file) => /\.tsx?$/.test(file) && !matches(withoutEnding(file), generated))
    .sort()
    .map((file) => {
      const text = readFileSync(path.join(src, file), 'utf8');
      return { name: withoutEnding(file), file, text, imports: importsOf(file, text) };
    });
}

// `import … from`, `export … from` and `import '…'` begin a line; `import('…')` stands anywhere.
const statement = /^[ \t]*(?:import|export)\s+(type\s)?(?:[\w$*{}\s,]*?\sfrom\s*|)(['"])([^'"\n]+)\2/gm;
const dynamic = /\bimport\(\s*(['"])([^'"\n]+)\1\s*\)/g;

function importsOf(file: string, text: string): Import[] {
  const code = withoutComments(text);
  const name = (specifier: string) =>
    specifier.startsWith('.') ? withoutEnding(path.posix.join(path.posix.dirname(file), specifier)) : `npm:${specifier}`;
  return [
    ...[...code.matchAll(statement)].map(([, type, , specifier = '']) => ({ to: name(specifier), typeOnly: type !== undefined })),
    ...[...code.matchAll(dynamic)].map(([, , specifier = '']) => ({ to: name(specifier), typeOnly: false })),
  ];
}

/** Nothing in it but `export … from`. */
function isBarrel(text: string): boolean {
  const code = withoutComments(text);
  const rest = code.replace(/export\s+(type\s+)?(\*(\s+as\s+\w+)?|\{[^}]*\})\s*from\s*['"][^'"]+['"];?/g, '');
  return rest !== code && rest.trim() === '';
}

/** Line comments only where they begin a line: `//` also stands in URLs. */
function withoutComments(text: string): string {
  return text.replace(/^\s*\/\*[\s\S]*?\*\//gm, '').replace(/^\s*\/\/.*$/gm, '');
}

function lines({ text }: Source): number {
  return text.split('\n').length - 1;
}

function withoutEnding(file: string): string {
  return file.replace(/\.(d\.)?[cm]?[jt]sx?$/, '');
}

function matches(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    const expression = pattern.replace(/[.+^${}()|[\]\\]/g, '\\$&').replace(/\*\*\/?|\*/g, (star) => (star === '*' ? '[^/]*' : '.*'));
    return new RegExp(`^${expression}$`).test(name);
  });
}

if (process.argv[1] === import.meta.filename) {
  const { violations, warnings } = checkBoundaries(path.resolve(import.meta.dirname, '../src'));
  for (const warning of warnings) console.log(`warning: ${warning}`);
  for (const violation of violations) console.log(violation);
  console.log(violations.length === 0 ? 'src/ keeps its boundaries' : `${violations.length} violation(s)`);
  process.exitCode = violations.length === 0 ? 0 : 1;
}
