// Moving steps. A step's change is an event of its run: callers hold the run's lock, collect the drafts, and write the run last.
import { Prisma, type Tx } from '../db.ts';
import type { EventDraft } from '../events/log.ts';
import type { DataRunStep } from '../generated/prisma/client.ts';
import { unmet } from '../lifecycle/lifecycle.ts';
import { moveRow } from '../lifecycle/transition.ts';
import type { Blocker } from '../records/outcome.ts';
import { stepLifecycle } from './lifecycle.ts';
import type { ChildReport } from './targets/target.ts';

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

const childCancelled = {
  code: 'CHILD_CANCELLED',
  origin: 'target',
  phase: 'running',
  retryable: true,
  summary: 'The child job was stopped without the run having been cancelled.',
} as const;

const unexplained = {
  code: 'CHILD_FAILED',
  origin: 'target',
  phase: 'running',
  retryable: false,
  summary: 'The child job failed and gave no reason.',
} as const;

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
    await tx.sql.$executeRaw`UPDATE data_run_step SET ${Prisma.join(reported(report))} WHERE id = ${step.id}::uuid`;
    return [];
  }
  if (how === 'CANCEL') {
    if (step.state === 'CANCELLING') return [await moveStep(tx, step, 'CANCEL', [...reported(report), settledNow])];
    return [await moveStep(tx, step, 'FAIL', [...reported({ ...report, failure: childCancelled }), settledNow], 'CHILD_CANCELLED')];
  }
  const told = how === 'FAIL' ? { ...report, failure: report.failure ?? unexplained } : report;
  const late = ended ? [Prisma.sql`late_result = ${report.state}`] : [];
  const action = step.state === 'CANCELLING' ? (`LATE_${how}` as const) : how;
  const draft = await moveStep(tx, step, action, [...reported(told), ...late, settledNow], 'CHILD_ENDED');
  return [ended ? { ...draft, action: 'LATE_RESULT' } : draft];
}

export function finallyBlocked(step: DataRunStep): Prisma.Sql {
  return Prisma.sql`UPDATE data_run_step SET finally_blocked = true WHERE id = ${step.id}::uuid`;
}

export function blockedBy(step: DataRunStep, by: string): Blocker {
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
  return Prisma.sql`(open_steps, active_children, failed_steps, cancelling_steps, open_targets, active_targets) = (
    SELECT count(*) FILTER (WHERE s.state IN ('PENDING', 'SUBMITTING', 'ACTIVE') OR (s.state = 'BLOCKED' AND NOT s.finally_blocked)),
      count(*) FILTER (WHERE s.state IN ('SUBMITTING', 'ACTIVE')),
      count(*) FILTER (WHERE s.state = 'FAILED'),
      count(*) FILTER (WHERE s.state = 'CANCELLING'),
      coalesce(array_agg(DISTINCT s.target) FILTER (WHERE s.state IN ('PENDING', 'SUBMITTING', 'ACTIVE') OR (s.state = 'BLOCKED' AND NOT s.finally_blocked)), '{}'),
      coalesce(array_agg(DISTINCT s.target) FILTER (WHERE s.state IN ('SUBMITTING', 'ACTIVE')), '{}')
    FROM data_run_step s WHERE s.run_id = ${runId}::uuid)`;
}
