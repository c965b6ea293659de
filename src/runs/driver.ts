// A pass: poll what is active, submit what is eligible, settle. Any process may run one at any time; the lease lets one at a time through,
// and its number (the fence) keeps one that lost the lease from writing. No transaction is open while a target is called.
import { randomUUID } from 'node:crypto';
import type { Authorise } from '../auth/grants.ts';
import { type Db, inTransaction, Prisma, type Tx } from '../db.ts';
import type { Cause, EventDraft } from '../events/log.ts';
import type { DataRun, DataRunStep } from '../generated/prisma/client.ts';
import { change, dataRunSubject } from '../lifecycle/transition.ts';
import type { Log } from '../log.ts';
import type { PackagePlan } from '../packages/plan.ts';
import { enqueue } from '../tasks/task.ts';
import { applyAnswers } from './answers.ts';
import { type Answers, askEach } from './children.ts';
import { decide } from './decide.ts';
import { runLifecycle } from './lifecycle.ts';
import { poll } from './poll.ts';
import { lockRun } from './rows.ts';
import { blockForGood, finallyBlocked, moveStep, recounted, skip } from './steps.ts';
import { storeName } from './targets/store.ts';
import type { Submission, Targets } from './targets/target.ts';
import { driveKey, driveRun } from './wake.ts';

export interface DriverSettings {
  readonly leaseMs: number;
  /** How long one call to a target may take. At most a third of the lease: a pass calls once before it first writes. */
  readonly deadlineMs: number;
  /** The first wait before the children of an ended run are asked again; each further one is twice as long. */
  readonly retryMs: number;
}

export interface Driver {
  readonly db: Db;
  readonly targets: Targets;
  readonly settings: DriverSettings;
  /** Under way in this process: a stop waits for them, so that they can give their leases back. */
  readonly passes: Set<Promise<unknown>>;
  readonly log: Log;
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
  let leasedAt = performance.now();
  const lease = Prisma.sql`lease_until = clock_timestamp() + make_interval(secs => ${driver.settings.leaseMs / 1_000})`;
  const [taken] = await prisma.$queryRaw<Taken[]>`
    UPDATE data_run SET lease_owner = ${owner}, fence = fence + 1, ${lease}
    WHERE id = ${runId}::uuid AND (lease_until IS NULL OR lease_until < clock_timestamp()) RETURNING fence, last_sequence AS "lastSequence"`;
  if (taken === undefined) return false;
  const { fence } = taken;
  // Three quarters are enough for a turn and its call. Left out, a commit less stands between the start of a run and its first request.
  const renew = async () => {
    const now = performance.now();
    if (now - leasedAt < driver.settings.leaseMs / 4) return;
    leasedAt = now;
    await prisma.$executeRaw`UPDATE data_run SET ${lease} WHERE id = ${runId}::uuid AND fence = ${fence}`;
  };
  try {
    let answers: Answers = await poll(driver, runId, () => authorise(prisma));
    // Each turn writes what was learnt and what is intended, then calls. A turn that intends nothing is the last.
    const { targets, settings } = driver;
    const turn = { runId, fence, authorise, by, targets, settleMs: 2 * settings.deadlineMs };
    for (;;) {
      await renew();
      const mayIntend = Date.now() < until;
      const { run, intended, settled } = await inTransaction(driver.db, (tx) => record(tx, { ...turn, answers, mayIntend }));
      if (settled !== null) driver.log.info({ runId, state: settled }, 'run settled');
      if (run === null || intended.length === 0) return true;
      answers = await submit(driver, run, intended);
    }
  } finally {
    await giveBack(driver, runId, taken);
  }
}

/** A lease, and the number of the run's last event when it was taken. */
interface Taken {
  readonly fence: number;
  readonly lastSequence: number;
}

// Late results are recorded at most so much late, where no callback says so before.
const longestPutOffSeconds = 60;

async function giveBack({ db: { prisma }, settings }: Driver, runId: string, { fence, lastSequence }: Taken): Promise<void> {
  const seconds = settings.retryMs / 1_000;
  const released = await prisma.$queryRaw<{ wanted: boolean }[]>`
    WITH was AS (
      SELECT id, pass_wanted, CASE WHEN settled_at IS NOT NULL AND last_sequence = ${lastSequence} THEN fruitless_passes + 1 ELSE 0 END AS fruitless
      FROM data_run WHERE id = ${runId}::uuid AND fence = ${fence} FOR UPDATE
    )
    UPDATE data_run r SET lease_owner = NULL, lease_until = NULL, pass_wanted = false, fruitless_passes = was.fruitless,
      put_off_until = CASE WHEN was.fruitless > 0 THEN clock_timestamp()
        + make_interval(secs => least(${seconds}::float8 * 2 ^ least(was.fruitless - 1, 20), ${longestPutOffSeconds}) * (0.75 + random() / 2)) END
    FROM was WHERE r.id = was.id RETURNING was.pass_wanted AS wanted`;
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

interface Turn {
  readonly runId: string;
  readonly fence: number;
  readonly answers: Answers;
  readonly authorise: Authorise;
  readonly by: Cause;
  readonly mayIntend: boolean;
  readonly targets: Targets;
  /** How long after a submission a target that only looks up is taken to know of it. */
  readonly settleMs: number;
}

interface Recorded {
  /** As it was when it was locked. Null: the lease went to another pass, which decides now. */
  readonly run: DataRun | null;
  /** To be submitted now. */
  readonly intended: DataRunStep[];
  readonly settled: DataRun['state'] | null;
}

/** One transaction: what the children said, what follows from it, and the intents. */
async function record(tx: Tx, { runId, fence, answers, authorise, by, mayIntend, targets, settleMs }: Turn): Promise<Recorded> {
  const locked = await lockRun(tx, runId, fence);
  if (locked === null) return { run: null, intended: [], settled: null };
  const events = await applyAnswers(tx, locked, answers, targets);
  const hasNews = events.length > 0;
  const steps = hasNews ? ((await lockRun(tx, runId, fence))?.steps ?? []) : locked.steps;
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
    const unseen = await sendable(
      tx,
      steps.filter((step) => step.state === 'SUBMITTING' && answers.get(step.id)?.answer.is === 'none'),
      targets,
      settleMs,
    );
    const authority = await authorise(tx.sql); // under the run's lock, for this turn: it may have ended since the last
    const wanted = [...unseen, ...decision.submit].filter((step) => authority.mayDrive(step.target)); // else held: whyNotRunning says so
    intended.push(...wanted.slice(0, intentsAtOnce));
    for (const step of intended) if (step.state !== 'SUBMITTING') events.push(await intend(tx, step));
    // Before the call: of one that dies in it nobody knows how far it came. Also of an intent that goes out again: whoever wrote it may have no
    // authority any more.
    const ids = intended.map(({ id }) => id);
    if (ids.length > 0) {
      await tx.sql
        .$executeRaw`UPDATE data_run_step SET sent_at = clock_timestamp(), submitted_by = ${authority.subject} WHERE id = ANY(${ids}::uuid[])`;
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
    if (hasNews) await countRows(tx, run);
    await change(tx, dataRunSubject, run, { to, events, set, fence }, by);
  }
  const settled = to === run.state ? null : to;
  if (intended.length === 0) return { run, intended, settled };
  return { run, intended: await tx.sql.dataRunStep.findMany({ where: { id: { in: intended.map(({ id }) => id) } } }), settled };
}

/**
 * Of intents that their targets do not know, those that may go out. A target that only looks up may have one on its way in: sent again
 * before that has settled, it would be two jobs.
 */
async function sendable({ sql }: Tx, unseen: readonly DataRunStep[], targets: Targets, settleMs: number): Promise<DataRunStep[]> {
  const onTheirWay = unseen.filter(({ target, sentAt }) => sentAt !== null && targets.get(target)?.idempotency === 'lookup');
  if (onTheirWay.length === 0) return [...unseen];
  const ids = onTheirWay.map(({ id }) => id);
  const young = await sql.$queryRaw<{ id: string }[]>`
    SELECT id::text FROM data_run_step WHERE id = ANY(${ids}::uuid[]) AND sent_at > clock_timestamp() - make_interval(secs => ${settleMs / 1_000})`;
  return unseen.filter(({ id }) => !young.some((one) => one.id === id));
}

// Keeps each transaction short; the pass goes on with the rest in its next turn.
const intentsAtOnce = 100;

async function intend(tx: Tx, step: DataRunStep): Promise<EventDraft> {
  const attempt = step.attempt + 1;
  return moveStep(tx, step, 'SUBMIT', [
    Prisma.sql`attempt = ${attempt}, idempotency_key = ${submissionKey(step.runId, step.position, attempt)}, child_job_id = NULL, blockers = '[]', settled_at = NULL`,
    Prisma.sql`submitted_at = clock_timestamp(), missing_since = NULL, cancel_answer = NULL`,
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
      AND (s.rows_source > 0 OR s.target = ${storeName})`;
}

export function submissionKey(runId: string, position: number, attempt: number): string {
  return `ph:${runId}:${position}:${attempt}`;
}

/** Calls the targets for intents already committed: each with the key that its intent was written with, however often. */
async function submit(driver: Driver, run: DataRun, steps: readonly DataRunStep[]): Promise<Answers> {
  const read = await driver.db.prisma.dataPackage.findUniqueOrThrow({ where: { id: run.packageId }, select: { plan: true } });
  const plan = read.plan as unknown as PackagePlan; // written by registration in this shape, and only then can a run exist
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
      submittedAt: step.submittedAt ?? run.registeredAt,
    };
    const answer = await target.submit(submission, signal);
    return answer.is === 'none' ? { is: 'unknown', message: 'the target answered a submission with no job' } : answer;
  });
}
