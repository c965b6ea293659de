// `packhorse migrate`: brings the database to this version, or tells what it lacks.
import type { Command } from '@commander-js/extra-typings';
import { readConfig } from '../config.ts';
import { missingFromCatalog } from '../postgres/catalog.ts';
import { connect, migrate } from '../postgres/migrate.ts';
import { jsonFlag } from './connection.ts';
import { exitCode } from './outcome.ts';
import type { Surroundings } from './surroundings.ts';

export function addMigrate(program: Command, surroundings: Surroundings): void {
  program
    .command('migrate')
    .description('bring the database to this version')
    .option('--check', 'change nothing; list what is missing of what the migrations made, and exit with 1 if something is')
    .option(...jsonFlag)
    .action(async ({ check, json }) => {
      const { databaseOf } = await import('../main.ts');
      const database = await databaseOf(readConfig(surroundings.env));
      try {
        if (check) await tellMissing(database.url, surroundings, json === true);
        else await apply(database.url, surroundings, json === true);
      } finally {
        await database.stop();
      }
    });
}

async function apply(url: string, { out, finish }: Surroundings, json: boolean): Promise<void> {
  const applied = await migrate(url);
  if (json) out(JSON.stringify({ applied }));
  else for (const line of applied.length === 0 ? ['nothing to apply'] : applied.map((name) => `applied ${name}`)) out(line);
  finish(exitCode.succeeded);
}

async function tellMissing(url: string, { out, finish }: Surroundings, json: boolean): Promise<void> {
  const missing = await missingIn(url);
  if (json) out(JSON.stringify({ missing }));
  else for (const line of missing.length === 0 ? ['nothing is missing'] : missing) out(line);
  finish(missing.length === 0 ? exitCode.succeeded : exitCode.fault);
}

async function missingIn(url: string): Promise<string[]> {
  const client = await connect(url);
  try {
    return await missingFromCatalog(client);
  } finally {
    await client.end();
  }
}
