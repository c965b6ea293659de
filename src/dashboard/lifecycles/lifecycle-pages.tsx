// The lifecycles as the server runs them: both, or that of one run or export with where it is now.
import { Anchor, Group, Stack, Text, Title } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type CombinedError, useQuery } from 'urql';
import { exportStateDocument, lifecyclesDocument, runStateDocument } from '../../client/page-documents.ts';
import { typed } from '../api.ts';
import { exportOf, placed, runOf, useLive } from '../live.ts';
import { Fault, Loading, Missing, State } from '../said.tsx';
import type { Lifecycle } from './lifecycle.ts';
import { LifecycleView } from './lifecycle-view.tsx';

const runRoute = getRouteApi('/workspaces/$slug/runs/$runId/lifecycle');
const exportRoute = getRouteApi('/workspaces/$slug/exports/$exportId/lifecycle');

const titles: Readonly<Record<string, string>> = { DataRun: 'A data run', ExportExecution: 'An export' };

export function LifecyclesPage() {
  return (
    <Read>
      {(lifecycles) => (
        <Stack gap="xl">
          <title>Lifecycles · Packhorse</title>
          <div>
            <Title order={1} size="h2">
              Lifecycles
            </Title>
            <Text c="dimmed">Where runs and exports can be, and every move between, as the server has them in its tables.</Text>
          </div>
          {lifecycles.map((lifecycle) => (
            <Stack key={lifecycle.name}>
              <Title order={2} size="h3">
                {titles[lifecycle.name] ?? lifecycle.name}
              </Title>
              <LifecycleView lifecycle={lifecycle} current={null} />
            </Stack>
          ))}
        </Stack>
      )}
    </Read>
  );
}

export function RunLifecyclePage() {
  const params = runRoute.useParams();
  const [{ data, error }, again] = useLive(typed(runStateDocument), { id: params.runId }, (event) => runOf(event) === params.runId);
  const run = placed(data?.dataRun, params.slug);
  return (
    <OfOne
      name="DataRun"
      what="run"
      found={run}
      error={error}
      again={() => again({ requestPolicy: 'network-only' })}
      back={
        <Anchor renderRoot={(props) => <Link {...props} to="/workspaces/$slug/runs/$runId" params={params} />}>
          To the run of {run?.package.name} {run?.package.version}
        </Anchor>
      }
    />
  );
}

export function ExportLifecyclePage() {
  const params = exportRoute.useParams();
  const [{ data, error }, again] = useLive(
    typed(exportStateDocument),
    { id: params.exportId },
    (event) => exportOf(event) === params.exportId,
  );
  const execution = placed(data?.exportExecution, params.slug);
  return (
    <OfOne
      name="ExportExecution"
      what="export"
      found={execution}
      error={error}
      again={() => again({ requestPolicy: 'network-only' })}
      back={
        <Anchor renderRoot={(props) => <Link {...props} to="/workspaces/$slug/exports/$exportId" params={params} />}>
          To the export as of {execution?.cutoff}
        </Anchor>
      }
    />
  );
}

interface OfOneProps {
  readonly name: string;
  readonly what: string;
  /** Undefined: not read yet. Null: there is none. */
  readonly found: { readonly state: string } | null | undefined;
  readonly error: CombinedError | undefined;
  readonly again: () => void;
  readonly back: ReactNode;
}

function OfOne({ name, what, found, error, again, back }: OfOneProps) {
  if (!found) {
    if (error !== undefined) return <Fault error={error} again={again} />;
    return found === undefined ? <Loading what={`the ${what}`} /> : <Missing what={what} />;
  }
  return (
    <Read>
      {(lifecycles) => (
        <Stack>
          <title>{`Lifecycle of the ${what} · Packhorse`}</title>
          <Group gap="sm">
            <Title order={1} size="h2">
              Where the {what} is
            </Title>
            <State state={found.state} />
          </Group>
          {back}
          {lifecycles
            .filter((lifecycle) => lifecycle.name === name)
            .map((lifecycle) => (
              <LifecycleView key={name} lifecycle={lifecycle} current={found.state} />
            ))}
        </Stack>
      )}
    </Read>
  );
}

function Read({ children }: { readonly children: (lifecycles: readonly Lifecycle[]) => ReactNode }) {
  const [{ data, error }, again] = useQuery({ query: typed(lifecyclesDocument) });
  if (data !== undefined) return children(data.lifecycles);
  return error === undefined ? (
    <Loading what="the lifecycles" />
  ) : (
    <Fault error={error} again={() => again({ requestPolicy: 'network-only' })} />
  );
}
