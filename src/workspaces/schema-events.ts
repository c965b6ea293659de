// A workspace's log in the API.
import { encodeCursor } from '../events/cursor.ts';
import { eventPage, eventPageArgs, lifecycleEvent } from '../events/schema.ts';
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
