// A pass: poll what is active, submit what is eligible, settle. Any process may run one at any time; the lease lets one at a time through,
// and its number (the fence) keeps one that lost the lease from writing. No transaction is open while a target is called.
import { randomUUID } from 'node:crypto';
import type { Authorise } from '../auth/grants.ts';
import { type Db, inTransaction, Prisma, type Tx } from '../db.ts';
import type { Cause, EventDraft } from '../events/log.ts';
import type { DataRun, DataRunStep } from '../generated/prisma/client.ts';
import { terminalStates } from '../lifecycle/lifecycle.ts';
import { change, dataRunSubject } from '../lifecycle/transition.ts';
import type { Log } from '../log.ts';
import type { PackagePlan } from '../packages/plan.ts';
import { enqueue } from '../tasks/task.ts';
import { type Answers, askEach, askToStop, childAnswers, type Told } from './children.ts';
import { decide } from './decide.ts';
import { runLifecycle } from './lifecycle.ts';
import { lockRun, type RunWithSteps } from './rows.ts';
import {
  applyReport,
  blockForGood,
  childMissing,
  failStep,
  finallyBlocked,
  moveStep,
  noteCancelAnswer,
  nothingToStop,
  recounted,
  skip,
} from './steps.ts';
import { storeName } from './targets/store.ts';
import type { Caller, Submission, Targets } from './targets/target.ts';
import { driveKey, driveRun } from './wake.ts';

export interface DriverSettings {
  readonly leaseMs: number;
  /** How long one call to a target may take. At most a third of the lease: a pass calls once before it first writes. */
  readonly deadlineMs: number;
}

export interface Driver {
  readonly db: Db;
  readonly targets: Targets;
  readonly settings: DriverSettings;
  /** Under way in this process: a stop waits for them, so that they can give their leases back. */
  readonly passes: Set<Promise<unknown>>;
  readonly log: Log;
}

const ended = new Set<string>(terminalStates(runLifecycle));

export function hasEnded(run: Pick<DataRun, 'state'>): boolean {
  return ended.has(run.state);
}

export interface PassOptions {
  readonly authorise: Authorise;
  readonly by: Cause;
  /** By the process's own clock: no further turn begins after it, and the rest is left to the next pass. */
  readonly until?: number;
}

/** One pass. False: another holds the lease, and what this one would have done is done by that one or the next. */
export function pass(driver: Driver, runId: string, options: PassOptions): Promise<boolean> {
  const running = leased(driver, runId, options).finally(() => driver.passes.delete(running));
  driver.passes.add(running);
  return running;
}

async function leased(driver: Driver, runId: string, { authorise, by, until = Number.POSITIVE_INFINITY }: PassOptions): Promise<boolean> {
  const { prisma } = driver.db;
  const owner = randomUUID();
  const lease = Prisma.sql`lease_until = clock_timestamp() + make_interval(secs => ${driver.settings.leaseMs / 1_000})`;
  const [taken] = await prisma.$queryRaw<{ fence: number }[]>`
    UPDATE data_run SET lease_owner = ${owner}, fence = fence + 1, ${lease}
    WHERE id = ${runId}::uuid AND (lease_until IS NULL OR lease_until < clock_timestamp()) RETURNING fence`;
  if (taken === undefined) return false;
  const { fence } = taken;
  const renew = () => prisma.$executeRaw`UPDATE data_run SET ${lease} WHERE id = ${runId}::uuid AND fence = ${fence}`;
  try {
    const caller = await authorise(prisma);
    let answers: Answers = await poll(driver, runId, caller);
    // Each turn writes what was learnt and what is intended, then calls. A turn that intends nothing is the last.
    for (;;) {
      await renew();
      const mayIntend = Date.now() < until;
      const { intended, settled } = await inTransaction(driver.db, (tx) => record(tx, { runId, fence, answers, authorise, by, mayIntend }));
      if (settled !== null) driver.log.info({ runId, state: settled }, 'run settled');
      if (intended.length === 0) return true;
      answers = await submit(driver, intended);
    }
  } finally {
    await giveBack(driver.db, runId, fence);
  }
}

async function giveBack({ prisma }: Db, runId: string, fence: number): Promise<void> {
  const released = await prisma.$queryRaw<{ wanted: boolean }[]>`
    WITH was AS (SELECT id, pass_wanted FROM data_run WHERE id = ${runId}::uuid AND fence = ${fence} FOR UPDATE)
    UPDATE data_run r SET lease_owner = NULL, lease_until = NULL, pass_wanted = false FROM was WHERE r.id = was.id RETURNING was.pass_wanted AS wanted`;
  if (released[0]?.wanted) await enqueue(prisma, driveRun, { runId }, { jobKey: driveKey(runId) });
}

/**
 * For who was woken by news and found a pass under way, which may have asked before there was any: has another follow it. Without this the
 * news would wait for the reaper (seen: four seconds). False: the pass has ended meanwhile, so there is nothing to follow.
 */
export async function wantAnother({ prisma }: Db, runId: string): Promise<boolean> {
  const noted =
    await prisma.$executeRaw`UPDATE data_run SET pass_wanted = true WHERE id = ${runId}::uuid AND lease_until >= clock_timestamp()`;
  return noted === 1;
}

const followed = ['SUBMITTING', 'ACTIVE', 'CANCELLING'] as const satisfies readonly DataRunStep['state'][];

/** Asks every child that may be at work how it stands; asks those of a cancelled run again to stop. */
async function poll(driver: Driver, runId: string, caller: Caller): Promise<Answers> {
  const run = await driver.db.prisma.dataRun.findUnique({ where: { id: runId } });
  const steps = await driver.db.prisma.dataRunStep.findMany({ where: { runId, state: { in: [...followed] } } });
  if (run === null || run.cancelRequestedAt !== null) return new Map(); // a cancel asks them itself
  const deadline = driver.settings.deadlineMs;
  const isStopping = ({ state }: DataRunStep) => state === 'CANCELLING';
  const working = steps.filter((step) => !isStopping(step));
  const [stopped, polled] = await Promise.all([
    askToStop(driver.targets, steps.filter(isStopping), caller, deadline),
    childAnswers(driver.targets, working, caller, deadline),
  ]);
  // Under an ended run what the target does not know must not be taken later: the tombstone comes before the step is let go.
  const unknownToIt = hasEnded(run) ? working.filter((step) => polled.get(step.id)?.answer.is === 'none') : [];
  const buried = await askToStop(driver.targets, unknownToIt, caller, deadline);
  return new Map([...stopped, ...polled, ...buried]);
}

interface Turn {
  readonly runId: string;
  readonly fence: number;
  readonly answers: Answers;
  readonly authorise: Authorise;
  readonly by: Cause;
  readonly mayIntend: boolean;
}

interface Recorded {
  /** To be submitted now. */
  readonly intended: DataRunStep[];
  readonly settled: DataRun['state'] | null;
}

/** One transaction: what the children said, what follows from it, and the intents. */
async function record(tx: Tx, { runId, fence, answers, authorise, by, mayIntend }: Turn): Promise<Recorded> {
  const locked = await lockRun(tx, runId, fence);
  if (locked === null) return { intended: [], settled: null }; // the lease went to another pass, which decides now
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
  if (decision !== null && decision.settle === null && mayIntend) {
    // An intent that the target never saw goes out again, the same attempt with the same key.
    const unseen = steps.filter((step) => step.state === 'SUBMITTING' && answers.get(step.id)?.answer.is === 'none');
    const authority = await authorise(tx.sql); // under the run's lock, for this turn: it may have ended since the last
    const wanted = [...unseen, ...decision.submit].filter((step) => authority.mayDrive(step.target)); // else held: whyNotRunning says so
    intended.push(...wanted.slice(0, intentsAtOnce));
    for (const step of intended) {
      if (step.state !== 'SUBMITTING') events.push(await intend(tx, step, authority.subject));
      else if (step.submittedBy !== authority.subject) await resubmitAs(tx, step, authority.subject);
    }
  }
  if (decision !== null && decision.settle !== null) {
    const { settle } = decision;
    ({ to } = runLifecycle.transitions[settle]);
    set.push(Prisma.sql`settled_at = clock_timestamp()`);
    if (settle === 'FAIL') set.push(await giveUp(tx, steps, events));
    events.push({ action: settle, from: run.state, to, cause: 'SETTLED_BY_PASS' });
  }
  if (answers.size > 0) tx.touched.add(`progress:${runId}`);
  if (events.length > 0 || (decision?.finallyBlock.length ?? 0) > 0) {
    await countRows(tx, run);
    await change(tx, dataRunSubject, run, { to, events, set, fence }, by);
  }
  const settled = to === run.state ? null : to;
  if (intended.length === 0) return { intended, settled };
  return { intended: await tx.sql.dataRunStep.findMany({ where: { id: { in: intended.map(({ id }) => id) } } }), settled };
}

// Keeps each transaction short; the pass goes on with the rest in its next turn.
const intentsAtOnce = 100;

async function intend(tx: Tx, step: DataRunStep, subject: string): Promise<EventDraft> {
  const attempt = step.attempt + 1;
  return moveStep(tx, step, 'SUBMIT', [
    Prisma.sql`attempt = ${attempt}, idempotency_key = ${submissionKey(step.runId, step.position, attempt)}, child_job_id = NULL, blockers = '[]', settled_at = NULL`,
    Prisma.sql`submitted_at = clock_timestamp(), submitted_by = ${subject}, missing_since = NULL`,
  ]);
}

/** The target has never seen it, and whoever wrote the intent may have no authority any more. */
async function resubmitAs({ sql }: Tx, { id }: DataRunStep, subject: string): Promise<void> {
  await sql.$executeRaw`UPDATE data_run_step SET submitted_by = ${subject} WHERE id = ${id}::uuid`;
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
      AND (s.rows_source > 0 OR s.target = ${storeName})`;
}

export function submissionKey(runId: string, position: number, attempt: number): string {
  return `ph:${runId}:${position}:${attempt}`;
}

async function applyAnswers(tx: Tx, { run, steps }: RunWithSteps, answers: Answers): Promise<EventDraft[]> {
  const events: EventDraft[] = [];
  for (const step of steps) {
    const told = answers.get(step.id);
    // The step has moved on since its child was asked, by a cancel or another attempt: what was said then is not about it as it is now.
    if (told === undefined || told.state !== step.state || told.attempt !== step.attempt) continue;
    events.push(...(await applyAnswer(tx, run, step, told)));
  }
  return events;
}

/** What an answer means for its step. A refusal ends a step only as the answer to its submission; an unknown changes nothing, and is asked again. */
async function applyAnswer(tx: Tx, run: DataRun, step: DataRunStep, { answer, asked }: Told): Promise<EventDraft[]> {
  const stopping = step.state === 'CANCELLING';
  switch (answer.is) {
    case 'job': {
      const { report } = answer;
      // The cancel that is under way stopped it, and will say so.
      if (report.state === 'cancelled' && run.cancelRequestedAt !== null) return [];
      if (report.state === 'cancelled' && asked === 'to stop' && !stopping) return nothingToStop(tx, step, 'RUN_ENDED');
      if (stopping) await noteCancelAnswer(tx, step, 'requested');
      return applyReport(tx, step, report, hasEnded(run));
    }
    case 'none':
      if (asked === 'to stop') return nothingToStop(tx, step, stopping ? undefined : 'RUN_ENDED');
      return step.state === 'ACTIVE' ? childMissing(tx, step) : [];
    case 'refused':
      return asked === 'submit' && step.state === 'SUBMITTING' ? [await failStep(tx, step, answer.failure)] : [];
    case 'forbidden':
      if (asked === 'submit' && step.state === 'SUBMITTING') return [await failStep(tx, step, refusedAccess(answer.message))];
      if (stopping) await noteCancelAnswer(tx, step, 'refused');
      return [];
    case 'unknown':
      if (stopping) await noteCancelAnswer(tx, step, 'unreachable');
      return [];
  }
}

const refusedAccess = (message: string) =>
  ({ code: 'ACCESS_REFUSED', origin: 'authority', phase: 'submitting', retryable: true, summary: message }) as const;

/** Calls the targets for intents already committed: each with the key that its intent was written with, however often. */
async function submit(driver: Driver, steps: readonly DataRunStep[]): Promise<Answers> {
  const [first] = steps;
  if (first === undefined) return new Map();
  const run = await driver.db.prisma.dataRun.findUniqueOrThrow({
    where: { id: first.runId },
    include: { package: { select: { plan: true } } },
  });
  const plan = run.package.plan as unknown as PackagePlan; // written by registration in this shape, and only then can a run exist
  const datasets = new Map(plan.datasets.map((dataset) => [dataset.name, dataset]));
  return askEach(driver.targets, steps, 'submit', driver.settings.deadlineMs, async (target, step, signal) => {
    const dataset = datasets.get(step.dataset);
    if (dataset === undefined || step.idempotencyKey === null) return { is: 'unknown', message: 'there is no such intent' };
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
      subject: step.submittedBy ?? 'driver',
    };
    const answer = await target.submit(submission, signal);
    return answer.is === 'none' ? { is: 'unknown', message: 'the target answered a submission with no job' } : answer;
  });
}
