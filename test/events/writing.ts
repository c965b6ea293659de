// Runs that tests move by themselves: no package behind them, no driver in front of them.
import { v7 as uuidv7 } from 'uuid';
import { type Db, inTransaction, Prisma, type Tx } from '../../src/db.ts';
import type { DataRun } from '../../src/generated/prisma/client.ts';
import { globalId } from '../../src/graphql/builder.ts';
import { change, dataRunSubject } from '../../src/lifecycle/transition.ts';

export interface Yard {
  readonly workspaceId: string;
  readonly slug: string;
  /** Ids of its runs. */
  readonly runs: readonly string[];
}

let made = 0;

/** A workspace with runs, each with its REGISTER event. */
export async function makeYard(db: Db, count: number): Promise<Yard> {
  const workspaceId = uuidv7();
  const slug = `yard-${++made}`;
  await db.prisma.workspace.create({ data: { id: workspaceId, slug, name: slug } });
  await db.prisma.workspaceLog.create({ data: { workspaceId } });
  const { id: packageId } = await db.prisma.dataPackage.create({ data: { workspaceId, stagedBy: 'ann', expiresAt: new Date() } });
  const runs: string[] = [];
  for (let index = 0; index < count; index++) {
    runs.push(
      await inTransaction(db, async (tx) => {
        const run = await tx.sql.dataRun.create({
          data: { workspaceId, packageId, packageName: `p${index}`, registeredBy: 'ann', notes: [], openTargets: [], activeTargets: [] },
        });
        await change(
          tx,
          dataRunSubject,
          run,
          { to: run.state, events: [{ action: 'REGISTER', from: null, to: run.state }] },
          { actor: 'ann' },
        );
        return run.id;
      }),
    );
  }
  return { workspaceId, slug, runs };
}

/** Events of a run that move no state of it, as those of its steps. */
export function append(tx: Tx, run: DataRun, reason: string, count = 1): Promise<unknown> {
  const event = { action: 'SUBMIT', from: 'PENDING', to: 'SUBMITTING', dataset: 'd' };
  return change(tx, dataRunSubject, run, { to: run.state, events: Array.from({ length: count }, () => event) }, { actor: 'ann', reason });
}

export const readRunRow = (tx: Tx, id: string): Promise<DataRun> => tx.sql.dataRun.findUniqueOrThrow({ where: { id } });

export async function lockRun(tx: Tx, id: string): Promise<DataRun> {
  await tx.sql.$queryRaw`SELECT id FROM data_run WHERE id = ${id}::uuid FOR UPDATE`;
  return readRunRow(tx, id);
}

/** One transaction that appends to a run. */
export async function write(db: Db, runId: string, reason = 'a test', count = 1): Promise<void> {
  await inTransaction(db, async (tx) => {
    await append(tx, await lockRun(tx, runId), reason, count);
  });
}

/** Moves a run. */
export async function move(db: Db, runId: string, action: string, to: DataRun['state']): Promise<void> {
  await inTransaction(db, async (tx) => {
    const run = await readRunRow(tx, runId);
    const settled = to === 'SUCCEEDED' || to === 'CANCELLED' ? [Prisma.sql`settled_at = clock_timestamp()`] : [];
    await change(tx, dataRunSubject, run, { to, events: [{ action, from: run.state, to }], set: settled }, { actor: 'ann' });
  });
}

export const runId = (id: string): string => globalId('DataRun', id);
