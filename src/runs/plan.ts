// What a run would do, for whoever asks before it is started. Writes nothing.
// docs/decisions/0018-plans.md says what it holds and for how long.
import type { Caller } from '../auth/caller.ts';
import { demand, mayWriteThrough } from '../auth/viewer.ts';
import { BusyError, InvalidInputError, InvalidTransitionError } from '../errors.ts';
import { AccessRevokedError } from '../events/access.ts';
import type { StreamEnds } from '../events/follow.ts';
import type { DataRun } from '../generated/prisma/client.ts';
import { allowedCommands, unmetCommand } from '../lifecycle/lifecycle.ts';
import { openDatasetSource } from '../packages/inspect.ts';
import type { Packages } from '../packages/operations.ts';
import { wavesOf } from '../packages/order.ts';
import type { DatasetPlan, PackagePlan } from '../packages/plan.ts';
import { planLoads } from '../records/plan.ts';
import { type Foretold, foretell } from './foretell.ts';
import { runLifecycle } from './lifecycle.ts';
import { findRun, type Runs } from './operations.ts';
import { planDigest } from './plan-digest.ts';
import { sourceFailure } from './targets/store-failure.ts';

export interface DataRunPlan {
  /** Datasets by when they can begin. */
  readonly order: readonly (readonly string[])[];
  /** In package order. */
  readonly datasets: readonly (Foretold & { readonly authorised: boolean })[];
  readonly digest: string;
}

export async function planDataRun(runs: Runs, packages: Packages, caller: Caller, id: string, ends: Ends): Promise<DataRunPlan> {
  const run = await findRun(runs.db, caller, id);
  demand(caller.viewer, 'data-run');
  refuseUnlessUnstarted(run);
  const { underWay } = runs.plans;
  if (underWay.has(run.workspaceId)) throw new BusyError('A plan is being made in this workspace already. Try again in a moment.');
  underWay.add(run.workspaceId);
  try {
    return await make(runs, packages, caller, run, ends(run.workspaceId));
  } finally {
    underWay.delete(run.workspaceId);
  }
}

type Ends = (workspaceId: string) => Pick<StreamEnds, 'signals' | 'watch'>;

function refuseUnlessUnstarted(run: DataRun): void {
  const [first] = unmetCommand(runLifecycle, 'START', run);
  if (run.state === 'REGISTERED' && first === undefined) return;
  const why = first?.says ?? 'It was started before.';
  throw new InvalidTransitionError(
    run.state,
    'PLAN',
    allowedCommands(runLifecycle, run),
    `A plan is made of a run before its start. ${why}`,
  );
}

async function make(
  runs: Runs,
  packages: Packages,
  { viewer }: Caller,
  run: DataRun,
  ends: Pick<StreamEnds, 'signals' | 'watch'>,
): Promise<DataRunPlan> {
  const { db, plans, driver } = runs;
  const { storage, limits } = packages;
  const { onInvalidRow, onMissingReference, workspaceId } = run;
  const held = await db.prisma.dataPackage.findUniqueOrThrow({ where: { id: run.packageId } });
  const { datasets } = held.plan as unknown as PackagePlan; // written by registration in this shape, and only then can a run exist
  const { storageKey: key, kind } = held;
  if (key === null || (kind !== 'ZIP' && kind !== 'DESCRIPTOR')) throw new Error('a run that has not settled keeps its package');
  const steps = datasets.map(({ name, target }) => ({ dataset: name, target }));
  // First of all: whatever is loaded while the plan is made leaves it with a digest that no start takes.
  const digest = await planDigest(db.prisma, run, steps);
  const began = performance.now();
  using over = endedWith(ends, plans.deadlineMs);
  const open = (dataset: DatasetPlan) => openDatasetSource(storage, { key, kind }, dataset, limits);
  const policies = { onInvalidRow, onMissingReference, expandedBytesLimit: limits.datasetExpandedBytes };
  const request = { workspaceId, ...policies, datasets, open, sourceFailure };
  const foretold = await planLoads(plans.db.pool, request, over.signal, (planner) => foretell(planner, datasets));
  driver.log.info({ runId: run.id, ms: Math.round(performance.now() - began) }, 'plan made');
  return {
    order: wavesOf(datasets).map((wave) => wave.map(({ name }) => name)),
    datasets: foretold.map((one) => ({ ...one, authorised: mayWriteThrough(viewer, one.target) })),
    digest,
  };
}

/** A signal with the reason for which a plan is given up. By hand, as in `cancellable`. */
function endedWith({ signals, watch }: Pick<StreamEnds, 'signals' | 'watch'>, deadlineMs: number): Disposable & { signal: AbortSignal } {
  const own = new AbortController();
  const leave = () => own.abort(new BusyError('The plan was given up: the server is stopping, or nobody waits for it any more.'));
  const seconds = Math.ceil(deadlineMs / 1_000);
  const tooLong = `The plan was not made in ${seconds} s, which is the limit here. The run can be started without one.`;
  const timer = setTimeout(() => own.abort(new InvalidInputError('dataRunId', tooLong, 'PLAN_TOO_LONG')), deadlineMs);
  const watching = watch?.(() => own.abort(new AccessRevokedError()));
  for (const signal of signals) signal.addEventListener('abort', leave);
  if (signals.some(({ aborted }) => aborted)) leave();
  return {
    signal: own.signal,
    [Symbol.dispose]() {
      clearTimeout(timer);
      watching?.[Symbol.dispose]();
      for (const signal of signals) signal.removeEventListener('abort', leave);
    },
  };
}
