// The built-in loader stands behind the same calls: it passes the checks that services are tried with.
import { afterAll, expect, it } from 'vitest';
import type { Said } from '../../src/job-target/answer.ts';
import type { Materials } from '../../src/job-target/check.ts';
import { checks } from '../../src/job-target/checks.ts';
import { checkService } from '../../src/job-target/kit.ts';
import { serveMaterials } from '../../src/job-target/materials.ts';
import type { CancelSaid, Service } from '../../src/job-target/service.ts';
import type { WireSubmission } from '../../src/job-target/wire.ts';
import type { PackagePlan } from '../../src/packages/plan.ts';
import { runStoreJob } from '../../src/runs/targets/store-loader.ts';
import type { Answer } from '../../src/runs/targets/target.ts';
import { startApp } from '../support/app.ts';
import { uuidOf } from '../support/states.ts';
import { createWorkspace, type Resource, register, stage, zipOf } from '../support/story.ts';

// Nothing loads by itself: a job is at work when the test says so.
const app = await startApp({ worker: false });
const { db, runs } = app.app;
const { loader, stop } = app.tasks.runs;
const store = runs.driver.targets.get('store')!;
const served = await serveMaterials('127.0.0.1', '127.0.0.1'); // for its submissions; nobody reads from it
afterAll(() => served.close());

interface Staged {
  readonly packageId: string;
  readonly runId: string;
  readonly workspaceId: string;
  readonly plan: PackagePlan;
}
const staged = new Map<string, Staged>();
const held = new Set<string>();
let made = 0;

/** The rows of a submission, staged as a package and registered: what the loader reads instead of a URL. */
async function stagedFor(submission: WireSubmission, rows: string): Promise<WireSubmission> {
  const resource: Resource = { name: submission.dataset.name, rows, schema: submission.dataset.schema as object };
  const parents: Resource = {
    name: 'kit-parents',
    rows: 'id\n',
    schema: { fields: [{ name: 'id', type: 'integer' }], primaryKey: ['id'] },
  };
  const workspaceId = await createWorkspace(app, `kit-${++made}`);
  const resources = JSON.stringify(resource.schema).includes('kit-parents') ? [parents, resource] : [resource];
  const packageId = await stage(app, workspaceId, await zipOf('kit', resources));
  const runId = await register(app, workspaceId, packageId);
  const { plan } = await db.prisma.dataPackage.findUniqueOrThrow({ where: { id: uuidOf(packageId) } });
  staged.set(submission.stepId, {
    packageId: uuidOf(packageId),
    runId: uuidOf(runId),
    workspaceId: uuidOf(workspaceId),
    plan: plan as unknown as PackagePlan,
  });
  return submission;
}

const text = async ({ data }: WireSubmission) => (await fetch(data.url)).text();
const materials: Materials = {
  async plain() {
    const submission = await served.plain();
    return stagedFor(submission, await text(submission));
  },
  async held() {
    const { submission } = await served.held();
    held.add(submission.stepId);
    await stagedFor(submission, 'id,label\n1,a\n');
    return {
      submission,
      async release() {
        held.delete(submission.stepId);
        const jobs = await db.prisma.storeJob.findMany({ where: { runId: staged.get(submission.stepId)!.runId } });
        for (const { id } of jobs) await runStoreJob(loader, id, stop);
      },
    };
  },
  async orphans() {
    const submission = await served.orphans();
    return stagedFor(submission, await text(submission));
  },
  reads: () => null,
};

const signal = new AbortController().signal;
const caller = { subject: 'kit' };

function said(answer: Answer): Said {
  if (answer.is === 'unsent') return { is: 'unknown', message: answer.message };
  if (answer.is !== 'job') return answer;
  const { progress, ...report } = answer.report;
  const told = { done: Number(progress.done), total: progress.total === null ? null : Number(progress.total), unit: progress.unit };
  return {
    is: 'job',
    job: {
      ...report,
      blockers: report.blockers?.map((b) => ({ ...b, sampleKeys: [...b.sampleKeys], clearedBy: [...b.clearedBy] })),
      errors: undefined,
      progress: told,
    },
  };
}

const service: Service = {
  async submit(key, { stepId, attempt, dataset: { name } }) {
    const { packageId, runId, workspaceId, plan } = staged.get(stepId)!;
    const dataset = plan.datasets.find((one) => one.name === name)!;
    const policies = { onInvalidRow: 'FAIL', onMissingReference: 'BLOCK' } as const;
    const submission = {
      key,
      runId,
      stepId,
      attempt,
      workspaceId,
      packageId,
      dataset,
      subject: 'kit',
      submittedAt: new Date(),
      ...policies,
    };
    const answer = said(await store.submit(submission, signal));
    if (answer.is === 'job' && answer.job.state === 'queued' && !held.has(stepId)) await runStoreJob(loader, answer.job.id, stop);
    return answer;
  },
  read: async (id) => said(await store.read(id, caller, signal).catch(notAnId)),
  find: async (key) => said(await store.find(key, caller, signal)),
  cancel: async (id): Promise<CancelSaid> => said(await store.cancel(id, caller, signal).catch(notAnId)),
  cancelByKey: async (key): Promise<CancelSaid> => said(await store.cancelByKey(key, caller, signal)),
};

/** Its ids are its own, and nobody else's are ever asked for. */
function notAnId(error: unknown): Answer {
  if (/invalid input syntax for type uuid|invalid character/i.test(String(error))) return { is: 'none' };
  throw error;
}

it('passes every check but that of tokens, which it needs none of', async () => {
  const findings = await checkService({ service, strangers: {}, materials, patienceMs: 10_000 });
  expect(findings.map(({ name, outcome, message }) => [name, outcome, message])).toEqual(
    checks.map(({ name }) => (name === 'authority' ? [name, 'skipped', 'its calls carry no token'] : [name, 'passed', null])),
  );
});
