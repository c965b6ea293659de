// Moving steps. A step's change is an event of its run: callers hold the run's lock, collect the drafts, and write the run last.
import { Prisma, type Tx } from '../db.ts';
import type { EventDraft } from '../events/log.ts';
import type { DataRunStep } from '../generated/prisma/client.ts';
import { unmet } from '../lifecycle/lifecycle.ts';
import { moveRow } from '../lifecycle/transition.ts';
import type { Blocker } from '../records/outcome.ts';
import { stepLifecycle } from './lifecycle.ts';
import type { Answer, ChildReport } from './targets/target.ts';

export type StepAction = keyof typeof stepLifecycle.transitions;

/** Moves a step and returns the event to append. Throws where the table has no such move: a bug, not a refusal. */
export async function moveStep(
  tx: Tx,
  step: DataRunStep,
  action: StepAction,
  set: readonly Prisma.Sql[] = [],
  cause?: string,
): Promise<EventDraft> {
  const why = unmet(stepLifecycle, action, step);
  if (why.length > 0) throw new Error(`step ${step.dataset} of run ${step.runId}: ${why.map(({ says }) => says).join(' ')}`);
  const { to } = stepLifecycle.transitions[action];
  await moveRow(tx, { table: 'data_run_step', stateType: 'data_run_step_state' }, step, to, set);
  return { action, from: step.state, to, dataset: step.dataset, cause: cause ?? null };
}

const settledNow = Prisma.sql`settled_at = clock_timestamp()`;

/** Columns that a child's report fills, whatever its state. */
export function reported(report: ChildReport): Prisma.Sql[] {
  const { rows, progress, failure, blockers, errors } = report;
  return [
    Prisma.sql`child_job_id = ${report.id}`,
    Prisma.sql`progress_done = ${progress.done}, progress_total = ${progress.total}::bigint, progress_unit = ${progress.unit}`,
    ...(rows === undefined
      ? []
      : [
          Prisma.sql`rows_source = ${rows.source}, rows_loaded = ${rows.loaded}, rows_updated = ${rows.updated}, rows_unchanged = ${rows.unchanged},
            rows_rejected = ${rows.rejected}, rows_blocked = ${rows.blocked}, rows_unprocessed = ${rows.unprocessed}`,
        ]),
    ...(failure === undefined ? [] : [Prisma.sql`failure = ${JSON.stringify(failure)}::jsonb`]),
    ...(blockers === undefined ? [] : [Prisma.sql`blockers = ${JSON.stringify(blockers)}::jsonb`]),
    ...(errors === undefined ? [] : [Prisma.sql`row_errors = ${JSON.stringify(errors.first)}::jsonb, row_error_count = ${errors.count}`]),
  ];
}

const childFailure = (code: string, summary: string, retryable: boolean) =>
  ({ code, origin: 'target', phase: 'running', retryable, summary }) as const;
const childCancelled = childFailure('CHILD_CANCELLED', 'The child job was stopped without the run having been cancelled.', true);
const childLost = childFailure('CHILD_LOST', 'The target no longer knows the child job.', true);
const unexplained = childFailure('CHILD_FAILED', 'The child job failed and gave no reason.', false);

const ends = { succeeded: 'SUCCEED', failed: 'FAIL', blocked: 'BLOCK', cancelled: 'CANCEL', queued: null, running: null } as const;

/**
 * What a child says, made into moves of its step; [] where its state stays and only its progress is new. With `ended` the run is already
 * terminal, so however the child ended is a late result, which changes nothing about the run.
 */
export async function applyReport(tx: Tx, step: DataRunStep, report: ChildReport, ended: boolean): Promise<EventDraft[]> {
  if (step.state === 'SUBMITTING') {
    const accepted = await moveStep(tx, step, 'ACCEPT', [Prisma.sql`child_job_id = ${report.id}`]);
    return [accepted, ...(await applyReport(tx, { ...step, state: 'ACTIVE' }, report, ended))];
  }
  const how = ends[report.state];
  if (how === null) {
    await tx.sql
      .$executeRaw`UPDATE data_run_step SET ${Prisma.join([...reported(report), Prisma.sql`missing_since = NULL`])} WHERE id = ${step.id}::uuid`;
    return [];
  }
  if (how === 'CANCEL' && step.state === 'CANCELLING')
    return [await moveStep(tx, step, 'CANCEL', [...reported(report), confirmed, settledNow])];
  const told =
    how === 'FAIL'
      ? { ...report, failure: report.failure ?? unexplained }
      : how === 'CANCEL'
        ? { ...report, failure: childCancelled }
        : report;
  const end = how === 'CANCEL' ? 'FAIL' : how;
  // Under an ended run nothing can clear a block any more.
  const late = ended ? [Prisma.sql`late_result = ${report.state}`, ...(end === 'BLOCK' ? [Prisma.sql`finally_blocked = true`] : [])] : [];
  const action = step.state === 'CANCELLING' ? (`LATE_${end}` as const) : end;
  const draft = await moveStep(
    tx,
    step,
    action,
    [...reported(told), ...late, settledNow],
    how === 'CANCEL' ? 'CHILD_CANCELLED' : 'CHILD_ENDED',
  );
  return [ended ? { ...draft, action: 'LATE_RESULT' } : draft];
}

const confirmed = Prisma.sql`cancel_answer = 'confirmed'`;

/** There is nothing to stop: the target said so when it was asked to. */
export async function nothingToStop(tx: Tx, step: DataRunStep, cause?: string): Promise<EventDraft[]> {
  if (step.state === 'CANCELLING') return [await moveStep(tx, step, 'CANCEL', [confirmed, settledNow], cause)];
  const asked = await moveStep(tx, step, 'CANCEL_REQUEST', [Prisma.sql`cancel_requested_at = clock_timestamp()`], cause);
  return [asked, await moveStep(tx, { ...step, state: 'CANCELLING' }, 'CANCEL', [confirmed, settledNow], cause)];
}

// One look that finds nothing may be a target that is just starting. So many seconds of them are a child that is gone.
const lostAfterSeconds = 60;

/** The target does not know a child that it had accepted. */
export async function childMissing(tx: Tx, step: DataRunStep): Promise<EventDraft[]> {
  const [row] = await tx.sql.$queryRaw<{ lost: boolean }[]>`
    UPDATE data_run_step SET missing_since = coalesce(missing_since, clock_timestamp()) WHERE id = ${step.id}::uuid
    RETURNING missing_since < clock_timestamp() - make_interval(secs => ${lostAfterSeconds}) AS lost`;
  if (row?.lost !== true) return [];
  return [await moveStep(tx, step, 'FAIL', [Prisma.sql`failure = ${JSON.stringify(childLost)}::jsonb`, settledNow], 'CHILD_LOST')];
}

const overdue = (answered: string) =>
  ({
    code: 'STEP_DEADLINE',
    origin: 'system',
    phase: 'running',
    retryable: true,
    summary: `The child was at work for longer than its target allows, and was asked to stop (${answered}).`,
  }) as const;

/** A child over its target's deadline was asked to stop. Its step fails, unless it has ended meanwhile: then it ended as it says. */
export async function failOverdue(tx: Tx, step: DataRunStep, answer: Answer, ended: boolean): Promise<EventDraft[]> {
  const state = answer.is === 'job' ? ends[answer.report.state] : null;
  if (answer.is === 'job' && state !== null && state !== 'CANCEL') return applyReport(tx, step, answer.report, ended);
  const said = saidToStop(answer);
  // Until it is known to have stopped it is asked again, under a run that may have ended long before.
  const open = said === 'confirmed' ? Prisma.sql`overdue_since = NULL` : Prisma.sql`overdue_since = clock_timestamp()`;
  const set = [Prisma.sql`failure = ${JSON.stringify(overdue(said))}::jsonb, cancel_answer = ${said}`, open, settledNow];
  return [await moveStep(tx, step, 'FAIL', set, 'STEP_DEADLINE')];
}

/** The same child, asked again after its step has failed. That it has stopped at last is a late result. */
export async function noteOverdue(tx: Tx, step: DataRunStep, answer: Answer): Promise<EventDraft[]> {
  const said = saidToStop(answer);
  await tx.sql.$executeRaw`
    UPDATE data_run_step SET cancel_answer = ${said}, overdue_since = CASE WHEN ${said === 'confirmed'} THEN NULL ELSE overdue_since END,
      late_result = ${answer.is === 'job' && said === 'confirmed' ? answer.report.state : null} WHERE id = ${step.id}::uuid AND overdue_since IS NOT NULL`;
  return said === 'confirmed' ? [{ action: 'LATE_RESULT', from: 'FAILED', to: 'FAILED', dataset: step.dataset, cause: 'CHILD_ENDED' }] : [];
}

function saidToStop(answer: Answer): 'confirmed' | 'requested' | 'refused' | 'unreachable' {
  if (answer.is === 'none') return 'confirmed';
  if (answer.is === 'job') return ends[answer.report.state] === null ? 'requested' : 'confirmed';
  return answer.is === 'forbidden' ? 'refused' : 'unreachable';
}

/** What the child last said to a cancel: kept with the duty, so that a person sees why it is still open. */
export async function noteCancelAnswer(tx: Tx, step: DataRunStep, said: 'requested' | 'refused' | 'unreachable'): Promise<void> {
  await tx.sql
    .$executeRaw`UPDATE data_run_step SET cancel_answer = ${said} WHERE id = ${step.id}::uuid AND cancel_answer IS DISTINCT FROM ${said}`;
}

export function finallyBlocked(step: DataRunStep): Prisma.Sql {
  return Prisma.sql`UPDATE data_run_step SET finally_blocked = true WHERE id = ${step.id}::uuid`;
}

export function blockedBy(step: Pick<DataRunStep, 'dataset'>, by: string): Blocker {
  return {
    code: 'DEPENDENCY_BLOCKED',
    dataset: step.dataset,
    message: `It needs ${by}, which is blocked and cannot be cleared in this run.`,
    count: 0,
    sampleKeys: [],
    clearedBy: [by],
  };
}

export function blockForGood(tx: Tx, step: DataRunStep, by: string): Promise<EventDraft> {
  const blockers = Prisma.sql`blockers = ${JSON.stringify([blockedBy(step, by)])}::jsonb, finally_blocked = true`;
  return moveStep(tx, step, 'BLOCK', [blockers, settledNow], 'DEPENDENCY_BLOCKED');
}

export function skip(tx: Tx, step: DataRunStep, because: string): Promise<EventDraft> {
  return moveStep(tx, step, 'SKIP', [Prisma.sql`skipped_because = ${because}`, settledNow]);
}

export function failStep(tx: Tx, step: DataRunStep, failure: object): Promise<EventDraft> {
  return moveStep(tx, step, 'FAIL', [Prisma.sql`failure = ${JSON.stringify(failure)}::jsonb`, settledNow], 'TARGET_REFUSED');
}

/** The counters that the run's guards need, counted from the steps as this transaction sees them. Part of every write of the run. */
export function recounted(runId: string): Prisma.Sql {
  return Prisma.sql`(open_steps, active_children, failed_steps, cancelling_steps, open_targets, active_targets, attempted_targets) = (
    SELECT count(*) FILTER (WHERE s.state IN ('PENDING', 'SUBMITTING', 'ACTIVE') OR (s.state = 'BLOCKED' AND NOT s.finally_blocked)),
      count(*) FILTER (WHERE s.state IN ('SUBMITTING', 'ACTIVE')),
      count(*) FILTER (WHERE s.state = 'FAILED'),
      count(*) FILTER (WHERE s.state = 'CANCELLING' OR s.overdue_since IS NOT NULL),
      coalesce(array_agg(DISTINCT s.target) FILTER (WHERE s.state IN ('PENDING', 'SUBMITTING', 'ACTIVE') OR (s.state = 'BLOCKED' AND NOT s.finally_blocked)), '{}'),
      coalesce(array_agg(DISTINCT s.target) FILTER (WHERE s.state IN ('SUBMITTING', 'ACTIVE')), '{}'),
      coalesce(array_agg(DISTINCT s.target) FILTER (WHERE s.attempt > 0), '{}')
    FROM data_run_step s WHERE s.run_id = ${runId}::uuid)`;
}
