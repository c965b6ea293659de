import { ActionIcon, AppShell, Button, Group, Text, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { Link, Outlet } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { useQuery } from 'urql';
import { viewerDocument } from '../client/page-documents.ts';
import { typed } from './api.ts';
import { ConnectionBadge } from './connection.tsx';
import icon from './icon.svg';
import { signOut } from './session/session.ts';

const HeaderMenu = lazy(() => import('./menu.tsx'));

/** Around every page. */
export function Frame() {
  const [{ data }] = useQuery({ query: typed(viewerDocument) });
  return (
    <AppShell header={{ height: 56 }} padding="md">
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap" gap="xs">
          <Link to="/" className="brand" aria-label="Packhorse: all workspaces">
            <img src={icon} alt="" width={24} height={24} />
            <Text span inherit visibleFrom="xs">
              Packhorse
            </Text>
          </Link>
          <Group gap="xs" wrap="nowrap">
            <ConnectionBadge />
            <Text size="sm" c="dimmed" visibleFrom="sm" maw={240} truncate>
              {data?.viewer.subject}
            </Text>
            <ColourScheme />
            <Suspense>
              <HeaderMenu />
            </Suspense>
            <Button size="compact-sm" variant="default" miw="max-content" onClick={signOut}>
              Sign out
            </Button>
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Main>
        <div className="page">
          <Outlet />
        </div>
      </AppShell.Main>
    </AppShell>
  );
}

function ColourScheme() {
  const { setColorScheme } = useMantineColorScheme();
  const other = useComputedColorScheme('light') === 'light' ? 'dark' : 'light';
  return (
    <ActionIcon variant="default" aria-label={`Use ${other} colours`} title={`Use ${other} colours`} onClick={() => setColorScheme(other)}>
      {other === 'dark' ? '☾' : '☀'}
    </ActionIcon>
  );
}
