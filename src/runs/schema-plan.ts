// Plans of runs in the API.
import { ForbiddenError, InvalidInputError, InvalidTransitionError, NotFoundError } from '../errors.ts';
import { builder, idIn } from '../graphql/builder.ts';
import { callerOf } from '../graphql/context.ts';
import { failureType } from '../graphql/values.ts';
import type { RowAccount } from '../records/outcome.ts';
import { type DataRunPlan, planDataRun } from './plan.ts';
import { stepState } from './schema-enums.ts';
import { blockerType, type RowCounts, rowAccount, rowErrorType } from './schema-values.ts';

function countsOf(rows: RowAccount): RowCounts {
  return {
    rowsSource: BigInt(rows.source),
    rowsLoaded: BigInt(rows.loaded),
    rowsUpdated: BigInt(rows.updated),
    rowsUnchanged: BigInt(rows.unchanged),
    rowsRejected: BigInt(rows.rejected),
    rowsBlocked: BigInt(rows.blocked),
    rowsUnprocessed: BigInt(rows.unprocessed),
  };
}

const plannedDataset = builder.objectRef<DataRunPlan['datasets'][number]>('PlannedDataset').implement({
  description: 'A dataset of a plan: what is in its file, and what its load would do.',
  fields: (t) => ({
    dataset: t.exposeString('dataset', { description: 'The dataset’s name.' }),
    rows: t.expose('rows', { type: 'BigInt', description: 'Rows in its file.' }),
    invalidRows: t.expose('invalidRows', {
      type: 'BigInt',
      description: 'Those that are not valid: for what they are, or, with onMissingReference FAIL or REJECT, for what they point at.',
    }),
    target: t.exposeString('target', { description: '`store` for the built-in loader, else the name of a configured job target.' }),
    authorised: t.exposeBoolean('authorised', { description: 'Whether you have authority on its target, which a start needs.' }),
    state: t.field({
      type: stepState,
      nullable: true,
      description:
        'How its step would end: SUCCEEDED, BLOCKED, FAILED or SKIPPED. Null where another target loads it, which has its own ways.',
      resolve: ({ end }) => end?.state ?? null,
    }),
    account: t.field({
      type: rowAccount,
      nullable: true,
      description: 'What would become of its rows. Null where another target loads it.',
      resolve: ({ end }) => (end === null ? null : countsOf(end.rows)),
    }),
    removed: t.expose('removed', {
      type: 'BigInt',
      description: 'Rows that are there now and then no more, since a dataset without a primary key is replaced as a whole.',
    }),
    failure: t.field({
      type: failureType,
      nullable: true,
      description: 'Why it would fail; of a dataset that the run would not come to, what is wrong with its file.',
      resolve: ({ failure }) => failure,
    }),
    rowErrors: t.field({
      type: [rowErrorType],
      description: 'Its first faulty rows, at most 1,000 in the whole plan.',
      resolve: ({ errors }) => [...errors.first],
    }),
    rowErrorCount: t.field({ type: 'BigInt', description: 'How many faults there are in all.', resolve: ({ errors }) => errors.count }),
  }),
});

const planType = builder.objectRef<DataRunPlan>('DataRunPlan').implement({
  description: 'What a run would do if it were started now and nothing else were loaded meanwhile. Nothing is written by making it.',
  fields: (t) => ({
    order: t.field({
      type: t.listRef(t.listRef('String')),
      description: 'The datasets’ names by when they can begin: first those that wait for none, then those that wait for these, and so on.',
      resolve: ({ order }) => order.map((wave) => [...wave]),
    }),
    datasets: t.field({ type: [plannedDataset], description: 'In package order.', resolve: ({ datasets }) => [...datasets] }),
    blockers: t.field({
      type: [blockerType],
      description: 'All that would be missing from the data after it. Empty: the run would succeed, and its data would be ready.',
      resolve: ({ datasets }) => datasets.flatMap(({ blockers }) => blockers),
    }),
    digest: t.exposeString('digest', {
      description:
        'Of what the plan was made of: workspace, policies, package, targets, and what is stored in these datasets. Give it to startDataRun as planDigest, to start only if all that is as it was.',
    }),
  }),
});

const planInput = builder.inputType('PlanDataRunInput', {
  description: 'Which run to plan.',
  fields: (t) => ({ dataRunId: t.id({ required: true, description: 'The run’s global id.' }) }),
});

builder.mutationField('planDataRun', (t) =>
  t.field({
    type: planType,
    description:
      'What a registered run would do: order, counts and violations, each row judged as a load would. Writes nothing. One at a time in a workspace, else BUSY; InvalidInputError PLAN_TOO_LONG where it takes longer than the server allows. Needs `data-run`.',
    args: { input: t.arg({ type: planInput, required: true, description: 'Which run.' }) },
    // A document may ask for a few, not for a hundred: each reads a whole package.
    complexity: { field: 1_000 },
    errors: {
      types: [NotFoundError, ForbiddenError, InvalidTransitionError, InvalidInputError],
      directResult: true,
      union: { name: 'PlanDataRunResult', description: 'The plan, or why there is none.' },
    },
    resolve: (_root, { input }, context) =>
      planDataRun(context.runs, context.packages, callerOf(context), idIn('DataRun', input.dataRunId), context.ends),
  }),
);
