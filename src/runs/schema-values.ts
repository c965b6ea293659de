// The small types that runs and steps share in the API.
import type { DataRunStep } from '../generated/prisma/client.ts';
import { builder } from '../graphql/builder.ts';
import type { Blocker, RowError } from '../records/outcome.ts';
import type { Progress } from '../shown.ts';
import type { Readiness } from './readiness.ts';

export function stepProgress(step: Pick<DataRunStep, 'progressDone' | 'progressTotal' | 'progressUnit'>): Progress {
  const { progressDone: done, progressTotal: total, progressUnit: unit } = step;
  return { done, total, totalIsExact: total !== null, unit };
}

/** Of a run: the sum over its steps, in bytes. */
export function runProgress(steps: readonly Pick<DataRunStep, 'progressDone' | 'progressTotal' | 'progressUnit'>[]): Progress {
  const known = steps.every(({ progressTotal }) => progressTotal !== null);
  const sum = (part: (step: (typeof steps)[number]) => bigint) => steps.reduce((total, step) => total + part(step), 0n);
  return {
    done: sum((step) => step.progressDone),
    total: known ? sum((step) => step.progressTotal ?? 0n) : null,
    totalIsExact: known,
    unit: 'bytes',
  };
}

export type RowCounts = Pick<
  DataRunStep,
  'rowsSource' | 'rowsLoaded' | 'rowsUpdated' | 'rowsUnchanged' | 'rowsRejected' | 'rowsBlocked' | 'rowsUnprocessed'
>;

export const rowAccount = builder.objectRef<RowCounts>('RowAccount').implement({
  description: 'What became of the rows in the source: source = loaded + updated + unchanged + rejected + blocked + unprocessed, always.',
  fields: (t) => ({
    source: t.expose('rowsSource', { type: 'BigInt', description: 'Rows read from the source.' }),
    loaded: t.expose('rowsLoaded', { type: 'BigInt', description: 'New in the dataset.' }),
    updated: t.expose('rowsUpdated', { type: 'BigInt', description: 'Changed in the dataset.' }),
    unchanged: t.expose('rowsUnchanged', { type: 'BigInt', description: 'Already there as they are.' }),
    rejected: t.expose('rowsRejected', { type: 'BigInt', description: 'Left out because they are not valid.' }),
    blocked: t.expose('rowsBlocked', { type: 'BigInt', description: 'Held back because what they point to is missing.' }),
    unprocessed: t.expose('rowsUnprocessed', { type: 'BigInt', description: 'Not written because the dataset failed.' }),
  }),
});

export const blockerType = builder.objectRef<Blocker>('Blocker').implement({
  description: 'What is missing from a dataset.',
  fields: (t) => ({
    code: t.exposeString('code', { description: 'A stable code, for programs.' }),
    dataset: t.exposeString('dataset', { description: 'The dataset that is not whole.' }),
    message: t.exposeString('message', { description: 'One sentence, for people.' }),
    count: t.expose('count', { type: 'BigInt', description: 'How many rows are held back; 0 where it is not about rows.' }),
    sampleKeys: t.stringList({ description: 'Some of the keys that are missing.', resolve: ({ sampleKeys }) => [...sampleKeys] }),
    clearedBy: t.stringList({ description: 'The datasets whose arrival would clear it.', resolve: ({ clearedBy }) => [...clearedBy] }),
  }),
});

export const readinessType = builder.objectRef<Readiness>('Readiness').implement({
  description: 'Whether the package’s data are in the workspace, whole. A result of its own: a run can succeed without it.',
  fields: (t) => ({
    ready: t.exposeBoolean('ready', { description: 'Whether nothing is missing.' }),
    blockers: t.field({ type: [blockerType], description: 'All that is missing.', resolve: ({ blockers }) => [...blockers] }),
  }),
});

export const rowErrorType = builder.objectRef<RowError>('RowError').implement({
  description: 'A fault in a row of the source.',
  fields: (t) => ({
    row: t.expose('row', { type: 'BigInt', description: 'The row’s number: data rows from 1, the header not counted.' }),
    field: t.exposeString('field', { nullable: true, description: 'The field; null where it is about the row.' }),
    code: t.exposeString('code', { description: 'A stable code, for programs.' }),
    message: t.exposeString('message', { description: 'One sentence, for people.' }),
  }),
});
