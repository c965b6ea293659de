// Workspaces in the API: the type, its lists, and making one.
import { maySee, visibleWorkspaces } from '../auth/viewer.ts';
import { ConflictError, ForbiddenError, InvalidInputError } from '../errors.ts';
import { encodeCursor } from '../events/cursor.ts';
import { builder, connectionCost } from '../graphql/builder.ts';
import { viewerOf } from '../graphql/context.ts';
import { idPage, nodeQuery } from '../graphql/pages.ts';
import { createWorkspace } from './operations.ts';

const viewerType = builder.objectRef<{ subject: string; permissions: string[] }>('Viewer').implement({
  description: 'Whoever asks, as their token says.',
  fields: (t) => ({
    subject: t.exposeString('subject', { description: 'The token’s `sub`.' }),
    permissions: t.exposeStringList('permissions', { description: 'What the token allows.' }),
  }),
});

builder.queryField('viewer', (t) =>
  t.field({
    type: viewerType,
    description: 'You.',
    resolve: (_root, _args, context) => {
      const { subject, permissions } = viewerOf(context);
      return { subject, permissions: [...permissions].sort() };
    },
  }),
);

export const workspaceType = builder.prismaNode('Workspace', {
  id: { field: 'id', description: 'The global id.' },
  nullable: true, // or an id that is not found is an error
  findUnique: (id, context) => ({ id, AND: visibleWorkspaces(viewerOf(context)) }),
  description: 'A tenant’s data: its datasets, and what loads and exports them.',
  fields: (t) => ({
    slug: t.exposeString('slug', { description: 'Its name in tokens and URLs.' }),
    name: t.exposeString('name', { description: 'Its name for people.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was made.' }),
    lastEventCursor: t.string({
      description:
        'The place of its newest event, read in the same statement as the data beside it. Follow the log from here to miss nothing.',
      select: { id: true, log: { select: { position: true } } },
      resolve: ({ id, log }) => encodeCursor(id, log?.position ?? 0n),
    }),
  }),
});

builder.queryFields((t) => ({
  workspace: t.prismaField({
    type: 'Workspace',
    nullable: true,
    description: 'A workspace by its slug; null where there is none that you may see.',
    args: { slug: t.arg.string({ required: true, description: 'Its slug.' }) },
    resolve: (query, _root, { slug }, context) =>
      maySee(viewerOf(context), slug) ? context.db.prisma.workspace.findUnique({ ...query, where: { slug } }) : null,
  }),
  workspaces: t.connection(
    {
      type: workspaceType,
      complexity: connectionCost,
      description: 'The workspaces that you may see, oldest first.',
      resolve: (_root, args, context, info) =>
        idPage('workspaces', 'asc', args, ({ where, ...range }) =>
          context.db.prisma.workspace.findMany({
            ...nodeQuery(context, info, 'Workspace'),
            ...range,
            where: { ...where, ...visibleWorkspaces(viewerOf(context)) },
          }),
        ),
    },
    { name: 'QueryWorkspacesConnection', description: 'A page of workspaces.' },
    { name: 'QueryWorkspacesConnectionEdge', description: 'A workspace in a page.' },
  ),
}));

const createWorkspaceInput = builder.inputType('CreateWorkspaceInput', {
  description: 'What makes a workspace.',
  fields: (t) => ({
    slug: t.string({ required: true, description: 'Lower-case letters, digits and hyphens; 1 to 63 of them. Cannot be changed.' }),
    name: t.string({ required: true, description: 'A name for people, at most 200 characters.' }),
  }),
});

builder.mutationField('createWorkspace', (t) =>
  t.prismaField({
    type: 'Workspace',
    description: 'Makes a workspace. Needs `workspace:admin`, and a token that names the slug.',
    args: { input: t.arg({ type: createWorkspaceInput, required: true, description: 'What makes it.' }) },
    errors: {
      types: [ForbiddenError, ConflictError, InvalidInputError],
      directResult: true,
      union: { name: 'CreateWorkspaceResult', description: 'The workspace, or why there is none.' },
    },
    resolve: async (query, _root, { input }, context) => {
      const { id } = await createWorkspace(context.db, viewerOf(context), input);
      return context.db.prisma.workspace.findUniqueOrThrow({ ...query, where: { id } });
    },
  }),
);
