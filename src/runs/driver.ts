// A pass: poll what is active, submit what is eligible, settle. Any process may run one at any time; the lease lets one at a time through,
// and its number (the fence) keeps one that lost the lease from writing. No transaction is open while a target is called.
import { randomUUID } from 'node:crypto';
import type { Authority } from '../auth/grants.ts';
import { type Db, inTransaction, Prisma, type Tx } from '../db.ts';
import type { Cause, EventDraft } from '../events/log.ts';
import type { DataRun, DataRunStep } from '../generated/prisma/client.ts';
import { terminalStates } from '../lifecycle/lifecycle.ts';
import { change, dataRunSubject } from '../lifecycle/transition.ts';
import type { PackagePlan } from '../packages/plan.ts';
import { askToStop, childAnswers } from './children.ts';
import { decide } from './decide.ts';
import { runLifecycle } from './lifecycle.ts';
import { lockRun, type RunWithSteps } from './rows.ts';
import { applyReport, blockForGood, failStep, finallyBlocked, moveStep, recounted, skip } from './steps.ts';
import { type Answer, ask, type Submission, type Targets } from './targets/target.ts';

export interface DriverSettings {
  readonly leaseMs: number;
  /** How long one call to a target may take. */
  readonly deadlineMs: number;
}

export interface Driver {
  readonly db: Db;
  readonly targets: Targets;
  readonly settings: DriverSettings;
}

const ended = new Set<string>(terminalStates(runLifecycle));

export function hasEnded(run: Pick<DataRun, 'state'>): boolean {
  return ended.has(run.state);
}

/** Answers from children, by step id. */
export type Answers = ReadonlyMap<string, Answer>;

/**
 * One pass under an authority, as `by`. False: another pass holds the lease, and what this one would have done is done by that one or the next.
 */
export async function pass(driver: Driver, runId: string, authority: Authority, by: Cause): Promise<boolean> {
  const { db, settings } = driver;
  const owner = randomUUID();
  const [lease] = await db.prisma.$queryRaw<{ fence: number }[]>`
    UPDATE data_run SET lease_owner = ${owner}, fence = fence + 1, lease_until = clock_timestamp() + make_interval(secs => ${settings.leaseMs / 1_000})
    WHERE id = ${runId}::uuid AND (lease_until IS NULL OR lease_until < clock_timestamp()) RETURNING fence`;
  if (lease === undefined) return false;
  try {
    let answers: Answers = await poll(driver, runId);
    // Each turn writes what was learnt and what is intended, then calls. A turn that intends nothing is the last.
    for (;;) {
      const intended = await inTransaction(db, (tx) => record(tx, runId, lease.fence, answers, authority, by));
      if (intended.length === 0) return true;
      answers = await submit(driver, intended, authority);
      await db.prisma.$executeRaw`
        UPDATE data_run SET lease_until = clock_timestamp() + make_interval(secs => ${settings.leaseMs / 1_000}) WHERE id = ${runId}::uuid AND fence = ${lease.fence}`;
    }
  } finally {
    await db.prisma
      .$executeRaw`UPDATE data_run SET lease_owner = NULL, lease_until = NULL WHERE id = ${runId}::uuid AND fence = ${lease.fence}`;
  }
}

/** Asks every child that may be at work how it stands; asks those of a cancelled run again to stop. */
async function poll(driver: Driver, runId: string): Promise<Answers> {
  const run = await driver.db.prisma.dataRun.findUnique({ where: { id: runId } });
  const steps = await driver.db.prisma.dataRunStep.findMany({ where: { runId, state: { in: [...followed] } } });
  if (run === null || run.cancelRequestedAt !== null) return new Map(); // a cancel asks them itself
  const deadline = driver.settings.deadlineMs;
  const isStopping = ({ state }: DataRunStep) => state === 'CANCELLING';
  const [stopping, working] = [steps.filter(isStopping), steps.filter((step) => !isStopping(step))];
  const [stopped, polled] = await Promise.all([
    askToStop(driver.targets, stopping, deadline),
    childAnswers(driver.targets, working, deadline),
  ]);
  // Under an ended run an intent that was never taken must not be taken later: the tombstone comes before the step is let go.
  const neverTaken = hasEnded(run) ? working.filter((step) => step.state === 'SUBMITTING' && polled.get(step.id)?.is === 'none') : [];
  const buried = await askToStop(driver.targets, neverTaken, deadline);
  return new Map([...stopped, ...polled, ...buried]);
}

/** One transaction: what the children said, what follows from it, and the intents. Returns the steps to submit now. */
async function record(tx: Tx, runId: string, fence: number, answers: Answers, authority: Authority, by: Cause): Promise<DataRunStep[]> {
  const locked = await lockRun(tx, runId, fence);
  if (locked === null) return []; // the lease went to another pass, which decides now
  const events = await applyAnswers(tx, locked, answers);
  const steps = events.length > 0 ? ((await lockRun(tx, runId, fence))?.steps ?? []) : locked.steps;
  const { run } = locked;
  const decision = run.state === 'RUNNING' && run.cancelRequestedAt === null ? decide(steps) : null;
  const intended: DataRunStep[] = [];
  let to = run.state;
  const set: Prisma.Sql[] = [recounted(runId)];
  if (decision !== null) {
    for (const { step, by: dependency } of decision.block) events.push(await blockForGood(tx, step, dependency));
    for (const step of decision.finallyBlock) await tx.sql.$executeRaw(finallyBlocked(step));
  }
  if (decision !== null && decision.settle === null) {
    // An intent that the target never saw goes out again, the same attempt with the same key.
    const unseen = steps.filter((step) => step.state === 'SUBMITTING' && answers.get(step.id)?.is === 'none');
    intended.push(...[...unseen, ...decision.submit].filter((step) => authority.mayDrive(step.target)).slice(0, intentsAtOnce)); // else held: whyNotRunning says so
    for (const step of intended) if (step.state !== 'SUBMITTING') events.push(await intend(tx, step));
  }
  if (decision !== null && decision.settle !== null) {
    const { settle } = decision;
    ({ to } = runLifecycle.transitions[settle]);
    set.push(Prisma.sql`settled_at = clock_timestamp()`);
    if (settle === 'FAIL') set.push(await giveUp(tx, steps, events));
    events.push({ action: settle, from: run.state, to, cause: 'SETTLED_BY_PASS' });
  }
  if (answers.size > 0) tx.touched.add(`progress:${runId}`);
  if (events.length > 0) {
    await countRows(tx, run);
    await change(tx, dataRunSubject, run, { to, events, set, fence }, by);
  }
  return intended.length === 0 ? [] : tx.sql.dataRunStep.findMany({ where: { id: { in: intended.map(({ id }) => id) } } });
}

// Keeps each transaction short; the pass goes on with the rest in its next turn.
const intentsAtOnce = 100;

async function intend(tx: Tx, step: DataRunStep): Promise<EventDraft> {
  const attempt = step.attempt + 1;
  return moveStep(tx, step, 'SUBMIT', [
    Prisma.sql`attempt = ${attempt}, idempotency_key = ${submissionKey(step.runId, step.position, attempt)}, child_job_id = NULL, blockers = '[]', settled_at = NULL`,
    Prisma.sql`submitted_at = clock_timestamp()`,
  ]);
}

/** What failing means for the other steps, and what the run says of it. */
async function giveUp(tx: Tx, steps: readonly DataRunStep[], events: EventDraft[]): Promise<Prisma.Sql> {
  const culprit = steps.find(({ state }) => state === 'FAILED');
  for (const step of steps) {
    if (step.state === 'PENDING') events.push(await skip(tx, step, `The dataset ${culprit?.dataset} failed.`));
    if (step.state === 'BLOCKED' && !step.finallyBlocked) await tx.sql.$executeRaw(finallyBlocked(step));
  }
  return Prisma.sql`failed_dataset = ${culprit?.dataset ?? null}, failure = ${JSON.stringify(culprit?.failure ?? null)}::jsonb`;
}

/** A load that read a file to its end has counted its rows: from then on the package knows. */
async function countRows({ sql }: Tx, run: DataRun): Promise<void> {
  await sql.$executeRaw`
    UPDATE package_resource r SET rows = s.rows_source FROM data_run_step s
    WHERE s.run_id = ${run.id}::uuid AND r.package_id = ${run.packageId}::uuid AND r.name = s.dataset AND r.rows IS NULL AND s.state IN ('SUCCEEDED', 'BLOCKED')
      AND s.child_job_id IS NOT NULL`;
}

export function submissionKey(runId: string, position: number, attempt: number): string {
  return `ph:${runId}:${position}:${attempt}`;
}

const followed = ['SUBMITTING', 'ACTIVE', 'CANCELLING'] as const satisfies readonly DataRunStep['state'][];
const isFollowed = (step: DataRunStep) => followed.some((state) => state === step.state);

async function applyAnswers(tx: Tx, { run, steps }: RunWithSteps, answers: Answers): Promise<EventDraft[]> {
  const events: EventDraft[] = [];
  for (const step of steps) {
    const answer = answers.get(step.id);
    // A cancel may have moved the step on since its child was asked: what it said is known by then.
    if (answer === undefined || !isFollowed(step)) continue;
    if (answer.is === 'job' && answer.report.state === 'cancelled' && step.state === 'SUBMITTING' && hasEnded(run)) {
      events.push(...(await applyNone(tx, step, true)));
    } else if (answer.is === 'job') events.push(...(await applyReport(tx, step, answer.report, hasEnded(run))));
    else if (answer.is === 'refused' && step.state === 'SUBMITTING') events.push(await failStep(tx, step, answer.failure));
    else if (answer.is === 'forbidden' && step.state === 'SUBMITTING') events.push(await failStep(tx, step, refusedAccess(answer.message)));
    else if (answer.is === 'none') events.push(...(await applyNone(tx, step, hasEnded(run))));
    // unknown: the attempt and its key stay as they are, and the next pass asks again
  }
  return events;
}

/** The target has no such job: there is nothing to stop, or (for an intent under an ended run) nothing to wait for. */
async function applyNone(tx: Tx, step: DataRunStep, runEnded: boolean): Promise<EventDraft[]> {
  if (step.state === 'CANCELLING') return [await moveStep(tx, step, 'CANCEL', [Prisma.sql`settled_at = clock_timestamp()`])];
  if (step.state === 'SUBMITTING' && runEnded) {
    const asked = await moveStep(tx, step, 'CANCEL_REQUEST', [Prisma.sql`cancel_requested_at = clock_timestamp()`], 'RUN_ENDED');
    const stopped = await moveStep(
      tx,
      { ...step, state: 'CANCELLING' },
      'CANCEL',
      [Prisma.sql`settled_at = clock_timestamp()`],
      'RUN_ENDED',
    );
    return [asked, stopped];
  }
  return [];
}

const refusedAccess = (message: string) =>
  ({ code: 'ACCESS_REFUSED', origin: 'authority', phase: 'submitting', retryable: true, summary: message }) as const;

/** Calls the targets for intents already committed. An intent of an earlier pass without an answer is sent again with the same key. */
async function submit(driver: Driver, steps: readonly DataRunStep[], authority: Authority): Promise<Answers> {
  const [first] = steps;
  if (first === undefined) return new Map();
  const run = await driver.db.prisma.dataRun.findUniqueOrThrow({
    where: { id: first.runId },
    include: { package: { select: { plan: true } } },
  });
  const plan = run.package.plan as unknown as PackagePlan; // written by registration in this shape, and only then can a run exist
  const answers = await Promise.all(
    steps.map(async (step): Promise<[string, Answer]> => {
      const dataset = plan.datasets.find(({ name }) => name === step.dataset);
      const target = driver.targets.get(step.target);
      if (dataset === undefined || target === undefined || step.idempotencyKey === null) {
        return [step.id, { is: 'unknown', message: `the target ${step.target} is not configured in this process` }];
      }
      const submission: Submission = {
        key: step.idempotencyKey,
        runId: run.id,
        stepId: step.id,
        attempt: step.attempt,
        workspaceId: run.workspaceId,
        packageId: run.packageId,
        dataset,
        onInvalidRow: run.onInvalidRow,
        onMissingReference: run.onMissingReference,
        subject: authority.subject,
      };
      const answer = await ask((signal) => target.submit(submission, signal), driver.settings.deadlineMs);
      return [step.id, answer.is === 'none' ? { is: 'unknown', message: 'the target answered a submission with no job' } : answer];
    }),
  );
  return new Map(answers);
}
