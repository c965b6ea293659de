// Export settings in the API: a workspace's, and those that an execution copied.
import { ForbiddenError, InvalidInputError, NotFoundError } from '../errors.ts';
import type { ExportFormat } from '../generated/prisma/client.ts';
import { builder, idIn } from '../graphql/builder.ts';
import { type Context, viewerOf } from '../graphql/context.ts';
import { destinationsOf } from './plan.ts';
import { type MadeSecrets, updateExportSettings } from './settings.ts';

const exportFormat = builder.enumType('ExportFormat', {
  description: 'How an export writes its datasets.',
  values: {
    CSV: { description: 'Comma-separated values, with a header.' },
    NDJSON: { description: 'One JSON object a line.' },
    PARQUET: { description: 'Apache Parquet. It cannot be loaded again.' },
  },
});

interface DestinationRow {
  readonly name: string;
  readonly url: string;
  /** Whose settings it stands in now; null where it was copied. */
  readonly workspaceId: string | null;
}

export interface SettingsRow {
  readonly format: ExportFormat;
  readonly datasets: readonly string[] | null;
  readonly retentionDays: number;
  readonly destinations: readonly DestinationRow[];
}

/** Made in this request, to be shown in its answer and never again. */
const made = new WeakMap<Context, { readonly workspaceId: string; readonly secrets: MadeSecrets }>();

const exportDestination = builder.objectRef<DestinationRow>('ExportDestination').implement({
  description: 'Where a finished export is announced, by a webhook signed as Standard Webhooks has it.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name in the workspace.' }),
    url: t.exposeString('url', { description: 'The webhook’s URL.' }),
    secret: t.string({
      nullable: true,
      description: 'The signing secret, where this very request had it made; null ever after.',
      resolve: ({ name, workspaceId }, _args, context) => {
        const of = made.get(context);
        return of !== undefined && of.workspaceId === workspaceId ? (of.secrets.get(name) ?? null) : null;
      },
    }),
  }),
});

export const exportSettings = builder.objectRef<SettingsRow>('ExportSettings').implement({
  description: 'How exports of a workspace are made. An execution copies them when it is admitted.',
  fields: (t) => ({
    format: t.expose('format', { type: exportFormat, description: 'The format of the data files.' }),
    datasets: t.stringList({
      nullable: true,
      description: 'The datasets to export; null for all.',
      resolve: ({ datasets }) => (datasets === null ? null : [...datasets]),
    }),
    retentionDays: t.exposeInt('retentionDays', { description: 'How many days a published export is kept.' }),
    destinations: t.field({
      type: [exportDestination],
      description: 'Where finished exports are announced.',
      resolve: ({ destinations }) => [...destinations],
    }),
  }),
});

builder.prismaObjectField('Workspace', 'exportSettings', (t) =>
  t.field({
    type: exportSettings,
    authScopes: { reader: true },
    description: 'How its exports are made.',
    select: { id: true, exportSettings: true },
    resolve: ({ id, exportSettings: row }): SettingsRow => {
      if (row === null) throw new Error(`workspace ${id} has no export settings`);
      const datasets = Array.isArray(row.datasets) ? row.datasets.map(String) : null;
      const destinations = destinationsOf(row).map(({ name, url }) => ({ name, url, workspaceId: id }));
      return { format: row.format, datasets, retentionDays: row.retentionDays, destinations };
    },
  }),
);

const destinationInput = builder.inputType('ExportDestinationInput', {
  description: 'A destination. One that keeps its name and URL keeps its secret, unless another is given.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Its name in the workspace, at most 100 characters.' }),
    url: t.string({ required: true, description: 'The webhook’s URL, on a host that PACKHORSE_FETCH_HOSTS names.' }),
    secret: t.string({ description: 'The signing secret, `whsec_` and base64. One is made, and shown once, where none is given.' }),
  }),
});

const updateInput = builder.inputType('UpdateExportSettingsInput', {
  description: 'What to change. What is left out stays as it is.',
  fields: (t) => ({
    workspaceId: t.id({ required: true, description: 'The workspace’s global id.' }),
    format: t.field({ type: exportFormat, description: 'The format of the data files.' }),
    datasets: t.stringList({ description: 'The datasets to export, by name; null for all.' }),
    retentionDays: t.int({ description: 'How many days a published export is kept: 1 to 3,650.' }),
    destinations: t.field({ type: [destinationInput], description: 'All destinations: those that are left out are forgotten.' }),
  }),
});

builder.mutationField('updateExportSettings', (t) =>
  t.prismaField({
    type: 'Workspace',
    description: 'Changes how exports of a workspace are made, from the next request on. Needs `workspace:admin`.',
    args: { input: t.arg({ type: updateInput, required: true, description: 'What to change.' }) },
    errors: {
      types: [NotFoundError, ForbiddenError, InvalidInputError],
      directResult: true,
      union: { name: 'UpdateExportSettingsResult', description: 'The workspace, or why its settings stay as they were.' },
    },
    resolve: async (query, _root, { input }, context) => {
      const workspaceId = idIn('Workspace', input.workspaceId);
      const secrets = await updateExportSettings(context.exports, viewerOf(context), { ...input, workspaceId });
      made.set(context, { workspaceId, secrets });
      return context.db.prisma.workspace.findUniqueOrThrow({ ...query, where: { id: workspaceId } });
    },
  }),
);
