// A service that keeps the contract, in memory, and can be broken in one way at a time.
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { type ChildCall, type ChildJob, type HttpChild, httpChild } from '../support/http-child.ts';

export interface Model extends HttpChild {
  /** One of `faults`, or none. */
  fault: string | null;
}

type Answer = ReturnType<ChildCall['honest']>;
const isEnded = (state: string) => state !== 'queued' && state !== 'running';

/** By the name of the check that finds it. */
export const faults: Readonly<Record<string, string>> = {
  'takes calls without a token': 'authority',
  'invents jobs': 'unknown-job',
  'makes a job of each submission': 'same-key',
  'finds nothing by key': 'look-up',
  'does not read its data': 'data',
  'counts down': 'progress',
  'goes back': 'states',
  'is blocked by nothing': 'blocked',
  'goes on when it is asked to stop': 'cancel',
  'goes on when it is asked to stop by key': 'cancel-by-key',
  'stops what has ended': 'late-cancel',
  'forgets what it should bury': 'tombstone',
};

export async function modelService(keys: JSONWebKeySet, audience: () => string): Promise<Model> {
  const child = await httpChild();
  const trusted = createLocalJWKSet(keys);
  const looks = new Map<string, number>();
  const model: Model = Object.assign(child, { fault: null });
  const is = (fault: string) => model.fault === fault;

  async function work(job: ChildJob): Promise<void> {
    const { dataset, data } = job.submission;
    const total = dataset.bytes;
    job.state = 'running';
    let text = '';
    if (!(is('does not read its data') && dataset.name === 'kit-plain')) {
      const response = await fetch(data.url);
      const decoder = new TextDecoder();
      for await (const part of response.body ?? []) {
        text += decoder.decode(part, { stream: true });
        job.more = { progress: { done: text.length, total, unit: 'bytes' } };
      }
    }
    if (job.state !== 'running') return;
    const source = Math.max(text.trim().split('\n').length - 1, 0);
    const isOrphan = JSON.stringify(dataset.schema).includes('foreignKeys');
    const rows = {
      source,
      loaded: isOrphan ? 0 : source,
      updated: 0,
      unchanged: 0,
      rejected: 0,
      blocked: isOrphan ? source : 0,
      unprocessed: 0,
    };
    const blockers = [
      { code: 'REFERENCE_MISSING', dataset: dataset.name, message: 'They point at nothing.', count: source, sampleKeys: [], clearedBy: [] },
    ];
    job.more = { rows, progress: { done: total, total, unit: 'bytes' }, ...(isOrphan && !is('is blocked by nothing') ? { blockers } : {}) };
    job.state = isOrphan ? 'blocked' : 'succeeded';
  }

  async function isLetIn({ request }: ChildCall): Promise<boolean> {
    const token = String(request.headers.authorization ?? '').replace(/^Bearer /, '');
    const verified = await jwtVerify(token, trusted, { audience: audience() }).catch(() => null);
    return verified !== null;
  }

  /** What is said and done instead, for the fault there is. */
  function twisted(call: ChildCall): Answer {
    const { name, request, honest } = call;
    const known = model.jobs.length;
    const path = decodeURIComponent(request.url ?? '');
    const before = model.jobs.find(({ id, key }) => path.endsWith(`/${id}/cancel`) || path.endsWith(`=${key}`));
    const state = before?.state;
    if (is('makes a job of each submission') && name === 'submit') {
      for (const job of model.jobs) Object.assign(job, { key: `${job.key} ` });
    }
    if (is('finds nothing by key') && name === 'find') return { status: 404, body: null };
    if (is('forgets what it should bury') && name === 'cancelByKey' && before === undefined) return { status: 202, body: null };
    if (is('goes on when it is asked to stop') && name === 'cancel' && before !== undefined) return { status: 202, body: null };
    if (is('goes on when it is asked to stop by key') && name === 'cancelByKey' && before !== undefined) return { status: 202, body: null };
    const answer = honest();
    if (is('invents jobs') && name === 'read' && answer.status === 404)
      return { status: 200, body: { id: path.split('/').at(-1), state: 'queued' } };
    if (is('stops what has ended') && name === 'cancel' && before !== undefined && isEnded(state ?? '')) {
      before.state = 'cancelled';
      return { status: 202, body: null };
    }
    if (name === 'read' && answer.body !== null) {
      const { id, state: now, progress } = answer.body as { id: string; state: string; progress?: { done: number } };
      const times = (looks.get(id) ?? 0) + 1;
      looks.set(id, times);
      if (is('counts down') && progress !== undefined && isEnded(now))
        return { ...answer, body: { ...answer.body, progress: { ...progress, done: 0 } } };
      if (is('goes back') && isEnded(now) && times > 5) return { ...answer, body: { ...answer.body, state: 'running' } };
    }
    const made = model.jobs[known];
    if (name === 'submit' && made !== undefined && !isEnded(made.state)) {
      work(made).catch(() => {}); // its data were not there: it stays as it is
    }
    return answer;
  }

  model.begins = 'queued';
  model.misbehave = (call) => {
    isLetIn(call).then(
      (letIn) => call.send(letIn || is('takes calls without a token') ? twisted(call) : { status: 401, body: null }),
      () => call.response.destroy(),
    );
    return true;
  };
  return model;
}
