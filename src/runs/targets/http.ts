// A remote service behind the job-target contract, over HTTP. docs/job-target.openapi.yaml is what the service reads; wire.ts are its forms.
import { randomUUID } from 'node:crypto';
import type { CallTokens } from '../../auth/call-token.ts';
import type { RemoteTarget } from '../../config-targets.ts';
import type { Failure } from '../../errors.ts';
import { type Expected, mostAnswerBytes, saidBy } from '../../job-target/answer.ts';
import type { WireFailure, WireJob, WireSubmission } from '../../job-target/wire.ts';
import { pinnedHost } from '../../outbound/hosts.ts';
import { createOutbound } from '../../outbound/request.ts';
import { type GuardedCall, guarded, type Outcome } from './guarded.ts';
import { type JobLinks, jobLinks } from './links.ts';
import type { Answer, Caller, ChildReport, Submission, Target } from './target.ts';

export interface HttpTargetOptions {
  readonly tokens: Pick<CallTokens, 'mint'>;
  readonly links: JobLinks;
  /** After five faults in a row the target is left alone for so long; 5 s if not given. */
  readonly probeMs?: number;
}

export interface HttpTarget extends Target {
  /** Lets what is under way end. */
  close(): Promise<void>;
}

type Call = Pick<GuardedCall, 'method' | 'body' | 'repeatable'> & { readonly headers?: Readonly<Record<string, string>> };

export function httpTarget(remote: RemoteTarget, { tokens, links, probeMs = 5_000 }: HttpTargetOptions): HttpTarget {
  const { name, baseUrl, idempotency, stepDeadlineMs, maxConcurrent, timeoutMs } = remote;
  const outbound = createOutbound({ hosts: pinnedHost(baseUrl), keepAlive: idempotency !== 'none' });
  // One byte more than an answer may have, so that a longer one is seen to be.
  const call = guarded({ outbound, maxConcurrent, timeoutMs, probeMs, bodyBytes: mostAnswerBytes + 1 });
  const audience = remote.audience ?? baseUrl;

  const ask = async (
    path: string,
    subject: string,
    key: string | null,
    signal: AbortSignal,
    { method, body, headers = {}, repeatable }: Call,
  ) => {
    const token = await tokens.mint({ subject, audience, id: key ?? randomUUID() });
    const all = { accept: 'application/json', authorization: `Bearer ${token}`, ...headers };
    return call(`${baseUrl}/jobs${path}`, { method, headers: all, ...(body === undefined ? {} : { body }), signal, repeatable });
  };
  const byKey = (key: string) => `?idempotencyKey=${encodeURIComponent(key)}`;

  const read = async (id: string, { subject }: Caller, signal: AbortSignal): Promise<Answer> => {
    const outcome = await ask(`/${encodeURIComponent(id)}`, subject, null, signal, { method: 'GET', repeatable: true });
    return answerOf(outcome, { id, good: [200] });
  };
  const find = async (key: string, { subject }: Caller, signal: AbortSignal): Promise<Answer> => {
    const outcome = await ask(byKey(key), subject, key, signal, { method: 'GET', repeatable: true });
    return answerOf(outcome, { key, good: [200] });
  };

  return {
    name,
    idempotency,
    stepDeadlineMs,
    read,
    find,
    async submit(submission, signal) {
      const { key, subject } = submission;
      const headers = { 'content-type': 'application/json', 'idempotency-key': key };
      const body = JSON.stringify(wireOf(submission, links));
      // Between two tries nobody looks whether the first arrived, so only a target that goes by the key may be sent both.
      const outcome = await ask('', subject, key, signal, { method: 'POST', headers, body, repeatable: idempotency === 'key' });
      return answerOf(outcome, { key, good: [200, 201], mayRefuse: true });
    },
    async cancel(id, caller, signal) {
      const outcome = await ask(`/${encodeURIComponent(id)}/cancel`, caller.subject, null, signal, { method: 'POST', repeatable: true });
      return isSilentConsent(outcome) ? read(id, caller, signal) : answerOf(outcome, { id, good: [200, 202] });
    },
    async cancelByKey(key, caller, signal) {
      const outcome = await ask(`/cancel${byKey(key)}`, caller.subject, key, signal, { method: 'POST', repeatable: true });
      if (isSilentConsent(outcome)) return find(key, caller, signal);
      const answer = answerOf(outcome, { key, good: [200, 202] });
      // There is always something to do here: a tombstone. Who does not know the call has left none.
      return answer.is === 'none' ? { is: 'unknown', message: 'the target knows no cancel by key' } : answer;
    },
    close: () => outbound.close(),
  };
}

function isSilentConsent(outcome: Outcome): boolean {
  return outcome.is === 'answered' && outcome.answer.status === 202 && outcome.answer.body.trim() === '';
}

function answerOf(outcome: Outcome, expected: Expected): Answer {
  if (outcome.is === 'lost') return { is: outcome.sent ? 'unknown' : 'unsent', message: outcome.message };
  const said = saidBy(outcome.answer, expected);
  if (said.is === 'job') return { is: 'job', report: reportOf(said.job) };
  return said.is === 'refused' ? { is: 'refused', failure: failureOf(said.failure, 'submitting') } : said;
}

function reportOf({ id, state, progress, rows, blockers, failure, errors }: WireJob): ChildReport {
  const { done = 0, total = null, unit = 'rows' } = progress ?? {};
  return {
    id,
    state,
    progress: { done: BigInt(done), total: total === null ? null : BigInt(total), unit },
    rows,
    blockers,
    failure: failure === undefined ? undefined : failureOf(failure, 'running'),
    errors,
  };
}

function failureOf({ code, summary, retryable = false, phase }: WireFailure, usualPhase: string): Failure {
  return { code, summary, retryable, phase: phase ?? usualPhase, origin: 'target' };
}

function wireOf(submission: Submission, links: JobLinks): WireSubmission {
  const { workspaceId, runId, stepId, attempt, onInvalidRow, onMissingReference, dataset, submittedAt } = submission;
  const { name, format, gzip, dialect, statedSchema, bytes, hash } = dataset;
  const { data, callbackUrl } = jobLinks(links, { stepId, attempt, submittedAt });
  return {
    contract: '1',
    workspaceId,
    runId,
    stepId,
    attempt,
    onInvalidRow,
    onMissingReference,
    dataset: { name, format, gzip, dialect, schema: statedSchema, bytes, hash },
    data: { url: data.url, expiresAt: data.expiresAt.toISOString() },
    callbackUrl,
  };
}
