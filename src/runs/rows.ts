// Reading a run with its steps, and holding its lock. Parent before child: the run's row is locked before any step is touched.
import { Prisma, type Tx } from '../db.ts';
import type { DataRun, DataRunStep } from '../generated/prisma/client.ts';

export interface RunWithSteps {
  readonly run: DataRun;
  /** In package order. */
  readonly steps: DataRunStep[];
}

/** Locks the run until the transaction ends, then reads it and its steps as they are committed. Null where there is none. */
export async function lockRun(tx: Tx, runId: string, fence?: number): Promise<RunWithSteps | null> {
  const fenced = fence === undefined ? Prisma.empty : Prisma.sql`AND fence = ${fence}`;
  const locked = await tx.sql.$queryRaw<{ id: string }[]>`SELECT id FROM data_run WHERE id = ${runId}::uuid ${fenced} FOR UPDATE`;
  if (locked.length === 0) return null;
  const found = await tx.sql.dataRun.findUnique({ where: { id: runId }, include: { steps: { orderBy: { position: 'asc' } } } });
  if (found === null) return null;
  const { steps, ...run } = found;
  return { run, steps };
}
