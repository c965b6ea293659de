// The lists of a workspace: runs, exports, datasets.
import { Anchor, Code, Table } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { DataRunState, ExportExecutionState, RunRowFragment, WorkspaceExportsQuery } from '../../client/gql/graphql.ts';
import { workspaceDatasetsDocument, workspaceExportsDocument, workspaceRunsDocument } from '../../client/page-documents.ts';
import { typed } from '../api.ts';
import { exportOf, runOf, unannouncedMs, useAskedAgain, useLive } from '../live.ts';
import { Paging, type Place, pageOf } from '../paging.tsx';
import { Bar } from '../progress.tsx';
import { bytesIn, count, Empty, Fault, Loading, State, When } from '../said.tsx';
import { Wide } from '../wide.tsx';
import type { ListSearch } from './list-search.ts';
import { useWorkspace } from './workspace-frame.tsx';

export interface ListProps {
  readonly search: ListSearch;
  readonly turn: (place: Place) => void;
}

const isFiltered = ({ states, package: name }: ListSearch) => states !== undefined || name !== undefined;

export function RunsTab({ search, turn }: ListProps) {
  const { slug } = useWorkspace();
  const filter = {
    ...(search.states === undefined ? {} : { states: search.states as DataRunState[] }), // from the address: the server refuses what is none
    ...(search.package === undefined ? {} : { packageName: search.package }),
  };
  const [{ data, error }, again] = useLive(
    typed(workspaceRunsDocument),
    { slug, filter, ...pageOf(search) },
    (event) => runOf(event) !== null,
  );
  if (error !== undefined) return <Fault error={error} again={() => again({ requestPolicy: 'network-only' })} />;
  const runs = data?.workspace?.dataRuns;
  if (runs === undefined) return <Loading what="runs" />;
  if (runs.edges.length === 0) {
    return isFiltered(search) ? (
      <Empty title="No run is like that">Choose other states, or another package.</Empty>
    ) : (
      <Empty title="Nothing was loaded yet">
        Load a data package by the button above, or by <Code>npx packhorse load PATH --workspace {slug}</Code>. It shows here as soon as it
        is registered.
      </Empty>
    );
  }
  return (
    <>
      <Wide label="Runs" head={['Package', 'State', 'Progress', 'Data', 'Registered', 'By', 'Why']}>
        {runs.edges.map(({ node }) => (
          <RunLine key={node.id} slug={slug} run={node} />
        ))}
      </Wide>
      <Paging pageInfo={runs.pageInfo} go={turn} />
    </>
  );
}

function RunLine({ slug, run }: { readonly slug: string; readonly run: RunRowFragment }) {
  return (
    <Table.Tr data-run={run.id}>
      <Table.Td>
        <Anchor inherit renderRoot={(props) => <Link {...props} to="/workspaces/$slug/runs/$runId" params={{ slug, runId: run.id }} />}>
          {run.package.name} {run.package.version}
        </Anchor>
      </Table.Td>
      <Table.Td>
        <State state={run.state} />
      </Table.Td>
      <Table.Td>
        <Bar progress={run.progress} state={run.state} label={`${run.package.name} read`} />
      </Table.Td>
      <Table.Td>{run.readiness.ready ? 'ready' : 'not ready'}</Table.Td>
      <Table.Td>
        <When at={run.registeredAt} />
      </Table.Td>
      <Table.Td>{run.registeredBy}</Table.Td>
      <Table.Td className="text">{run.failure?.summary}</Table.Td>
    </Table.Tr>
  );
}

export function ExportsTab({ search, turn }: ListProps) {
  const { slug } = useWorkspace();
  const filter = search.states === undefined ? {} : { states: search.states as ExportExecutionState[] }; // as above
  const [{ data, error }, again] = useLive(
    typed(workspaceExportsDocument),
    { slug, filter, ...pageOf(search) },
    (event) => exportOf(event) !== null,
  );
  const isQueued = data?.workspace?.exportExecutions.edges.some(({ node }) => node.state === 'QUEUED');
  useAskedAgain(isQueued ? unannouncedMs : null, again);
  if (error !== undefined) return <Fault error={error} again={() => again({ requestPolicy: 'network-only' })} />;
  const exports = data?.workspace?.exportExecutions;
  if (exports === undefined) return <Loading what="exports" />;
  if (exports.edges.length === 0) {
    return isFiltered(search) ? (
      <Empty title="No export is like that">Choose other states.</Empty>
    ) : (
      <Empty title="Nothing was exported yet">
        Take the workspace out as it is at one moment, by the button above or by <Code>npx packhorse export --workspace {slug}</Code>.
      </Empty>
    );
  }
  return (
    <>
      <Wide label="Exports" head={['Cutoff', 'State', 'Progress', 'Package', 'Requested', 'By', 'Why']}>
        {exports.edges.map(({ node }) => (
          <ExportLine key={node.id} slug={slug} execution={node} />
        ))}
      </Wide>
      <Paging pageInfo={exports.pageInfo} go={turn} />
    </>
  );
}

type Listed = NonNullable<WorkspaceExportsQuery['workspace']>['exportExecutions']['edges'][number]['node'];

function ExportLine({ slug, execution }: { readonly slug: string; readonly execution: Listed }) {
  const { state, cutoff, progress, exportPackage, requestedAt, requestedBy, failure, whyNotRunning } = execution;
  return (
    <Table.Tr data-export={execution.id}>
      <Table.Td>
        <Anchor
          inherit
          renderRoot={(props) => <Link {...props} to="/workspaces/$slug/exports/$exportId" params={{ slug, exportId: execution.id }} />}
        >
          {cutoff}
        </Anchor>
      </Table.Td>
      <Table.Td>
        <State state={state} />
      </Table.Td>
      <Table.Td>
        <Bar progress={progress} state={state} label="Exported" />
      </Table.Td>
      <Table.Td>
        {exportPackage && (
          <>
            <State state={exportPackage.state} /> {exportPackage.bytes !== null && bytesIn(exportPackage.bytes)}
          </>
        )}
      </Table.Td>
      <Table.Td>
        <When at={requestedAt} />
      </Table.Td>
      <Table.Td>{requestedBy}</Table.Td>
      <Table.Td className="text">{failure?.summary ?? whyNotRunning[0]?.message}</Table.Td>
    </Table.Tr>
  );
}

export function DatasetsTab({ search, turn }: ListProps) {
  const { slug } = useWorkspace();
  const [{ data, error }, again] = useLive(
    typed(workspaceDatasetsDocument),
    { slug, ...pageOf(search) },
    (event) => runOf(event) !== null && (event.to === 'SUCCEEDED' || event.to === 'BLOCKED' || event.action === 'RESET'),
  );
  if (error !== undefined) return <Fault error={error} again={() => again({ requestPolicy: 'network-only' })} />;
  const datasets = data?.workspace?.datasets;
  if (datasets === undefined) return <Loading what="datasets" />;
  if (datasets.edges.length === 0) return <Empty title="There are no data yet">Datasets come into being when a run writes them.</Empty>;
  return (
    <>
      <Wide label="Datasets" head={['Dataset', 'Rows#', 'Changed']}>
        {datasets.edges.map(({ node }) => (
          <Table.Tr key={node.id}>
            <Table.Td>
              <Anchor
                inherit
                renderRoot={(props) => <Link {...props} to="/workspaces/$slug/datasets/$dataset" params={{ slug, dataset: node.name }} />}
              >
                {node.name}
              </Anchor>
            </Table.Td>
            <Table.Td className="num">{count(node.rowCount)}</Table.Td>
            <Table.Td>
              <When at={node.updatedAt} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Wide>
      <Paging pageInfo={datasets.pageInfo} go={turn} />
    </>
  );
}
