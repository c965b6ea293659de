// Export executions in the API.
import { visibleWorkspaces } from '../auth/viewer.ts';
import { encodeCursor } from '../events/cursor.ts';
import { eventPage, eventPageArgs, lifecycleEvent } from '../events/schema.ts';
import type { ExportExecution, LifecycleEvent, Prisma } from '../generated/prisma/client.ts';
import { builder, connectionCost, idIn } from '../graphql/builder.ts';
import { viewerOf } from '../graphql/context.ts';
import { between, idPage, nodeQuery } from '../graphql/pages.ts';
import { failureType, holdType, progressType, storedFailure } from '../graphql/values.ts';
import { enumValues } from '../lifecycle/describe.ts';
import type { Progress } from '../shown.ts';
import { whyNotRunning } from './holds.ts';
import { exportLifecycle } from './lifecycle.ts';
import { allowedActionsOf } from './operations.ts';
import { countsOf, planOf, progressOf, settingsOf } from './plan.ts';
import { packageType } from './schema-packages.ts';
import { exportSettings } from './schema-settings.ts';

export const executionState = builder.enumType('ExportExecutionState', {
  description: 'Where an export is in its lifecycle.',
  values: enumValues(exportLifecycle.states),
});

const executionAction = builder.enumType('ExportExecutionAction', {
  description: 'What a person can ask of an export. Events carry transitions.',
  values: enumValues(exportLifecycle.commands),
});

const datasetCount = builder.objectRef<{ dataset: string; rows: string; bytes: string }>('DatasetCount').implement({
  description: 'How much of a dataset was exported.',
  fields: (t) => ({
    dataset: t.exposeString('dataset', { description: 'The dataset’s name.' }),
    rows: t.expose('rows', { type: 'BigInt', description: 'How many rows.' }),
    bytes: t.expose('bytes', { type: 'BigInt', description: 'The size of its data file.' }),
  }),
});

export interface DatasetProgressRow {
  readonly dataset: string;
  readonly progress: Progress;
  readonly bytes: number;
}

/** Of each dataset, in rows; how many there are is known from the cutoff on. */
export function datasetProgress(execution: Pick<ExportExecution, 'plan' | 'progress'>): DatasetProgressRow[] {
  const written = new Map(progressOf(execution).map((row) => [row.dataset, row]));
  return planOf(execution).map(({ name, rows }) => {
    const { rows: done = 0, bytes = 0 } = written.get(name) ?? {};
    return { dataset: name, bytes, progress: { done: BigInt(done), total: BigInt(rows), totalIsExact: true, unit: 'rows' } };
  });
}

export function executionProgress(datasets: readonly DatasetProgressRow[]): Progress {
  const sum = (part: (progress: Progress) => bigint) => datasets.reduce((total, { progress }) => total + part(progress), 0n);
  return { done: sum(({ done }) => done), total: sum(({ total }) => total ?? 0n), totalIsExact: true, unit: 'rows' };
}

export const executionType = builder.prismaNode('ExportExecution', {
  // Only what is asked for is read: the plan and the settings are documents that a list has no need of.
  select: { id: true, workspaceId: true },
  id: { field: 'id', description: 'The global id.' },
  nullable: true, // or an id that is not found is an error
  findUnique: (id, context) => ({ id, workspace: visibleWorkspaces(viewerOf(context)) }),
  description: 'The taking out of a workspace’s data, as they were at one moment, as a Data Package.',
  fields: (t) => ({
    workspace: t.relation('workspace', { description: 'Whose data.' }),
    state: t.expose('state', { type: executionState, description: 'Where it is in its lifecycle.' }),
    settings: t.field({
      type: exportSettings,
      description: 'The workspace’s export settings as they were when it was admitted.',
      select: { settings: true },
      resolve: (execution) => {
        const { destinations, ...settings } = settingsOf(execution);
        return { ...settings, destinations: destinations.map(({ name, url }) => ({ name, url, workspaceId: null })) };
      },
    }),
    cutoff: t.expose('cutoff', {
      type: 'DateTime',
      description: 'The moment of admission, with microseconds: what was committed then is exported.',
    }),
    phase: t.exposeString('phase', { description: 'What is being done: queued, writing, packing, finished.' }),
    progress: t.field({
      type: progressType,
      description: 'How many rows are written, of all datasets together.',
      select: { plan: true, progress: true },
      resolve: (execution) => executionProgress(datasetProgress(execution)),
    }),
    counts: t.field({
      type: [datasetCount],
      description: 'Rows and bytes of each dataset, once it succeeded.',
      select: { counts: true },
      resolve: countsOf,
    }),
    manifestDigest: t.exposeString('manifestDigest', {
      nullable: true,
      description: 'The SHA-256 of datapackage.json in the form of RFC 8785: equal for equal data.',
    }),
    failure: t.field({
      type: failureType,
      nullable: true,
      description: 'Why it failed.',
      select: { failure: true },
      resolve: ({ failure }) => storedFailure(failure),
    }),
    exportPackage: t.field({
      type: packageType,
      nullable: true,
      description: 'The archive, from when it is on its way to storage; the newest, where it was republished.',
      select: (_args, _context, nested) => ({ packages: nested({ orderBy: { createdAt: 'desc' as const }, take: 1 }) }),
      resolve: ({ packages }) => packages[0] ?? null,
    }),
    allowedActions: t.field({
      type: [executionAction],
      description: 'What you could ask for now.',
      select: { state: true },
      resolve: (execution, _args, context) => allowedActionsOf(execution, viewerOf(context)),
    }),
    whyNotRunning: t.field({
      type: [holdType],
      description: 'Every unmet condition; empty exactly when it would be dispatched next, is at work, or has ended.',
      select: { state: true, requestedAt: true },
      resolve: (execution, _args, context) => whyNotRunning(context.db, context.exports.slots, execution),
    }),
    requestedBy: t.exposeString('requestedBy', { description: 'Who requested it.' }),
    requestedAt: t.expose('requestedAt', { type: 'DateTime', description: 'When.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', nullable: true, description: 'When it was first given a slot.' }),
    settledAt: t.expose('settledAt', { type: 'DateTime', nullable: true, description: 'When it ended.' }),
    lastEventCursor: t.string({
      description: 'The place of its newest event, in the same row as the data beside it. Follow the log from here to miss nothing.',
      select: { lastPosition: true },
      resolve: ({ workspaceId, lastPosition }) => encodeCursor(workspaceId, lastPosition),
    }),
    events: t.field({
      type: executionEvents,
      authScopes: { reader: true },
      description: 'Its events, its package’s and its deliveries’, oldest first.',
      complexity: connectionCost,
      args: eventPageArgs,
      resolve: (execution, args, context) =>
        eventPage(context, { workspaceId: execution.workspaceId, exportExecutionId: execution.id }, args),
    }),
  }),
});

export const executionEvent = builder.prismaObject('LifecycleEvent', {
  variant: 'ExportExecutionEvent',
  description: 'A change of an export, of its package, or of a delivery.',
  interfaces: [lifecycleEvent],
  isTypeOf: (event) => (event as LifecycleEvent).exportExecutionId !== null, // only events reach an interface of events
  fields: (t) => ({
    destination: t.exposeString('destination', { nullable: true, description: 'The destination whose delivery changed; null otherwise.' }),
    exportExecution: t.prismaField({
      type: 'ExportExecution',
      description: 'The export, as it is now.',
      resolve: (query, { exportExecutionId }, _args, context) =>
        context.db.prisma.exportExecution.findUniqueOrThrow({ ...query, where: { id: exportExecutionId ?? '' } }), // as for `dataRun`
    }),
  }),
});

const executionEvents = builder.connectionObject(
  { type: executionEvent, name: 'ExportExecutionEventsConnection', description: 'A page of an export’s events.' },
  { name: 'ExportExecutionEventsConnectionEdge', description: 'An event in a page.' },
);

builder.queryField('exportExecution', (t) =>
  t.prismaField({
    type: 'ExportExecution',
    nullable: true,
    description: 'An export by its id; null where there is none that you may see.',
    args: { id: t.arg.id({ required: true, description: 'Its global id.' }) },
    resolve: (query, _root, { id }, context) =>
      context.db.prisma.exportExecution.findFirst({
        ...query,
        where: { id: idIn('ExportExecution', id), workspace: visibleWorkspaces(viewerOf(context)) },
      }),
  }),
);

const executionFilter = builder.inputType('ExportExecutionFilter', {
  description: 'Which exports. What is given must all hold.',
  fields: (t) => ({
    states: t.field({ type: [executionState], description: 'In one of these states.' }),
    requestedBy: t.string({ description: 'Requested by this subject.' }),
    requestedAfter: t.field({ type: 'DateTime', description: 'Requested after this instant.' }),
    requestedBefore: t.field({ type: 'DateTime', description: 'Requested before this instant.' }),
  }),
});

function whereOf(filter: typeof executionFilter.$inferInput | null | undefined): Prisma.ExportExecutionWhereInput {
  const { states, requestedBy, requestedAfter, requestedBefore } = filter ?? {};
  // null is as if it were not given; an empty text is one that no export has.
  return {
    ...(states ? { state: { in: states } } : {}),
    ...(typeof requestedBy === 'string' ? { requestedBy } : {}),
    requestedAt: between(requestedAfter, requestedBefore),
  };
}

builder.prismaObjectField('Workspace', 'exportExecutions', (t) =>
  t.connection(
    {
      type: executionType,
      complexity: connectionCost,
      authScopes: { reader: true },
      description: 'Its exports, newest first.',
      args: { filter: t.arg({ type: executionFilter, description: 'Which ones.' }) },
      resolve: (workspace, args, context, info) =>
        idPage(`exportExecutions:${workspace.id}`, 'desc', args, ({ where, ...range }) =>
          context.db.prisma.exportExecution.findMany({
            ...nodeQuery(context, info, 'ExportExecution'),
            ...range,
            where: { ...whereOf(args.filter), ...where, workspaceId: workspace.id },
          }),
        ),
    },
    { name: 'WorkspaceExportExecutionsConnection', description: 'A page of exports.' },
    { name: 'WorkspaceExportExecutionsConnectionEdge', description: 'An export in a page.' },
  ),
);
