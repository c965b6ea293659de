// Loads one dataset: read into the stage, check, then one transaction that makes rows, outcome and job real together.
import type { Readable } from 'node:stream';
import type pg from 'pg';
import type { DatasetPlan } from '../packages/plan.ts';
import type { FileSource } from './bytes.ts';
import { checkKeys, checkRows, type Faults, uniqueFieldSets } from './checks.ts';
import { stageCsv } from './csv-stage.ts';
import { keepFromResets, prepareDataset, recordLoad } from './dataset-row.ts';
import { stageJson } from './json-stage.ts';
import { type LoadOutcome, noRows, type RowError } from './outcome.ts';
import { firstErrorsLimit, LoadFailure, rowLimit, sqlState } from './reading.ts';
import { holdBack, missingReferences, takenValues } from './references.ts';
import { prepareSession, resetSession, type Staged } from './stage.ts';
import { qualified } from './table.ts';
import { writeRows } from './write.ts';

export interface LoadRequest {
  readonly workspaceId: string;
  readonly runId: string;
  readonly storeJobId: string;
  readonly dataset: DatasetPlan;
  readonly onInvalidRow: 'FAIL';
  readonly onMissingReference: 'BLOCK' | 'FAIL';
  readonly expandedBytesLimit: number;
}

export interface LoadHooks {
  /** Cancel or lost lease: stop at once, leave nothing. The call then rejects with the signal's reason. */
  readonly signal: AbortSignal;
  /** Raw bytes of the file, maybe gzip; may be called again, for the path that diagnoses. */
  open(): Promise<Readable>;
  /** Bytes of the package's file consumed; never less than before. */
  progress(doneBytes: number): void;
  /** First statement of the transaction that ends the load: locks the job row; false = roll back and write nothing. May be called a second time, when the first transaction was rolled back. */
  begin(client: pg.PoolClient): Promise<boolean>;
  /** Last statements of that transaction. */
  settle(client: pg.PoolClient, outcome: LoadOutcome): Promise<void>;
}

/** Ends the writing transaction with faults that only the other rows of the database could show. */
class FaultyRows extends Error {
  override readonly name = 'FaultyRows';
  readonly faults: Faults;
  constructor(faults: Faults) {
    super('rows are at fault');
    this.faults = faults;
  }
}

function failed(failure: LoadFailure): LoadOutcome {
  const rows = { ...noRows, source: failure.rowsRead, unprocessed: failure.rowsRead };
  return { state: 'failed', rows, failure: failure.failure, errors: { count: 0, first: [] } };
}

function merged(staged: Staged, faults: Faults): readonly RowError[] {
  return [...staged.faults.first, ...faults.first].sort((a, b) => a.row - b.row).slice(0, firstErrorsLimit);
}

function invalidRows(staged: Staged, faults: Faults): LoadOutcome {
  const source = staged.rows + staged.faults.rows;
  const rejected = staged.faults.rows + faults.rows;
  const count = staged.faults.count + faults.count;
  const first = merged(staged, faults);
  const summary = `${rejected} of ${source} rows ${rejected === 1 ? 'is' : 'are'} not valid (${count} ${count === 1 ? 'fault' : 'faults'}). The first: ${first[0]?.message ?? ''}`;
  return {
    state: 'failed',
    rows: { ...noRows, source, rejected, unprocessed: source - rejected },
    failure: { code: 'INVALID_ROWS', origin: 'data', phase: 'checking', retryable: false, summary },
    errors: { count, first },
  };
}

async function stageFile(client: pg.PoolClient, request: LoadRequest, hooks: LoadHooks): Promise<Staged> {
  const { dataset, expandedBytesLimit } = request;
  let reported = 0;
  const source: FileSource = {
    open: () => hooks.open(),
    progress(doneBytes) {
      if (doneBytes <= reported) return;
      reported = doneBytes;
      hooks.progress(doneBytes);
    },
    gzip: dataset.gzip,
    expandedBytesLimit,
    signal: hooks.signal,
  };
  const staged =
    dataset.format === 'csv'
      ? await stageCsv(client, source, dataset.dialect, dataset.schema)
      : await stageJson(client, source, dataset.format, dataset.schema, dataset.dialect.header);
  await client.query('ANALYZE stage');
  return staged;
}

interface Session {
  readonly client: pg.PoolClient;
  readonly hooks: LoadHooks;
  /** Called when COMMIT is about to be sent. */
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
  const uniques = uniqueFieldSets(staged.schema);
  const referred = staged.schema.foreignKeys.map(({ reference }) => reference.resource).filter((name) => name !== dataset.name);
  if (referred.length > 0) await keepFromResets(client, workspaceId, referred);
  const prepared = await prepareDataset(client, request, dataset, staged.schema, uniques);
  let blockers: Awaited<ReturnType<typeof holdBack>> = [];
  if (staged.schema.foreignKeys.length > 0) {
    if (request.onMissingReference === 'FAIL') {
      const missing = await missingReferences(client, workspaceId, dataset.name, staged, prepared);
      if (missing.count > 0) throw new FaultyRows(missing);
    } else {
      blockers = await holdBack(client, workspaceId, dataset.name, staged, prepared);
    }
  }
  const { rows: counted } = await client.query<{ held: string }>('SELECT count(DISTINCT n) AS held FROM held');
  const held = Number(counted[0]?.held ?? 0);
  // Only rows that are all written to an empty table are sure to meet in its indexes.
  if (prepared.occupied || held > 0) {
    const repeated = await checkKeys(client, staged);
    if (repeated.count > 0) throw new FaultyRows(repeated);
  }
  if (prepared.occupied && staged.schema.primaryKey.length > 0 && uniques.length > 0) {
    const taken = await takenValues(client, staged, prepared, uniques);
    if (taken.count > 0) throw new FaultyRows(taken);
  }
  const { rowCount, ...written } = await writeRows(client, staged, prepared, held);
  await prepared.finish();
  // What reads the table next must not take it for the table it was. A tenth of a second for a million rows.
  if ((written.loaded + written.updated) * 10 > rowCount) await client.query(`ANALYZE ${qualified(prepared.table)}`);
  await recordLoad(client, prepared, rowCount);
  const rows = { ...noRows, source: staged.rows, ...written, blocked: held };
  return blockers.length === 0 ? { state: 'succeeded', rows } : { state: 'blocked', rows, blockers };
}

async function run(session: Session, request: LoadRequest): Promise<LoadOutcome | 'abandoned'> {
  const { client, hooks } = session;
  const settleAs = (outcome: LoadOutcome) => transact(session, async () => outcome);
  let staged: Staged | undefined;
  try {
    staged = await stageFile(client, request, hooks);
    const faults = await checkRows(client, staged);
    if (faults.count > 0 || staged.faults.count > 0) return await settleAs(invalidRows(staged, faults));
    await client.query('DROP TABLE IF EXISTS pg_temp.held; CREATE TEMP TABLE held (n bigint, fk int, key text COLLATE "C")');
    const sound = staged;
    return await transact(session, () => write(client, request, sound));
  } catch (error) {
    if (error instanceof FaultyRows && staged !== undefined) return settleAs(invalidRows(staged, error.faults));
    if (sqlState(error) === '23505' && staged !== undefined) {
      const repeated = await checkKeys(client, staged);
      if (repeated.count > 0) return settleAs(invalidRows(staged, repeated));
    }
    const failure = error instanceof LoadFailure ? error : rowLimit(error, 'writing');
    if (failure === undefined) throw error;
    const read = staged === undefined ? failure.rowsRead : staged.rows + staged.faults.rows;
    return settleAs({ ...failed(failure), rows: { ...noRows, source: read, unprocessed: read } });
  }
}

export async function loadDataset(pool: pg.Pool, request: LoadRequest, hooks: LoadHooks): Promise<LoadOutcome | 'abandoned'> {
  hooks.signal.throwIfAborted();
  const client = await pool.connect();
  let gone = false;
  // Closing the connection ends whatever runs on it: the statement here at once, the backend when it next looks (0.5 s).
  const stop = () => {
    if (!gone) client.release(true);
    gone = true;
  };
  // A connection that is closed in mid-statement says so once more, later.
  const ignore = () => {};
  client.on('error', ignore);
  hooks.signal.addEventListener('abort', stop, { once: true });
  // Once COMMIT is on its way a cancel comes too late: cut off now, nobody would know how it ended.
  const committing = () => hooks.signal.removeEventListener('abort', stop);
  try {
    hooks.signal.throwIfAborted();
    await prepareSession(client);
    const outcome = await run({ client, hooks, committing }, request);
    committing();
    // The outcome stands, whatever becomes of the session now.
    const clean = await resetSession(client).then(
      () => true,
      () => false,
    );
    if (clean) client.off('error', ignore);
    client.release(!clean);
    return outcome;
  } catch (error) {
    const aborted = gone;
    // What is unexpected may have left the session in any state.
    stop();
    throw aborted ? hooks.signal.reason : error;
  } finally {
    committing();
  }
}
