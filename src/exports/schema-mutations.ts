// What a person can ask of exports, as mutations. Each parses ids, calls one operation, and answers with the subject as it then is.
import { ConflictError, ForbiddenError, InvalidInputError, InvalidTransitionError, NotFoundError } from '../errors.ts';
import { builder, idIn } from '../graphql/builder.ts';
import { callerOf, viewerOf } from '../graphql/context.ts';
import { keyDescription, reasonDescription, said } from '../graphql/said.ts';
import { downloadLink } from '../graphql/values.ts';
import { cancelExportExecution, requestWorkspaceExport } from './operations.ts';
import { issueDownloadLink, redeliver, republishExport, revokeDownloadLinks } from './package-operations.ts';

const union = (name: string, description: string) => ({ directResult: true as const, union: { name, description } });
const conflicts = [NotFoundError, ForbiddenError, ConflictError, InvalidInputError];
const executionId = 'The export’s global id.';
const packageId = 'The package’s global id.';

const requestInput = builder.inputType('RequestWorkspaceExportInput', {
  description: 'What to export.',
  fields: (t) => ({
    workspaceId: t.id({ required: true, description: 'The workspace’s global id.' }),
    idempotencyKey: t.string({ description: keyDescription }),
  }),
});

const cancelInput = builder.inputType('CancelExportExecutionInput', {
  description: 'Which export to cancel.',
  fields: (t) => ({
    exportExecutionId: t.id({ required: true, description: executionId }),
    reason: t.string({ description: reasonDescription }),
    idempotencyKey: t.string({ description: keyDescription }),
  }),
});

const republishInput = builder.inputType('RepublishExportInput', {
  description: 'Which export to store again.',
  fields: (t) => ({
    exportExecutionId: t.id({ required: true, description: executionId }),
    idempotencyKey: t.string({ description: keyDescription }),
  }),
});

const linkInput = builder.inputType('IssueDownloadLinkInput', {
  description: 'A link to which package, and for how long.',
  fields: (t) => ({
    exportPackageId: t.id({ required: true, description: packageId }),
    expiresInSeconds: t.int({
      defaultValue: 3_600,
      description: 'How long it holds: 1 to 604,800 s, and never longer than the package is kept.',
    }),
  }),
});

const redeliverInput = builder.inputType('RedeliverInput', {
  description: 'What to deliver again.',
  fields: (t) => ({ exportDeliveryId: t.id({ required: true, description: 'The delivery’s global id.' }) }),
});

const revokeInput = builder.inputType('RevokeDownloadLinksInput', {
  description: 'Whose links to revoke.',
  fields: (t) => ({ exportPackageId: t.id({ required: true, description: packageId }) }),
});

builder.mutationFields((t) => ({
  requestWorkspaceExport: t.prismaField({
    type: 'ExportExecution',
    description: 'Admits an export of a workspace as it is at this moment. Needs `data-export:execute`.',
    args: { input: t.arg({ type: requestInput, required: true, description: 'What to export.' }) },
    errors: { types: conflicts, ...union('RequestWorkspaceExportResult', 'The export, or why there is none.') },
    resolve: async (query, _root, { input }, context) => {
      const own = said(input);
      const id = await requestWorkspaceExport(context.db, callerOf(context), {
        workspaceId: idIn('Workspace', input.workspaceId),
        get idempotencyKey() {
          return own.idempotencyKey;
        },
      });
      return context.db.prisma.exportExecution.findUniqueOrThrow({ ...query, where: { id } });
    },
  }),
  cancelExportExecution: t.prismaField({
    type: 'ExportExecution',
    description: 'Ends an export that is queued or running; what it has written is removed. Needs `data-export:execute`.',
    args: { input: t.arg({ type: cancelInput, required: true, description: 'Which export.' }) },
    errors: {
      types: [NotFoundError, ForbiddenError, InvalidTransitionError, ConflictError, InvalidInputError],
      ...union('CancelExportExecutionResult', 'The export as it then is, or why it stays as it was.'),
    },
    resolve: async (query, _root, { input }, context) => {
      const id = await cancelExportExecution(context.db, callerOf(context), idIn('ExportExecution', input.exportExecutionId), said(input));
      return context.db.prisma.exportExecution.findUniqueOrThrow({ ...query, where: { id } });
    },
  }),
  republishExport: t.prismaField({
    type: 'ExportExecution',
    description:
      'Stores the archive of an export again, whose package failed or expired: from the cutoff it had, with the digest it had. Needs `data-export:execute`.',
    args: { input: t.arg({ type: republishInput, required: true, description: 'Which export.' }) },
    errors: { types: conflicts, ...union('RepublishExportResult', 'The export with its new package, or why there is none.') },
    resolve: async (query, _root, { input }, context) => {
      const id = await republishExport(context.db, callerOf(context), idIn('ExportExecution', input.exportExecutionId), said(input));
      return context.db.prisma.exportExecution.findUniqueOrThrow({ ...query, where: { id } });
    },
  }),
  issueDownloadLink: t.field({
    type: downloadLink,
    description: 'Makes a link to a published package; as many as are asked for. Needs `data-export:execute`.',
    args: { input: t.arg({ type: linkInput, required: true, description: 'To which, and for how long.' }) },
    errors: { types: conflicts, ...union('IssueDownloadLinkResult', 'The link, or why there is none.') },
    resolve: (_root, { input }, context) =>
      issueDownloadLink(
        context.db,
        context.exports.links,
        viewerOf(context),
        idIn('ExportPackage', input.exportPackageId),
        input.expiresInSeconds ?? 3_600,
      ),
  }),
  redeliver: t.prismaField({
    type: 'ExportDelivery',
    description: 'Tells a destination once more, with the same webhook id; nothing is generated. Needs `data-export:execute`.',
    args: { input: t.arg({ type: redeliverInput, required: true, description: 'What to deliver again.' }) },
    errors: { types: conflicts, ...union('RedeliverResult', 'The new delivery, or why there is none.') },
    resolve: async (query, _root, { input }, context) => {
      const id = await redeliver(context.db, viewerOf(context), idIn('ExportDelivery', input.exportDeliveryId));
      return context.db.prisma.exportDelivery.findUniqueOrThrow({ ...query, where: { id } });
    },
  }),
  revokeDownloadLinks: t.prismaField({
    type: 'ExportPackage',
    description: 'Ends all links to a package that are out. Needs `data-export:execute`.',
    args: { input: t.arg({ type: revokeInput, required: true, description: 'Whose links.' }) },
    errors: {
      types: [NotFoundError, ForbiddenError, InvalidInputError],
      ...union('RevokeDownloadLinksResult', 'The package, or why its links still hold.'),
    },
    resolve: async (query, _root, { input }, context) => {
      const id = await revokeDownloadLinks(context.db, viewerOf(context), idIn('ExportPackage', input.exportPackageId));
      return context.db.prisma.exportPackage.findUniqueOrThrow({ ...query, where: { id } });
    },
  }),
}));
