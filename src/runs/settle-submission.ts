// What became of a submission whose answer was lost, at a target that goes by no key: a person looked, and says.
import { type Caller, causeOf } from '../auth/caller.ts';
import { demand, demandTargets, isNamed } from '../auth/viewer.ts';
import { Prisma, type Tx } from '../db.ts';
import { ConflictError, InvalidInputError, NotFoundError } from '../errors.ts';
import type { EventDraft } from '../events/log.ts';
import type { DataRunStep } from '../generated/prisma/client.ts';
import { change, dataRunSubject } from '../lifecycle/transition.ts';
import { once } from '../once.ts';
import { enqueue } from '../tasks/task.ts';
import { checkText } from '../text.ts';
import { hasEnded } from './lifecycle.ts';
import type { CommandInput, Runs } from './operations.ts';
import { lockRun, type RunWithSteps } from './rows.ts';
import { moveStep, nothingToStop, recounted } from './steps.ts';
import { driveKey, driveRun } from './wake.ts';

export interface SettleSubmissionInput extends CommandInput {
  readonly outcome: 'CREATED' | 'NEVER_CREATED';
  /** With CREATED, and only then. */
  readonly childJobId: string | null;
}

/** The step's id. */
export async function settleSubmission(runs: Runs, caller: Caller, stepId: string, input: SettleSubmissionInput): Promise<string> {
  const { db } = runs;
  const found = await db.prisma.dataRunStep.findUnique({
    where: { id: stepId },
    include: { run: { select: { workspaceId: true, workspace: { select: { slug: true } } } } },
  });
  if (found === null || !isNamed(caller.viewer, found.run.workspace.slug)) throw new NotFoundError('dataset of a run');
  demand(caller.viewer, 'data-run');
  demandTargets(caller.viewer, [found]);
  const { outcome, reason } = input;
  const jobId = jobIdOf(input);
  const by = { ...causeOf(caller, reason), cause };
  const asked = [stepId, outcome, jobId, reason ?? null];
  const workspaceId = found.run.workspaceId;
  const key = { workspaceId, subject: by.actor, mutation: 'settleSubmission', key: input.idempotencyKey, input: asked };
  return once(db, key, async (tx) => {
    const locked = await lockRun(tx, found.runId);
    const step = locked?.steps.find(({ id }) => id === stepId);
    if (locked === null || step === undefined) throw new NotFoundError('dataset of a run');
    const { run } = locked;
    if (run.cancelRequestedAt !== null)
      throw new ConflictError('CANCEL_IN_PROGRESS', 'A cancel of this run is under way. Wait for it to settle.');
    if (step.parkedAt === null) {
      throw new ConflictError(
        'SUBMISSION_NOT_UNKNOWN',
        `There is nothing to settle: ${step.dataset} is ${step.state}, and its target is asked.`,
      );
    }
    const event = jobId === null ? await neverCreated(tx, locked, step) : await created(tx, locked, step, jobId);
    await change(tx, dataRunSubject, run, { to: run.state, events: event, set: [recounted(run.id)] }, by);
    if (run.driving === 'BACKGROUND' || hasEnded(run)) await enqueue(tx.sql, driveRun, { runId: run.id }, { jobKey: driveKey(run.id) });
    tx.touched.add(`progress:${run.id}`);
    return stepId;
  });
}

const cause = 'SETTLED_BY_PERSON';

function jobIdOf({ outcome, childJobId }: SettleSubmissionInput): string | null {
  if (outcome === 'NEVER_CREATED') {
    if (childJobId !== null) throw new InvalidInputError('childJobId', 'A job that was never created has no id.');
    return null;
  }
  if (childJobId === null || childJobId === '') throw new InvalidInputError('childJobId', 'With CREATED the id of the job is needed.');
  return checkText('childJobId', childJobId, { max: 500 });
}

async function created(tx: Tx, { steps }: RunWithSteps, step: DataRunStep, jobId: string): Promise<EventDraft[]> {
  const other = steps.find(({ id, target, childJobId }) => id !== step.id && target === step.target && childJobId === jobId);
  if (other !== undefined) throw new ConflictError('CHILD_ALREADY_KNOWN', `The job ${jobId} is the child of ${other.dataset}.`);
  if (step.state === 'SUBMITTING')
    return [await moveStep(tx, step, 'ACCEPT', [Prisma.sql`child_job_id = ${jobId}, parked_at = NULL`], cause)];
  await tx.sql.$executeRaw`UPDATE data_run_step SET child_job_id = ${jobId}, parked_at = NULL WHERE id = ${step.id}::uuid`;
  return [{ action: 'ACCEPT', from: step.state, to: step.state, dataset: step.dataset, cause }];
}

/** The same attempt goes out again: a next one, with a new key, would hide from a target that keeps keys after all that it is the same work. */
async function neverCreated(tx: Tx, { run }: RunWithSteps, step: DataRunStep): Promise<EventDraft[]> {
  await tx.sql.$executeRaw`UPDATE data_run_step SET sent_at = NULL, parked_at = NULL WHERE id = ${step.id}::uuid`;
  if (step.state === 'CANCELLING' || hasEnded(run)) return nothingToStop(tx, step, cause);
  return [{ action: 'SUBMIT', from: step.state, to: step.state, dataset: step.dataset, cause }];
}
