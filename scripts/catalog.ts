// Writes prisma/catalog.txt: what the migrations make of an empty database. `--check` compares instead.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { catalogFile, readCatalog } from '../src/postgres/catalog.ts';
import { startPostgres } from '../src/postgres/embedded.ts';
import { migrate } from '../src/postgres/migrate.ts';

async function migratedCatalog(): Promise<string[]> {
  const home = mkdtempSync(path.join(tmpdir(), 'packhorse-catalog-'));
  const server = await startPostgres({ home, throwaway: true });
  try {
    await migrate(server.url());
    const client = new pg.Client({ connectionString: server.url() });
    await client.connect();
    try {
      return await readCatalog(client);
    } finally {
      await client.end();
    }
  } finally {
    await server.stop('immediate');
    rmSync(home, { recursive: true, force: true });
  }
}

const made = await migratedCatalog();
if (process.argv.includes('--check')) {
  const committed = readFileSync(catalogFile, 'utf8').split('\n').slice(0, -1);
  const difference = [
    ...made.filter((line) => !committed.includes(line)).map((line) => `+ ${line}`),
    ...committed.filter((line) => !made.includes(line)).map((line) => `- ${line}`),
  ];
  console.log(
    difference.length === 0
      ? 'catalog.txt and the migrations agree'
      : `catalog.txt and the migrations differ: npm run generate\n${difference.join('\n')}`,
  );
  process.exitCode = difference.length === 0 ? 0 : 1;
} else {
  writeFileSync(catalogFile, `${made.join('\n')}\n`);
}
