// How a load comes out: the file read and its rows checked, then held against what is stored, whether it is written or only planned.
import type { Readable } from 'node:stream';
import type pg from 'pg';
import type { DatasetPlan } from '../packages/plan.ts';
import type { FileSource } from './bytes.ts';
import { checkRows } from './checks.ts';
import { stageCsv } from './csv-stage.ts';
import type { Standing } from './dataset-row.ts';
import { allErrors, type Faults, noRejectsYet, rejectFaulty } from './faults.ts';
import { stageJson } from './json-stage.ts';
import { type Blocker, type LoadOutcome, noErrors, noRows } from './outcome.ts';
import { LoadFailure, rowLimit, sqlState } from './reading.ts';
import { type FindRows, heldAsFaults, holdBack, holdNone, missingReferences } from './references.ts';
import { checkKeys, keysOf, uniqueFieldSets } from './repeats.ts';
import type { Staged } from './stage.ts';
import { takenValues } from './taken.ts';
import type { Written } from './write.ts';

export interface Judged {
  readonly dataset: DatasetPlan;
  readonly onInvalidRow: 'FAIL' | 'REJECT';
  readonly onMissingReference: 'BLOCK' | 'FAIL' | 'REJECT';
  readonly expandedBytesLimit: number;
}

export interface Reading {
  readonly signal: AbortSignal;
  /** Raw bytes of the file, maybe gzip; may be called again, for the path that diagnoses. */
  open(): Promise<Readable>;
  /** Bytes of the package's file consumed; never less than before. */
  progress(doneBytes: number): void;
}

/** Ends a load with faults that only the other rows, of the file or of the database, could show. `staged` is what was left by then. */
class FaultyRows extends Error {
  override readonly name = 'FaultyRows';
  readonly staged: Staged;
  readonly faults: Faults;
  constructor(staged: Staged, faults: Faults) {
    super('rows are at fault');
    this.staged = staged;
    this.faults = faults;
  }
}

/** Whether rows may be left out and the rest written: then each is kept, as it stood in the file and with what is wrong with it. */
export const leavesOut = ({ onInvalidRow, onMissingReference }: Pick<Judged, 'onInvalidRow' | 'onMissingReference'>): boolean =>
  onInvalidRow === 'REJECT' || onMissingReference === 'REJECT';

export async function stageFile(client: pg.ClientBase, judged: Judged, reading: Reading): Promise<Staged> {
  const { dataset, expandedBytesLimit } = judged;
  const keeps = leavesOut(judged);
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
  if (keeps) await noRejectsYet(client);
  const staged =
    dataset.format === 'csv'
      ? await stageCsv(client, source, dataset.dialect, dataset.schema, keeps)
      : await stageJson(client, source, dataset.format, dataset.schema, dataset.dialect.header, keeps);
  await client.query('ANALYZE stage');
  return staged;
}

/** Looks at the rows as such. Either the load ends by them, or so much is left of the stage; what follows finds `held`, empty. */
export async function siftRows(
  client: pg.ClientBase,
  { onInvalidRow, onMissingReference }: Judged,
  staged: Staged,
): Promise<{ readonly end: LoadOutcome } | { readonly end: null; readonly left: Staged }> {
  const rejects = onInvalidRow === 'REJECT';
  const faults = await checkRows(client, staged, rejects);
  let left = staged;
  if (rejects) {
    left = await rejectFaulty(client, left, faults);
    // One key after another: a row that is left out repeats nothing, and nothing repeats it.
    for (const key of keysOf(left.schema)) left = await rejectFaulty(client, left, await checkKeys(client, left, [key]));
  } else {
    if (faults.count > 0 || staged.faults.count > 0) return { end: invalidRows(staged, faults) };
    // A key that is there twice is at fault, also where one of its rows will be left out for what it points at.
    const repeated = onMissingReference === 'REJECT' ? await checkKeys(client, staged) : faults;
    if (repeated.count > 0) return { end: invalidRows(staged, repeated) };
  }
  await holdNone(client);
  return { end: null, left };
}

/** Valid rows against what is stored. `write` is given those that are left, and how many of them are held back. Throws what `endByError` understands. */
export async function endByWriting(
  client: pg.ClientBase,
  judged: Judged,
  staged: Staged,
  standing: Standing,
  find: FindRows,
  write: (left: Staged, held: number) => Promise<Written>,
): Promise<LoadOutcome> {
  const { left, held, blockers } = await hold(client, judged, staged, standing, find);
  const { loaded, updated, unchanged } = await write(left, held);
  const rows = { ...noRows, source: left.rows + left.faults.rows, loaded, updated, unchanged, rejected: left.faults.rows, blocked: held };
  const errors = allErrors(left, noErrors);
  return blockers.length === 0 ? { state: 'succeeded', rows, errors } : { state: 'blocked', rows, errors, blockers };
}

interface Held {
  readonly left: Staged;
  readonly held: number;
  readonly blockers: readonly Blocker[];
}

/** What is left to be written, beside the stored rows. What is left out is no target, and leaves its place to nobody: so they are looked at until nothing more falls. */
async function hold(client: pg.ClientBase, judged: Judged, staged: Staged, standing: Standing, find: FindRows): Promise<Held> {
  const uniques = standing.occupied && staged.schema.primaryKey.length > 0 ? uniqueFieldSets(staged.schema) : [];
  const rejects = judged.onInvalidRow === 'REJECT';
  for (let left = staged; ; await holdNone(client)) {
    const blockers = await holdMissing(client, judged, left, standing, find);
    if (judged.onMissingReference === 'REJECT' && blockers.length > 0)
      left = await rejectFaulty(client, left, await heldAsFaults(client, left));
    const { rows: counted } = await client.query<{ held: string }>('SELECT count(DISTINCT n) AS held FROM held');
    const held = Number(counted[0]?.held ?? 0);
    // Only rows that are all written to an empty table are sure to meet in its indexes.
    if (!rejects && (standing.occupied || held > 0)) failWith(left, await checkKeys(client, left));
    const taken = uniques.length === 0 ? null : await takenValues(client, left, standing, uniques, rejects);
    if (taken === null || taken.count === 0) return { left, held, blockers: held === 0 ? [] : blockers };
    if (!rejects) failWith(left, taken);
    left = await rejectFaulty(client, left, taken);
  }
}

function failWith(left: Staged, faults: Faults): void {
  if (faults.count > 0) throw new FaultyRows(left, faults);
}

async function holdMissing(
  client: pg.ClientBase,
  { dataset, onMissingReference }: Judged,
  left: Staged,
  standing: Standing,
  find: FindRows,
): Promise<readonly Blocker[]> {
  if (left.schema.foreignKeys.length === 0) return [];
  if (onMissingReference !== 'FAIL') return holdBack(client, find, dataset.name, left, standing);
  failWith(left, await missingReferences(client, find, dataset.name, left, standing));
  return [];
}

/** How the load ends that threw this, with its transaction rolled back; null where it is not the data's doing. */
export async function endByError(client: pg.ClientBase, error: unknown, staged: Staged | undefined): Promise<LoadOutcome | null> {
  if (error instanceof FaultyRows) return invalidRows(error.staged, error.faults);
  if (sqlState(error) === '23505' && staged !== undefined) {
    const repeated = await checkKeys(client, staged);
    if (repeated.count > 0) return invalidRows(staged, repeated);
  }
  const failure = error instanceof LoadFailure ? error : rowLimit(error, 'writing');
  if (failure === undefined) return null;
  const read = staged === undefined ? failure.rowsRead : staged.rows + staged.faults.rows;
  const rows = { ...noRows, source: read, unprocessed: read };
  return { state: 'failed', rows, failure: failure.failure, errors: noErrors };
}

function invalidRows(staged: Staged, faults: Faults): LoadOutcome {
  const source = staged.rows + staged.faults.rows;
  const rejected = staged.faults.rows + faults.rows;
  const errors = allErrors(staged, faults);
  const { count, first } = errors;
  const summary = `${rejected} of ${source} rows ${rejected === 1 ? 'is' : 'are'} not valid (${count} ${count === 1 ? 'fault' : 'faults'}). The first: ${first[0]?.message ?? ''}`;
  return {
    state: 'failed',
    rows: { ...noRows, source, rejected, unprocessed: source - rejected },
    failure: { code: 'INVALID_ROWS', origin: 'data', phase: 'checking', retryable: false, summary },
    errors,
  };
}
