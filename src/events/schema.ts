// Events in the API: the types, and the connection that reads the same log that subscriptions deliver.
import type { LifecycleEvent } from '../generated/prisma/client.ts';
import { builder } from '../graphql/builder.ts';
import type { Context } from '../graphql/context.ts';
import { type PageArgs, pageSize } from '../graphql/pages.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import { type LogScope, readAfter, readBefore } from './log.ts';

export const lifecycleEvent = builder.prismaInterface('LifecycleEvent', {
  name: 'LifecycleEvent',
  description: 'A change that was committed. Events are never changed, and those of a workspace are in commit order.',
  resolveType: (event) => (event.dataRunId === null ? 'ExportExecutionEvent' : 'DataRunEvent'),
  fields: (t) => ({
    id: t.id({ description: 'An id of the event.', resolve: (event) => encodeCursor(event.workspaceId, event.position) }),
    cursor: t.string({
      description: 'Its place in the workspace’s log. Give it as `after` to go on from here.',
      resolve: (event) => encodeCursor(event.workspaceId, event.position),
    }),
    sequence: t.exposeInt('sequence', { description: 'Its number among its subject’s events: from 1, without a gap.' }),
    at: t.expose('at', { type: 'DateTime', description: 'When it happened, by the database’s clock.' }),
    action: t.exposeString('action', { description: 'What happened.' }),
    from: t.exposeString('from', { nullable: true, description: 'The state that was left; null where the subject was made.' }),
    to: t.exposeString('to', { description: 'The state from then on.' }),
    actor: t.exposeString('actor', { description: 'Who: a token’s subject, or `driver`.' }),
    reason: t.exposeString('reason', { nullable: true, description: 'The reason that was given.' }),
    requestId: t.exposeString('requestId', { nullable: true, description: 'The request that caused it, as in the logs.' }),
    cause: t.exposeString('cause', { nullable: true, description: 'What led to it where no person did, such as SETTLED_BY_PASS.' }),
  }),
});

export const dataRunEvent = builder.prismaObject('LifecycleEvent', {
  variant: 'DataRunEvent',
  description: 'A change of a data run, or of one of its steps.',
  interfaces: [lifecycleEvent],
  isTypeOf: (event) => (event as LifecycleEvent).dataRunId !== null, // only events reach an interface of events
  fields: (t) => ({
    dataset: t.exposeString('dataset', { nullable: true, description: 'The dataset whose step changed; null where the run did.' }),
    // Not by the relation: that is looked up by the event, which may be pruned between being read and being shown.
    dataRun: t.prismaField({
      type: 'DataRun',
      description: 'The run, as it is now.',
      resolve: (query, { dataRunId }, _args, context) =>
        context.db.prisma.dataRun.findUniqueOrThrow({ ...query, where: { id: dataRunId ?? '' } }), // never null: isTypeOf looked
    }),
  }),
});

/** Of every field that reads a page of the log. */
export const eventPageArgs = builder.args((t) => ({
  first: t.int({ description: 'How many, at most 100; 20 if not given.' }),
  after: t.string({ description: 'A cursor: only what came after it.' }),
}));

/** A page of the log after a cursor, or from the oldest event that is left, in the shape of a Relay connection. */
export async function eventPage(context: Context, scope: LogScope, args: Pick<PageArgs, 'first' | 'after'>) {
  const size = pageSize(args);
  const after = positionOf(scope, args.after);
  const { events, isCutOff } = await readAfter(context.db, scope, after, size + 1);
  const hasPreviousPage = after === null ? isCutOff : after > 0n;
  return pageOf(events.slice(0, size), { hasNextPage: events.length > size, hasPreviousPage });
}

/** The same of a workspace from the other end: the newest events before a cursor, or of all, still oldest first. */
export async function pastEventPage(context: Context, workspaceId: string, args: Pick<PageArgs, 'last' | 'before'>) {
  const size = pageSize(args);
  const before = positionOf({ workspaceId }, args.before);
  const events = await readBefore(context.db, workspaceId, before, size + 1);
  const hasPreviousPage = events.length > size;
  return pageOf(hasPreviousPage ? events.slice(1) : events, { hasNextPage: before !== null, hasPreviousPage });
}

function positionOf({ workspaceId }: LogScope, cursor: string | null | undefined): bigint | null {
  return cursor === null || cursor === undefined ? null : decodeCursor(workspaceId, cursor);
}

function pageOf(events: readonly LifecycleEvent[], more: { readonly hasNextPage: boolean; readonly hasPreviousPage: boolean }) {
  const edges = events.map((event) => ({ cursor: encodeCursor(event.workspaceId, event.position), node: event }));
  return { edges, pageInfo: { ...more, startCursor: edges[0]?.cursor ?? null, endCursor: edges.at(-1)?.cursor ?? null } };
}
