// Packages in the API: what a registered one holds, and staging one.
import { visibleWorkspaces } from '../auth/viewer.ts';
import { ForbiddenError, InvalidInputError, NotFoundError } from '../errors.ts';
import { builder, globalId, idIn } from '../graphql/builder.ts';
import { viewerOf } from '../graphql/context.ts';
import { type StagedPackage, stagePackage } from './operations.ts';

builder.prismaObject('PackageResource', {
  description: 'A dataset in a package.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'The dataset’s name.' }),
    bytes: t.expose('bytes', { type: 'BigInt', description: 'The size of its file as it stands in the package, in bytes.' }),
    hash: t.exposeString('hash', { description: 'Of the same bytes, as `sha256:<hex>`.' }),
    rows: t.expose('rows', { type: 'BigInt', nullable: true, description: 'Its rows, once a load has counted them.' }),
    dependsOn: t.exposeStringList('dependsOn', { description: 'The datasets that must be loaded first.' }),
  }),
});

builder.prismaNode('DataPackage', {
  select: { id: true }, // its plan is as large as its descriptor, and no field shows it
  id: { field: 'id', description: 'The global id.' },
  nullable: true, // or an id that is not found is an error
  // Staged but never registered it has no description, so there is nothing to show.
  findUnique: (id, context) => ({ id, name: { not: null }, workspace: visibleWorkspaces(viewerOf(context)) }),
  description: 'A data package, as its descriptor says.',
  fields: (t) => ({
    name: t.string({
      description: 'Its name; `package-` and the start of its digest where the descriptor has none.',
      select: { name: true },
      resolve: ({ name }) => name ?? '',
    }),
    version: t.exposeString('version', { nullable: true, description: 'Its version, if stated.' }),
    title: t.exposeString('title', { nullable: true, description: 'Its title, if stated.' }),
    digest: t.string({
      description: 'Of the uploaded bytes, as `sha256:<hex>`.',
      select: { digest: true },
      resolve: ({ digest }) => digest ?? '',
    }),
    resources: t.relation('resources', { query: { orderBy: { position: 'asc' } }, description: 'Its datasets, in package order.' }),
  }),
});

const stagedPackage = builder.objectRef<StagedPackage>('StagedPackage').implement({
  description: 'A place for a package. PUT the zip (or a lone datapackage.json) to `uploadUrl`, then register a run of `packageId`.',
  fields: (t) => ({
    packageId: t.id({ description: 'The id to register.', resolve: ({ packageId }) => globalId('DataPackage', packageId) }),
    uploadUrl: t.exposeString('uploadUrl', { description: 'Signed: whoever has it may upload, once.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When the URL stops working.' }),
  }),
});

const stagePackageInput = builder.inputType('StagePackageInput', {
  description: 'Where a package is to be staged.',
  fields: (t) => ({ workspaceId: t.id({ required: true, description: 'The workspace’s global id.' }) }),
});

builder.mutationField('stagePackage', (t) =>
  t.field({
    type: stagedPackage,
    description: 'Reserves a place for a package. Needs `data-run`.',
    args: { input: t.arg({ type: stagePackageInput, required: true, description: 'Where.' }) },
    errors: {
      types: [NotFoundError, ForbiddenError, InvalidInputError],
      directResult: true,
      union: { name: 'StagePackageResult', description: 'The place, or why there is none.' },
    },
    resolve: (_root, { input }, context) => stagePackage(context.packages, viewerOf(context), idIn('Workspace', input.workspaceId)),
  }),
);
