// What a pass should do next, from the steps alone. Pure: every branch can be tried without a database.
import type { DataRunStep } from '../generated/prisma/client.ts';
import type { Blocker } from '../records/outcome.ts';

export type DecidableStep = Pick<DataRunStep, 'dataset' | 'position' | 'dependsOn' | 'state' | 'finallyBlocked' | 'settledAt' | 'blockers'>;

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

const mayStillSucceed = (step: DecidableStep) => step.state === 'PENDING' || step.state === 'SUBMITTING' || step.state === 'ACTIVE';

export function decide<Step extends DecidableStep>(steps: readonly Step[]): Decision<Step> {
  const byName = new Map(steps.map((step) => [step.dataset, step]));
  const failed = steps.some((step) => step.state === 'FAILED');
  if (failed) return { block: [], finallyBlock: [], submit: [], settle: 'FAIL' };

  const dead = new Map<string, string>(); // dataset → what keeps it from ever running
  const final = new Set(steps.filter((step) => step.state === 'BLOCKED' && step.finallyBlocked).map((step) => step.dataset));
  const finallyBlock: Step[] = [];
  const resubmit: Step[] = [];

  // Blocking spreads: a step found dead can kill its dependants and what they could have cleared. Each turn settles one or stops.
  for (let changed = true; changed; ) {
    changed = false;
    for (const step of steps) {
      if (step.state !== 'PENDING' || dead.has(step.dataset)) continue;
      const by = step.dependsOn.find((name) => final.has(name) || dead.has(name));
      if (by === undefined) continue;
      dead.set(step.dataset, by);
      changed = true;
    }
    for (const step of steps) {
      if (step.state !== 'BLOCKED' || final.has(step.dataset) || resubmit.includes(step)) continue;
      const clearing = clearers(step, steps);
      if (clearing.some((other) => other.state === 'SUCCEEDED' && isLater(other, step))) resubmit.push(step);
      else if (!clearing.some((other) => !dead.has(other.dataset) && (mayStillSucceed(other) || resubmit.includes(other)))) {
        final.add(step.dataset);
        finallyBlock.push(step);
        changed = true;
      }
    }
  }

  const submit = steps.filter(
    (step) =>
      step.state === 'PENDING' && !dead.has(step.dataset) && step.dependsOn.every((name) => byName.get(name)?.state === 'SUCCEEDED'),
  );
  const isOver = (step: Step) => step.state === 'SUCCEEDED' || final.has(step.dataset) || dead.has(step.dataset);
  return {
    block: steps.flatMap((step) => (dead.has(step.dataset) ? [{ step, by: dead.get(step.dataset) ?? '' }] : [])),
    finallyBlock,
    submit: [...submit, ...resubmit],
    settle: steps.every(isOver) ? 'SUCCEED' : null,
  };
}

/** The other steps that could clear a blocked one: those its blockers name, or any where they name none. */
function clearers<Step extends DecidableStep>(step: Step, steps: readonly Step[]): Step[] {
  const named = new Set(blockersOf(step).flatMap((blocker) => blocker.clearedBy));
  return steps.filter((other) => other.dataset !== step.dataset && (named.size === 0 || named.has(other.dataset)));
}

function isLater(other: DecidableStep, than: DecidableStep): boolean {
  return other.settledAt !== null && than.settledAt !== null && other.settledAt >= than.settledAt;
}
