// Cancel, in three short steps, with no transaction open while children are asked: mark, ask, settle.

import { setTimeout as sleep } from 'node:timers/promises';
import { type Caller, causeOf } from '../auth/caller.ts';
import { endGrants, leaveGrant, liveGrant } from '../auth/grants.ts';
import { demand, demandTargets } from '../auth/viewer.ts';
import { inTransaction, Prisma, type Tx } from '../db.ts';
import { ConflictError, ForbiddenError, InvalidTransitionError, NotFoundError } from '../errors.ts';
import type { Cause, EventDraft } from '../events/log.ts';
import type { DataRunStep } from '../generated/prisma/client.ts';
import { change, dataRunSubject } from '../lifecycle/transition.ts';
import { type OnceKey, once, priorResult } from '../once.ts';
import { enqueue } from '../tasks/task.ts';
import { type Answers, askToStop } from './children.ts';
import type { Driver } from './driver.ts';
import { childStepStates, runLifecycle } from './lifecycle.ts';
import { type CommandInput, findRun, type Runs, refuseUnlessAllowed } from './operations.ts';
import { lockRun, type RunWithSteps } from './rows.ts';
import { applyReport, finallyBlocked, moveStep, nothingToStop, recounted, skip } from './steps.ts';
import { driveKey, driveRun } from './wake.ts';

export interface CancelInput extends CommandInput {
  readonly force: boolean;
}

const isAtWork = (step: DataRunStep) => childStepStates.some((state) => state === step.state);

/** Cancels at once where no child is at work; else marks, asks, and settles or refuses by what the children answer. */
export async function cancelDataRun(runs: Runs, caller: Caller, id: string, input: CancelInput): Promise<string> {
  const found = await findRun(runs.db, caller, id);
  demand(caller.viewer, 'data-run');
  if (input.force) demand(caller.viewer, 'data-run:force');
  const by = causeOf(caller, input.reason);
  const asked = [id, input.reason ?? null, input.force];
  const key = { workspaceId: found.workspaceId, subject: by.actor, mutation: 'cancelDataRun', key: input.idempotencyKey, input: asked };
  try {
    return await cancel(runs, caller, id, input.force, by, key);
  } catch (error) {
    // The same key twice at once: the other one’s success is this one’s answer.
    if (!(error instanceof InvalidTransitionError || error instanceof ConflictError)) throw error;
    const settled = await settledElsewhere(runs, id, key);
    if (settled === null) throw error;
    return settled;
  }
}

async function settledElsewhere({ db, driver }: Runs, id: string, key: OnceKey): Promise<string | null> {
  if (key.key === null || key.key === undefined) return null;
  for (const until = Date.now() + driver.settings.deadlineMs; Date.now() < until; ) {
    const prior = await priorResult(db, key);
    if (prior !== null) return prior;
    const run = await db.prisma.dataRun.findUnique({ where: { id }, select: { cancelRequestedAt: true } });
    if (run?.cancelRequestedAt === null || run === null) return priorResult(db, key);
    await sleep(50);
  }
  return null;
}

async function cancel(runs: Runs, caller: Caller, id: string, force: boolean, by: Cause, key: OnceKey): Promise<string> {
  const { db, driver, settings } = runs;
  /** The run under its lock, and its children at work; refusals in the order of answers. */
  const mayCancel = async (tx: Tx) => {
    const locked = await lockRun(tx, id);
    if (locked === null) throw new NotFoundError('data run');
    const active = locked.steps.filter(isAtWork);
    demandTargets(caller.viewer, active);
    refuseUnlessAllowed(locked.run, 'CANCEL');
    return { locked, active };
  };
  try {
    return await once(db, key, async (tx) => {
      const { locked, active } = await mayCancel(tx);
      if (active.length > 0) throw new ChildrenAtWork();
      await settle(tx, locked, new Map(), by);
      return id;
    });
  } catch (error) {
    if (!(error instanceof ChildrenAtWork)) throw error;
  }
  // (1) From this commit on nothing is submitted and no pass settles.
  const mark = await inTransaction(db, async (tx) => {
    const { locked, active } = await mayCancel(tx);
    const targets = [...new Set(active.map(({ target }) => target))];
    await leaveGrant(tx, locked.run, caller.viewer, targets, settings.grantHours, 'CANCEL');
    const [row] = await tx.sql.$queryRaw<{ mark: Date }[]>`
      UPDATE data_run SET revision = revision + 1, cancel_requested_at = clock_timestamp(), cancel_requested_by = ${by.actor},
        cancel_reason = ${by.reason ?? null}, cancel_force = ${force}, cancel_key = ${JSON.stringify(key)}::jsonb
      WHERE id = ${id}::uuid RETURNING cancel_requested_at AS mark`;
    if (row === undefined) throw new NotFoundError('data run');
    return row.mark;
  });
  return finishCancel(driver, { id, mark, force, by, key });
}

/** Rolls back the cancel that needs nobody’s answer: there are children to be asked first. */
class ChildrenAtWork extends Error {}

interface Marked {
  readonly id: string;
  /** When the mark was set: whoever finds another one, or none, comes too late. */
  readonly mark: Date;
  readonly force: boolean;
  readonly by: Cause;
  readonly key: OnceKey;
}

/** Goes on with a cancel whose process died after the mark, under the grant that the canceller left; without one the run goes on instead. */
export async function goOnWithCancel(driver: Driver, runId: string): Promise<void> {
  const run = await driver.db.prisma.dataRun.findUnique({ where: { id: runId } });
  if (run === null || run.cancelRequestedAt === null) return;
  const mark = run.cancelRequestedAt;
  const grant = await liveGrant(driver.db.prisma, runId, 'CANCEL');
  if (grant === null) return clearMark(driver, runId, mark);
  const by: Cause = { actor: grant.subject, reason: run.cancelReason, cause: 'CANCEL_RESUMED' };
  const key = run.cancelKey as unknown as OnceKey; // written with the mark, in this shape
  try {
    await finishCancel(driver, { id: runId, mark, force: run.cancelForce, by, key });
  } catch (error) {
    // Refused by a child, or settled by the canceller after all: both leave the run as it should be, and nobody waits for an answer here.
    if (!(error instanceof ForbiddenError || error instanceof InvalidTransitionError || error instanceof ConflictError)) throw error;
  }
}

/** (2) and (3). The result is kept under the key that the cancel came with, whoever finishes it. */
async function finishCancel(driver: Driver, { id, mark, force, by, key }: Marked): Promise<string> {
  const { db, targets, settings } = driver;
  const asked = await db.prisma.dataRunStep.findMany({
    where: { runId: id, state: { in: [...childStepStates] } },
    orderBy: { position: 'asc' },
  });
  const answers = await askToStop(targets, asked, { subject: by.actor }, settings.deadlineMs);
  const refusing = asked.find((step) => answers.get(step.id)?.answer.is === 'forbidden');
  if (refusing !== undefined && !force) {
    await clearMark(driver, id, mark);
    throw new ForbiddenError(
      `target:${refusing.target}`,
      `The child of the dataset ${refusing.dataset} refused to be stopped, so the run goes on. With data-run:force it can be cancelled all the same.`,
      refusing.dataset,
      'CHILD_REFUSED_CANCEL',
    );
  }
  return once(db, key, async (tx) => {
    const locked = await lockRun(tx, id);
    if (locked === null) throw new NotFoundError('data run');
    const { run } = locked;
    if (run.cancelRequestedAt?.getTime() === mark.getTime()) await settle(tx, locked, answers, by);
    // Finished by another process meanwhile: what was wished has happened.
    else if (run.state !== 'CANCELLED' || run.cancelRequestedBy !== by.actor) {
      throw new InvalidTransitionError(
        run.state,
        'CANCEL',
        [],
        `The run is ${run.state}: this cancel was refused by a child when another process went on with it.`,
      );
    }
    return id;
  });
}

async function settle(tx: Tx, locked: RunWithSteps, answers: Answers, by: Cause): Promise<void> {
  const { run } = locked;
  const { to } = runLifecycle.transitions.CANCEL;
  const events = await settleSteps(tx, locked, answers, by.actor);
  events.push({ action: 'CANCEL', from: run.state, to });
  const set = [
    recounted(run.id),
    Prisma.sql`settled_at = clock_timestamp(), cancel_requested_at = NULL, cancel_requested_by = ${by.actor}`,
  ];
  // The duty to see each child stopped is the driver's from here.
  if (locked.steps.some(isAtWork)) await enqueue(tx.sql, driveRun, { runId: run.id }, { jobKey: driveKey(run.id) });
  await change(tx, dataRunSubject, run, { to, events, set }, by);
  tx.touched.add(`progress:${run.id}`);
}

async function settleSteps(tx: Tx, { steps }: RunWithSteps, answers: Answers, actor: string): Promise<EventDraft[]> {
  const events: EventDraft[] = [];
  for (const step of steps) {
    if (step.state === 'PENDING') events.push(await skip(tx, step, `The run was cancelled by ${actor}.`));
    if (step.state === 'BLOCKED' && !step.finallyBlocked) await tx.sql.$executeRaw(finallyBlocked(step));
    if (!isAtWork(step)) continue;
    const answer = answers.get(step.id)?.answer;
    const said =
      answer?.is === 'forbidden'
        ? 'refused'
        : answer === undefined || answer.is === 'unknown' || answer.is === 'unsent'
          ? 'unreachable'
          : 'requested';
    events.push(await moveStep(tx, step, 'CANCEL_REQUEST', [Prisma.sql`cancel_requested_at = clock_timestamp(), cancel_answer = ${said}`]));
    const stopping = { ...step, state: 'CANCELLING' as const };
    if (answer?.is === 'job') events.push(...(await applyReport(tx, stopping, answer.report, true)));
    if (answer?.is === 'none') events.push(...(await nothingToStop(tx, stopping)));
  }
  return events;
}

/** The run goes on as if nobody had asked; so does the grant that it is driven under. */
async function clearMark({ db }: Driver, id: string, mark: Date): Promise<void> {
  await inTransaction(db, async ({ sql }) => {
    const cleared = await sql.$executeRaw`
      UPDATE data_run SET revision = revision + 1, cancel_requested_at = NULL, cancel_requested_by = NULL, cancel_reason = NULL, cancel_force = false, cancel_key = NULL
      WHERE id = ${id}::uuid AND cancel_requested_at = ${mark}`;
    if (cleared === 0) return;
    await endGrants(sql, id, 'CANCEL');
    await enqueue(sql, driveRun, { runId: id }, { jobKey: driveKey(id) });
  });
}
