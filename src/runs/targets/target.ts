// The job-target contract: what carries out a step. The built-in loader and remote services stand behind the same five calls.
import type { Failure } from '../../errors.ts';
import type { DatasetPlan } from '../../packages/plan.ts';
import type { Blocker, RowAccount, RowErrors } from '../../records/outcome.ts';

export interface Submission {
  /** Derived from run, step and attempt. The same key always answers with the same job. */
  readonly key: string;
  readonly runId: string;
  readonly stepId: string;
  readonly attempt: number;
  readonly workspaceId: string;
  readonly packageId: string;
  readonly dataset: DatasetPlan;
  readonly onInvalidRow: 'FAIL' | 'REJECT';
  readonly onMissingReference: 'BLOCK' | 'FAIL' | 'REJECT';
  /** In whose name. */
  readonly subject: string;
}

export type ChildState = 'queued' | 'running' | 'succeeded' | 'failed' | 'blocked' | 'cancelled';

export interface ChildReport {
  readonly id: string;
  readonly state: ChildState;
  /** In `unit`; `total` null where it is not known. */
  readonly progress: { readonly done: bigint; readonly total: bigint | null; readonly unit: string };
  readonly rows?: RowAccount | undefined;
  readonly blockers?: readonly Blocker[] | undefined;
  readonly failure?: Failure | undefined;
  readonly errors?: RowErrors | undefined;
}

/**
 * What came of a call. `none`: the target never had such a job. `forbidden`: it refuses this authority. `refused`: it will never take the job.
 * `unknown`: no answer that counts, so whatever was asked may or may not have happened.
 */
export type Answer =
  | { readonly is: 'job'; readonly report: ChildReport }
  | { readonly is: 'none' }
  | { readonly is: 'forbidden'; readonly message: string }
  | { readonly is: 'refused'; readonly failure: Failure }
  | { readonly is: 'unknown'; readonly message: string };

export interface Target {
  readonly name: string;
  submit(submission: Submission, signal: AbortSignal): Promise<Answer>;
  read(jobId: string, signal: AbortSignal): Promise<Answer>;
  find(key: string, signal: AbortSignal): Promise<Answer>;
  /** Asks the job to stop. A `job` answer says how it stands now; `none`: there is nothing to stop. */
  cancel(jobId: string, signal: AbortSignal): Promise<Answer>;
  /** The same by key, and a tombstone: a later submission with the key is answered with a cancelled job. */
  cancelByKey(key: string, signal: AbortSignal): Promise<Answer>;
}

export type Targets = ReadonlyMap<string, Target>;

/** A call that fails in any way, or outlasts the deadline, is an answer too: unknown. */
export async function ask(call: (signal: AbortSignal) => Promise<Answer>, deadlineMs: number): Promise<Answer> {
  const signal = AbortSignal.timeout(deadlineMs);
  try {
    return await Promise.race([
      call(signal),
      new Promise<Answer>((resolve) => {
        signal.addEventListener('abort', () => resolve({ is: 'unknown', message: `no answer within ${deadlineMs} ms` }), { once: true });
      }),
    ]);
  } catch (error) {
    return { is: 'unknown', message: error instanceof Error ? error.message : String(error) };
  }
}
