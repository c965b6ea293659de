// What a plan rests on, as one digest: if it is still the same, so is what the plan says.
import { createHash } from 'node:crypto';
import { Prisma, type Tx } from '../db.ts';
import { ConflictError, InvalidInputError } from '../errors.ts';
import type { DataRun, DataRunStep } from '../generated/prisma/client.ts';

const form = /^sha256:[0-9a-f]{64}$/;

export function checkPlanDigest(digest: string | null | undefined): string | null {
  if (digest === null || digest === undefined) return null;
  if (!form.test(digest))
    throw new InvalidInputError('planDigest', 'A plan’s digest is sha256: and 64 hexadecimal digits, as planDataRun gave it.');
  return digest;
}

/**
 * The workspace, the policies, the package's bytes, and for each dataset its target and the newest load or reset of it: loads and resets of one
 * dataset take turns, so their numbers only grow. Who asks is not in it: one may plan, and another start.
 */
export async function planDigest(
  sql: Pick<Tx['sql'], '$queryRaw'>,
  run: Pick<DataRun, 'workspaceId' | 'packageId' | 'onInvalidRow' | 'onMissingReference' | 'onHashMismatch'>,
  steps: readonly Pick<DataRunStep, 'dataset' | 'target'>[],
): Promise<string> {
  const names = steps.map(({ dataset }) => dataset);
  const [held] = await sql.$queryRaw<{ digest: string | null; stored: Record<string, string> | null }[]>(Prisma.sql`
    SELECT p.digest, (
      SELECT jsonb_object_agg(d.name, l.id::text) FROM dataset d
      CROSS JOIN LATERAL (SELECT id FROM dataset_load WHERE dataset_id = d.id ORDER BY id DESC LIMIT 1) l
      WHERE d.workspace_id = ${run.workspaceId}::uuid AND d.name = ANY(${names})
    ) AS stored FROM data_package p WHERE p.id = ${run.packageId}::uuid`);
  const stored = new Map(Object.entries(held?.stored ?? {}));
  const basis = [
    run.workspaceId,
    run.onInvalidRow,
    run.onMissingReference,
    run.onHashMismatch,
    held?.digest ?? null,
    steps.map(({ dataset, target }) => [dataset, target, stored.get(dataset) ?? null]),
  ];
  return `sha256:${createHash('sha256').update(JSON.stringify(basis)).digest('hex')}`;
}

/** In the transaction that starts the run, under its lock. */
export async function refuseStalePlan({ sql }: Tx, run: DataRun, steps: readonly DataRunStep[], given: string | null): Promise<void> {
  if (given === null) return;
  // Of a run that was started a plan says nothing any more, whatever it has written.
  if (run.state === 'REGISTERED' && (await planDigest(sql, run, steps)) === given) return;
  throw new ConflictError('PLAN_STALE', 'What the plan was made of has changed since. Plan the run again, and look at what it says now.');
}
