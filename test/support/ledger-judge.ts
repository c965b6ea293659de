// What must hold between the service's ledger and our rows once everything is quiet, however often processes died.
import type pg from 'pg';
import type { ChildJob, HttpChild } from './http-child.ts';
import type { FaultyChild } from './ledger-faults.ts';

export interface Verdict {
  readonly jobs: number;
  readonly submissions: number;
  /** Steps that were submitted again after a block had been cleared. */
  readonly furtherAttempts: number;
  readonly ends: Readonly<Record<string, number>>;
  /** Each a sentence; all must be empty. */
  readonly duplicated: readonly string[];
  readonly lost: readonly string[];
  readonly orphaned: readonly string[];
  readonly stale: readonly string[];
  readonly wrongEnds: readonly string[];
}

interface StepRow {
  readonly id: string;
  readonly run_id: string;
  readonly dataset: string;
  readonly depends_on: string[];
  readonly state: string;
  readonly attempt: number;
  readonly key: string | null;
  readonly job: string | null;
}

interface EventRow {
  readonly run_id: string;
  readonly workspace_id: string;
  readonly position: string;
  readonly sequence: number;
  readonly action: string;
  readonly from_state: string | null;
  readonly to_state: string;
  readonly dataset: string | null;
}

/** What a step may be once its job has ended so; the job's word counts. */
const endsAs: Readonly<Record<string, readonly string[]>> = {
  succeeded: ['SUCCEEDED'],
  failed: ['FAILED'],
  blocked: ['BLOCKED'],
  cancelled: ['CANCELLED'],
};
const terminal = new Set(['SUCCEEDED', 'FAILED', 'CANCELLED']);

export async function judgeLedger(
  pool: pg.Pool,
  child: HttpChild,
  { created, ended }: Pick<FaultyChild, 'created' | 'ended'>,
  cancelled: ReadonlySet<string>,
): Promise<Verdict> {
  const steps = (
    await pool.query<StepRow>(
      `SELECT id, run_id, dataset, depends_on, state::text, attempt, idempotency_key AS key, child_job_id AS job FROM data_run_step`,
    )
  ).rows;
  const runs = (
    await pool.query<{ id: string; state: string; last: number }>(`SELECT id, state::text, last_sequence AS last FROM data_run`)
  ).rows;
  const events = (
    await pool.query<EventRow>(
      `SELECT data_run_id AS run_id, workspace_id, position::text, sequence, action, from_state, to_state, dataset FROM lifecycle_event e
       WHERE data_run_id IS NOT NULL ORDER BY e.workspace_id, e.position`,
    )
  ).rows;
  const jobsOf = grouped(child.jobs, ({ submission }) => submission.stepId);
  const stepsOf = grouped(steps, ({ run_id }) => run_id);
  const eventsOf = grouped(events, ({ run_id }) => run_id);
  const verdict = {
    jobs: child.jobs.length,
    submissions: child.calls.filter(({ name }) => name === 'submit').length,
    furtherAttempts: child.jobs.filter(({ submission }) => submission.attempt > 1).length,
    ends: Object.fromEntries([...grouped(runs, ({ state }) => state)].map(([state, all]) => [state, all.length])),
    duplicated: [] as string[],
    lost: [] as string[],
    orphaned: child.jobs.filter((job) => !ended.has(job)).map(({ id, key }) => `${id} of ${key} is still at work`),
    stale: [...gaps(events), ...runs.flatMap(({ id, last }) => storyFaults(id, last, eventsOf.get(id) ?? [], stepsOf.get(id) ?? []))],
    wrongEnds: [] as string[],
  };
  const bodies = new Map<string, string>();
  for (const { name, key, body } of child.calls) {
    if (name !== 'submit' || key === null) continue;
    if ((bodies.get(key) ?? body) !== body) verdict.duplicated.push(`two submissions with the key ${key} differ`);
    bodies.set(key, body);
  }
  const known = new Set(steps.map(({ id }) => id));
  for (const [id, jobs] of jobsOf) if (!known.has(id)) verdict.lost.push(`${jobs[0]?.id} is of a step that is not there`);
  for (const step of steps) judgeStep(step, jobsOf.get(step.id) ?? [], { created, ended }, verdict);
  for (const { id, state } of runs) {
    const own = stepsOf.get(id) ?? [];
    const hasFailed = (eventsOf.get(id) ?? []).some(({ action, dataset }) => action === 'FAIL' && dataset === null);
    const expected = cancelled.has(id) ? 'CANCELLED' : hasFailed ? 'FAILED' : 'SUCCEEDED';
    if (state !== expected) verdict.wrongEnds.push(`the run ${id} is ${state}, not ${expected}`);
    if (state === 'SUCCEEDED' && own.some((step) => step.state !== 'SUCCEEDED' && step.state !== 'BLOCKED'))
      verdict.wrongEnds.push(`the run ${id} SUCCEEDED with ${own.map((step) => step.state).join()}`);
    if (state === 'FAILED' && !own.some((step) => step.state === 'FAILED')) verdict.wrongEnds.push(`the run ${id} FAILED by nothing`);
  }
  return verdict;
}

function judgeStep(
  { id, dataset, state, attempt, key, job }: StepRow,
  jobs: readonly ChildJob[],
  { created, ended }: Pick<FaultyChild, 'created' | 'ended'>,
  verdict: { duplicated: string[]; lost: string[]; wrongEnds: string[] },
): void {
  const attempts = jobs.map(({ submission }) => submission.attempt).toSorted((a, b) => a - b);
  if (new Set(attempts).size < attempts.length || new Set(jobs.map((one) => one.key)).size < jobs.length)
    verdict.duplicated.push(`${dataset} (${id}) has the attempts ${attempts.join()} in the ledger`);
  for (const [at, earlier] of jobs.entries()) {
    const later = jobs[at + 1];
    if (later !== undefined && (ended.get(earlier) ?? Number.POSITIVE_INFINITY) > (created.get(later) ?? 0))
      verdict.duplicated.push(`${dataset} (${id}) had two jobs at work at once`);
  }
  if (attempts.some((one) => one > attempt))
    verdict.lost.push(`${dataset} (${id}) knows ${attempt} attempts, the ledger ${attempts.join()}`);
  const last = jobs.find(({ submission }) => submission.attempt === attempt);
  if (last === undefined) {
    // A submission that never went out, then cancelled; or refused by nobody. Anything else would be a job that does not exist.
    const mayBeWithout = attempt === 0 ? ['PENDING', 'SKIPPED', 'BLOCKED'] : ['CANCELLED'];
    if (!mayBeWithout.includes(state) || job !== null)
      verdict.lost.push(`${dataset} (${id}) is ${state} by ${job}, which is not in the ledger`);
    return;
  }
  if (last.key !== key) verdict.lost.push(`${dataset} (${id}) goes by ${key}, its job by ${last.key}`);
  if (job === null && state !== 'CANCELLED') verdict.lost.push(`${last.id} is known to no step: ${dataset} (${id}) is ${state}`);
  if (job !== null && job !== last.id && job !== last.alias) verdict.lost.push(`${dataset} (${id}) follows ${job}, its job is ${last.id}`);
  if (!(endsAs[last.state] ?? []).includes(state))
    verdict.wrongEnds.push(`${dataset} (${id}) is ${state}, its job ${last.id} ${last.state}`);
}

/** Positions of each workspace: every one once. */
function gaps(events: readonly EventRow[]): string[] {
  return [...grouped(events, ({ workspace_id }) => workspace_id)].flatMap(([workspace, own]) =>
    own.flatMap(({ position }, at) => (Number(position) === at + 1 ? [] : [`position ${position} of ${workspace} stands at ${at + 1}`])),
  );
}

/** A write by a pass whose lease had gone would show as a number twice or left out, a state that does not follow, or something after the end. */
export function storyFaults(
  runId: string,
  last: number,
  events: readonly Omit<EventRow, 'workspace_id' | 'position' | 'run_id'>[],
  steps: readonly Pick<StepRow, 'dataset' | 'depends_on' | 'state' | 'attempt'>[],
): string[] {
  const faults: string[] = [];
  const say = (what: string) => faults.push(`run ${runId}: ${what}`);
  const now = new Map<string | null, string>();
  const submitted = new Map<string, number>();
  let isOver = false;
  for (const [at, { sequence, action, from_state: from, to_state: to, dataset }] of events.entries()) {
    if (sequence !== at + 1) say(`event ${sequence} stands at ${at + 1}`);
    const before = now.get(dataset) ?? (dataset === null ? null : 'PENDING');
    if (from !== before) say(`${action} ${dataset} goes from ${from}, but it was ${before}`);
    now.set(dataset, to);
    if (dataset === null) {
      if (isOver) say(`${action} after its end`);
      isOver ||= terminal.has(to);
    }
    if (action === 'SUBMIT' && dataset !== null) {
      submitted.set(dataset, (submitted.get(dataset) ?? 0) + 1);
      if (isOver || now.get(null) !== 'RUNNING') say(`${dataset} was submitted while the run was ${now.get(null)}`);
      if ([...now].some(([name, state]) => name !== null && state === 'FAILED')) say(`${dataset} was submitted after a failure`);
      for (const need of steps.find((step) => step.dataset === dataset)?.depends_on ?? [])
        if (now.get(need) !== 'SUCCEEDED') say(`${dataset} was submitted before ${need} had succeeded`);
    }
  }
  if (events.length !== last) say(`it counts ${last} events, and has ${events.length}`);
  for (const { dataset, state, attempt } of steps) {
    if ((submitted.get(dataset) ?? 0) !== attempt) say(`${dataset} has ${attempt} attempts, and ${submitted.get(dataset)} SUBMIT events`);
    if ((now.get(dataset) ?? 'PENDING') !== state) say(`${dataset} is ${state}, and by its events ${now.get(dataset)}`);
  }
  return faults;
}

function grouped<One, Key>(list: readonly One[], keyOf: (one: One) => Key): Map<Key, One[]> {
  const groups = new Map<Key, One[]>();
  for (const one of list) {
    const group = groups.get(keyOf(one));
    if (group === undefined) groups.set(keyOf(one), [one]);
    else group.push(one);
  }
  return groups;
}
