// `packhorse start|pause|resume|cancel|reset ID`, of a run; `cancel ID` of an export too.
import type { Command } from '@commander-js/extra-typings';
import {
  cancelDataRunDocument,
  pauseDataRunDocument,
  resetDataRunDocument,
  resumeDataRunDocument,
  startDataRunDocument,
} from '../client/documents.ts';
import { cancelExportExecutionDocument } from '../client/export-documents.ts';
import { type Connection, execute } from '../client/request.ts';
import { clientCommand, connect } from './connection.ts';
import { exitCode, granted, notFound } from './outcome.ts';
import type { Surroundings } from './surroundings.ts';

interface Asked {
  readonly dataRunId: string;
  readonly reason: string | null;
  readonly idempotencyKey: string | null;
}

type Ask = (
  connection: Connection,
  input: Asked,
) => Promise<{ readonly id: string; readonly state: string; readonly resetAt?: string | null }>;

const start =
  (planDigest: string | null): Ask =>
  async (connection, { dataRunId, idempotencyKey }) =>
    granted(
      (await execute(connection, startDataRunDocument, { input: { dataRunId, planDigest, idempotencyKey } })).startDataRun,
      'DataRun',
    );
const pause: Ask = async (connection, input) =>
  granted((await execute(connection, pauseDataRunDocument, { input })).pauseDataRun, 'DataRun');
const resume: Ask = async (connection, input) =>
  granted((await execute(connection, resumeDataRunDocument, { input })).resumeDataRun, 'DataRun');
const reset: Ask = async (connection, input) =>
  granted((await execute(connection, resetDataRunDocument, { input })).resetDataRun, 'DataRun');
const cancel =
  (force: boolean): Ask =>
  async (connection, input) => {
    const { cancelDataRun } = await execute(connection, cancelDataRunDocument, { input: { ...input, force } });
    if (cancelDataRun.__typename !== 'NotFoundError') return granted(cancelDataRun, 'DataRun');
    const { dataRunId: exportExecutionId, ...said } = input;
    const { cancelExportExecution } = await execute(connection, cancelExportExecutionDocument, { input: { exportExecutionId, ...said } });
    if (cancelExportExecution.__typename === 'NotFoundError') throw notFound('run or export');
    return granted(cancelExportExecution, 'ExportExecution');
  };

export function addControls(program: Command, surroundings: Surroundings): void {
  commandOf(program, 'start', 'begin a registered run, or take up a paused one')
    .option('--plan <digest>', 'only if all that this plan of it was made of is as it was')
    .action((id, options) => carryOut(start(options.plan ?? null), id, options));
  controlCommand(program, 'pause', 'submit nothing more; what is active goes on').action((id, options) => carryOut(pause, id, options));
  controlCommand(program, 'resume', 'go on with a paused run').action((id, options) => carryOut(resume, id, options));
  controlCommand(program, 'cancel', 'end a run, after asking its active children to stop, or an export')
    .option('--force', 'although a child refuses')
    .action((id, options) => carryOut(cancel(options.force === true), id, options));
  controlCommand(program, 'reset', 'take back what a run that has ended wrote, and put back what it replaced').action((id, options) =>
    carryOut(reset, id, options),
  );

  async function carryOut(ask: Ask, dataRunId: string, options: ControlOptions): Promise<void> {
    const run = await ask(connect(options, surroundings), {
      dataRunId,
      reason: options.reason ?? null,
      idempotencyKey: options.idempotencyKey ?? null,
    });
    const taken = typeof run.resetAt === 'string' ? ', and what it wrote was taken back' : '';
    surroundings.out(options.json ? JSON.stringify(run) : `${run.id} is ${run.state}${taken}`);
    surroundings.finish(exitCode.succeeded);
  }
}

interface ControlOptions {
  readonly url: string;
  readonly token?: string | undefined;
  readonly json?: true | undefined;
  readonly reason?: string | undefined;
  readonly idempotencyKey?: string | undefined;
}

function controlCommand(program: Command, name: string, description: string) {
  return commandOf(program, name, description).option('--reason <text>', 'why: kept with the event');
}

function commandOf(program: Command, name: string, description: string) {
  return clientCommand(program, name, description)
    .argument('<id>', 'its id')
    .option('--idempotency-key <key>', 'the same key gives the first result again, for 24 hours');
}
