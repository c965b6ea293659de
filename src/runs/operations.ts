// What a person can ask of a run, cancel and registration aside. Each reads, checks in the order of answers, and writes one change.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Caller, causeOf } from '../auth/caller.ts';
import { leaveGrant, ownAuthority } from '../auth/grants.ts';
import { can, demand, demandTargets, isNamed, mayWriteThrough, type Viewer } from '../auth/viewer.ts';
import { type Db, inStatement, Prisma, type Tx } from '../db.ts';
import { BusyError, ConflictError, InvalidTransitionError, NotFoundError } from '../errors.ts';
import type { Cause } from '../events/log.ts';
import type { DataRun, DataRunStep } from '../generated/prisma/client.ts';
import { allowedCommands, unmetCommand } from '../lifecycle/lifecycle.ts';
import { change, dataRunSubject, Stale } from '../lifecycle/transition.ts';
import { once } from '../once.ts';
import { enqueue } from '../tasks/task.ts';
import { type Driver, pass } from './driver.ts';
import { openStepStates, runLifecycle } from './lifecycle.ts';
import { checkPlanDigest, refuseStalePlan } from './plan-digest.ts';
import { lockRun } from './rows.ts';
import { driveKey, driveRun } from './wake.ts';

export type RunCommand = keyof typeof runLifecycle.commands;
type RunTransition = keyof typeof runLifecycle.transitions;

export interface RunSettings {
  readonly grantHours: number;
  /** How long a request waits for the pass that it drives itself. */
  readonly deadlineMs: number;
}

export interface Runs {
  readonly db: Db;
  /** For a reset, whose statements last: a few connections of its own. */
  readonly bulk: Db;
  readonly driver: Driver;
  readonly settings: RunSettings;
  readonly plans: Plans;
}

/** What plans are made with. */
export interface Plans {
  /** Few connections of their own: each plan holds one, and as much of the database's disk as its package has rows. */
  readonly db: Db;
  readonly deadlineMs: number;
  /** Workspaces that a plan is being made in, here: one at a time, so that none takes every connection. */
  readonly underWay: Set<string>;
}

export interface StartInput extends CommandInput {
  readonly planDigest?: string | null | undefined;
}

export interface CommandInput {
  readonly reason?: string | null | undefined;
  readonly idempotencyKey?: string | null | undefined;
}

/** The run, if the viewer may know of it and act on it. A workspace that the token does not name is as if it were not there. */
export async function findRun(db: Db, caller: Caller, id: string): Promise<DataRun> {
  const found = await db.prisma.dataRun.findUnique({ where: { id }, include: { workspace: { select: { slug: true } } } });
  if (found === null || !isNamed(caller.viewer, found.workspace.slug)) throw new NotFoundError('data run');
  const { workspace: _, ...run } = found;
  return run;
}

/** Throws the typed refusal where the command is not allowed on the run as it stands. A cancel under way comes before the state. */
export function refuseUnlessAllowed(run: DataRun, command: RunCommand): void {
  if (run.cancelRequestedAt !== null) {
    throw new ConflictError('CANCEL_IN_PROGRESS', 'A cancel of this run is under way. Wait for it to settle.', {
      type: 'DataRun',
      id: run.id,
    });
  }
  const [first] = unmetCommand(runLifecycle, command, run);
  if (first === undefined) return;
  throw new InvalidTransitionError(run.state, command, allowedCommands(runLifecycle, run), `${command} is not possible. ${first.says}`);
}

function transitionFor(run: DataRun, command: RunCommand): RunTransition {
  const action = runLifecycle.commands[command].in[run.state];
  if (action === undefined || action === null) throw new Error(`${command} makes no transition from ${run.state}`);
  return action;
}

const stamps: Partial<Record<RunTransition, Prisma.Sql>> = {
  START: Prisma.sql`started_at = clock_timestamp(), paused_at = NULL`,
  PAUSE: Prisma.sql`paused_at = clock_timestamp()`,
  RESUME: Prisma.sql`paused_at = NULL`,
};

/** Makes the command's transition of a run as it was read; Stale if it has moved on. */
async function make(tx: Tx, run: DataRun, command: RunCommand, by: Cause): Promise<void> {
  refuseUnlessAllowed(run, command);
  const action = transitionFor(run, command);
  const { to } = runLifecycle.transitions[action];
  const stamp = stamps[action];
  await change(tx, dataRunSubject, run, { to, events: [{ action, from: run.state, to }], set: stamp === undefined ? [] : [stamp] }, by);
}

/** Holds further submissions. One round trip besides the read: the plain shape of a transition. */
export async function pauseDataRun(runs: Runs, caller: Caller, id: string, input: CommandInput): Promise<string> {
  const { db } = runs;
  const run = await findRun(db, caller, id);
  demand(caller.viewer, 'data-run');
  const by = causeOf(caller, input.reason);
  const { idempotencyKey = null } = input;
  if (idempotencyKey === null) {
    try {
      await inStatement(db, (tx) => make(tx, run, 'PAUSE', by));
      return id;
    } catch (error) {
      // The row has moved on since it was read, as under a busy pass it does all the time: now with its lock, so that the next try is the last.
      if (!(error instanceof Stale)) throw error;
    }
  }
  const key = {
    workspaceId: run.workspaceId,
    subject: by.actor,
    mutation: 'pauseDataRun',
    key: idempotencyKey,
    input: [id, input.reason ?? null],
  };
  return once(db, key, async (tx) => {
    const locked = await lockRun(tx, id);
    if (locked === null) throw new NotFoundError('data run');
    await make(tx, locked.run, 'PAUSE', by);
    return id;
  });
}

export function startDataRun(runs: Runs, caller: Caller, id: string, input: StartInput): Promise<string> {
  return setGoing(runs, caller, id, 'START', input);
}

export function resumeDataRun(runs: Runs, caller: Caller, id: string, input: CommandInput): Promise<string> {
  return setGoing(runs, caller, id, 'RESUME', input);
}

/** Start and resume: the transition, the grant and the driver's alarm in one transaction; then, on request, the pass before the answer. */
async function setGoing(runs: Runs, caller: Caller, id: string, command: 'START' | 'RESUME', input: StartInput): Promise<string> {
  const { db, settings } = runs;
  const found = await findRun(db, caller, id);
  demand(caller.viewer, 'data-run');
  const remaining = await remainingSteps(db, id);
  demandTargets(caller.viewer, remaining);
  const by = causeOf(caller, input.reason);
  const digest = checkPlanDigest(input.planDigest);
  const mutation = command === 'START' ? 'startDataRun' : 'resumeDataRun';
  const asked = [id, input.reason ?? null, ...(digest === null ? [] : [digest])];
  const key = { workspaceId: found.workspaceId, subject: by.actor, mutation, key: input.idempotencyKey, input: asked };
  await once(db, key, async (tx) => {
    const locked = await lockRun(tx, id);
    if (locked === null) throw new NotFoundError('data run');
    const { run, steps } = locked;
    refuseUnlessAllowed(run, command);
    await refuseStalePlan(tx, run, steps, digest);
    await leaveGrant(tx, run, caller.viewer, targetsOf(steps), settings.grantHours, 'DRIVE');
    if (run.driving === 'BACKGROUND') await enqueue(tx.sql, driveRun, { runId: id }, { jobKey: driveKey(id) });
    await make(tx, run, command, by);
    return id;
  });
  if (found.driving === 'ON_REQUEST') await passWithin(runs, caller, found);
  return id;
}

/** What driving the run may still touch, in package order. */
export function remainingSteps(db: Db, runId: string): Promise<DataRunStep[]> {
  const where = { runId, finallyBlocked: false, state: { in: [...openStepStates, 'BLOCKED' as const] } };
  return db.prisma.dataRunStep.findMany({ where, orderBy: { position: 'asc' } });
}

export function targetsOf(steps: readonly DataRunStep[]): string[] {
  return [...new Set(steps.map(({ target }) => target))];
}

/** The driving read: one pass under the caller's own authority, answered when it is done. */
export async function advanceDataRun(runs: Runs, caller: Caller, id: string): Promise<string> {
  const run = await findRun(runs.db, caller, id);
  demand(caller.viewer, 'data-run');
  const remaining = await remainingSteps(runs.db, id);
  demandTargets(caller.viewer, remaining);
  // The result has no ConflictError: a cancel under way is a refusal like any other here.
  const [first] = unmetCommand(runLifecycle, 'ADVANCE', run);
  if (first !== undefined) {
    throw new InvalidTransitionError(run.state, 'ADVANCE', allowedCommands(runLifecycle, run), `ADVANCE is not possible. ${first.says}`);
  }
  await passWithin(runs, caller, run);
  return id;
}

/** A pass of one's own; where another holds the lease, waits for it to end and then passes, so that the answer shows a pass made after the asking. */
async function passWithin({ driver, settings }: Runs, caller: Caller, { id, workspaceId }: DataRun): Promise<void> {
  const until = Date.now() + settings.deadlineMs;
  const authorise = ownAuthority(caller.viewer, workspaceId);
  while (!(await pass(driver, id, { authorise, by: causeOf(caller), until }))) {
    if (Date.now() >= until) throw new BusyError('Another pass of this run is still under way. Try again in a moment.');
    await sleep(25 + Math.random() * 50);
  }
}

/** What this viewer could ask for now. */
export function allowedActionsOf(run: DataRun, viewer: Viewer): RunCommand[] {
  const mayDriveAll = (targets: readonly string[]) => targets.every((target) => mayWriteThrough(viewer, target));
  const authority: Record<RunCommand, boolean> = {
    START: mayDriveAll(run.openTargets),
    RESUME: mayDriveAll(run.openTargets),
    ADVANCE: mayDriveAll(run.openTargets),
    CANCEL: mayDriveAll(run.activeTargets),
    PAUSE: true,
    RESET: mayDriveAll(run.attemptedTargets),
  };
  return allowedCommands(runLifecycle, run).filter((command) => can(viewer, 'data-run') && authority[command]);
}
