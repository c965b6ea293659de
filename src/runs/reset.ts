// Taking back what a settled run wrote: its rows, its schemas and its datasets, in one transaction. The run stays as it settled.
import { type Caller, causeOf } from '../auth/caller.ts';
import { demand, demandTargets } from '../auth/viewer.ts';
import { Prisma } from '../db.ts';
import { ConflictError, NotFoundError } from '../errors.ts';
import type { DataRunStep } from '../generated/prisma/client.ts';
import { change, dataRunSubject } from '../lifecycle/transition.ts';
import { once } from '../once.ts';
import { undoRun } from '../records/undo.ts';
import { type CommandInput, findRun, type Runs, refuseUnlessAllowed } from './operations.ts';
import { lockRun } from './rows.ts';
import { storeName } from './targets/store.ts';

export async function resetDataRun(runs: Runs, caller: Caller, id: string, input: CommandInput): Promise<string> {
  const { db, bulk } = runs;
  const found = await findRun(db, caller, id);
  demand(caller.viewer, 'data-run');
  demandTargets(
    caller.viewer,
    await db.prisma.dataRunStep.findMany({ where: { runId: id, attempt: { gt: 0 } }, orderBy: { position: 'asc' } }),
  );
  const by = causeOf(caller, input.reason);
  const { workspaceId } = found;
  const key = { workspaceId, subject: by.actor, mutation: 'resetDataRun', key: input.idempotencyKey, input: [id, input.reason ?? null] };
  return once(bulk, key, async (tx) => {
    // A load may hold its dataset for minutes, and an export its table: better no answer now than a caller that waits for them.
    await tx.sql.$executeRaw`SET LOCAL lock_timeout = '10s'`;
    const locked = await lockRun(tx, id);
    if (locked === null) throw new NotFoundError('data run');
    const { run, steps } = locked;
    refuseUnlessAllowed(run, 'RESET');
    const remote = steps.find(mayHaveWrittenElsewhere);
    if (remote !== undefined) {
      throw new ConflictError(
        'NOT_RESETTABLE',
        `The dataset ${remote.dataset} was written by the target ${remote.target}, and what it wrote can only be taken back there.`,
      );
    }
    await undoRun(tx.sql, workspaceId, id);
    const set = [Prisma.sql`reset_at = clock_timestamp()`];
    await change(tx, dataRunSubject, run, { to: run.state, events: [{ action: 'RESET', from: run.state, to: run.state }], set }, by);
    tx.touched.add(`progress:${id}`);
    return id;
  });
}

// A child that failed or was cancelled wrote nothing, says the contract; of these it was not the child who said that it failed.
const endUnknown = new Set(['CHILD_LOST', 'STEP_DEADLINE']);

function mayHaveWrittenElsewhere({ target, state, attempt, childJobId, failure }: DataRunStep): boolean {
  if (target === storeName) return false;
  if (attempt > 1) return true; // an earlier attempt ended blocked, so it wrote all but what it held back
  if (childJobId === null) return false;
  const { code } = (failure ?? { code: '' }) as { code: string }; // written by us only, in this shape
  return state === 'SUCCEEDED' || state === 'BLOCKED' || (state === 'FAILED' && endUnknown.has(code));
}
