// Who may no longer look, in the API.
import { ForbiddenError, InvalidInputError, NotFoundError } from '../errors.ts';
import type { AccessRevocation } from '../generated/prisma/client.ts';
import { builder, idIn } from '../graphql/builder.ts';
import { viewerOf } from '../graphql/context.ts';
import { said } from '../graphql/said.ts';
import { restoreAccess, revocationsOf, revokeAccess } from './access.ts';

const revocationType = builder.objectRef<AccessRevocation>('AccessRevocation').implement({
  description: 'A subject whose access to a workspace was taken back, whatever their tokens say.',
  fields: (t) => ({
    subject: t.exposeString('subject', { description: 'Whose: the `sub` of their tokens.' }),
    reason: t.exposeString('reason', { nullable: true, description: 'Why, in the words of whoever took it back.' }),
    revokedBy: t.exposeString('revokedBy', { description: 'Who took it back.' }),
    revokedAt: t.expose('revokedAt', { type: 'DateTime', description: 'When.' }),
  }),
});

builder.prismaObjectField('Workspace', 'revokedAccess', (t) =>
  t.field({
    type: [revocationType],
    nullable: true,
    authScopes: { reader: true },
    complexity: { field: 1, multiplier: 10 },
    description: 'Whose access is revoked now, newest first, at most 1,000 of them; null without `workspace:admin`.',
    resolve: ({ id }, _args, context) => revocationsOf(context.db, viewerOf(context), id),
  }),
);

const subjectDescription = 'Whose: the `sub` of their tokens.';
const workspaceDescription = 'The workspace’s global id.';

const revokeInput = builder.inputType('RevokeAccessInput', {
  description: 'Whose access to take back.',
  fields: (t) => ({
    workspaceId: t.id({ required: true, description: workspaceDescription }),
    subject: t.string({ required: true, description: subjectDescription }),
    reason: t.string({ description: 'Why, for whoever looks later. At most 1,000 characters.' }),
  }),
});

const restoreInput = builder.inputType('RestoreAccessInput', {
  description: 'Whose access to give again.',
  fields: (t) => ({
    workspaceId: t.id({ required: true, description: workspaceDescription }),
    subject: t.string({ required: true, description: subjectDescription }),
  }),
});

builder.mutationFields((t) => ({
  revokeAccess: t.prismaField({
    type: 'Workspace',
    description:
      'Takes a subject’s access to a workspace back: their calls do not find it from now on, grants that they left end, and their streams end with ACCESS_REVOKED within five seconds. Needs `workspace:admin`.',
    args: { input: t.arg({ type: revokeInput, required: true, description: 'Whose.' }) },
    errors: {
      types: [NotFoundError, ForbiddenError, InvalidInputError],
      directResult: true,
      union: { name: 'RevokeAccessResult', description: 'The workspace, or why nothing was revoked.' },
    },
    resolve: async (query, _root, { input }, context) => {
      const access = { workspaceId: idIn('Workspace', input.workspaceId), subject: input.subject };
      const id = await revokeAccess(context.db, viewerOf(context), access, said(input));
      return context.db.prisma.workspace.findUniqueOrThrow({ ...query, where: { id } });
    },
  }),
  restoreAccess: t.prismaField({
    type: 'Workspace',
    description:
      'Gives access again that was revoked: tokens that name the workspace hold again. Grants and streams that ended stay ended. Needs `workspace:admin`.',
    args: { input: t.arg({ type: restoreInput, required: true, description: 'Whose.' }) },
    errors: {
      types: [NotFoundError, ForbiddenError, InvalidInputError],
      directResult: true,
      union: { name: 'RestoreAccessResult', description: 'The workspace, or why nothing was restored.' },
    },
    resolve: async (query, _root, { input }, context) => {
      const access = { workspaceId: idIn('Workspace', input.workspaceId), subject: input.subject };
      const id = await restoreAccess(context.db, viewerOf(context), access);
      return context.db.prisma.workspace.findUniqueOrThrow({ ...query, where: { id } });
    },
  }),
}));
