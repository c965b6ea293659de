// Registering a run: the package is judged, then run and steps are written at once. Exactly one unfinished run a package name and workspace.

import { v7 as uuidv7 } from 'uuid';
import { type Caller, causeOf } from '../auth/caller.ts';
import { demand } from '../auth/viewer.ts';
import { type Db, type Tx, violates } from '../db.ts';
import { ConflictError, InvalidInputError, NotFoundError } from '../errors.ts';
import type { DataPackage, DataRun } from '../generated/prisma/client.ts';
import { change, dataRunSubject } from '../lifecycle/transition.ts';
import { once, priorResult } from '../once.ts';
import { inspectPackage } from '../packages/inspect.ts';
import { findStagedPackage, type Packages } from '../packages/operations.ts';
import type { PackagePlan } from '../packages/plan.ts';
import { findWorkspace } from '../workspaces/operations.ts';
import { findRun, type Runs } from './operations.ts';
import { recounted } from './steps.ts';

export interface RegisterInput {
  readonly workspaceId: string;
  readonly packageId: string;
  readonly driving: DataRun['driving'];
  readonly onInvalidRow: DataRun['onInvalidRow'];
  readonly onMissingReference: DataRun['onMissingReference'];
  readonly onHashMismatch: DataRun['onHashMismatch'];
  readonly previousRunId?: string | null | undefined;
  readonly idempotencyKey?: string | null | undefined;
}

export async function registerDataRun(runs: Runs, packages: Packages, caller: Caller, input: RegisterInput): Promise<string> {
  const { db } = runs;
  const workspace = await findWorkspace(db, caller.viewer, input.workspaceId);
  const held = await findStagedPackage(db, workspace.id, input.packageId);
  const previous = await previousRun(db, caller, workspace.id, input.previousRunId);
  demand(caller.viewer, 'data-run');
  const { idempotencyKey, ...asked } = input;
  const key = { workspaceId: workspace.id, subject: caller.viewer.subject, mutation: 'registerDataRun', key: idempotencyKey, input: asked };
  const prior = await priorResult(db, key);
  if (prior !== null) return prior;
  if (previous !== null && previous.settledAt === null) {
    throw new InvalidInputError('previousRunId', `The previous run is ${previous.state}: another attempt begins when it has settled.`);
  }
  const { storageKey, digest, kind } = held;
  if (storageKey === null || digest === null || held.discardedAt !== null || (kind !== 'ZIP' && kind !== 'DESCRIPTOR')) {
    throw notUploaded(held.discardedAt === null ? 'has not been uploaded' : 'was uploaded too long ago and is no longer kept');
  }
  const staged = { key: storageKey, kind, digest } as const;
  const plan = await inspectPackage(packages.storage, staged, {
    onHashMismatch: input.onHashMismatch,
    targets: [...runs.driver.targets.keys()],
    limits: packages.limits,
  });
  if (previous !== null && previous.packageName !== plan.name) {
    throw new InvalidInputError('previousRunId', `The previous run is of the package ${previous.packageName}, not of ${plan.name}.`);
  }
  for (let attempt = 1; ; attempt++) {
    try {
      return await once(db, key, (tx) => write(tx, caller, input, plan, held, previous?.id ?? null, packages.stagedHours));
    } catch (error) {
      if (!violates(error, 'data_run_unfinished_key')) throw error;
      const holder = await unfinishedRun(db, workspace.id, plan.name);
      // The holder may have settled since: then the name is free.
      if (holder !== null || attempt === 3) {
        throw new ConflictError(
          'UNFINISHED_RUN_EXISTS',
          `The package ${plan.name} has an unfinished run in this workspace. Let it settle, or cancel it.`,
          holder === null ? null : { type: 'DataRun', id: holder.id },
        );
      }
    }
  }
}

async function previousRun(db: Db, caller: Caller, workspaceId: string, id: string | null | undefined): Promise<DataRun | null> {
  if (id === null || id === undefined) return null;
  const run = await findRun(db, caller, id);
  if (run.workspaceId !== workspaceId) throw new NotFoundError('data run');
  return run;
}

function unfinishedRun(db: Db, workspaceId: string, packageName: string): Promise<DataRun | null> {
  return db.prisma.dataRun.findFirst({ where: { workspaceId, packageName, state: { in: ['REGISTERED', 'RUNNING', 'PAUSED'] } } });
}

async function write(
  tx: Tx,
  caller: Caller,
  input: RegisterInput,
  plan: PackagePlan,
  held: DataPackage,
  previousRunId: string | null,
  stagedHours: number,
): Promise<string> {
  const { sql } = tx;
  const id = uuidv7();
  const by = causeOf(caller);
  await keepPackage(tx, held, stagedHours);
  await describePackage(tx, held, plan);
  const run = await sql.dataRun.create({
    data: {
      id,
      workspaceId: input.workspaceId,
      packageId: held.id,
      packageName: plan.name,
      driving: input.driving,
      onInvalidRow: input.onInvalidRow,
      onMissingReference: input.onMissingReference,
      onHashMismatch: input.onHashMismatch,
      previousRunId,
      registeredBy: by.actor,
      notes: [...plan.notes],
      openTargets: [],
      activeTargets: [],
    },
  });
  await sql.dataRunStep.createMany({
    data: plan.datasets.map((dataset) => ({
      runId: id,
      position: dataset.position,
      dataset: dataset.name,
      dependsOn: [...dataset.dependsOn],
      target: dataset.target,
      progressTotal: BigInt(dataset.bytes),
    })),
  });
  await change(
    tx,
    dataRunSubject,
    run,
    { to: run.state, events: [{ action: 'REGISTER', from: null, to: run.state }], set: [recounted(id)] },
    by,
  );
  return id;
}

/** Its bytes stay for a day from here. Written, not only locked: housekeeping that waits for this row then finds it no longer expired. */
async function keepPackage({ sql }: Tx, held: DataPackage, hours: number): Promise<void> {
  const kept = await sql.$executeRaw`
    UPDATE data_package SET expires_at = greatest(expires_at, clock_timestamp() + make_interval(hours => ${hours}))
    WHERE id = ${held.id}::uuid AND discarded_at IS NULL`;
  if (kept === 0) throw notUploaded('was uploaded too long ago and is no longer kept');
}

function notUploaded(what: string): ConflictError {
  return new ConflictError('PACKAGE_NOT_UPLOADED', `This package ${what}. Stage it, PUT it to the upload URL, then register.`, null);
}

/** Written by the first registration that finds it sound; the bytes do not change, so neither does the description. */
async function describePackage({ sql }: Tx, held: DataPackage, plan: PackagePlan): Promise<void> {
  const described = await sql.$executeRaw`
    UPDATE data_package SET name = ${plan.name}, version = ${plan.version}, title = ${plan.title}, plan = ${JSON.stringify(plan)}::jsonb
    WHERE id = ${held.id}::uuid AND plan IS NULL`;
  if (described === 0) return;
  await sql.packageResource.createMany({
    data: plan.datasets.map(({ position, name, bytes, hash, dependsOn }) => ({
      packageId: held.id,
      position,
      name,
      bytes: BigInt(bytes),
      hash,
      dependsOn: [...dependsOn],
    })),
  });
}
