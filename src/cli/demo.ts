// `npm run demo`: the main jobs from nothing. An embedded Postgres, a server, a real package loaded while its bars move, and taken out again.
import path from 'node:path';
import type { Command } from '@commander-js/extra-typings';
import { WebSocket } from 'ws';
import type { Connection } from '../client/request.ts';
import { type Config, ConfigError, readConfig } from '../config.ts';
import type { PublicJwk } from '../exports/archive/signing.ts';
import { createLog } from '../log.ts';
import type { Packhorse } from '../main.ts';
import { jsonFlag } from './connection.ts';
import { type ExportedDemo, exportExample } from './demo-export.ts';
import { type Check, type DemoResult, loadExample } from './demo-load.ts';
import { exitCode } from './outcome.ts';
import { isPortTaken, probePort } from './port.ts';
import { count, rowTable, table } from './print.ts';
import { stopRequested } from './serve.ts';
import type { Surroundings } from './surroundings.ts';
import { everyPermission, tokenFor } from './token.ts';

export const exampleFolder = path.resolve(import.meta.dirname, '../../examples/world'); // the same from src/ and from dist/
const workspace = 'demo';
const copy = 'demo-copy';
const daySeconds = 86_400;

export function addDemo(program: Command, surroundings: Surroundings): void {
  program
    .command('demo')
    .description('start a Postgres and a server, load a real package, export it and load the export, show it all, and stay up')
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
        const quiet = { ...surroundings, isTerminal: surroundings.isTerminal && !json };
        const options = { slug: workspace, copy, file: path.join(config.home, 'demo.zip'), verify: verifierOf(packhorse) };
        const exports = await exportExample(connection, options, quiet);
        const checks = [...result.checks, ...exports.checks];
        const token = await issue(config, daySeconds);
        const graphiql = `${packhorse.url}/graphiql`;
        const dashboard = `${packhorse.url}/#token=${token}`; // after the #: it is never sent, and the page takes it out of the address
        if (json) out(JSON.stringify({ ...result, exports, checks, url: packhorse.url, dashboard, graphiql, token }));
        else tell({ result, exports, checks, dashboard, graphiql, token }, out);
        const held = checks.every(({ holds }) => holds);
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

/** As `packhorse verify --keys` does it. */
function verifierOf({ url }: Packhorse): (file: string) => Promise<readonly string[]> {
  return async (file) => {
    const { verifyExport } = await import('../exports/archive/verify.ts');
    const answer = await fetch(`${url}/.well-known/packhorse-keys.json`);
    const { keys } = (await answer.json()) as { readonly keys: readonly PublicJwk[] }; // our own server's
    const { findings } = await verifyExport(file, keys);
    return findings.map(({ message }) => message);
  };
}

interface Told {
  readonly result: DemoResult;
  readonly exports: ExportedDemo;
  readonly checks: readonly Check[];
  readonly dashboard: string;
  readonly graphiql: string;
  readonly token: string;
}

function tell({ result: { run, datasets, sample }, exports, checks, dashboard, graphiql, token }: Told, out: Surroundings['out']): void {
  const say = (lines: readonly string[]) => {
    for (const line of ['', ...lines]) out(line);
  };
  say(rowTable(run));
  say(
    table(
      ['IN THE WORKSPACE', 'ROWS#'],
      datasets.map(({ name, rowCount }) => [name, count(rowCount)]),
    ),
  );
  say([`The first rows of ${sample.dataset}, asked for through GraphQL:`, ...table(sample.fields, sample.rows)]);
  say([
    `Exported to ${exports.file}, and loaded from there into ${copy}:`,
    ...table(
      ['EXPORT OF', 'ROWS#', 'DIGEST OF THE MANIFEST'],
      exports.digests.map(({ workspace: of, rows, digest }) => [of, rows, digest ?? '']),
    ),
  ]);
  say(checks.map(({ what, holds }) => `${holds ? '✓' : '✗'} ${what}`));
  say(['The dashboard, signed in for a day:', dashboard]);
  say([`GraphiQL: ${graphiql}`, 'Its headers (below the query): {"Authorization": "Bearer <token>"}, with the same token:']);
  say([token]);
}
