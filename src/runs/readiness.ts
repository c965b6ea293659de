// Readiness and holds: what is missing from the data, and why nothing moves. Read from the rows; nothing here writes.
import type { DataRun, DataRunStep, Grant } from '../generated/prisma/client.ts';
import type { Blocker } from '../records/outcome.ts';
import type { Hold } from '../shown.ts';
import { blockersOf, decide, rowsRejected } from './decide.ts';
import { hasEnded } from './lifecycle.ts';

export interface Readiness {
  readonly ready: boolean;
  readonly blockers: readonly Blocker[];
}

const blocker = (code: string, step: DataRunStep, message: string): Blocker => ({
  code,
  dataset: step.dataset,
  message,
  count: 0,
  sampleKeys: [],
  clearedBy: [step.dataset],
});

function rejected(step: DataRunStep): Blocker[] {
  return step.rowsRejected === 0n ? [] : [rowsRejected(step.dataset, Number(step.rowsRejected))];
}

/** Ready: every dataset of the package is in the workspace, whole. A run can succeed without that. */
export function readinessOf({ resetAt }: Pick<DataRun, 'resetAt'>, steps: readonly DataRunStep[]): Readiness {
  const blockers = steps.flatMap((step): readonly Blocker[] => {
    if (resetAt !== null && (step.state === 'SUCCEEDED' || step.state === 'BLOCKED'))
      return [blocker('DATASET_RESET', step, `What this run wrote of the dataset ${step.dataset} was taken back.`)];
    if (step.state === 'SUCCEEDED') return rejected(step);
    if (step.state === 'BLOCKED') return [...blockersOf(step), ...rejected(step)];
    if (step.state === 'FAILED') return [blocker('DATASET_FAILED', step, `The dataset ${step.dataset} failed; nothing of it was written.`)];
    if (step.state === 'SKIPPED' || step.state === 'CANCELLED')
      return [blocker('DATASET_NOT_LOADED', step, `The dataset ${step.dataset} was not loaded.`)];
    return [blocker('DATASET_PENDING', step, `The dataset ${step.dataset} is not loaded yet.`)];
  });
  return { ready: blockers.length === 0, blockers };
}

export interface HoldSource {
  readonly run: DataRun;
  readonly steps: readonly DataRunStep[];
  /** For driving, in force now. */
  readonly grant: Grant | null;
  /** When the newest one ended, where none is in force. */
  readonly lapsedAt: Date | null;
}

const told = new WeakMap<HoldSource, Hold[]>();

/** Every unmet condition; empty exactly when the next pass would act, or when nothing is left to do. */
export function whyNotRunning(source: HoldSource): Hold[] {
  const known = told.get(source) ?? holdsOf(source); // once for all steps of a run that ask
  told.set(source, known);
  return known;
}

function holdsOf({ run, steps, grant, lapsedAt }: HoldSource): Hold[] {
  if (hasEnded(run)) return [];
  const since = run.pausedAt ?? run.startedAt ?? run.registeredAt;
  const hold = (code: string, message: string, remedy: string, from = since): Hold => ({
    code,
    subject: 'run',
    message,
    since: from,
    remedy,
  });
  if (run.cancelRequestedAt !== null) {
    return [
      hold(
        'CANCEL_IN_PROGRESS',
        'A cancel is under way: active children are being asked to stop.',
        'Wait for the cancel to settle.',
        run.cancelRequestedAt,
      ),
    ];
  }
  if (run.state === 'REGISTERED') return [hold('NOT_STARTED', 'The run is registered and was not started.', 'Start it.')];
  if (run.state === 'PAUSED') return [hold('PAUSED', 'The run is paused: nothing more is submitted.', 'Resume it.'), ...waitingFor(steps)];
  const { settle, block, finallyBlock, submit } = decide(steps);
  const unanswered = steps.filter((step) => step.state === 'SUBMITTING' && step.parkedAt === null);
  const couldAct = settle !== null || block.length > 0 || finallyBlock.length > 0 || submit.length > 0;
  if (run.driving === 'ON_REQUEST') {
    if (couldAct) return [];
    const asked = hold(
      'WAITING_FOR_ADVANCE',
      'The run is driven on request only: nobody looks how its children stand until somebody asks.',
      'Advance it.',
    );
    return [asked, ...waitingFor(steps)];
  }
  const isHeld = (step: DataRunStep) => !(grant?.targets.includes(step.target) ?? false);
  if (settle !== null || block.length > 0 || finallyBlock.length > 0 || !submit.every(isHeld)) return [];
  const lapsed = [...submit, ...unanswered].filter(isHeld).map((step): Hold => {
    const message = `Nobody’s authority on the target ${step.target} is in force, so ${step.dataset} is held.`;
    const remedy = 'Renew its grant (renewDataRunGrant), or advance it, with authority on the target.';
    return { code: 'AUTHORITY_LAPSED', subject: step.dataset, message, since: lapsedAt ?? since, remedy };
  });
  return [...lapsed, ...waitingFor(steps.filter((step) => !unanswered.includes(step) || !isHeld(step)))];
}

function waitingFor(steps: readonly DataRunStep[]): Hold[] {
  return steps.flatMap((step): Hold[] => {
    const { dataset, target } = step;
    const since = step.submittedAt ?? new Date(0);
    if (step.state === 'ACTIVE') {
      const remedy = 'Wait for it, or cancel the run.';
      return [{ code: 'CHILD_AT_WORK', subject: dataset, message: `The child of ${dataset} has not ended.`, since, remedy }];
    }
    if (step.parkedAt !== null) {
      const message = `Whether the target ${target} took ${dataset} is not known, and it cannot be asked: sent again, it might be loaded twice.`;
      const remedy = `Look there for the key ${step.idempotencyKey}, then say what you found with settleSubmission.`;
      return [{ code: 'SUBMISSION_UNKNOWN', subject: dataset, message, since: step.parkedAt, remedy }];
    }
    if (step.state === 'SUBMITTING') {
      const message = `The target ${target} has not answered for ${dataset}.`;
      return [
        { code: 'SUBMISSION_UNANSWERED', subject: dataset, message, since, remedy: 'It is asked again at every pass; check the target.' },
      ];
    }
    return [];
  });
}

/** Why one step does not move: what its run waits for, or the datasets that it needs. */
export function whyStepNotRunning(source: HoldSource, stepId: string): Hold[] {
  const { run, steps } = source;
  const step = steps.find(({ id }) => id === stepId);
  if (step === undefined) return [];
  const since = run.startedAt ?? run.registeredAt;
  if (step.state === 'BLOCKED') {
    return blockersOf(step).map((b) => ({
      code: b.code,
      subject: step.dataset,
      message: b.message,
      since: step.settledAt ?? since,
      remedy: step.finallyBlocked
        ? `Load ${b.clearedBy.join(', ') || 'what is missing'} and register a new run.`
        : `It is tried again when ${b.clearedBy.join(', ') || 'another dataset'} has succeeded.`,
    }));
  }
  if (step.state === 'SUBMITTING' || step.state === 'ACTIVE' || step.parkedAt !== null) return waitingFor([step]);
  if (step.state !== 'PENDING') return [];
  const missing = step.dependsOn
    .filter((name) => steps.find(({ dataset }) => dataset === name)?.state !== 'SUCCEEDED')
    .map(
      (name): Hold => ({
        code: 'WAITING_FOR_DATASET',
        subject: step.dataset,
        message: `It needs ${name}, which has not succeeded.`,
        since,
        remedy: `Wait for ${name}.`,
      }),
    );
  const ofRun = whyNotRunning(source).filter((hold) => hold.subject === 'run' || hold.subject === step.dataset);
  return [...ofRun, ...missing];
}
