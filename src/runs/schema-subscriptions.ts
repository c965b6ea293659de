// Following runs: events, of which none is missed, and progress, of which only the newest counts.
import { setTimeout as sleep } from 'node:timers/promises';
import { maySee, type Viewer } from '../auth/viewer.ts';
import { NotFoundError } from '../errors.ts';
import { CursorError, decodeCursor } from '../events/cursor.ts';
import { cancellable, follow } from '../events/follow.ts';
import { lastPosition } from '../events/log.ts';
import { dataRunEvent, lifecycleEvent } from '../events/schema.ts';
import type { DataRun, DataRunStep } from '../generated/prisma/client.ts';
import { builder, idIn } from '../graphql/builder.ts';
import { type Context, viewerOf } from '../graphql/context.ts';
import { seeWorkspace } from '../workspaces/operations.ts';
import { hasEnded } from './driver.ts';
import { runState, stepState } from './schema-enums.ts';
import { type Progress, progressType, runProgress, stepProgress } from './schema-values.ts';

/** At most twice a second for each subject. */
const progressEveryMs = 500;

async function visibleRun(context: Context, viewer: Viewer, id: string): Promise<DataRun> {
  const found = await context.db.prisma.dataRun.findUnique({ where: { id }, include: { workspace: { select: { slug: true } } } });
  if (found === null || !maySee(viewer, found.workspace.slug)) throw new NotFoundError('data run');
  return found;
}

/** The position to follow from: the cursor’s, or now. */
async function startingPoint(context: Context, workspaceId: string, after: string | null | undefined): Promise<bigint> {
  const last = await lastPosition(context.db, workspaceId);
  if (after === null || after === undefined) return last;
  const position = decodeCursor(workspaceId, after);
  // Ahead of the log: of a database that was restored since, say. Whoever waited there would miss what is written until then.
  if (position > last) throw new CursorError();
  return position;
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

async function* followProgress(context: Context, run: DataRun, signal: AbortSignal): AsyncGenerator<RunProgressRow> {
  const { bell } = context;
  using waiter = bell.waiter([`progress:${run.id}`, `log:${run.workspaceId}`], signal);
  for (let shown = ''; !signal.aborted; ) {
    const now = await readProgress(context, run.id);
    const { at: _, ...value } = now;
    const text = JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? part.toString() : part));
    if (text !== shown) {
      shown = text;
      yield now;
    }
    if (hasEnded(now)) return;
    // Also where nothing was new: every event of a busy workspace wakes us. A dying client must not hold the timer up.
    await sleep(progressEveryMs, undefined, { signal }).catch(() => {});
    await waiter.wait();
  }
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
      const from = await startingPoint(context, run.workspaceId, after);
      const scope = { workspaceId: run.workspaceId, dataRunId: run.id };
      return cancellable(context.ends(), (signal) => follow(context.db, context.bell, scope, from, signal));
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
      const from = await startingPoint(context, found.id, after);
      return cancellable(context.ends(), (signal) => follow(context.db, context.bell, { workspaceId: found.id }, from, signal));
    },
    resolve: (event) => event,
  }),
  dataRunProgress: t.field({
    type: runProgressType,
    description: 'How far a run is: at once, then at most twice a second, the newest only; completes when the run has settled.',
    args: { id: t.arg.id({ required: true, description: 'The run’s global id.' }) },
    subscribe: async (_root, { id }, context) => {
      const run = await visibleRun(context, viewerOf(context), idIn('DataRun', id));
      return cancellable(context.ends(), (signal) => followProgress(context, run, signal));
    },
    resolve: (progress) => progress,
  }),
}));
