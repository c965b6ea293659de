// What checks of the conformance kit are made of. checks.ts has the list, kit.ts goes through it.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Said } from './answer.ts';
import type { Service } from './service.ts';
import type { WireJob, WireSubmission } from './wire.ts';

/** Datasets for jobs to load. */
export interface Materials {
  /** Seven rows that are there at once. */
  plain(): Promise<WireSubmission>;
  /** Its data do not end before they are released. */
  held(): Promise<{ readonly submission: WireSubmission; readonly release: () => Promise<void> }>;
  /** Rows that point at a dataset which the service does not have. */
  orphans(): Promise<WireSubmission>;
  /** How often the data of a submission were read; null where that cannot be told. */
  reads(submission: WireSubmission): number | null;
}

export interface World {
  readonly service: Service;
  /** The same service, called with no authority, by how: each must be refused. Empty where calls carry none. */
  readonly strangers: Readonly<Record<string, Service>>;
  readonly materials: Materials;
  /** How long a job may take that has its data. */
  readonly patienceMs: number;
}

export interface Check {
  readonly name: string;
  /** What is promised, in a sentence. */
  readonly says: string;
  /** Rejects with Broken where it is not kept. A text: why it could not be tried. */
  readonly run: (world: World) => Promise<string | undefined>;
}

export class Broken extends Error {
  override readonly name = 'Broken';
}

export const newKey = () => `kit:${randomUUID()}`;

export function isEnded({ state }: Pick<WireJob, 'state'>): boolean {
  return state !== 'queued' && state !== 'running';
}

export function expectJob(said: Said | { readonly is: 'asked' }, what: string): WireJob {
  if (said.is === 'job') return said.job;
  throw new Broken(`${what}: expected a job, found ${inWords(said)}`);
}

export function expectSaid(said: Said | { readonly is: 'asked' }, is: Said['is'], what: string): void {
  if (said.is !== is) throw new Broken(`${what}: expected ${wanted[is]}, found ${inWords(said)}`);
}

const wanted: Record<Said['is'], string> = {
  job: 'a job',
  none: '404',
  forbidden: '401 or 403',
  refused: 'a refusal',
  unknown: 'no answer that counts',
};

function inWords(said: Said | { readonly is: 'asked' }): string {
  if (said.is === 'job') return `a job that is ${said.job.state}`;
  if (said.is === 'refused') return `the refusal ${said.failure.code}`;
  if (said.is === 'asked') return '202 without a job';
  return said.is === 'none' ? '404' : said.message;
}

export function expectState(job: WireJob, state: WireJob['state'], what: string): void {
  if (job.state !== state) throw new Broken(`${what}: expected ${state}, found ${job.state}`);
}

/** Reads a job until it has ended; every report on the way is shown. */
export async function untilEnded(
  { service, patienceMs }: World,
  id: string,
  onReport: (job: WireJob) => void = () => {},
): Promise<WireJob> {
  for (const until = performance.now() + patienceMs; ; await sleep(50)) {
    const job = expectJob(await service.read(id), 'reading the job');
    onReport(job);
    if (isEnded(job)) return job;
    if (performance.now() > until) throw new Broken(`the job is still ${job.state} after ${patienceMs / 1_000} s`);
  }
}
