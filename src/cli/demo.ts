// `npm run demo`: the main job from nothing. An embedded Postgres, a server, a real package loaded while its bars move, and what is there afterwards.
import path from 'node:path';
import type { Command } from '@commander-js/extra-typings';
import { WebSocket } from 'ws';
import type { Connection } from '../client/request.ts';
import { type Config, ConfigError, readConfig } from '../config.ts';
import { createLog } from '../log.ts';
import type { Packhorse } from '../main.ts';
import { jsonFlag } from './connection.ts';
import { type DemoResult, loadExample } from './demo-load.ts';
import { exitCode } from './outcome.ts';
import { isPortTaken, probePort } from './port.ts';
import { rowTable, table } from './print.ts';
import { stopRequested } from './serve.ts';
import type { Surroundings } from './surroundings.ts';
import { everyPermission, tokenFor } from './token.ts';

export const exampleFolder = path.resolve(import.meta.dirname, '../../examples/world'); // the same from src/ and from dist/
const workspace = 'demo';
const daySeconds = 86_400;

export function addDemo(program: Command, surroundings: Surroundings): void {
  program
    .command('demo')
    .description('start a Postgres and a server, load a real package, show it, and stay up')
    .option('--once', 'stop afterwards; 0 only if all of it held')
    .option('--database-url <url>', 'a Postgres to use; without it an embedded one is started, whatever DATABASE_URL says')
    .option(...jsonFlag)
    .action(async ({ once, databaseUrl, json }) => {
      const { env, note, out } = surroundings;
      const config = await freePort(demoConfig(env, databaseUrl), note);
      const asked = stopRequested();
      note(databaseUrl === undefined ? `Starting Postgres in ${config.home} and the server…` : 'Starting the server…');
      const { startPackhorse } = await import('../main.ts');
      const packhorse = await startPackhorse(config, createLog(config));
      try {
        const connection = connectionTo(packhorse, config);
        note(`The server is at ${packhorse.url}. Loading ${exampleFolder} into the workspace ${workspace}:`);
        const result = await loadExample(connection, workspace, exampleFolder, surroundings, json === true);
        const token = await issue(config, daySeconds);
        if (json) out(JSON.stringify({ ...result, url: packhorse.url, graphiql: `${packhorse.url}/graphiql`, token }));
        else tell(result, packhorse.url, token, out);
        const held = result.checks.every(({ holds }) => holds);
        surroundings.finish(held ? exitCode.succeeded : exitCode.fault);
        if (once) return;
        note('Ctrl-C stops it.');
        await asked;
        note('Stopping…');
      } finally {
        await packhorse.stop();
      }
    });
}

function demoConfig(env: NodeJS.ProcessEnv, databaseUrl: string | undefined): Config {
  // The log would write over the bars.
  const quiet = { ...env, PACKHORSE_LOG_LEVEL: env['PACKHORSE_LOG_LEVEL'] ?? 'warn', PACKHORSE_ROLE: 'all', DATABASE_URL: databaseUrl };
  const config = readConfig(quiet);
  if (config.production) throw new ConfigError('NODE_ENV: the demo prints a token for everything, and is refused where it is production');
  return config;
}

async function freePort(config: Config, note: Surroundings['note']): Promise<Config> {
  try {
    await probePort(config.host, config.port);
    return config;
  } catch (error) {
    if (!isPortTaken(error)) throw error;
    note(`Port ${config.port} is in use: taking a free one.`);
    return { ...config, port: 0 };
  }
}

function issue(config: Config, expiresInSeconds: number): Promise<string> {
  return tokenFor(config, { subject: 'demo', permissions: everyPermission, workspaces: ['*'], expiresInSeconds });
}

function connectionTo({ url }: Packhorse, config: Config): Connection {
  return { url, token: () => issue(config, 600), webSocket: WebSocket };
}

function tell({ run, datasets, sample, checks }: DemoResult, url: string, token: string, out: Surroundings['out']): void {
  const say = (lines: readonly string[]) => {
    for (const line of ['', ...lines]) out(line);
  };
  say(rowTable(run));
  say(
    table(
      ['IN THE WORKSPACE', 'ROWS#'],
      datasets.map(({ name, rowCount }) => [name, BigInt(rowCount).toLocaleString('en')]),
    ),
  );
  say([`The first rows of ${sample.dataset}, asked for through GraphQL:`, ...table(sample.fields, sample.rows)]);
  say(checks.map(({ what, holds }) => `${holds ? '✓' : '✗'} ${what}`));
  say([
    `GraphiQL: ${url}/graphiql`,
    'Its headers (below the query): {"Authorization": "Bearer <token>"}, with this token, good for a day:',
  ]);
  say([token]);
}
