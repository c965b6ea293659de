// Reading an execution under its lock. The execution's row is locked before its slot, its package and the workspace's counter; a free slot
// is locked before the execution that gets it, and nobody waits for one.
import { Prisma, type Tx } from '../db.ts';
import type { ExportExecution } from '../generated/prisma/client.ts';

/** Locks the execution until the transaction ends, then reads it as it is committed. Null where there is none, or it has another fence. */
export async function lockExecution(tx: Tx, id: string, fence?: number): Promise<ExportExecution | null> {
  const fenced = fence === undefined ? Prisma.empty : Prisma.sql`AND fence = ${fence}`;
  const locked = await tx.sql.$queryRaw<{ id: string }[]>`SELECT id FROM export_execution WHERE id = ${id}::uuid ${fenced} FOR UPDATE`;
  return locked.length === 0 ? null : tx.sql.exportExecution.findUnique({ where: { id } });
}

/** Gives the slot back, if it holds one. */
export async function freeSlot(tx: Tx, executionId: string): Promise<void> {
  await tx.sql.$executeRaw`
    UPDATE export_slot SET execution_id = NULL, lease_owner = NULL, lease_until = NULL WHERE execution_id = ${executionId}::uuid`;
}
