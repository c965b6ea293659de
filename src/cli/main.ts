// The command line's entry: what the process gives, the commands, and how errors end it. A fault is one line, never a stack trace.
import { readFileSync } from 'node:fs';
import { Command, CommanderError } from '@commander-js/extra-typings';
import { ClientError } from '../client/request.ts';
import { InvalidPackageError } from '../errors.ts';
import { createLog } from '../log.ts';
import { addControls } from './control.ts';
import { addDemo } from './demo.ts';
import { addExport } from './export.ts';
import { addExports } from './exports.ts';
import { addLoad } from './load.ts';
import { addMigrate } from './migrate.ts';
import { exitCode, exitCodeHelp, problemLines, Refusal } from './outcome.ts';
import { addPlan } from './plan.ts';
import { isPortTaken } from './port.ts';
import { addRejected } from './rejected.ts';
import { addRetry } from './retry.ts';
import { addRun } from './run.ts';
import { addRuns } from './runs.ts';
import { addServe } from './serve.ts';
import { addSettle } from './settle.ts';
import type { Surroundings } from './surroundings.ts';
import { addTarget } from './target.ts';
import { addToken } from './token.ts';
import { addVerify } from './verify.ts';
import { addWatch } from './watch.ts';
import { addWorker } from './worker.ts';

/** What is not the caller's to mend. */
const faults = new Set(['UNREACHABLE', 'BAD_ANSWER', 'INTERNAL_ERROR', 'UNAVAILABLE', 'BUSY']);

/** By name: their classes stand in modules that only a server needs. */
const ofTheSurroundings = new Set(['ConfigError', 'StartError', 'MigrationError', 'PostgresError']);

const surroundings: Surroundings = {
  env: process.env,
  out: (line) => void process.stdout.write(`${line}\n`),
  note: (line) => void process.stderr.write(`${line}\n`),
  isTerminal: process.stderr.isTTY === true,
  finish: (code) => {
    process.exitCode = code;
  },
  pack: async (folder) => (await import('../packages/pack.ts')).packFolder(folder),
};

// A reader that has had enough, as `head`, is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(exitCode.succeeded);
});
process.on('uncaughtException', (error) => process.exit(tell(error)));

try {
  await commandLine().parseAsync();
} catch (error) {
  process.exit(tell(error));
}

function commandLine(): Command {
  const program = new Command('packhorse')
    .description('Loads data packages into workspaces and exports workspaces as data packages, driven and watched through GraphQL.')
    .version(version(), '-V, --version')
    .addHelpText('afterAll', exitCodeHelp)
    .showHelpAfterError('(--help tells more)')
    .exitOverride();
  for (const add of [
    addServe,
    addWorker,
    addMigrate,
    addToken,
    addTarget,
    addLoad,
    addRetry,
    addRuns,
    addRun,
    addPlan,
    addRejected,
    addControls,
    addSettle,
    addWatch,
    addExport,
    addExports,
    addVerify,
    addDemo,
  ]) {
    add(program, surroundings);
  }
  return program;
}

function version(): string {
  const stated: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')); // the same from src/ and from dist/
  return typeof stated === 'object' && stated !== null && 'version' in stated ? String(stated.version) : 'unknown';
}

/** Says what is wrong, and returns the code to exit with. */
function tell(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.succeeded : exitCode.refused; // it has said it
  if (error instanceof Refusal) return complain(error.message, exitCode.refused, error.details, error.code);
  if (error instanceof InvalidPackageError) return complain(error.message, exitCode.refused, problemLines(error.problems), error.code);
  if (error instanceof ClientError)
    return complain(error.message, faults.has(error.code) ? exitCode.fault : exitCode.refused, [], error.code);
  if (error instanceof Error && ofTheSurroundings.has(error.name)) return complain(error.message, exitCode.fault);
  if (isPortTaken(error)) {
    const { address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number }; // what listening fails with
    return complain(`port ${port} on ${address} is in use: stop what listens there, or set PORT to another one`, exitCode.fault);
  }
  return unexpected(error);
}

function complain(message: string, code: number, details: readonly string[] = [], name?: string): number {
  surroundings.note(`packhorse: ${message}${name === undefined ? '' : ` [${name}]`}`);
  // A single problem without a place is what the message says already.
  for (const detail of details.filter((line) => !line.startsWith(message))) surroundings.note(`  ${detail}`);
  return code;
}

function unexpected(error: unknown): number {
  createLog({ logLevel: 'error' }).fatal({ err: error }, 'unexpected');
  const [first = 'unknown'] = (error instanceof Error ? error.message : String(error)).trim().split('\n');
  return complain(`${first} (unexpected: the log line above has the whole)`, exitCode.fault);
}
