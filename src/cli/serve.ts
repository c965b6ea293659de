// `packhorse serve` and `packhorse worker`: a process that lasts until it is told to stop.
import type { Command } from '@commander-js/extra-typings';
import { type Config, readConfig } from '../config.ts';
import { createLog } from '../log.ts';
import { jsonFlag } from './connection.ts';
import { exitCode } from './outcome.ts';
import { probePort } from './port.ts';
import type { Surroundings } from './surroundings.ts';

export function addServe(program: Command, surroundings: Surroundings): void {
  program
    .command('serve')
    .description('serve the API, and work in the background too unless PACKHORSE_ROLE says otherwise')
    .option(...jsonFlag)
    .action(({ json }) => run(readConfig(surroundings.env), surroundings, json === true));
}

export async function run(config: Config, surroundings: Surroundings, json: boolean): Promise<void> {
  const log = createLog(config);
  const asked = stopRequested();
  if (config.role !== 'worker') await probePort(config.host, config.port);
  const { startPackhorse } = await import('../main.ts'); // the server's modules take a second, which the other commands should not
  const packhorse = await startPackhorse(config, log);
  const url = config.role === 'worker' ? null : packhorse.url;
  log.info({ role: config.role, ...(url === null ? {} : { url }) }, 'ready');
  if (json) surroundings.out(JSON.stringify({ ready: true, role: config.role, url }));
  else surroundings.out(url === null ? 'Packhorse works in the background' : `Packhorse serves ${url} (GraphiQL: ${url}/graphiql)`);
  const signal = await asked;
  log.info({ signal }, 'stopping');
  await packhorse.stop();
  log.info({ signal }, 'stopped');
  surroundings.finish(exitCode.succeeded);
}

/** Resolves at the first SIGINT or SIGTERM. The second does not wait for anything. */
export function stopRequested(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let stopping = false;
    const stop = (signal: NodeJS.Signals) => {
      if (stopping) process.exit(exitCode.fault);
      stopping = true;
      resolve(signal);
    };
    process.on('SIGINT', stop);
    process.on('SIGTERM', stop);
  });
}
