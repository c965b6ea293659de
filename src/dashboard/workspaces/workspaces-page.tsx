import { Anchor, Card, Code, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useQuery } from 'urql';
import type { WorkspacesQuery } from '../../client/gql/graphql.ts';
import { workspacesDocument } from '../../client/page-documents.ts';
import { typed } from '../api.ts';
import { Paging, pageOf } from '../paging.tsx';
import { Empty, Fault, Loading, State, When } from '../said.tsx';

const route = getRouteApi('/');

export function WorkspacesPage() {
  const place = route.useSearch();
  const navigate = route.useNavigate();
  const [{ data, error, fetching }, again] = useQuery({
    query: typed(workspacesDocument),
    variables: pageOf(place),
    requestPolicy: 'network-only',
  });
  return (
    <Stack>
      <title>Workspaces · Packhorse</title>
      <Title order={1} size="h2">
        Workspaces
      </Title>
      {error !== undefined && <Fault error={error} again={() => again({ requestPolicy: 'network-only' })} />}
      {data === undefined ? fetching && <Loading what="workspaces" /> : <Workspaces workspaces={data.workspaces} />}
      {data !== undefined && <Paging pageInfo={data.workspaces.pageInfo} go={(to) => navigate({ search: to })} />}
    </Stack>
  );
}

function Workspaces({ workspaces: { edges } }: Pick<WorkspacesQuery, 'workspaces'>) {
  if (edges.length === 0) {
    return (
      <Empty title="There is no workspace that you may see">
        Make one and load a package into it: <Code>npx packhorse load PATH --workspace NAME --create</Code>. Or ask for a token that names
        the workspaces you need.
      </Empty>
    );
  }
  return (
    <SimpleGrid cols={{ base: 1, sm: 2, lg: 3, xl: 4 }} component="ul" p={0} m={0} style={{ listStyle: 'none' }}>
      {edges.map(({ node }) => (
        <WorkspaceCard key={node.id} workspace={node} />
      ))}
    </SimpleGrid>
  );
}

type Listed = WorkspacesQuery['workspaces']['edges'][number]['node'];

function WorkspaceCard({ workspace: { slug, name, dataRuns } }: { readonly workspace: Listed }) {
  const newest = dataRuns.edges[0]?.node;
  return (
    <Card component="li" withBorder padding="md">
      <Stack gap="xs">
        <Title order={2} size="h4">
          <Anchor inherit renderRoot={(props) => <Link {...props} to="/workspaces/$slug" params={{ slug }} />}>
            {slug}
          </Anchor>
        </Title>
        {name !== slug && <Text c="dimmed">{name}</Text>}
        {newest === undefined ? (
          <Text size="sm" c="dimmed">
            Nothing was loaded yet.
          </Text>
        ) : (
          <Group gap="xs">
            <State state={newest.state} />
            <Text size="sm">
              {newest.package.name} {newest.package.version}
            </Text>
            <Text size="sm" c="dimmed">
              <When at={newest.settledAt ?? newest.registeredAt} />
            </Text>
          </Group>
        )}
      </Stack>
    </Card>
  );
}
