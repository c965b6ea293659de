// What an HTTP answer of a service means by the contract.

import type { WireFailure, WireJob } from './wire.ts';
import { wireJob, wireRefusal } from './wire.ts';

/** `unknown`: an answer that counts for nothing, so whatever was asked may or may not have happened. */
export type Said =
  | { readonly is: 'job'; readonly job: WireJob }
  | { readonly is: 'none' }
  | { readonly is: 'forbidden'; readonly message: string }
  | { readonly is: 'refused'; readonly failure: WireFailure }
  | { readonly is: 'unknown'; readonly message: string };

/** What the answer must be about, and with which statuses it may hold a job. */
export interface Expected {
  readonly id?: string;
  readonly key?: string;
  readonly good: readonly number[];
  readonly mayRefuse?: boolean;
}

/** Of an answer, after inflation. */
export const mostAnswerBytes = 1_048_576;

export function saidBy({ status, body }: { readonly status: number; readonly body: string }, expected: Expected): Said {
  if (expected.good.includes(status)) return jobIn(body, expected);
  if (status === 401 || status === 403) return { is: 'forbidden', message: `The target answered ${status}: it refuses this authority.` };
  if (status === 404) return { is: 'none' };
  if (expected.mayRefuse === true && (status === 409 || status === 422)) {
    const refusal = wireRefusal.safeParse(parsed(body));
    if (refusal.success) return { is: 'refused', failure: refusal.data.failure };
  }
  return unknown(`the target answered ${status}, which the contract does not have here`);
}

const unknown = (message: string): Said => ({ is: 'unknown', message });

function jobIn(body: string, { id, key }: Expected): Said {
  if (Buffer.byteLength(body) > mostAnswerBytes) return unknown(`the answer is larger than ${mostAnswerBytes} bytes`);
  const { success, data: job, error } = wireJob.safeParse(parsed(body));
  if (!success) return unknown(`the answer is no job of the contract: ${error.issues[0]?.path.join('.')}: ${error.issues[0]?.message}`);
  const isAnother = id !== undefined && job.id !== id;
  const isOfAnother = key !== undefined && job.idempotencyKey !== undefined && job.idempotencyKey !== key;
  return isAnother || isOfAnother ? unknown('the target answered with another job') : { is: 'job', job };
}

/** undefined for what is no JSON: no form has it. */
function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
