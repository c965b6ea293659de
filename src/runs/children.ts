// Asking children: how they stand, and to stop. In parallel, each under one deadline; never inside a transaction.
import type { DataRunStep } from '../generated/prisma/client.ts';
import { type Answer, ask, type Caller, deadlineIn, type Target, type Targets } from './targets/target.ts';

/** What a child said, to which question, and where its step stood when it was asked: an answer is only good for that. */
export interface Told {
  readonly answer: Answer;
  /** `to stop, being late`: by the target's deadline for a step. */
  readonly asked: 'submit' | 'how it stands' | 'to stop' | 'to stop, being late';
  readonly state: DataRunStep['state'];
  readonly attempt: number;
}

/** By step id. */
export type Answers = ReadonlyMap<string, Told>;

type Call = (target: Target, step: DataRunStep, signal: AbortSignal) => Promise<Answer>;

export async function askEach(
  targets: Targets,
  steps: readonly DataRunStep[],
  asked: Told['asked'],
  deadlineMs: number,
  call: Call,
): Promise<Map<string, Told>> {
  using deadline = deadlineIn(deadlineMs);
  const answers = await Promise.all(
    steps.map(async (step): Promise<[string, Told]> => {
      const target = targets.get(step.target);
      const answer: Answer =
        target === undefined
          ? { is: 'unknown', message: `the target ${step.target} is not configured in this process` }
          : await ask((signal) => call(target, step, signal), deadline);
      return [step.id, { answer: sameChild(step, answer), asked, state: step.state, attempt: step.attempt }];
    }),
  );
  return new Map(answers);
}

/** An answer about another job than the step's is none that counts. */
function sameChild({ childJobId }: DataRunStep, answer: Answer): Answer {
  if (answer.is !== 'job' || childJobId === null || answer.report.id === childJobId) return answer;
  return { is: 'unknown', message: 'the target answered with another job' };
}

const none: Answer = { is: 'none' };

/** What can be said without its id of a submission to a target that goes by no key: only that nothing went out, where that is known. */
function ofNoKey({ sentAt }: DataRunStep): Answer {
  return sentAt === null
    ? none
    : { is: 'unknown', message: 'the target goes by no key, so it cannot be asked whether a submission arrived' };
}

/** How each child stands: by its id where one is known, else by the key its submission carried. */
export function childAnswers(
  targets: Targets,
  steps: readonly DataRunStep[],
  caller: Caller,
  deadlineMs: number,
): Promise<Map<string, Told>> {
  return askEach(targets, steps, 'how it stands', deadlineMs, async (target, step, signal) => {
    const { childJobId, idempotencyKey } = step;
    if (childJobId !== null) return target.read(childJobId, caller, signal);
    if (idempotencyKey === null) return none;
    return target.idempotency === 'none' ? ofNoKey(step) : target.find(idempotencyKey, caller, signal);
  });
}

/** Asks each child to stop. By key where its id is not known: that leaves a tombstone, so that a submission still on its way starts nothing. */
export function askToStop(
  targets: Targets,
  steps: readonly DataRunStep[],
  caller: Caller,
  deadlineMs: number,
  asked: Told['asked'] = 'to stop',
): Promise<Map<string, Told>> {
  return askEach(targets, steps, asked, deadlineMs, async (target, step, signal) => {
    const { childJobId, idempotencyKey } = step;
    if (childJobId !== null) return target.cancel(childJobId, caller, signal);
    if (idempotencyKey === null) return none;
    return target.idempotency === 'none' ? ofNoKey(step) : target.cancelByKey(idempotencyKey, caller, signal);
  });
}
