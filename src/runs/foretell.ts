// A run foretold: the pass's own decisions, over what loads of its datasets would come to.
import type { Failure } from '../errors.ts';
import type { DatasetPlan } from '../packages/plan.ts';
import { type Blocker, noRows, type RowAccount, type RowErrors } from '../records/outcome.ts';
import type { PlannedLoad, Planner } from '../records/plan.ts';
import { blockersOf, type DecidableStep, decide, rowsRejected } from './decide.ts';
import { blockedBy } from './steps.ts';
import { storeName } from './targets/store.ts';

export interface Foretold {
  readonly dataset: string;
  readonly target: string;
  /** Rows in its file. */
  readonly rows: number;
  readonly invalidRows: number;
  /** How its step would end; null where another target loads it, which has its own ways. */
  readonly end: { readonly state: DecidableStep['state']; readonly rows: RowAccount } | null;
  /** Rows that are there now, and then no more. */
  readonly removed: number;
  readonly failure: Failure | null;
  readonly errors: RowErrors;
  readonly blockers: readonly Blocker[];
}

/** Of all datasets of a plan together: a package may have two thousand. */
const mostErrors = 1_000;

const states = { succeeded: 'SUCCEEDED', blocked: 'BLOCKED', failed: 'FAILED' } as const;

/** In package order, as if all that may be at work together ended together. Of what the run would not come to, the file alone is looked at. */
export async function foretell(planner: Planner, datasets: readonly DatasetPlan[]): Promise<Foretold[]> {
  const parts = datasets.map((dataset) => ({ dataset, isOurs: dataset.target === storeName, step: pending(dataset) }));
  const steps = parts.map(({ step }) => step);
  let room = mostErrors;
  const seen = new Map<DecidableStep, Seen>();
  const see = (step: DecidableStep, { outcome, removed }: PlannedLoad, isLoaded: boolean) => {
    const { errors } = outcome;
    const failure = outcome.state === 'failed' ? outcome.failure : null;
    const first = errors.first.slice(0, room);
    room -= first.length;
    seen.set(step, { rows: outcome.rows, removed, failure, errors: { count: errors.count, first }, isLoaded });
  };
  for (let turn = 0; ; turn++) {
    const { block, finallyBlock, submit, settle } = decide(steps);
    for (const { step, by } of block) Object.assign(step, { state: 'BLOCKED', finallyBlocked: true, blockers: [blockedBy(step, by)] });
    for (const step of finallyBlock) step.finallyBlocked = true;
    if (settle !== null) break;
    for (const { dataset, isOurs, step } of parts.filter((part) => submit.includes(part.step))) {
      const load = isOurs ? await planner.load(dataset) : { outcome: await planner.check(dataset), removed: 0 };
      see(step, load, true);
      const { outcome } = load;
      // Of another target nothing is known, but that it may do well.
      const state = isOurs ? states[outcome.state] : 'SUCCEEDED';
      const blockers = outcome.state === 'blocked' ? outcome.blockers : [];
      Object.assign(step, { state, blockers, submittedAt: new Date(2 * turn), settledAt: new Date(2 * turn + 1) });
    }
  }
  for (const { dataset, step } of parts) {
    if (step.state === 'PENDING') step.state = 'SKIPPED';
    if (!seen.has(step)) see(step, { outcome: await planner.check(dataset), removed: 0 }, false);
  }
  const failed = steps.find(({ state }) => state === 'FAILED')?.dataset ?? '';
  return parts.flatMap(({ dataset, isOurs, step }) => {
    const found = seen.get(step);
    return found === undefined ? [] : [told(dataset, step, found, isOurs, failed)];
  });
}

interface Seen extends Pick<Foretold, 'removed' | 'failure' | 'errors'> {
  readonly rows: RowAccount;
  readonly isLoaded: boolean;
}

function told({ name, target }: DatasetPlan, step: DecidableStep, found: Seen, isOurs: boolean, failed: string): Foretold {
  const { rows, isLoaded, ...shown } = found;
  return {
    ...shown,
    dataset: name,
    target,
    rows: rows.source,
    invalidRows: rows.rejected,
    end: isOurs ? { state: step.state, rows: isLoaded ? rows : noRows } : null,
    blockers: blockersBy(step, found, isOurs, failed),
  };
}

function pending({ name, position, dependsOn }: DatasetPlan): DecidableStep {
  const begun = { finallyBlocked: false, submittedAt: null, settledAt: null, blockers: [] };
  return { dataset: name, position, dependsOn: [...dependsOn], state: 'PENDING', ...begun };
}

/** What the run's readiness would say of it. */
function blockersBy(step: DecidableStep, { rows, failure, isLoaded }: Seen, isOurs: boolean, failed: string): readonly Blocker[] {
  const { dataset, state } = step;
  const blocker = (code: string, message: string): Blocker => ({
    code,
    dataset,
    message,
    count: rows.rejected,
    sampleKeys: [],
    clearedBy: [dataset],
  });
  const left = isOurs && isLoaded && rows.rejected > 0 ? [rowsRejected(dataset, rows.rejected)] : [];
  if (state === 'SUCCEEDED') return left;
  if (state === 'BLOCKED') return [...blockersOf(step), ...left];
  if (state === 'FAILED') return [blocker('DATASET_FAILED', `The dataset ${dataset} would fail: ${failure?.summary ?? ''}`)];
  if (state === 'SKIPPED')
    return [blocker('DATASET_NOT_LOADED', `The dataset ${dataset} would not be loaded, since ${failed} would fail.`)];
  return [];
}
