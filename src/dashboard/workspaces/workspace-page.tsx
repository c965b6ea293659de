// One workspace: its runs, exports, datasets and events, each a tab; which, what is filtered by and where in the list stand in the address.
import { Anchor, Button, Chip, Group, Stack, Tabs, TextInput, Title } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { RequestExport } from '../exports/request-export.tsx';
import type { Place } from '../paging.tsx';
import { useMay } from '../viewer.ts';
import { EventsTab } from './events-tab.tsx';
import { type ListSearch, parseListSearch, tabs } from './list-search.ts';
import { DatasetsTab, ExportsTab, RunsTab } from './lists.tsx';
import { useWorkspace } from './workspace-frame.tsx';

const runStates = ['REGISTERED', 'RUNNING', 'PAUSED', 'SUCCEEDED', 'FAILED', 'CANCELLED'] as const;
const exportStates = ['QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLED'] as const;

const route = getRouteApi('/workspaces/$slug/');

export function WorkspacePage() {
  const { slug, name } = useWorkspace();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const mayChangeAccess = useMay('workspace:admin');
  const { tab = 'runs' } = search;
  const go = (to: ListSearch) => navigate({ search: parseListSearch({ ...to }) });
  const turn = (place: Place) => {
    const { after: _, before: __, ...rest } = search;
    return go({ ...rest, ...place });
  };
  return (
    <Stack>
      <title>{`${slug} · Packhorse`}</title>
      <Group justify="space-between">
        <Title order={1} size="h2">
          {name}
        </Title>
        <Group>
          {mayChangeAccess === true && (
            <Anchor size="sm" renderRoot={(props) => <Link {...props} to="/workspaces/$slug/access" params={{ slug }} />}>
              Access
            </Anchor>
          )}
          <Button renderRoot={(props) => <Link {...props} to="/workspaces/$slug/load" params={{ slug }} />}>Load a package</Button>
        </Group>
      </Group>
      <Tabs value={tab} onChange={(to) => go(to === null ? {} : parseListSearch({ tab: to }))} keepMounted={false}>
        <Tabs.List>
          {tabs.map((one) => (
            <Tabs.Tab key={one} value={one} tt="capitalize">
              {one}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="runs" pt="md">
          <Filter states={runStates} search={search} go={go} named />
          <RunsTab search={search} turn={turn} />
        </Tabs.Panel>
        <Tabs.Panel value="exports" pt="md">
          <RequestExport />
          <Filter states={exportStates} search={search} go={go} />
          <ExportsTab search={search} turn={turn} />
        </Tabs.Panel>
        <Tabs.Panel value="datasets" pt="md">
          <DatasetsTab search={search} turn={turn} />
        </Tabs.Panel>
        <Tabs.Panel value="events" pt="md">
          <EventsTab search={search} turn={turn} />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}

interface FilterProps {
  readonly states: readonly string[];
  readonly search: ListSearch;
  readonly go: (search: ListSearch) => void;
  readonly named?: boolean;
}

function Filter({ states, search, go, named = false }: FilterProps) {
  const { after: _, before: __, states: chosen = [], ...rest } = search; // another filter, another list: from its beginning
  const [name, setName] = useState(search.package ?? '');
  const choose = (next: string[]) => go({ ...rest, ...(next.length === 0 ? {} : { states: next }) });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const { package: ___, ...others } = rest;
    go({ ...others, states: chosen, ...(name.trim() === '' ? {} : { package: name.trim() }) });
  };
  return (
    <Group gap="md" mb="sm" align="flex-end">
      <Chip.Group multiple value={[...chosen]} onChange={choose}>
        <Group gap={6} role="group" aria-label="Only in these states">
          {states.map((state) => (
            <Chip key={state} value={state} size="xs" variant="outline">
              {state}
            </Chip>
          ))}
        </Group>
      </Chip.Group>
      {named && (
        <form onSubmit={submit}>
          <Group gap="xs" align="flex-end">
            <TextInput size="xs" label="Package" value={name} onChange={(event) => setName(event.currentTarget.value)} />
            <Button size="xs" variant="default" type="submit">
              Filter
            </Button>
          </Group>
        </form>
      )}
    </Group>
  );
}
