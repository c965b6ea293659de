// `npm run db:new NAME` writes the SQL between the migrations and schema.prisma; `npm run db:check` fails if there is any.
// The schema engine runs as WebAssembly: its native build is a download, which not every machine may make.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils';
import type { SchemaEngine as Engine, MigrationList } from '@prisma/schema-engine-wasm';
import { startPostgres } from '../src/postgres/embedded.ts';
import { migrationAdapter } from './migration-adapter.ts';

const root = path.resolve(import.meta.dirname, '..');
const directory = path.join(root, 'prisma/migrations');
const schemaPath = path.join(root, 'prisma/schema.prisma');
const schemaFile = { path: schemaPath, content: readFileSync(schemaPath, 'utf8') };

function migrationList(): MigrationList {
  return {
    baseDir: directory,
    lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"\n' },
    shadowDbInitScript: '',
    migrationDirectories: readdirSync(directory, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name)
      .sort()
      .map((name) => ({
        path: name,
        migrationFile: {
          path: 'migration.sql',
          content: { tag: 'ok' as const, value: readFileSync(path.join(directory, name, 'migration.sql'), 'utf8') },
        },
      })),
  };
}

async function schemaEngine(url: string): Promise<Engine> {
  const glueFile = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg');
  const glue = await import(pathToFileURL(glueFile).href);
  const { instance } = await WebAssembly.instantiate(readFileSync(glueFile.replace(/\.js$/, '.wasm')), { './schema_engine_bg.js': glue });
  glue.__wbg_set_wasm(instance.exports);
  (instance.exports['__wbindgen_start'] as () => void)();
  const SchemaEngine = glue.SchemaEngine as typeof Engine;
  return SchemaEngine.new(
    { datamodels: [[schemaPath, schemaFile.content]] },
    () => {},
    bindMigrationAwareSqlAdapterFactory(migrationAdapter(url)),
  );
}

async function difference(url: string): Promise<string> {
  const engine = await schemaEngine(url);
  const { stdout } = await engine.diff({
    from: { tag: 'migrations', ...migrationList() },
    to: { tag: 'schemaDatamodel', files: [schemaFile] },
    script: true,
    exitCode: null,
    filters: { externalTables: [], externalEnums: [] },
  });
  const sql = (stdout ?? '').trim();
  return sql === '-- This is an empty migration.' ? '' : sql;
}

const [command, name = 'change'] = process.argv.slice(2);
const scratch = mkdtempSync(path.join(tmpdir(), 'packhorse-schema-'));
const server = await startPostgres({ home: scratch, throwaway: true });
let failed = false;
try {
  const sql = await difference(server.url());
  if (command === 'check') {
    failed = sql !== '';
    console.log(failed ? `schema.prisma and the migrations differ:\n${sql}` : 'schema.prisma and the migrations agree');
  } else if (sql === '') {
    console.log('no change');
  } else {
    const target = path.join(directory, `${new Date().toISOString().replace(/\D/g, '').slice(0, 14)}_${name}`);
    if (!existsSync(target)) mkdirSync(target, { recursive: true });
    writeFileSync(path.join(target, 'migration.sql'), `${sql}\n`);
    console.log(`${target}\n${sql}`);
  }
} finally {
  await server.stop('immediate');
  rmSync(scratch, { recursive: true, force: true });
}
process.exit(failed ? 1 : 0); // the engine's lock timer would keep the process alive for ten seconds
