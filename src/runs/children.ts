// Asking children: how they stand, and to stop. In parallel, each under one deadline; never inside a transaction.
import type { DataRunStep } from '../generated/prisma/client.ts';
import { type Answer, ask, type Caller, type Target, type Targets } from './targets/target.ts';

/** What a child said, to which question, and where its step stood when it was asked: an answer is only good for that. */
export interface Told {
  readonly answer: Answer;
  readonly asked: 'submit' | 'how it stands' | 'to stop';
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
  const answers = await Promise.all(
    steps.map(async (step): Promise<[string, Told]> => {
      const target = targets.get(step.target);
      const answer: Answer =
        target === undefined
          ? { is: 'unknown', message: `the target ${step.target} is not configured in this process` }
          : await ask((signal) => call(target, step, signal), deadlineMs);
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

/** How each child stands: by its id where one is known, else by the key its submission carried. */
export function childAnswers(
  targets: Targets,
  steps: readonly DataRunStep[],
  caller: Caller,
  deadlineMs: number,
): Promise<Map<string, Told>> {
  return askEach(targets, steps, 'how it stands', deadlineMs, async (target, { childJobId, idempotencyKey }, signal) => {
    if (childJobId !== null) return target.read(childJobId, caller, signal);
    return idempotencyKey === null ? none : target.find(idempotencyKey, caller, signal);
  });
}

/** Asks each child to stop. By key where its id is not known: that leaves a tombstone, so that a submission still on its way starts nothing. */
export function askToStop(targets: Targets, steps: readonly DataRunStep[], caller: Caller, deadlineMs: number): Promise<Map<string, Told>> {
  return askEach(targets, steps, 'to stop', deadlineMs, async (target, { childJobId, idempotencyKey }, signal) => {
    if (childJobId !== null) return target.cancel(childJobId, caller, signal);
    return idempotencyKey === null ? none : target.cancelByKey(idempotencyKey, caller, signal);
  });
}
