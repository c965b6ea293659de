// The authority that a run is driven under, in the API.
import { ConflictError, ForbiddenError, InvalidInputError, NotFoundError } from '../errors.ts';
import type { Grant } from '../generated/prisma/client.ts';
import { builder, idIn } from '../graphql/builder.ts';
import { callerOf } from '../graphql/context.ts';
import { keyDescription, said } from '../graphql/said.ts';
import { renewDataRunGrant, revokeDataRunGrant } from './grant-operations.ts';

const grantType = builder.objectRef<Grant>('DataRunGrant').implement({
  description: 'Authority that somebody left for a run, so that it is driven when nobody asks.',
  fields: (t) => ({
    subject: t.exposeString('subject', { description: 'In whose name targets are called.' }),
    targets: t.exposeStringList('targets', { description: 'The targets that it is for.' }),
    grantedAt: t.expose('grantedAt', { type: 'DateTime', description: 'When it was left.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'Until when it holds, if nobody ends it before.' }),
    endedAt: t.expose('endedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was ended: by a newer one, by being revoked, or with its subject’s access.',
    }),
  }),
});

builder.prismaObjectField('DataRun', 'grant', (t) =>
  t.field({
    type: grantType,
    nullable: true,
    description: 'The newest grant that it is, or was, driven under; null before it was started.',
    select: { grants: { where: { purpose: 'DRIVE' }, orderBy: [{ grantedAt: 'desc' }, { id: 'desc' }], take: 1 } },
    resolve: ({ grants: [newest] }) => newest ?? null,
  }),
);

const renewInput = builder.inputType('RenewDataRunGrantInput', {
  description: 'Which run to give your authority to.',
  fields: (t) => ({
    dataRunId: t.id({ required: true, description: 'The run’s global id.' }),
    idempotencyKey: t.string({ description: keyDescription }),
  }),
});

const revokeInput = builder.inputType('RevokeDataRunGrantInput', {
  description: 'Which run to take the authority from.',
  fields: (t) => ({ dataRunId: t.id({ required: true, description: 'The run’s global id.' }) }),
});

builder.mutationFields((t) => ({
  renewDataRunGrant: t.prismaField({
    type: 'DataRun',
    description:
      'Has an open run driven under your authority from now on. Needs `data-run`, and `target:<name>` for each dataset that remains.',
    args: { input: t.arg({ type: renewInput, required: true, description: 'Which run.' }) },
    errors: {
      types: [NotFoundError, ForbiddenError, ConflictError, InvalidInputError],
      directResult: true,
      union: { name: 'RenewDataRunGrantResult', description: 'The run, or why nothing was granted.' },
    },
    resolve: async (query, _root, { input }, context) => {
      const id = await renewDataRunGrant(context.runs, callerOf(context), idIn('DataRun', input.dataRunId), said(input));
      return context.db.prisma.dataRun.findUniqueOrThrow({ ...query, where: { id } });
    },
  }),
  revokeDataRunGrant: t.prismaField({
    type: 'DataRun',
    description: 'Ends the grant that a run is driven under: nothing more is submitted until there is another. Needs `data-run`.',
    args: { input: t.arg({ type: revokeInput, required: true, description: 'Which run.' }) },
    errors: {
      types: [NotFoundError, ForbiddenError],
      directResult: true,
      union: { name: 'RevokeDataRunGrantResult', description: 'The run, or why nothing was revoked.' },
    },
    resolve: async (query, _root, { input }, context) => {
      const id = await revokeDataRunGrant(context.runs, callerOf(context), idIn('DataRun', input.dataRunId));
      return context.db.prisma.dataRun.findUniqueOrThrow({ ...query, where: { id } });
    },
  }),
}));
