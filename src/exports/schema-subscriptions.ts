// Following exports: events, of which none is missed, and progress, of which only the newest counts.
import { maySee, type Viewer } from '../auth/viewer.ts';
import { NotFoundError } from '../errors.ts';
import { cancellable, follow, followNewest, startingPoint } from '../events/follow.ts';
import type { ExportExecution } from '../generated/prisma/client.ts';
import { builder, idIn } from '../graphql/builder.ts';
import { type Context, viewerOf } from '../graphql/context.ts';
import { progressType } from '../graphql/values.ts';
import { terminalStates } from '../lifecycle/lifecycle.ts';
import type { Progress } from '../shown.ts';
import { exportLifecycle } from './lifecycle.ts';
import { type DatasetProgressRow, datasetProgress, executionEvent, executionProgress, executionState } from './schema.ts';

async function visibleExecution(context: Context, viewer: Viewer, id: string): Promise<ExportExecution> {
  const found = await context.db.prisma.exportExecution.findUnique({ where: { id }, include: { workspace: { select: { slug: true } } } });
  if (found === null || !maySee(viewer, found.workspace.slug)) throw new NotFoundError('export');
  return found;
}

interface ExecutionProgressRow {
  readonly at: Date;
  readonly state: ExportExecution['state'];
  readonly phase: string;
  readonly progress: Progress;
  readonly datasets: readonly DatasetProgressRow[];
}

const datasetProgressType = builder.objectRef<DatasetProgressRow>('DatasetProgress').implement({
  description: 'How far one dataset is.',
  fields: (t) => ({
    dataset: t.exposeString('dataset', { description: 'The dataset’s name.' }),
    progress: t.expose('progress', { type: progressType, description: 'How many of its rows are written.' }),
    bytes: t.expose('bytes', { type: 'BigInt', description: 'How many bytes of its data file are written.' }),
  }),
});

const executionProgressType = builder.objectRef<ExecutionProgressRow>('ExportExecutionProgress').implement({
  description: 'How far an export is.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'When this was so.' }),
    state: t.expose('state', { type: executionState, description: 'Where it is in its lifecycle.' }),
    phase: t.exposeString('phase', { description: 'What is being done: queued, writing, packing, finished.' }),
    progress: t.expose('progress', { type: progressType, description: 'How many rows are written, of all datasets together.' }),
    datasets: t.field({
      type: [datasetProgressType],
      description: 'How far each dataset is, by name.',
      resolve: ({ datasets }) => [...datasets],
    }),
  }),
});

async function readProgress(context: Context, id: string): Promise<ExecutionProgressRow> {
  const row = await context.db.prisma.exportExecution.findUniqueOrThrow({
    where: { id },
    select: { state: true, phase: true, plan: true, progress: true },
  });
  const datasets = datasetProgress(row);
  return { at: new Date(), state: row.state, phase: row.phase, progress: executionProgress(datasets), datasets };
}

const ended = new Set<string>(terminalStates(exportLifecycle));

builder.subscriptionFields((t) => ({
  exportExecutionEvents: t.field({
    type: executionEvent,
    description:
      'The events of an export, its package and its deliveries. Without `after`: from now. With it: everything after that cursor, in order, none missing, none twice, then live.',
    args: {
      id: t.arg.id({ required: true, description: 'The export’s global id.' }),
      after: t.arg.string({ description: 'A cursor of this workspace’s log.' }),
    },
    subscribe: async (_root, { id, after }, context) => {
      const execution = await visibleExecution(context, viewerOf(context), idIn('ExportExecution', id));
      const scope = { workspaceId: execution.workspaceId, exportExecutionId: execution.id };
      const from = context.place?.from ?? (await startingPoint(context.db, scope, context.place?.after ?? after));
      return cancellable(context.ends(scope.workspaceId), (signal) => follow(context.db, context.bell, scope, from, signal, context.place));
    },
    resolve: (event) => event,
  }),
  exportExecutionProgress: t.field({
    type: executionProgressType,
    description: 'How far an export is: at once, then at most twice a second, the newest only; completes when it has settled.',
    args: { id: t.arg.id({ required: true, description: 'The export’s global id.' }) },
    subscribe: async (_root, { id }, context) => {
      const { id: own, workspaceId } = await visibleExecution(context, viewerOf(context), idIn('ExportExecution', id));
      const topics = [`progress:${own}`, `log:${workspaceId}`] as const;
      return cancellable(context.ends(workspaceId), (signal) =>
        followNewest(
          context.bell,
          topics,
          () => readProgress(context, own),
          ({ state }) => ended.has(state),
          signal,
        ),
      );
    },
    resolve: (progress) => progress,
  }),
}));
