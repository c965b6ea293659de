// Following runs: events, of which none is missed, and progress, of which only the newest counts.
import { maySee, type Viewer } from '../auth/viewer.ts';
import { NotFoundError } from '../errors.ts';
import { cancellable, follow, followNewest, startingPoint } from '../events/follow.ts';
import { dataRunEvent, lifecycleEvent } from '../events/schema.ts';
import type { DataRun, DataRunStep } from '../generated/prisma/client.ts';
import { builder, idIn } from '../graphql/builder.ts';
import { type Context, viewerOf } from '../graphql/context.ts';
import { progressType } from '../graphql/values.ts';
import type { Progress } from '../shown.ts';
import { seeWorkspace } from '../workspaces/operations.ts';
import { hasEnded } from './lifecycle.ts';
import { runState, stepState } from './schema-enums.ts';
import { runProgress, stepProgress } from './schema-values.ts';

async function visibleRun(context: Context, viewer: Viewer, id: string): Promise<DataRun> {
  const found = await context.db.prisma.dataRun.findUnique({ where: { id }, include: { workspace: { select: { slug: true } } } });
  if (found === null || !maySee(viewer, found.workspace.slug)) throw new NotFoundError('data run');
  return found;
}

interface StepProgressRow {
  readonly dataset: string;
  readonly state: DataRunStep['state'];
  readonly progress: Progress;
}

interface RunProgressRow {
  readonly at: Date;
  readonly state: DataRun['state'];
  readonly progress: Progress;
  readonly steps: StepProgressRow[];
}

const stepProgressType = builder.objectRef<StepProgressRow>('StepProgress').implement({
  description: 'How far one dataset is.',
  fields: (t) => ({
    dataset: t.exposeString('dataset', { description: 'The dataset’s name.' }),
    state: t.expose('state', { type: stepState, description: 'Where its step is in its lifecycle.' }),
    progress: t.expose('progress', { type: progressType, description: 'How far its child is.' }),
  }),
});

const runProgressType = builder.objectRef<RunProgressRow>('DataRunProgress').implement({
  description: 'How far a run is.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'When this was so.' }),
    state: t.expose('state', { type: runState, description: 'Where the run is in its lifecycle.' }),
    progress: t.expose('progress', { type: progressType, description: 'How far all its children are together.' }),
    steps: t.expose('steps', { type: [stepProgressType], description: 'How far each dataset is, in package order.' }),
  }),
});

async function readProgress(context: Context, id: string): Promise<RunProgressRow> {
  const { state, steps } = await context.db.prisma.dataRun.findUniqueOrThrow({
    where: { id },
    select: {
      state: true,
      steps: {
        orderBy: { position: 'asc' },
        select: { dataset: true, state: true, progressDone: true, progressTotal: true, progressUnit: true },
      },
    },
  });
  return {
    at: new Date(),
    state,
    progress: runProgress(steps),
    steps: steps.map((step) => ({ dataset: step.dataset, state: step.state, progress: stepProgress(step) })),
  };
}

builder.subscriptionFields((t) => ({
  dataRunEvents: t.field({
    type: dataRunEvent,
    description:
      'The events of a run. Without `after`: from now. With it: everything after that cursor, in order, none missing, none twice, then live.',
    args: {
      id: t.arg.id({ required: true, description: 'The run’s global id.' }),
      after: t.arg.string({ description: 'A cursor of this workspace’s log.' }),
    },
    subscribe: async (_root, { id, after }, context) => {
      const run = await visibleRun(context, viewerOf(context), idIn('DataRun', id));
      const scope = { workspaceId: run.workspaceId, dataRunId: run.id };
      const from = context.place?.from ?? (await startingPoint(context.db, scope, context.place?.after ?? after));
      return cancellable(context.ends(scope.workspaceId), (signal) => follow(context.db, context.bell, scope, from, signal, context.place));
    },
    resolve: (event) => event,
  }),
  workspaceEvents: t.field({
    type: lifecycleEvent,
    description: 'The events of everything in a workspace, in commit order. `after` as for `dataRunEvents`.',
    args: {
      workspace: t.arg.id({ required: true, description: 'The workspace’s global id.' }),
      after: t.arg.string({ description: 'A cursor of this workspace’s log.' }),
    },
    subscribe: async (_root, { workspace, after }, context) => {
      const found = await seeWorkspace(context.db, viewerOf(context), idIn('Workspace', workspace));
      if (found === null) throw new NotFoundError('workspace');
      const scope = { workspaceId: found.id };
      const from = context.place?.from ?? (await startingPoint(context.db, scope, context.place?.after ?? after));
      return cancellable(context.ends(scope.workspaceId), (signal) => follow(context.db, context.bell, scope, from, signal, context.place));
    },
    resolve: (event) => event,
  }),
  dataRunProgress: t.field({
    type: runProgressType,
    description: 'How far a run is: at once, then at most twice a second, the newest only; completes when the run has settled.',
    args: { id: t.arg.id({ required: true, description: 'The run’s global id.' }) },
    subscribe: async (_root, { id }, context) => {
      const run = await visibleRun(context, viewerOf(context), idIn('DataRun', id));
      const topics = [`progress:${run.id}`, `log:${run.workspaceId}`] as const;
      return cancellable(context.ends(run.workspaceId), (signal) =>
        followNewest(context.bell, topics, () => readProgress(context, run.id), hasEnded, signal),
      );
    },
    resolve: (progress) => progress,
  }),
}));
