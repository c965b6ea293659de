// Runs and their steps in the API.
import { visibleWorkspaces } from '../auth/viewer.ts';
import { encodeCursor } from '../events/cursor.ts';
import { dataRunEvent, eventPage, eventPageArgs } from '../events/schema.ts';
import type { Prisma } from '../generated/prisma/client.ts';
import { builder, connectionCost, idIn } from '../graphql/builder.ts';
import { viewerOf } from '../graphql/context.ts';
import { between, idPage, nodeQuery } from '../graphql/pages.ts';
import { failureType, holdType, progressType, storedFailure } from '../graphql/values.ts';
import type { RowError } from '../records/outcome.ts';
import { datasetRow } from '../records/schema.ts';
import { blockersOf } from './decide.ts';
import { holdSource } from './hold-source.ts';
import { allowedActionsOf } from './operations.ts';
import { readinessOf, whyNotRunning, whyStepNotRunning } from './readiness.ts';
import { driving, onHashMismatch, onInvalidRow, onMissingReference, runAction, runState, stepState } from './schema-enums.ts';
import { blockerType, readinessType, rowAccount, rowErrorType, runProgress, stepProgress } from './schema-values.ts';

const inOrder = { orderBy: { position: 'asc' } } as const;

const counts = {
  rowsSource: true,
  rowsLoaded: true,
  rowsUpdated: true,
  rowsUnchanged: true,
  rowsRejected: true,
  rowsBlocked: true,
  rowsUnprocessed: true,
} as const;

export const stepType = builder.prismaNode('DataRunStep', {
  // Only what is asked for is read: a list of 50 runs has 600 steps, and decoding their 36 columns was a quarter of its cost.
  select: { id: true, runId: true },
  id: { field: 'id', description: 'The global id.' },
  nullable: true, // or an id that is not found is an error
  findUnique: (id, context) => ({ id, run: { workspace: visibleWorkspaces(viewerOf(context)) } }),
  description: 'One dataset of a run, and the child job that carries it out.',
  fields: (t) => ({
    dataset: t.exposeString('dataset', { description: 'The dataset’s name.' }),
    position: t.exposeInt('position', { description: 'Its place in the package, from 0.' }),
    dependsOn: t.exposeStringList('dependsOn', { description: 'The datasets that must have succeeded first.' }),
    target: t.exposeString('target', { description: '`store` for the built-in loader, else the name of a configured job target.' }),
    state: t.expose('state', { type: stepState, description: 'Where it is in its lifecycle.' }),
    attempt: t.exposeInt('attempt', { description: 'How often it was submitted; 0 before the first time.' }),
    childJobId: t.exposeString('childJobId', { nullable: true, description: 'The target’s id of the child job, once it is known.' }),
    progress: t.field({
      type: progressType,
      description: 'How far the child is.',
      select: { progressDone: true, progressTotal: true, progressUnit: true },
      resolve: stepProgress,
    }),
    rows: t.field({ type: rowAccount, description: 'What became of the source’s rows.', select: counts, resolve: (step) => step }),
    blockers: t.field({
      type: [blockerType],
      description: 'What is missing, where it is blocked.',
      select: { blockers: true },
      resolve: (step) => [...blockersOf(step)],
    }),
    finallyBlocked: t.exposeBoolean('finallyBlocked', { description: 'Whether nothing in this run can clear it any more.' }),
    skippedBecause: t.exposeString('skippedBecause', { nullable: true, description: 'Why it was never submitted.' }),
    whyNotRunning: t.field({
      type: [holdType],
      description: 'Every unmet condition.',
      resolve: async ({ id, runId }, _args, context) => whyStepNotRunning(await holdSource(context, context.db, runId), id),
    }),
    failure: t.field({
      type: failureType,
      nullable: true,
      description: 'Why it failed.',
      select: { failure: true },
      resolve: ({ failure }) => storedFailure(failure),
    }),
    rowErrors: t.field({
      type: [rowErrorType],
      description: 'The first faulty rows, at most 1,000.',
      select: { rowErrors: true },
      complexity: { field: 1, multiplier: 10 },
      resolve: ({ rowErrors }) => (Array.isArray(rowErrors) ? (rowErrors as unknown as RowError[]) : []), // written by us only, in this shape
    }),
    rowErrorCount: t.expose('rowErrorCount', { type: 'BigInt', description: 'How many faults there were in all.' }),
    cancelAnswer: t.exposeString('cancelAnswer', {
      nullable: true,
      description: 'What the child said when it was asked to stop: requested, refused or unreachable.',
    }),
    lateResult: t.exposeString('lateResult', { nullable: true, description: 'How the child ended after its run had.' }),
    submittedAt: t.expose('submittedAt', { type: 'DateTime', nullable: true, description: 'When its newest attempt was submitted.' }),
    settledAt: t.expose('settledAt', { type: 'DateTime', nullable: true, description: 'When it ended.' }),
  }),
});

export const runType = builder.prismaNode('DataRun', {
  id: { field: 'id', description: 'The global id.' },
  nullable: true, // or an id that is not found is an error
  findUnique: (id, context) => ({ id, workspace: visibleWorkspaces(viewerOf(context)) }),
  description: 'The loading of one package, an ordered set of datasets, into one workspace.',
  fields: (t) => ({
    workspace: t.relation('workspace', { description: 'Where it loads.' }),
    package: t.relation('package', { description: 'What it loads.' }),
    state: t.expose('state', { type: runState, description: 'Where it is in its lifecycle.' }),
    driving: t.expose('driving', { type: driving, description: 'Who drives it.' }),
    onInvalidRow: t.expose('onInvalidRow', { type: onInvalidRow, description: 'What becomes of rows that are not valid.' }),
    onMissingReference: t.expose('onMissingReference', {
      type: onMissingReference,
      description: 'What becomes of rows that point at nothing.',
    }),
    onHashMismatch: t.expose('onHashMismatch', {
      type: onHashMismatch,
      description: 'What became of sizes and hashes that are wrong, when it was registered.',
    }),
    notes: t.exposeStringList('notes', {
      description: 'What registration let pass, in sentences: a dataset without a schema, a wrong hash.',
    }),
    steps: t.relation('steps', { query: inOrder, description: 'Its datasets, in package order.' }),
    progress: t.field({
      type: progressType,
      description: 'How far all its children are together.',
      select: { steps: inOrder },
      resolve: ({ steps }) => runProgress(steps),
    }),
    readiness: t.field({
      type: readinessType,
      description: 'Whether its data are whole.',
      select: { steps: inOrder },
      resolve: (run) => readinessOf(run, run.steps),
    }),
    failedStep: t.field({
      type: stepType,
      nullable: true,
      description: 'The dataset that failed it.',
      select: (_args, _context, nested) => ({
        failedDataset: true,
        steps: nested({ ...inOrder, select: { id: true, runId: true, dataset: true } }),
      }),
      resolve: ({ failedDataset, steps }) => steps.find(({ dataset }) => dataset === failedDataset) ?? null,
    }),
    failure: t.field({
      type: failureType,
      nullable: true,
      description: 'Why it failed.',
      resolve: ({ failure }) => storedFailure(failure),
    }),
    activeChildren: t.exposeInt('activeChildren', { description: 'Children at work. While paused: how many are still draining.' }),
    // From the steps as they are read for everything else: with a query of its own it would cost one for each run of a list.
    outstandingCancellations: t.field({
      type: [stepType],
      description: 'After a cancel, or over their deadline: the children not yet confirmed stopped.',
      select: (_args, _context, nested) => ({
        steps: nested({ ...inOrder, select: { id: true, runId: true, state: true, overdueSince: true } }),
      }),
      resolve: ({ steps }) => steps.filter(({ state, overdueSince }) => state === 'CANCELLING' || overdueSince !== null),
    }),
    cancelRequestedAt: t.expose('cancelRequestedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Since when a cancel is under way.',
    }),
    allowedActions: t.field({
      type: [runAction],
      description: 'What you could ask for now.',
      resolve: (run, _args, context) => allowedActionsOf(run, viewerOf(context)),
    }),
    whyNotRunning: t.field({
      type: [holdType],
      description: 'Every unmet condition; empty exactly when the next pass would act, or when nothing is left to do.',
      resolve: async ({ id }, _args, context) => whyNotRunning(await holdSource(context, context.db, id)),
    }),
    registeredBy: t.exposeString('registeredBy', { description: 'Who registered it.' }),
    registeredAt: t.expose('registeredAt', { type: 'DateTime', description: 'When.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', nullable: true, description: 'When it was started.' }),
    settledAt: t.expose('settledAt', { type: 'DateTime', nullable: true, description: 'When it ended.' }),
    previousRun: t.relation('previousRun', {
      nullable: true,
      authScopes: { reader: true },
      description: 'The run that it is another attempt of.',
    }),
    resetAt: t.expose('resetAt', { type: 'DateTime', nullable: true, description: 'When what it wrote was taken back.' }),
    lastEventCursor: t.string({
      description: 'The place of its newest event, in the same row as the data beside it. Follow the log from here to miss nothing.',
      resolve: ({ workspaceId, lastPosition }) => encodeCursor(workspaceId, lastPosition),
    }),
    events: t.field({
      type: runEvents,
      authScopes: { reader: true },
      description: 'Its events, oldest first.',
      complexity: connectionCost,
      args: eventPageArgs,
      resolve: (run, args, context) => eventPage(context, { workspaceId: run.workspaceId, dataRunId: run.id }, args),
    }),
  }),
});

const runEvents = builder.connectionObject(
  { type: dataRunEvent, name: 'DataRunEventsConnection', description: 'A page of a run’s events.' },
  { name: 'DataRunEventsConnectionEdge', description: 'An event in a page.' },
);

builder.queryField('dataRun', (t) =>
  t.prismaField({
    type: 'DataRun',
    nullable: true,
    description: 'A run by its id; null where there is none that you may see. Reading never drives it.',
    args: { id: t.arg.id({ required: true, description: 'Its global id.' }) },
    resolve: (query, _root, { id }, context) =>
      context.db.prisma.dataRun.findFirst({
        ...query,
        where: { id: idIn('DataRun', id), workspace: visibleWorkspaces(viewerOf(context)) },
      }),
  }),
);

builder.objectField(datasetRow, 'writtenBy', (t) =>
  t.prismaField({
    type: runType,
    nullable: true,
    description:
      'The run that wrote the row as it is here. A run that brought it again unchanged did not write it; of a row that a reset put back it is the run that had written it; null where that is not kept.',
    // By its id and nothing else, or Prisma would not make one statement of a page's. Who sees the row sees its workspace, which is the run's.
    resolve: (query, { runId }, _args, context) =>
      runId === null ? null : context.db.prisma.dataRun.findUnique({ ...query, where: { id: runId } }),
  }),
);

const runFilter = builder.inputType('DataRunFilter', {
  description: 'Which runs. What is given must all hold.',
  fields: (t) => ({
    states: t.field({ type: [runState], description: 'In one of these states.' }),
    packageName: t.string({ description: 'Of the package with this name.' }),
    registeredBy: t.string({ description: 'Registered by this subject.' }),
    registeredAfter: t.field({ type: 'DateTime', description: 'Registered after this instant.' }),
    registeredBefore: t.field({ type: 'DateTime', description: 'Registered before this instant.' }),
  }),
});

function whereOf(filter: typeof runFilter.$inferInput | null | undefined): Prisma.DataRunWhereInput {
  const { states, packageName, registeredBy, registeredAfter, registeredBefore } = filter ?? {};
  // null is as if it were not given; an empty text is one that no run has.
  return {
    ...(states ? { state: { in: states } } : {}),
    ...(typeof packageName === 'string' ? { packageName } : {}),
    ...(typeof registeredBy === 'string' ? { registeredBy } : {}),
    registeredAt: between(registeredAfter, registeredBefore),
  };
}

builder.prismaObjectFields('Workspace', (t) => ({
  dataRuns: t.connection(
    {
      type: runType,
      complexity: connectionCost,
      authScopes: { reader: true },
      description: 'Its runs, newest first.',
      args: { filter: t.arg({ type: runFilter, description: 'Which ones.' }) },
      resolve: (workspace, args, context, info) =>
        idPage(`dataRuns:${workspace.id}`, 'desc', args, ({ where, ...range }) =>
          context.db.prisma.dataRun.findMany({
            ...nodeQuery(context, info, 'DataRun'),
            ...range,
            where: { ...whereOf(args.filter), ...where, workspaceId: workspace.id },
          }),
        ),
    },
    { name: 'WorkspaceDataRunsConnection', description: 'A page of runs.' },
    { name: 'WorkspaceDataRunsConnectionEdge', description: 'A run in a page.' },
  ),
  outstandingChildren: t.prismaField({
    type: [stepType],
    authScopes: { reader: true },
    description: 'Children still active, or not confirmed stopped, under a run that has ended.',
    resolve: (query, workspace, _args, context) =>
      context.db.prisma.dataRunStep.findMany({
        ...query,
        where: {
          OR: [{ state: { in: ['SUBMITTING', 'ACTIVE', 'CANCELLING'] } }, { overdueSince: { not: null } }],
          run: { workspaceId: workspace.id, settledAt: { not: null } },
        },
        orderBy: { id: 'asc' },
        take: 1_000,
      }),
  }),
}));
