// Loads one dataset: read into the stage, check, then one transaction that makes rows, outcome and job real together.
import type pg from 'pg';
import { keepFromResets, prepareDataset, recordLoad } from './dataset-row.ts';
import { endByError, endByWriting, type Judged, leavesOut, type Reading, siftRows, stageFile } from './judge.ts';
import type { LoadOutcome } from './outcome.ts';
import { storedRows } from './references.ts';
import { keepRejects } from './rejects.ts';
import { uniqueFieldSets } from './repeats.ts';
import { inSession } from './session.ts';
import type { Staged } from './stage.ts';
import { qualified } from './table.ts';
import { writeRows } from './write.ts';

export interface LoadRequest extends Judged {
  readonly workspaceId: string;
  readonly runId: string;
  readonly storeJobId: string;
}

/** Its signal is a cancel or a lost lease: stop at once, leave nothing. The call then rejects with the signal's reason. */
export interface LoadHooks extends Reading {
  /** First statement of the transaction that ends the load: locks the job row; false = roll back and write nothing. May be called a second time, when the first transaction was rolled back. */
  begin(client: pg.PoolClient): Promise<boolean>;
  /** Last statements of that transaction. */
  settle(client: pg.PoolClient, outcome: LoadOutcome): Promise<void>;
}

interface Session {
  readonly client: pg.PoolClient;
  readonly hooks: LoadHooks;
  /** Called when COMMIT is about to be sent: cut off then, nobody would know how it ended. */
  readonly committing: () => void;
}

/** One transaction: `work` between the job's lock and its settlement. */
async function transact({ client, hooks, committing }: Session, work: () => Promise<LoadOutcome>): Promise<LoadOutcome | 'abandoned'> {
  await client.query('BEGIN');
  try {
    if (!(await hooks.begin(client))) {
      await client.query('ROLLBACK');
      return 'abandoned';
    }
    const outcome = await work();
    await hooks.settle(client, outcome);
    hooks.signal.throwIfAborted();
    committing();
    await client.query('COMMIT');
    return outcome;
  } catch (error) {
    // Without a connection (an abort, a lost server) nothing is left to roll back, and the first error is the one to tell.
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

async function write(client: pg.PoolClient, request: LoadRequest, staged: Staged): Promise<LoadOutcome> {
  const { dataset, workspaceId } = request;
  const referred = staged.schema.foreignKeys.map(({ reference }) => reference.resource).filter((name) => name !== dataset.name);
  if (referred.length > 0) await keepFromResets(client, workspaceId, referred);
  const prepared = await prepareDataset(client, request, dataset, staged.schema, uniqueFieldSets(staged.schema));
  return endByWriting(client, request, staged, prepared, storedRows(client, workspaceId), async (left, held) => {
    const written = await writeRows(client, left, prepared, held);
    const { loaded, updated, rowCount } = written;
    await prepared.finish();
    // What reads the table next must not take it for the table it was. A tenth of a second for a million rows.
    if ((loaded + updated) * 10 > rowCount) await client.query(`ANALYZE ${qualified(prepared.table)}`);
    await recordLoad(client, prepared, rowCount);
    if (leavesOut(request)) await keepRejects(client, request.runId, dataset.name, left);
    return written;
  });
}

async function run(session: Session, request: LoadRequest): Promise<LoadOutcome | 'abandoned'> {
  const { client, hooks } = session;
  const settleAs = (outcome: LoadOutcome) => transact(session, async () => outcome);
  let staged: Staged | undefined;
  try {
    staged = await stageFile(client, request, hooks);
    const sifted = await siftRows(client, request, staged);
    if (sifted.end !== null) return await settleAs(sifted.end);
    const { left } = sifted;
    staged = left;
    return await transact(session, () => write(client, request, left));
  } catch (error) {
    const end = await endByError(client, error, staged);
    if (end === null) throw error;
    return settleAs(end);
  }
}

export function loadDataset(pool: pg.Pool, request: LoadRequest, hooks: LoadHooks): Promise<LoadOutcome | 'abandoned'> {
  return inSession(pool, hooks.signal, (client, committing) => run({ client, hooks, committing }, request));
}
