// Around the pages of one workspace: found once, and followed from the cursor that came with it.
import { Alert, Anchor, Breadcrumbs, Stack } from '@mantine/core';
import { getRouteApi, Link, Outlet } from '@tanstack/react-router';
import { createContext, use, useState } from 'react';
import { useQuery } from 'urql';
import { workspaceDocument } from '../../client/documents.ts';
import type { WorkspaceBySlugQuery } from '../../client/gql/graphql.ts';
import { sentenceOf, typed } from '../api.ts';
import { FeedContext, useFeed } from '../live.ts';
import { Fault, Loading, Missing } from '../said.tsx';

type Workspace = NonNullable<WorkspaceBySlugQuery['workspace']>;

const WorkspaceContext = createContext<Workspace | null>(null);
const route = getRouteApi('/workspaces/$slug');

export function useWorkspace(): Workspace {
  const workspace = use(WorkspaceContext);
  if (workspace === null) throw new Error('This page stands in no workspace.');
  return workspace;
}

export function WorkspaceFrame() {
  const { slug } = route.useParams();
  // From the network: a cursor of an earlier visit would have all events since then told again.
  const [{ data, error }, again] = useQuery({ query: typed(workspaceDocument), variables: { slug }, requestPolicy: 'network-only' });
  const workspace = data?.workspace;
  if (workspace) return <Followed key={workspace.id} workspace={workspace} />;
  if (error !== undefined) return <Fault error={error} again={() => again({ requestPolicy: 'network-only' })} />;
  return data === undefined ? <Loading what={`the workspace ${slug}`} /> : <Missing what="workspace" />;
}

function Followed({ workspace }: { readonly workspace: Workspace }) {
  const [from] = useState(workspace.lastEventCursor); // a later one would begin the stream anew
  const feed = useFeed(workspace.slug, workspace.id, from);
  return (
    <WorkspaceContext value={workspace}>
      <FeedContext value={feed}>
        <Stack>
          <Breadcrumbs>
            <Anchor renderRoot={(props) => <Link {...props} to="/" />}>Workspaces</Anchor>
            <Anchor renderRoot={(props) => <Link {...props} to="/workspaces/$slug" params={{ slug: workspace.slug }} />}>
              {workspace.slug}
            </Anchor>
          </Breadcrumbs>
          {feed.error !== null && (
            <Alert color="red" variant="outline" title="This page is not followed any more" role="alert">
              {sentenceOf(feed.error)} Load the page again to go on.
            </Alert>
          )}
          <Outlet />
        </Stack>
      </FeedContext>
    </WorkspaceContext>
  );
}
