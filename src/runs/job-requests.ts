// What a remote job may ask of us with the URLs that it was given: its data, and to be looked at.
import type { Readable } from 'node:stream';
import { GoneError, NotFoundError } from '../errors.ts';
import { openDatasetSource } from '../packages/inspect.ts';
import type { Packages } from '../packages/operations.ts';
import type { DatasetPlan, PackagePlan } from '../packages/plan.ts';
import { enqueue } from '../tasks/task.ts';
import { type Attempt, readCallback, readDataLink } from './targets/links.ts';
import { driveKey, driveRun } from './wake.ts';

export interface JobData {
  readonly dataset: DatasetPlan;
  readonly stream: Readable;
}

/** The file of the dataset that the link is for, while its step waits for the job. Throws NotFoundError or GoneError. */
export async function openJobData(packages: Packages, target: string): Promise<JobData> {
  const { expired, ...attempt } = readDataLink(packages, target);
  const step = await waitingStep(packages, attempt);
  if (step === null) throw new GoneError('JOB_ENDED', 'The dataset does not wait for this job any more.');
  if (expired) throw new GoneError('LINK_EXPIRED', 'This link has expired.');
  const held = step.run.package;
  const { storageKey: key, kind } = held;
  const plan = held.plan as unknown as PackagePlan; // written by registration in this shape, and only then can a run exist
  const dataset = plan.datasets.find(({ name }) => name === step.dataset);
  if (dataset === undefined || key === null || held.discardedAt !== null || (kind !== 'ZIP' && kind !== 'DESCRIPTOR')) {
    throw new GoneError('PACKAGE_GONE', 'The staged package is no longer there.');
  }
  return { dataset, stream: await openDatasetSource(packages.storage, { key, kind }, dataset, packages.limits) };
}

const atWork = new Set(['SUBMITTING', 'ACTIVE', 'CANCELLING']);

async function waitingStep({ db }: Packages, { stepId, attempt }: Attempt) {
  const step = await db.prisma.dataRunStep.findUnique({ where: { id: stepId }, include: { run: { include: { package: true } } } });
  if (step === null) throw new NotFoundError('data');
  return step.attempt === attempt && atWork.has(step.state) ? step : null;
}

/** Has the run of the job looked at soon. Says nothing of how the job stands: that is asked of the target. */
export async function answerCallback(packages: Packages, target: string): Promise<void> {
  const step = await waitingStep(packages, readCallback(packages, target));
  if (step !== null) await enqueue(packages.db.prisma, driveRun, { runId: step.runId }, { jobKey: driveKey(step.runId) });
}
