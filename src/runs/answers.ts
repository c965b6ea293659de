// What the children's answers mean for their steps. Callers hold the run's lock.
import { Prisma, type Tx } from '../db.ts';
import type { EventDraft } from '../events/log.ts';
import type { DataRun, DataRunStep } from '../generated/prisma/client.ts';
import type { Answers, Told } from './children.ts';
import { hasEnded } from './lifecycle.ts';
import type { RunWithSteps } from './rows.ts';
import { applyReport, childMissing, failOverdue, failStep, noteCancelAnswer, noteOverdue, nothingToStop } from './steps.ts';
import type { Targets } from './targets/target.ts';

export async function applyAnswers(tx: Tx, { run, steps }: RunWithSteps, answers: Answers, targets: Targets): Promise<EventDraft[]> {
  const events: EventDraft[] = [];
  const owners = new Map(steps.flatMap(({ id, target, childJobId }) => (childJobId === null ? [] : [[`${target} ${childJobId}`, id]])));
  for (const step of steps) {
    const told = answers.get(step.id);
    // The step has moved on since its child was asked, by a cancel or another attempt: what was said then is not about it as it is now.
    if (told === undefined || told.state !== step.state || told.attempt !== step.attempt) continue;
    if (told.answer.is === 'job') {
      // One job for two steps: the target is at fault, and whichever step were told of its end, the other's rows would be missing.
      const job = `${step.target} ${told.answer.report.id}`;
      if ((owners.get(job) ?? step.id) !== step.id) continue;
      owners.set(job, step.id);
    }
    events.push(...(await applyAnswer(tx, run, step, told, targets)));
  }
  return events;
}

/** What an answer means for its step. A refusal ends a step only as the answer to its submission; an unknown changes nothing, and is asked again. */
async function applyAnswer(tx: Tx, run: DataRun, step: DataRunStep, { answer, asked }: Told, targets: Targets): Promise<EventDraft[]> {
  const stopping = step.state === 'CANCELLING';
  if (step.state === 'FAILED') return noteOverdue(tx, step, answer);
  if (asked === 'to stop, being late') return failOverdue(tx, step, answer, hasEnded(run));
  switch (answer.is) {
    case 'job': {
      const { report } = answer;
      // The cancel that is under way stopped it, and will say so.
      if (report.state === 'cancelled' && run.cancelRequestedAt !== null) return [];
      if (report.state === 'cancelled' && asked === 'to stop' && !stopping) return nothingToStop(tx, step, 'RUN_ENDED');
      if (stopping) await noteCancelAnswer(tx, step, 'requested');
      return applyReport(tx, step, report, hasEnded(run));
    }
    case 'none':
      if (asked === 'to stop') return nothingToStop(tx, step, stopping ? undefined : 'RUN_ENDED');
      return step.state === 'ACTIVE' ? childMissing(tx, step) : [];
    case 'refused':
      return asked === 'submit' && step.state === 'SUBMITTING' ? [await failStep(tx, step, answer.failure)] : [];
    case 'forbidden':
      if (asked === 'submit' && step.state === 'SUBMITTING') return [await failStep(tx, step, refusedAccess(answer.message))];
      if (stopping) await noteCancelAnswer(tx, step, 'refused');
      return [];
    case 'unsent':
      if (asked === 'submit') await noteUnsent(tx, step);
      if (stopping) await noteCancelAnswer(tx, step, 'unreachable');
      return [];
    case 'unknown':
      if (stopping) await noteCancelAnswer(tx, step, 'unreachable');
      if (targets.get(step.target)?.idempotency === 'none') await park(tx, step);
      return [];
  }
}

const refusedAccess = (message: string) =>
  ({ code: 'ACCESS_REFUSED', origin: 'authority', phase: 'submitting', retryable: true, summary: message }) as const;

/** Nothing of it reached the target, so that it may go out again whatever the target goes by. */
async function noteUnsent(tx: Tx, step: DataRunStep): Promise<void> {
  await tx.sql.$executeRaw`UPDATE data_run_step SET sent_at = NULL WHERE id = ${step.id}::uuid AND state = 'SUBMITTING'`;
}

/** Whether its submission made a job only a person can say now. */
async function park(tx: Tx, step: DataRunStep): Promise<void> {
  if (step.childJobId !== null || step.sentAt === null) return;
  await tx.sql.$executeRaw(
    Prisma.sql`UPDATE data_run_step SET parked_at = coalesce(parked_at, clock_timestamp()) WHERE id = ${step.id}::uuid AND state IN ('SUBMITTING', 'CANCELLING')`,
  );
}
