// What a pass should do next, from the steps alone. Pure: every branch can be tried without a database.
import type { DataRunStep } from '../generated/prisma/client.ts';
import type { Blocker } from '../records/outcome.ts';

export type DecidableStep = Pick<
  DataRunStep,
  'dataset' | 'position' | 'dependsOn' | 'state' | 'finallyBlocked' | 'submittedAt' | 'settledAt' | 'blockers'
>;

export interface Decision<Step> {
  /** Pending steps that can never run, since a dependency is finally blocked. */
  readonly block: readonly { readonly step: Step; readonly by: string }[];
  /** Blocked steps that nothing in this run can clear any more. */
  readonly finallyBlock: readonly Step[];
  /** To be submitted now: pending with every dependency succeeded, or blocked with what it waited for since succeeded. */
  readonly submit: readonly Step[];
  readonly settle: 'SUCCEED' | 'FAIL' | null;
}

export function blockersOf(step: Pick<DataRunStep, 'blockers'>): readonly Blocker[] {
  return Array.isArray(step.blockers) ? (step.blockers as unknown as Blocker[]) : []; // written by us only, in this shape
}

/** Of a dataset that was loaded without some of its rows. No other dataset clears that. */
export function rowsRejected(dataset: string, count: number): Blocker {
  const message = `${count} ${count === 1 ? 'row' : 'rows'} of the dataset ${dataset} ${count === 1 ? 'is' : 'are'} not in it: not valid, and left out.`;
  return { code: 'ROWS_REJECTED', dataset, message, count, sampleKeys: [], clearedBy: [dataset] };
}

export function decide<Step extends DecidableStep>(steps: readonly Step[]): Decision<Step> {
  if (steps.some((step) => step.state === 'FAILED')) return { block: [], finallyBlock: [], submit: [], settle: 'FAIL' };
  const byName = new Map(steps.map((step) => [step.dataset, step]));
  const hasSucceeded = (name: string) => byName.get(name)?.state === 'SUCCEEDED';
  const mayRetry = (step: Step) => step.state === 'BLOCKED' && !step.finallyBlocked;
  const cleared = (step: Step) => clearers(step, steps).some((other) => other.state === 'SUCCEEDED' && mayHaveMissed(step, other));

  // Alive: still able to succeed. The least fixpoint, so that what only waits for each other, however far around, is not.
  const alive = new Set<string>();
  const comesAlive = (step: Step): boolean => {
    if (step.state === 'SUBMITTING' || step.state === 'ACTIVE') return true;
    if (step.state === 'PENDING') return step.dependsOn.every((name) => hasSucceeded(name) || alive.has(name));
    return mayRetry(step) && (cleared(step) || clearers(step, steps).some((other) => alive.has(other.dataset)));
  };
  for (let before = -1; before < alive.size; ) {
    before = alive.size;
    for (const step of steps) if (comesAlive(step)) alive.add(step.dataset);
  }

  const keptBy = (step: Step) => step.dependsOn.find((name) => !hasSucceeded(name) && !alive.has(name)) ?? '';
  return {
    block: steps.filter((step) => step.state === 'PENDING' && !alive.has(step.dataset)).map((step) => ({ step, by: keptBy(step) })),
    finallyBlock: steps.filter((step) => mayRetry(step) && !alive.has(step.dataset)),
    submit: steps.filter((step) => (step.state === 'PENDING' ? step.dependsOn.every(hasSucceeded) : mayRetry(step) && cleared(step))),
    settle:
      alive.size === 0 && steps.every((step) => step.state === 'SUCCEEDED' || step.state === 'PENDING' || step.state === 'BLOCKED')
        ? 'SUCCEED'
        : null,
  };
}

/** The other steps that could clear a blocked one: those its blockers name, or any where they name none. */
function clearers<Step extends DecidableStep>(step: Step, steps: readonly Step[]): Step[] {
  const named = new Set(blockersOf(step).flatMap((blocker) => blocker.clearedBy));
  return steps.filter((other) => other.dataset !== step.dataset && (named.size === 0 || named.has(other.dataset)));
}

/**
 * Whether it succeeded while or after the blocked attempt was at work, so that the attempt may have missed it. Ends are dated when they are
 * recorded, and one pass may learn of several; the attempt’s beginning is what cannot be wrong. A new attempt moves it, so each success
 * leads to one more attempt at most.
 */
function mayHaveMissed(step: DecidableStep, other: DecidableStep): boolean {
  return other.settledAt !== null && step.submittedAt !== null && other.settledAt >= step.submittedAt;
}
