// The job-target contract: what carries out a step. The built-in loader and remote services stand behind the same five calls.
import { setMaxListeners } from 'node:events';
import { z } from 'zod';
import type { Failure } from '../../errors.ts';
import { type jobStates, text, wireFailure, wireJob } from '../../job-target/wire.ts';
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
  /** When this attempt began: the same at each repetition, so that what is made of it is too. */
  readonly submittedAt: Date;
}

export type ChildState = (typeof jobStates)[number];

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
 * `unknown`: no answer that counts, so whatever was asked may or may not have happened. `unsent`: nothing reached the target, so nothing happened.
 */
export type Answer =
  | { readonly is: 'job'; readonly report: ChildReport }
  | { readonly is: 'none' }
  | { readonly is: 'forbidden'; readonly message: string }
  | { readonly is: 'refused'; readonly failure: Failure }
  | { readonly is: 'unknown'; readonly message: string }
  | { readonly is: 'unsent'; readonly message: string };

/** In whose name a call is made. */
export interface Caller {
  readonly subject: string;
}

/**
 * What a submission may count on that is sent once more. `key`: the same key gives the same job. `lookup`: a job is found by its key.
 * `none`: neither, so one whose answer was lost is never sent again.
 */
export type Idempotency = 'key' | 'lookup' | 'none';

export interface Target {
  readonly name: string;
  readonly idempotency: Idempotency;
  /** How long a child may be at work, from its submission on; as long as it likes where there is none. */
  readonly stepDeadlineMs?: number | undefined;
  submit(submission: Submission, signal: AbortSignal): Promise<Answer>;
  read(jobId: string, caller: Caller, signal: AbortSignal): Promise<Answer>;
  find(key: string, caller: Caller, signal: AbortSignal): Promise<Answer>;
  /** Asks the job to stop. A `job` answer says how it stands now; `none`: there is nothing to stop. */
  cancel(jobId: string, caller: Caller, signal: AbortSignal): Promise<Answer>;
  /** The same by key, and a tombstone: a later submission with the key is answered with a cancelled job. */
  cancelByKey(key: string, caller: Caller, signal: AbortSignal): Promise<Answer>;
}

export type Targets = ReadonlyMap<string, Target>;

export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
  readonly over: Promise<Answer>;
}

// For a target that hears of the deadline to say whether the call had gone out by then.
const graceMs = 100;

/** One for all calls that are made side by side: were each to have its own, the first to end would make room for another that ends at once. */
export function deadlineIn(ms: number): Deadline {
  const ending = new AbortController();
  setMaxListeners(0, ending.signal); // as many as there are calls
  const message = `no answer within ${ms} ms`;
  const end = setTimeout(() => ending.abort(new Error(message)), ms);
  let late: NodeJS.Timeout | undefined;
  const over = new Promise<Answer>((resolve) => {
    late = setTimeout(() => resolve({ is: 'unknown', message }), ms + graceMs);
  });
  return {
    signal: ending.signal,
    over,
    [Symbol.dispose]() {
      clearTimeout(end);
      clearTimeout(late);
    },
  };
}

/** A call that fails in any way, or outlasts the deadline, is an answer too: unknown. So is one that no target may give. */
export async function ask(call: (signal: AbortSignal) => Promise<Answer>, { signal, over }: Deadline): Promise<Answer> {
  try {
    const answer = await Promise.race([call(signal), over]);
    const fault = faultOf(answer);
    return fault === null ? answer : { is: 'unknown', message: `the target broke the contract: ${fault}` };
  } catch (error) {
    return { is: 'unknown', message: error instanceof Error ? error.message : String(error) };
  }
}

// As in the contract, but for counts that may be larger than JSON's, and for where a failure came from.
const count = z.union([
  z.int().min(0),
  z
    .bigint()
    .min(0n)
    .max(2n ** 63n - 1n),
]);
const failure = wireFailure.required().extend({ origin: text(100) });
const report = wireJob.omit({ idempotencyKey: true }).extend({
  progress: z.object({ done: count, total: count.nullable(), unit: text(50) }),
  failure: failure.optional(),
});
const answerForm = z.discriminatedUnion('is', [
  z.object({ is: z.literal('job'), report }),
  z.object({ is: z.literal('none') }),
  z.object({ is: z.literal('forbidden'), message: text(10_000) }),
  z.object({ is: z.literal('refused'), failure }),
  z.object({ is: z.enum(['unknown', 'unsent']), message: z.string() }),
]);

/** One answer that cannot be stored must not hold up the whole run, so every answer is looked at here, once. */
function faultOf(answer: Answer): string | null {
  const parsed = answerForm.safeParse(answer);
  return parsed.success ? null : `${parsed.error.issues[0]?.path.join('.')}: ${parsed.error.issues[0]?.message}`;
}
