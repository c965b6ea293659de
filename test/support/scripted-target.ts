// A job target whose every answer a test decides. It keeps its own ledger of jobs: the ledger, not our tables, is the judge.
import type { Answer, ChildReport, ChildState, Submission, Target } from '../../src/runs/targets/target.ts';

export interface ScriptedJob {
  readonly id: string;
  readonly key: string;
  readonly dataset: string;
  state: ChildState;
  cancelAsked: number;
}

export interface ScriptedTarget extends Target {
  /** Every job it ever created, in order. */
  readonly jobs: ScriptedJob[];
  /** Every submission it ever received, by key, repeats included. */
  readonly submissions: Submission[];
  job(dataset: string): ScriptedJob;
  /** What happens instead of the plain answer: return null to let the call through. */
  script: {
    submit?: (submission: Submission, take: () => ChildReport) => Answer | Promise<Answer> | null;
    read?: (job: ScriptedJob) => Answer | Promise<Answer> | null;
    find?: (key: string) => Answer | Promise<Answer> | null;
    cancel?: (job: ScriptedJob) => Answer | Promise<Answer> | null;
    /** Of a cancel by key; the key is buried only where this lets it through. */
    bury?: (key: string) => Answer | null;
  };
  /** How a new job begins, and what it is once asked to stop. */
  begins: ChildState;
  stopsAs: ChildState;
  end(dataset: string, state: ChildState, more?: Partial<ChildReport>): void;
}

export function scriptedTarget(name = 'scripted', more: Partial<Pick<Target, 'idempotency' | 'stepDeadlineMs'>> = {}): ScriptedTarget {
  const jobs: ScriptedJob[] = [];
  const buried = new Set<string>();
  const details = new Map<string, Partial<ChildReport>>();
  const submissions: Submission[] = [];
  const report = (job: ScriptedJob): ChildReport => ({
    id: job.id,
    state: job.state,
    progress: { done: 0n, total: null, unit: 'rows' },
    ...details.get(job.id),
  });
  const answer = (job: ScriptedJob | undefined): Answer => (job === undefined ? { is: 'none' } : { is: 'job', report: report(job) });
  const ended = (state: ChildState) => state !== 'queued' && state !== 'running';
  const stop = async (job: ScriptedJob | undefined): Promise<Answer> => {
    if (job === undefined) return { is: 'none' };
    job.cancelAsked++;
    const scripted = await target.script.cancel?.(job);
    if (scripted !== null && scripted !== undefined) return scripted;
    if (!ended(job.state)) job.state = target.stopsAs;
    return answer(job);
  };
  const target: ScriptedTarget = {
    name,
    idempotency: 'key',
    ...more,
    jobs,
    submissions,
    script: {},
    begins: 'running',
    stopsAs: 'cancelled',
    job(dataset) {
      const found = jobs.findLast((job) => job.dataset === dataset);
      if (found === undefined) throw new Error(`no job of ${dataset}`);
      return found;
    },
    end(dataset, state, more = {}) {
      const job = target.job(dataset);
      job.state = state;
      details.set(job.id, more);
    },
    async submit(submission) {
      submissions.push(submission);
      const take = (): ChildReport => {
        let job = jobs.find(({ key }) => key === submission.key);
        if (job === undefined) {
          job = {
            id: `job-${jobs.length + 1}`,
            key: submission.key,
            dataset: submission.dataset.name,
            state: buried.has(submission.key) ? 'cancelled' : target.begins,
            cancelAsked: 0,
          };
          jobs.push(job);
        }
        return report(job);
      };
      return (await target.script.submit?.(submission, take)) ?? { is: 'job', report: take() };
    },
    async read(id) {
      const job = jobs.find((one) => one.id === id);
      const scripted = job === undefined ? null : await target.script.read?.(job);
      return scripted ?? answer(job);
    },
    find: async (key) => (await target.script.find?.(key)) ?? answer(jobs.find((job) => job.key === key)),
    cancel: (id) => stop(jobs.find((job) => job.id === id)),
    async cancelByKey(key) {
      const scripted = target.script.bury?.(key);
      if (scripted !== null && scripted !== undefined) return scripted;
      buried.add(key);
      return stop(jobs.find((job) => job.key === key));
    },
  };
  return target;
}
