// An export's package and its deliveries in the API.
import { visibleWorkspaces } from '../auth/viewer.ts';
import { builder } from '../graphql/builder.ts';
import { viewerOf } from '../graphql/context.ts';
import { failureType, storedFailure } from '../graphql/values.ts';
import { enumValues } from '../lifecycle/describe.ts';
import { deliveryLifecycle, packageLifecycle } from './lifecycle.ts';

const publicationState = builder.enumType('PublicationState', {
  description: 'Where a package is in its lifecycle.',
  values: enumValues(packageLifecycle.states),
});

const deliveryState = builder.enumType('DeliveryState', {
  description: 'Where a delivery is in its lifecycle.',
  values: enumValues(deliveryLifecycle.states),
});

const attemptType = builder.prismaObject('ExportDeliveryAttempt', {
  description: 'One call of a destination.',
  fields: (t) => ({
    number: t.exposeInt('number', { description: 'From 1.' }),
    at: t.expose('at', { type: 'DateTime', description: 'When it had ended.' }),
    status: t.exposeInt('status', { nullable: true, description: 'The HTTP status of the answer; null where there was none.' }),
    code: t.exposeString('code', { description: 'DELIVERED, or a stable code for why not.' }),
    message: t.exposeString('message', { description: 'One sentence, for people.' }),
    durationMs: t.exposeInt('durationMs', { description: 'How long it took, in milliseconds.' }),
  }),
});

builder.prismaNode('ExportDelivery', {
  id: { field: 'id', description: 'The global id.' },
  nullable: true, // or an id that is not found is an error
  findUnique: (id, context) => ({ id, package: { execution: { workspace: visibleWorkspaces(viewerOf(context)) } } }),
  description: 'The telling of one destination that a package is there.',
  fields: (t) => ({
    destination: t.exposeString('destination', { description: 'The destination’s name.' }),
    state: t.expose('state', { type: deliveryState, description: 'Where it is in its lifecycle.' }),
    attempts: t.exposeInt('attempts', { description: 'How often it was tried.' }),
    attemptLog: t.field({
      type: [attemptType],
      description: 'Each attempt, oldest first.',
      select: (_args, _context, nested) => ({ attemptLog: nested({ orderBy: { number: 'asc' as const } }) }),
      resolve: ({ attemptLog }) => attemptLog,
    }),
    nextAttemptAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When it is tried next; null where it has ended.',
      resolve: ({ state, nextAttemptAt }) => (state === 'PENDING' ? nextAttemptAt : null),
    }),
    webhookId: t.exposeString('webhookId', {
      description: 'What the receiver knows it by: the same on every attempt, and when it is redelivered.',
    }),
    deliveredAt: t.expose('deliveredAt', { type: 'DateTime', nullable: true, description: 'When the destination took it.' }),
    failure: t.field({
      type: failureType,
      nullable: true,
      description: 'Why it was given up.',
      resolve: ({ failure }) => storedFailure(failure),
    }),
  }),
});

export const packageType = builder.prismaNode('ExportPackage', {
  // The digests of its blocks are for whoever serves it.
  select: { id: true },
  id: { field: 'id', description: 'The global id.' },
  nullable: true, // or an id that is not found is an error
  findUnique: (id, context) => ({ id, execution: { workspace: visibleWorkspaces(viewerOf(context)) } }),
  description: 'An export’s archive in storage.',
  fields: (t) => ({
    state: t.expose('state', { type: publicationState, description: 'Where it is in its lifecycle.' }),
    attempts: t.exposeInt('attempts', { description: 'How often it was tried to store it.' }),
    bytes: t.expose('bytes', { type: 'BigInt', nullable: true, description: 'Its size, once it is in storage.' }),
    digest: t.exposeString('digest', { nullable: true, description: 'The SHA-256 of the archive, once it is in storage.' }),
    publishedAt: t.expose('publishedAt', { type: 'DateTime', nullable: true, description: 'When it was in storage, whole.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', nullable: true, description: 'When it is deleted.' }),
    failure: t.field({
      type: failureType,
      nullable: true,
      description: 'Why it could not be stored.',
      select: { failure: true },
      resolve: ({ failure }) => storedFailure(failure),
    }),
    deliveries: t.relation('deliveries', {
      query: { orderBy: { id: 'asc' } },
      description: 'The telling of its destinations, oldest first.',
    }),
  }),
});
