// Cancel, in three short steps, with no transaction open while children are asked: mark, ask, settle.
import { leaveGrant } from '../auth/grants.ts';
import { demand, demandTargets } from '../auth/viewer.ts';
import { inTransaction, Prisma, type Tx } from '../db.ts';
import { ConflictError, ForbiddenError, InvalidTransitionError, NotFoundError } from '../errors.ts';
import type { Cause, EventDraft } from '../events/log.ts';
import type { DataRunStep } from '../generated/prisma/client.ts';
import { change, dataRunSubject } from '../lifecycle/transition.ts';
import { type OnceKey, once, priorResult } from '../once.ts';
import { enqueue } from '../tasks/task.ts';
import { askToStop } from './children.ts';
import type { Driver } from './driver.ts';
import { childStepStates, runLifecycle } from './lifecycle.ts';
import { type CommandInput, causeOf, findRun, type RunCaller, type Runs, refuseUnlessAllowed } from './operations.ts';
import { lockRun, type RunWithSteps } from './rows.ts';
import { applyReport, moveStep, recounted, skip } from './steps.ts';
import type { Answer } from './targets/target.ts';
import { driveKey, driveRun } from './wake.ts';

export interface CancelInput extends CommandInput {
  readonly force: boolean;
}

const isAtWork = (step: DataRunStep) => childStepStates.some((state) => state === step.state);

/** Cancels at once where no child is at work; else marks, asks, and settles or refuses by what the children answer. */
export async function cancelDataRun(runs: Runs, caller: RunCaller, id: string, input: CancelInput): Promise<string> {
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
    await db.prisma.$executeRaw`SELECT pg_sleep(0.05)`;
  }
  return null;
}

async function cancel(runs: Runs, caller: RunCaller, id: string, force: boolean, by: Cause, key: OnceKey): Promise<string> {
  const { db, driver, settings } = runs;
  try {
    return await once(db, key, async (tx) => {
      const locked = await lockRun(tx, id);
      if (locked === null) throw new NotFoundError('data run');
      refuseUnlessAllowed(locked.run, 'CANCEL');
      if (locked.steps.some(isAtWork)) throw new ChildrenAtWork();
      await settle(tx, locked, new Map(), by);
      return id;
    });
  } catch (error) {
    if (!(error instanceof ChildrenAtWork)) throw error;
  }
  // (1) From this commit on nothing is submitted and no pass settles.
  const mark = await inTransaction(db, async (tx) => {
    const locked = await lockRun(tx, id);
    if (locked === null) throw new NotFoundError('data run');
    refuseUnlessAllowed(locked.run, 'CANCEL');
    const active = locked.steps.filter(isAtWork);
    demandTargets(caller.viewer, active);
    await leaveGrant(tx, locked.run, caller.viewer, [...new Set(active.map(({ target }) => target))], settings.grantHours);
    const [row] = await tx.sql.$queryRaw<{ mark: Date }[]>`
      UPDATE data_run SET revision = revision + 1, cancel_requested_at = clock_timestamp(), cancel_requested_by = ${by.actor},
        cancel_reason = ${by.reason ?? null}, cancel_force = ${force} WHERE id = ${id}::uuid RETURNING cancel_requested_at AS mark`;
    if (row === undefined) throw new NotFoundError('data run');
    return row.mark;
  });
  return finishCancel(driver, id, mark, force, by, (work) =>
    once(db, key, async (tx) => {
      await work(tx);
      return id;
    }),
  );
}

/** Rolls back the cancel that needs nobody’s answer: there are children to be asked first. */
class ChildrenAtWork extends Error {}

/** Goes on with a cancel whose process died after the mark, under the grant that the canceller left. */
export async function resumeCancel(driver: Driver, runId: string): Promise<void> {
  const run = await driver.db.prisma.dataRun.findUnique({ where: { id: runId } });
  if (run === null || run.cancelRequestedAt === null) return;
  const by: Cause = { actor: run.cancelRequestedBy ?? 'driver', reason: run.cancelReason, cause: 'CANCEL_RESUMED' };
  try {
    await finishCancel(driver, runId, run.cancelRequestedAt, run.cancelForce, by, async (work) => {
      await inTransaction(driver.db, work);
      return runId;
    });
  } catch (error) {
    // Refused by a child, or settled by the canceller after all: both leave the run as it should be, and nobody waits for an answer here.
    if (!(error instanceof ForbiddenError || error instanceof InvalidTransitionError || error instanceof ConflictError)) throw error;
  }
}

type Commit = (work: (tx: Tx) => Promise<void>) => Promise<string>;

/** (2) and (3). `mark` is when the mark was set: whoever finds another one, or none, comes too late. */
async function finishCancel(driver: Driver, id: string, mark: Date, force: boolean, by: Cause, commit: Commit): Promise<string> {
  const { db, targets, settings } = driver;
  const asked = await db.prisma.dataRunStep.findMany({
    where: { runId: id, state: { in: [...childStepStates] } },
    orderBy: { position: 'asc' },
  });
  const answers = await askToStop(targets, asked, settings.deadlineMs);
  const refusing = asked.find((step) => answers.get(step.id)?.is === 'forbidden');
  if (refusing !== undefined && !force) {
    await clearMark(driver, id, mark);
    throw new ForbiddenError(
      `target:${refusing.target}`,
      `The child of the dataset ${refusing.dataset} refused to be stopped, so the run goes on. With data-run:force it can be cancelled all the same.`,
      refusing.dataset,
      'CHILD_REFUSED_CANCEL',
    );
  }
  return commit(async (tx) => {
    const locked = await lockRun(tx, id);
    if (locked === null) throw new NotFoundError('data run');
    if (locked.run.cancelRequestedAt?.getTime() !== mark.getTime()) {
      const { state } = locked.run;
      throw new InvalidTransitionError(state, 'CANCEL', [], `The run is ${state}: another process finished this cancel.`);
    }
    await settle(tx, locked, answers, by);
  });
}

async function settle(tx: Tx, locked: RunWithSteps, answers: ReadonlyMap<string, Answer>, by: Cause): Promise<void> {
  const { run } = locked;
  const { to } = runLifecycle.transitions.CANCEL;
  const events = await settleSteps(tx, locked, answers, by.actor);
  events.push({ action: 'CANCEL', from: run.state, to });
  const set = [recounted(run.id), Prisma.sql`settled_at = clock_timestamp(), cancel_requested_at = NULL`];
  // The duty to see each child stopped is the driver's from here.
  if (locked.steps.some(isAtWork)) await enqueue(tx.sql, driveRun, { runId: run.id }, { jobKey: driveKey(run.id) });
  await change(tx, dataRunSubject, run, { to, events, set }, by);
  tx.touched.add(`progress:${run.id}`);
}

async function settleSteps(tx: Tx, { steps }: RunWithSteps, answers: ReadonlyMap<string, Answer>, actor: string): Promise<EventDraft[]> {
  const events: EventDraft[] = [];
  for (const step of steps) {
    if (step.state === 'PENDING') events.push(await skip(tx, step, `The run was cancelled by ${actor}.`));
    if (step.state === 'BLOCKED' && !step.finallyBlocked)
      await tx.sql.$executeRaw`UPDATE data_run_step SET finally_blocked = true WHERE id = ${step.id}::uuid`;
    if (!isAtWork(step)) continue;
    const answer = answers.get(step.id);
    const said = answer?.is === 'forbidden' ? 'refused' : answer === undefined || answer.is === 'unknown' ? 'unreachable' : 'requested';
    events.push(await moveStep(tx, step, 'CANCEL_REQUEST', [Prisma.sql`cancel_requested_at = clock_timestamp(), cancel_answer = ${said}`]));
    const stopping = { ...step, state: 'CANCELLING' as const };
    if (answer?.is === 'job') events.push(...(await applyReport(tx, stopping, answer.report, true)));
    if (answer?.is === 'none') events.push(await moveStep(tx, stopping, 'CANCEL', [Prisma.sql`settled_at = clock_timestamp()`]));
  }
  return events;
}

async function clearMark({ db }: Driver, id: string, mark: Date): Promise<void> {
  await inTransaction(db, async ({ sql }) => {
    await sql.$executeRaw`UPDATE data_run SET revision = revision + 1, cancel_requested_at = NULL, cancel_requested_by = NULL, cancel_reason = NULL,
      cancel_force = false WHERE id = ${id}::uuid AND cancel_requested_at = ${mark}`;
    await enqueue(sql, driveRun, { runId: id }, { jobKey: driveKey(id) });
  });
}
