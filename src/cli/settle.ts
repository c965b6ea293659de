// `packhorse settle ID`: what somebody found at a target that cannot be asked by key, where an answer was lost.
import { type Command, Option } from '@commander-js/extra-typings';
import { type Connection, execute } from '../client/request.ts';
import { runHoldsDocument, settleSubmissionDocument } from '../client/settle-documents.ts';
import { clientCommand, connect } from './connection.ts';
import { exitCode, granted, notFound, Refusal } from './outcome.ts';
import type { Surroundings } from './surroundings.ts';

export function addSettle(program: Command, surroundings: Surroundings): void {
  clientCommand(program, 'settle', 'say what became of a dataset of a run whose target’s answer was lost (SUBMISSION_UNKNOWN)')
    .argument('<id>', 'the run’s id')
    .option('--dataset <name>', 'which, where the run waits for more than one')
    .addOption(new Option('--created <job>', 'the target has it, as the job of this id').conflicts('neverCreated'))
    .option('--never-created', 'the target never had it: it is sent again')
    .option('--reason <text>', 'why: kept with the event')
    .option('--idempotency-key <key>', 'the same key gives the first result again, for 24 hours')
    .action(async (runId, { dataset, created, neverCreated, reason, idempotencyKey, json, ...given }) => {
      if (created === undefined && neverCreated === undefined)
        throw new Refusal('INVALID_INPUT', 'Say what was found: --created JOB, or --never-created.');
      const connection = connect(given, surroundings);
      const input = {
        dataRunStepId: await stepOf(connection, runId, dataset),
        outcome: created === undefined ? ('NEVER_CREATED' as const) : ('CREATED' as const),
        childJobId: created ?? null,
        reason: reason ?? null,
        idempotencyKey: idempotencyKey ?? null,
      };
      const step = granted((await execute(connection, settleSubmissionDocument, { input })).settleSubmission, 'DataRunStep');
      surroundings.out(json ? JSON.stringify(step) : `${step.dataset} is ${step.state}`);
      surroundings.finish(exitCode.succeeded);
    });
}

/** A dataset that is named is asked about as it is: the server says where there is nothing to settle, and a key gives its first result. */
async function stepOf(connection: Connection, id: string, dataset: string | undefined): Promise<string> {
  const { dataRun } = await execute(connection, runHoldsDocument, { id });
  if (dataRun === null) throw notFound('run');
  const isHeld = ({ whyNotRunning }: (typeof dataRun.steps)[number]) => whyNotRunning.some(({ code }) => code === 'SUBMISSION_UNKNOWN');
  const found = dataRun.steps.filter((step) => (dataset === undefined ? isHeld(step) : step.dataset === dataset));
  const [step] = found;
  if (step === undefined) {
    if (dataset !== undefined) throw notFound('dataset of the run');
    throw new Refusal('SUBMISSION_NOT_UNKNOWN', 'There is nothing to settle: no dataset of the run waits for a person to look.');
  }
  if (found.length > 1)
    throw new Refusal('INVALID_INPUT', `Name one of its datasets with --dataset: ${found.map((one) => one.dataset).join(', ')}.`);
  return step.id;
}
