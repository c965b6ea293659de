// The rows of a dataset in key order, each at an address of its own.
import { Anchor, Group, Stack, Text, Title } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { use, useCallback, useEffect, useState } from 'react';
import { CombinedError, useClient } from 'urql';
import { datasetPageDocument } from '../../client/page-documents.ts';
import { typed } from '../api.ts';
import { FeedContext, runOf, type SeenEvent, useLive } from '../live.ts';
import { Paging, type Place, pageOf, placeIn } from '../paging.tsx';
import { count, Empty, Fault, Loading, When } from '../said.tsx';
import { useWorkspace } from '../workspaces/workspace-frame.tsx';
import { columnsOf, OneRow, Rows } from './dataset-rows.tsx';
import { datasetsOf } from './find-dataset.ts';

const route = getRouteApi('/workspaces/$slug/datasets/$dataset');
const pageLength = 50;

export interface RowSearch extends Place {
  /** The key of the row that is shown in full. */
  readonly row?: string;
}

export default function DatasetPage() {
  const { dataset: name } = route.useParams();
  const { slug } = useWorkspace();
  const [tries, setTries] = useState(0);
  const found = useFound(slug, name, tries);
  const again = useCallback(() => setTries((before) => before + 1), []);
  return (
    <Stack>
      <title>{`${name} in ${slug} · Packhorse`}</title>
      {found === undefined ? (
        <Loading what={`the dataset ${name}`} />
      ) : found instanceof CombinedError ? (
        <Fault error={found} again={again} />
      ) : found === null ? (
        <NotThere slug={slug} name={name} />
      ) : (
        <Shown key={found} id={found} gone={again} />
      )}
    </Stack>
  );
}

/** The id of the dataset with this name: undefined while it is looked for, null where there is none. Looked for again when a run has written it. */
function useFound(slug: string, name: string, tries: number): string | null | undefined | CombinedError {
  const client = useClient();
  const feed = use(FeedContext);
  const [found, setFound] = useState<string | null | undefined | CombinedError>(undefined);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another try is another look
  useEffect(() => {
    let isGone = false;
    const look = () => {
      datasetsOf(client, slug, (one) => one.name === name)
        .then((all) => isGone || setFound(all.find((one) => one.name === name)?.id ?? null))
        .catch((error: unknown) => (error instanceof CombinedError ? isGone || setFound(error) : reportError(error)));
    };
    look();
    const leave = feed?.listen((event) => {
      if (event === null || writes(event, name)) look();
    });
    return () => {
      isGone = true;
      leave?.();
    };
  }, [client, feed?.listen, slug, name, tries]);
  return found;
}

/** Whether rows of the dataset may be others after it. */
function writes(event: SeenEvent, name: string): boolean {
  return event.__typename === 'DataRunEvent' && (event.dataset === name || event.action === 'RESET');
}

function NotThere({ slug, name }: { readonly slug: string; readonly name: string }) {
  return (
    <Empty
      title={`There is no dataset ${name}`}
      action={
        <Anchor renderRoot={(props) => <Link {...props} to="/workspaces/$slug" params={{ slug }} search={{ tab: 'datasets' }} />}>
          To the datasets
        </Anchor>
      }
    >
      It comes into being when a run writes it, and shows here then. When the only run that wrote it is reset, it is gone.
    </Empty>
  );
}

function Shown({ id, gone }: { readonly id: string; readonly gone: () => void }) {
  const { slug, dataset: name } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const variables = { id, ...pageOf(search, pageLength) };
  const [{ data, error }, again] = useLive(typed(datasetPageDocument), variables, (event) => runOf(event) !== null && writes(event, name));
  const dataset = data?.node?.__typename === 'Dataset' ? data.node : null;
  const isGone = data !== undefined && dataset === null;
  useEffect(() => {
    if (isGone) gone();
  }, [isGone, gone]);
  const first = (
    <Anchor renderRoot={(props) => <Link {...props} to="/workspaces/$slug/datasets/$dataset" params={{ slug, dataset: name }} />}>
      To its first rows
    </Anchor>
  );
  if (error !== undefined) {
    return (
      <>
        <Fault error={error} again={() => again({ requestPolicy: 'network-only' })} />
        {(search.after ?? search.before) !== undefined && first}
      </>
    );
  }
  if (dataset === null) return <Loading what="rows" />;
  const { rows, rowCount, updatedAt, schema } = dataset;
  const columns = columnsOf(
    schema,
    rows.edges.map(({ node }) => node.values),
  );
  const chosen = rows.edges.find(({ node }) => node.key === search.row)?.node;
  return (
    <>
      <Group gap="sm" align="baseline">
        <Title order={1} size="h2">
          {name}
        </Title>
        <Text size="sm" c="dimmed">
          {count(rowCount)} rows, changed <When at={updatedAt} />
        </Text>
      </Group>
      {chosen !== undefined && <OneRow columns={columns} row={chosen} close={() => navigate({ search: placeIn({ ...search }) })} />}
      {search.row !== undefined && chosen === undefined && (
        <Text size="sm" role="status">
          The row {search.row} is not among these: it was taken out, or others have come between. {first}
        </Text>
      )}
      {rows.edges.length === 0 ? (
        <Empty title="There are no rows here">
          {rowCount === '0' ? 'The runs that wrote this dataset brought none, or all were taken back.' : first}
        </Empty>
      ) : (
        <Rows name={name} columns={columns} rows={rows} place={placeIn({ ...search })} chosen={search.row} />
      )}
      <Paging pageInfo={rows.pageInfo} go={(place) => navigate({ search: place })} />
    </>
  );
}
