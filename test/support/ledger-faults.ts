// A service that keeps its ledger right and answers badly: so many of its answers are lost, cut off, late, garbage, or lies that a service
// with a stale cache would tell.
import type { ChildCall, ChildJob, HttpChild } from './http-child.ts';

/** Where a call stands that somebody may be killed at. */
export type Moment = 'arrives' | 'accepted' | 'answered';

export interface FaultyChild {
  /** How many answers went wrong, by how. */
  readonly faults: Readonly<Record<string, number>>;
  /** Called at each moment of each call; what it does is done before anything else happens. */
  at: (moment: Moment, call: ChildCall) => void;
  readonly created: ReadonlyMap<ChildJob, number>;
  /** By Date.now(), as `created`. */
  readonly ended: ReadonlyMap<ChildJob, number>;
}

interface Fate {
  readonly end: 'succeeded' | 'failed' | 'blocked';
  /** How often it is asked after until it has ended: one that nobody follows never ends. */
  looks: number;
  /** Ends as it would have when it is asked to stop. */
  readonly isStubborn: boolean;
}

const isEnded = ({ state }: ChildJob) => state !== 'queued' && state !== 'running';
const garbage = ['ok', '{"id":5}', '[]', '<!doctype html><title>502</title>', '{"id":"job-1","state":"fine"}', 'null', ''];

/** Per cent of calls. */
const shares = { error: 5, hang: 3, reset: 3, truncated: 2, garbage: 1, backwards: 2, alias: 2, another: 1, slow: 8 } as const;

export function faulty(child: HttpChild, random: () => number): FaultyChild {
  const faults: Record<string, number> = {};
  const fates = new Map<ChildJob, Fate>();
  const created = new Map<ChildJob, number>();
  const ended = new Map<ChildJob, number>();
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)] as T;
  const made: FaultyChild = { faults, at: () => {}, created, ended };

  /** What the service does, its ledger included. */
  const effect = (call: ChildCall) => {
    const { name, job } = call;
    const fate = job === undefined ? undefined : fates.get(job);
    if (job !== undefined && fate !== undefined && !isEnded(job)) {
      const isCancel = name === 'cancel' || name === 'cancelByKey';
      if (isCancel ? fate.isStubborn : --fate.looks <= 0) {
        job.state = fate.end;
        if (fate.end === 'failed') job.more = { failure: { code: 'DISK_FULL', summary: 'No room.' } };
        if (fate.end === 'blocked') job.more = { blockers: [blocker(job)] };
      }
    }
    const before = child.jobs.length;
    const answer = call.honest();
    const now = Date.now();
    const latest = child.jobs.at(-1);
    if (child.jobs.length > before && latest !== undefined) {
      const roll = random();
      fates.set(latest, {
        end: roll < 0.015 ? 'failed' : roll < 0.035 ? 'blocked' : 'succeeded',
        looks: Math.floor(random() * 4),
        isStubborn: random() < 0.1,
      });
      created.set(latest, now);
      if (random() < 0.2) void fetch(latest.submission.callbackUrl, { method: 'POST', signal: AbortSignal.timeout(2_000) }).catch(() => {});
    }
    for (const one of [job, latest]) if (one !== undefined && isEnded(one) && !ended.has(one)) ended.set(one, now);
    return answer;
  };

  child.misbehave = (call) => {
    const { response } = call;
    made.at('arrives', call);
    const how = kindOf(random() * 100, shares);
    const late = random() < 0.5;
    if (how === 'reset' && !late) {
      faults['reset before'] = (faults['reset before'] ?? 0) + 1;
      response.socket?.resetAndDestroy();
      return true;
    }
    const answer = effect(call);
    made.at('accepted', call);
    const told = answer.body as Record<string, unknown> | null;
    const { job = child.jobs.find(({ key }) => key === told?.['idempotencyKey']) } = call;
    const tell = (change: object) => call.send({ ...answer, body: { ...told, ...change } });
    const count = () => {
      faults[how ?? ''] = (faults[how ?? ''] ?? 0) + 1;
      return true;
    };
    switch (how) {
      case 'error':
        response.writeHead(pick([500, 502, 503])).end();
        return count();
      case 'hang':
        return count();
      case 'reset':
        response.socket?.resetAndDestroy();
        return count();
      case 'truncated':
        response.writeHead(answer.status, { 'content-length': 1_000 }).write('{"id":"job-');
        response.socket?.end();
        return count();
      case 'garbage':
        response.writeHead(answer.status, { 'content-type': 'application/json' }).end(pick(garbage));
        return count();
      case 'slow':
        setTimeout(() => call.send(answer), random() * 150);
        return count();
      case 'backwards':
        if (told === null || job === undefined || !isEnded(job) || call.name === 'cancel' || call.name === 'cancelByKey') break;
        tell({ state: pick(['queued', 'running']) });
        return count();
      case 'alias':
        if (job === undefined || (call.name !== 'submit' && call.name !== 'find')) break;
        job.alias = `${job.id}-again`;
        tell({ id: job.alias });
        return count();
      case 'another':
        if (told === null || call.name === 'submit') break;
        tell({ id: 'job-of-somebody-else', idempotencyKey: 'of-somebody-else' });
        return count();
      case null:
        break;
    }
    call.send(answer);
    made.at('answered', call);
    return true;
  };
  return made;
}

function kindOf<Kind extends string>(percent: number, table: Readonly<Record<Kind, number>>): Kind | null {
  let above = 0;
  for (const [kind, share] of Object.entries(table) as [Kind, number][]) {
    above += share;
    if (percent < above) return kind;
  }
  return null;
}

const blocker = ({ submission }: ChildJob) => ({
  code: 'MISSING_REFERENCE',
  dataset: submission.dataset.name,
  message: 'Something is not there yet.',
  count: 1,
  sampleKeys: [],
  clearedBy: [],
});
