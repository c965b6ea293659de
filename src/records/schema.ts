// Datasets and their rows in the API.
import { visibleWorkspaces } from '../auth/viewer.ts';
import { builder, connectionCost } from '../graphql/builder.ts';
import { viewerOf } from '../graphql/context.ts';
import { idPage, nodeQuery, pageSize } from '../graphql/pages.ts';
import { type DatasetRowRead, type PageRequest, readRows } from './read.ts';
import { type DatasetColumn, primaryKeyOf } from './table.ts';

export const datasetRow = builder.objectRef<DatasetRowRead>('DatasetRow').implement({
  description: 'A row of a dataset.',
  fields: (t) => ({
    key: t.exposeString('key', {
      description: 'The primary key’s value; a JSON array of texts for a key of several fields, a row number without a key.',
    }),
    values: t.field({
      type: 'JSON',
      description: 'The values by field name, exact: integers beyond 2^53 and decimals as strings.',
      resolve: ({ values }) => values,
    }),
  }),
});

function boundedPage(page: PageRequest): PageRequest {
  const size = pageSize(page);
  return page.last === null || page.last === undefined ? { ...page, first: size } : { ...page, last: size };
}

const datasetType = builder.prismaNode('Dataset', {
  id: { field: 'id', description: 'The global id.' },
  nullable: true, // or an id that is not found is an error
  findUnique: (id, context) => ({ id, removedAt: null, workspace: visibleWorkspaces(viewerOf(context)) }),
  description: 'A dataset in a workspace.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name, as in the packages that load it.' }),
    schema: t.field({ type: 'JSON', description: 'The Table Schema it was last loaded with.', resolve: ({ schema }) => schema }),
    rowCount: t.expose('rowCount', { type: 'BigInt', description: 'How many rows it has.' }),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      description: 'When it was last loaded, or what a run wrote of it was taken back.',
    }),
    rows: t.connection(
      {
        type: datasetRow,
        complexity: connectionCost,
        description: 'Its rows, in key order.',
        resolve: async (dataset, args, context) => {
          const columns = dataset.columns as unknown as DatasetColumn[]; // written by the loader in this shape
          const readable = { table: dataset.table, columns, primaryKey: primaryKeyOf(dataset.schema) };
          const page = await readRows(context.db.pool, readable, boundedPage(args));
          const edges = page.rows.map((row) => ({ cursor: row.cursor, node: row }));
          return {
            edges,
            pageInfo: {
              hasNextPage: page.hasNextPage,
              hasPreviousPage: page.hasPreviousPage,
              startCursor: edges[0]?.cursor ?? null,
              endCursor: edges.at(-1)?.cursor ?? null,
            },
          };
        },
      },
      { name: 'DatasetRowsConnection', description: 'A page of rows.' },
      { name: 'DatasetRowsConnectionEdge', description: 'A row in a page.' },
    ),
  }),
});

builder.prismaObjectField('Workspace', 'datasets', (t) =>
  t.connection(
    {
      type: datasetType,
      complexity: connectionCost,
      authScopes: { reader: true },
      description: 'Its datasets, in the order they were first loaded.',
      resolve: (workspace, args, context, info) =>
        idPage(`datasets:${workspace.id}`, 'asc', args, ({ where, ...range }) =>
          context.db.prisma.dataset.findMany({
            ...nodeQuery(context, info, 'Dataset'),
            ...range,
            where: { ...where, workspaceId: workspace.id, removedAt: null },
          }),
        ),
    },
    { name: 'WorkspaceDatasetsConnection', description: 'A page of datasets.' },
    { name: 'WorkspaceDatasetsConnectionEdge', description: 'A dataset in a page.' },
  ),
);
