// Testing a destination, in the API.
import { ConflictError, ForbiddenError, InvalidInputError, NotFoundError } from '../errors.ts';
import { builder, idIn } from '../graphql/builder.ts';
import { viewerOf } from '../graphql/context.ts';
import { type DestinationPing, pingDestination } from './ping.ts';

const pingType = builder.objectRef<DestinationPing>('DestinationPing').implement({
  description: 'What a destination answered to a test. It is kept nowhere.',
  fields: (t) => ({
    status: t.exposeInt('status', { nullable: true, description: 'The HTTP status of the answer; null where there was none.' }),
    code: t.exposeString('code', { description: 'DELIVERED, or a stable code for why not, as an attempt to deliver has it.' }),
    message: t.exposeString('message', { description: 'One sentence, for people.' }),
    ms: t.exposeInt('ms', { description: 'How long it took, in milliseconds.' }),
    at: t.expose('at', { type: 'DateTime', description: 'When it had ended.' }),
  }),
});

const pingInput = builder.inputType('PingDestinationInput', {
  description: 'Which destination to test.',
  fields: (t) => ({
    workspaceId: t.id({ required: true, description: 'The workspace’s global id.' }),
    name: t.string({ required: true, description: 'The destination’s name in the workspace’s export settings.' }),
  }),
});

builder.mutationField('pingDestination', (t) =>
  t.field({
    type: pingType,
    description:
      'Sends one signed webhook of type `destination.ping` to a destination as it is saved, and tells what was answered; it is not tried again, and nothing is kept of it. One at a time for a destination, else the ConflictError PING_BUSY. Needs `workspace:admin`.',
    args: { input: t.arg({ type: pingInput, required: true, description: 'Which.' }) },
    // A document may ask for a few, not for a hundred: each is a call of somebody else's server.
    complexity: { field: 1_000 },
    errors: {
      types: [NotFoundError, ForbiddenError, ConflictError, InvalidInputError],
      directResult: true,
      union: { name: 'PingDestinationResult', description: 'What was answered, or why nothing was sent.' },
    },
    resolve: (_root, { input }, context) =>
      pingDestination(context.exports, viewerOf(context), { workspaceId: idIn('Workspace', input.workspaceId), name: input.name }),
  }),
);
