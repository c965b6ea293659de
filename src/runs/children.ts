// Asking children: how they stand, and to stop. In parallel, each under one deadline; never inside a transaction.
import type { DataRunStep } from '../generated/prisma/client.ts';
import { type Answer, ask, type Target, type Targets } from './targets/target.ts';

type Call = (target: Target, step: DataRunStep, signal: AbortSignal) => Promise<Answer>;

async function askEach(targets: Targets, steps: readonly DataRunStep[], deadlineMs: number, call: Call): Promise<Map<string, Answer>> {
  const answers = await Promise.all(
    steps.map(async (step): Promise<[string, Answer]> => {
      const target = targets.get(step.target);
      if (target === undefined) return [step.id, { is: 'unknown', message: `the target ${step.target} is not configured in this process` }];
      return [step.id, await ask((signal) => call(target, step, signal), deadlineMs)];
    }),
  );
  return new Map(answers);
}

const none: Answer = { is: 'none' };

/** How each child stands: by its id where one is known, else by the key its submission carried. */
export function childAnswers(targets: Targets, steps: readonly DataRunStep[], deadlineMs: number): Promise<Map<string, Answer>> {
  return askEach(targets, steps, deadlineMs, async (target, { childJobId, idempotencyKey }, signal) => {
    if (childJobId !== null) return target.read(childJobId, signal);
    return idempotencyKey === null ? none : target.find(idempotencyKey, signal);
  });
}

/** Asks each child to stop. By key where its id is not known: that leaves a tombstone, so that a submission still on its way starts nothing. */
export function askToStop(targets: Targets, steps: readonly DataRunStep[], deadlineMs: number): Promise<Map<string, Answer>> {
  return askEach(targets, steps, deadlineMs, async (target, { childJobId, idempotencyKey }, signal) => {
    if (childJobId !== null) return target.cancel(childJobId, signal);
    return idempotencyKey === null ? none : target.cancelByKey(idempotencyKey, signal);
  });
}
