// How a load comes out: the file read and its rows checked, then held against what is stored, whether it is written or only planned.
import type { Readable } from 'node:stream';
import type pg from 'pg';
import type { DatasetPlan } from '../packages/plan.ts';
import type { FileSource } from './bytes.ts';
import { checkKeys, checkRows, type Faults, uniqueFieldSets } from './checks.ts';
import { stageCsv } from './csv-stage.ts';
import type { Standing } from './dataset-row.ts';
import { stageJson } from './json-stage.ts';
import { type LoadOutcome, noRows, type RowError } from './outcome.ts';
import { firstErrorsLimit, LoadFailure, rowLimit, sqlState } from './reading.ts';
import { type FindRows, holdBack, missingReferences, takenValues } from './references.ts';
import type { Staged } from './stage.ts';
import type { Written } from './write.ts';

export interface Judged {
  readonly dataset: DatasetPlan;
  readonly onInvalidRow: 'FAIL';
  readonly onMissingReference: 'BLOCK' | 'FAIL';
  readonly expandedBytesLimit: number;
}

export interface Reading {
  readonly signal: AbortSignal;
  /** Raw bytes of the file, maybe gzip; may be called again, for the path that diagnoses. */
  open(): Promise<Readable>;
  /** Bytes of the package's file consumed; never less than before. */
  progress(doneBytes: number): void;
}

/** Ends a load with faults that only the other rows, of the file or of the database, could show. */
class FaultyRows extends Error {
  override readonly name = 'FaultyRows';
  readonly faults: Faults;
  constructor(faults: Faults) {
    super('rows are at fault');
    this.faults = faults;
  }
}

export async function stageFile(
  client: pg.ClientBase,
  { dataset, expandedBytesLimit }: Pick<Judged, 'dataset' | 'expandedBytesLimit'>,
  reading: Reading,
): Promise<Staged> {
  let reported = 0;
  const source: FileSource = {
    open: () => reading.open(),
    progress(doneBytes) {
      if (doneBytes <= reported) return;
      reported = doneBytes;
      reading.progress(doneBytes);
    },
    gzip: dataset.gzip,
    expandedBytesLimit,
    signal: reading.signal,
  };
  const staged =
    dataset.format === 'csv'
      ? await stageCsv(client, source, dataset.dialect, dataset.schema)
      : await stageJson(client, source, dataset.format, dataset.schema, dataset.dialect.header);
  await client.query('ANALYZE stage');
  return staged;
}

/** How the load ends by its rows as such; null where they are all valid. What follows finds `held`, empty. */
export async function endByRows(client: pg.ClientBase, staged: Staged): Promise<LoadOutcome | null> {
  const faults = await checkRows(client, staged);
  if (faults.count > 0 || staged.faults.count > 0) return invalidRows(staged, faults);
  await client.query('DROP TABLE IF EXISTS pg_temp.held; CREATE TEMP TABLE held (n bigint, fk int, key text COLLATE "C")');
  return null;
}

/** Valid rows against what is stored. `write` is given how many of them are held back. Throws what `endByError` understands. */
export async function endByWriting(
  client: pg.ClientBase,
  { dataset, onMissingReference }: Judged,
  staged: Staged,
  standing: Standing,
  find: FindRows,
  write: (held: number) => Promise<Written>,
): Promise<LoadOutcome> {
  const uniques = uniqueFieldSets(staged.schema);
  let blockers: Awaited<ReturnType<typeof holdBack>> = [];
  if (staged.schema.foreignKeys.length > 0) {
    if (onMissingReference === 'FAIL') {
      const missing = await missingReferences(client, find, dataset.name, staged, standing);
      if (missing.count > 0) throw new FaultyRows(missing);
    } else {
      blockers = await holdBack(client, find, dataset.name, staged, standing);
    }
  }
  const { rows: counted } = await client.query<{ held: string }>('SELECT count(DISTINCT n) AS held FROM held');
  const held = Number(counted[0]?.held ?? 0);
  // Only rows that are all written to an empty table are sure to meet in its indexes.
  if (standing.occupied || held > 0) {
    const repeated = await checkKeys(client, staged);
    if (repeated.count > 0) throw new FaultyRows(repeated);
  }
  if (standing.occupied && staged.schema.primaryKey.length > 0 && uniques.length > 0) {
    const taken = await takenValues(client, staged, standing, uniques);
    if (taken.count > 0) throw new FaultyRows(taken);
  }
  const { loaded, updated, unchanged } = await write(held);
  const rows = { ...noRows, source: staged.rows, loaded, updated, unchanged, blocked: held };
  return blockers.length === 0 ? { state: 'succeeded', rows } : { state: 'blocked', rows, blockers };
}

/** How the load ends that threw this, with its transaction rolled back; null where it is not the data's doing. */
export async function endByError(client: pg.ClientBase, error: unknown, staged: Staged | undefined): Promise<LoadOutcome | null> {
  if (error instanceof FaultyRows && staged !== undefined) return invalidRows(staged, error.faults);
  if (sqlState(error) === '23505' && staged !== undefined) {
    const repeated = await checkKeys(client, staged);
    if (repeated.count > 0) return invalidRows(staged, repeated);
  }
  const failure = error instanceof LoadFailure ? error : rowLimit(error, 'writing');
  if (failure === undefined) return null;
  const read = staged === undefined ? failure.rowsRead : staged.rows + staged.faults.rows;
  const rows = { ...noRows, source: read, unprocessed: read };
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
