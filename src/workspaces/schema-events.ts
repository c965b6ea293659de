// A workspace's log in the API.
import { encodeCursor } from '../events/cursor.ts';
import { eventPage, eventPageArgs, lifecycleEvent, pastEventPage } from '../events/schema.ts';
import { builder, connectionCost } from '../graphql/builder.ts';

const workspaceEvents = builder.connectionObject(
  { type: lifecycleEvent, name: 'WorkspaceEventsConnection', description: 'A page of a workspace’s events.' },
  { name: 'WorkspaceEventsConnectionEdge', description: 'An event in a page.' },
);

builder.prismaObjectField('Workspace', 'oldestEventCursor', (t) =>
  t.string({
    description:
      'The place just before its oldest event that is still kept. Give it as `after` to replay all there is; a cursor from before it is refused with CURSOR_EXPIRED.',
    select: { id: true, log: { select: { horizon: true } } },
    resolve: ({ id, log }) => encodeCursor(id, log?.horizon ?? 0n),
  }),
);

builder.prismaObjectField('Workspace', 'events', (t) =>
  t.field({
    type: workspaceEvents,
    authScopes: { reader: true },
    description: 'The log that subscriptions deliver, with the same cursors; oldest first.',
    complexity: connectionCost,
    args: eventPageArgs,
    resolve: ({ id }, args, context) => eventPage(context, { workspaceId: id }, args),
  }),
);

builder.prismaObjectField('Workspace', 'pastEvents', (t) =>
  t.field({
    type: workspaceEvents,
    authScopes: { reader: true },
    description: 'The same log from its other end: the newest events, or the newest before a cursor; still oldest first.',
    complexity: connectionCost,
    args: {
      last: t.arg.int({ description: 'How many, at most 100; 20 if not given.' }),
      before: t.arg.string({ description: 'A cursor: only what came before it.' }),
    },
    resolve: ({ id }, args, context) => pastEventPage(context, id, args),
  }),
);
