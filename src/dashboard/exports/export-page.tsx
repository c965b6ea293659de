// One export: where it stands in the queue or in its work, what is in it, and who was told of it.
import { Alert, Anchor, Button, Code, Group, Stack, Table, Text, Title } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useClient, useSubscription } from 'urql';
import { cancelExportExecutionDocument, exportExecutionProgressDocument } from '../../client/export-documents.ts';
import { exportPageDocument } from '../../client/page-documents.ts';
import { typed } from '../api.ts';
import { Holds } from '../blockers.tsx';
import { Confirm, refusalOf } from '../confirm.tsx';
import { exportOf, placed, unannouncedMs, useAskedAgain, useLive } from '../live.ts';
import { Bar } from '../progress.tsx';
import { count, Fault, Loading, Missing, State, When } from '../said.tsx';
import { Section } from '../section.tsx';
import { Wide } from '../wide.tsx';
import type { Execution } from './execution.ts';
import { Package } from './export-package.tsx';

const route = getRouteApi('/workspaces/$slug/exports/$exportId');

export default function ExportPage() {
  const { slug, exportId } = route.useParams();
  const [{ data, error }, again] = useLive(typed(exportPageDocument), { id: exportId }, (event) => exportOf(event) === exportId);
  const execution = placed(data?.exportExecution, slug);
  useAskedAgain(execution?.state === 'QUEUED' ? unannouncedMs : null, again);
  if (execution) return <Shown execution={execution} again={() => again({ requestPolicy: 'network-only' })} />;
  if (error !== undefined) return <Fault error={error} again={() => again({ requestPolicy: 'network-only' })} />;
  return data === undefined ? <Loading what="the export" /> : <Missing what="export" />;
}

function Shown({ execution, again }: { readonly execution: Execution; readonly again: () => void }) {
  const { id, state, cutoff, requestedAt, requestedBy, settledAt, failure, whyNotRunning, manifestDigest, counts, exportPackage } =
    execution;
  const { slug } = execution.workspace;
  const [{ data }] = useSubscription({ query: typed(exportExecutionProgressDocument), variables: { id }, pause: settledAt !== null });
  const seen = settledAt === null ? data?.exportExecutionProgress : undefined;
  return (
    <Stack>
      <title>{`${state} export · Packhorse`}</title>
      <Group justify="space-between" align="flex-start">
        <Stack gap={4}>
          <Group gap="sm">
            <Title order={1} size="h2">
              Export as of {cutoff}
            </Title>
            <State state={state} />
            <Anchor
              size="sm"
              renderRoot={(props) => <Link {...props} to="/workspaces/$slug/exports/$exportId/lifecycle" params={{ slug, exportId: id }} />}
            >
              Lifecycle
            </Anchor>
          </Group>
          <Text size="sm" c="dimmed">
            Requested <When at={requestedAt} /> by {requestedBy}
            {settledAt !== null && (
              <>
                , ended <When at={settledAt} />
              </>
            )}
            {settledAt === null && `, ${(seen?.phase ?? execution.phase).toLowerCase()}`}
          </Text>
        </Stack>
        {execution.allowedActions.includes('CANCEL') && <Cancel id={id} />}
      </Group>
      <Bar progress={seen?.progress ?? execution.progress} state={state} label="Exported" />
      {failure !== null && (
        <Alert color="red" variant="outline" title={failure.summary} role="alert">
          {failure.code}. {failure.retryable ? 'Asking again may succeed.' : 'Asking again would fail the same.'}
        </Alert>
      )}
      {whyNotRunning.length > 0 && <Holds title="Why it waits" holds={whyNotRunning} />}
      {exportPackage !== null && (
        // Republished, it is another package: a link to the one before leads nowhere.
        <Package
          key={exportPackage.id}
          exportId={id}
          exportPackage={exportPackage}
          destinations={execution.settings.destinations}
          again={again}
        />
      )}
      <Section title="What is in it">
        <Text size="sm">
          {execution.settings.format}, digest of the manifest: {manifestDigest === null ? 'not known yet' : <Code>{manifestDigest}</Code>}
        </Text>
        <Wide label="Datasets of the export" head={['Dataset', 'Rows#', 'Bytes#']}>
          {counts.map(({ dataset, rows, bytes }) => (
            <Table.Tr key={dataset}>
              <Table.Td>{dataset}</Table.Td>
              <Table.Td className="num">{count(rows)}</Table.Td>
              <Table.Td className="num">{count(bytes)}</Table.Td>
            </Table.Tr>
          ))}
        </Wide>
      </Section>
    </Stack>
  );
}

function Cancel({ id }: { readonly id: string }) {
  const client = useClient();
  const [asked, setAsked] = useState(false);
  const ask = async (reason: string | undefined) => {
    const input = { exportExecutionId: id, ...(reason === undefined ? {} : { reason }) };
    const { data, error } = await client.mutation(typed(cancelExportExecutionDocument), { input });
    return refusalOf('ExportExecution', Object.values(data ?? {}), error);
  };
  const meaning = 'What it has written is removed. This cannot be undone.';
  return (
    <>
      <Button variant="outline" color="var(--mantine-color-error)" onClick={() => setAsked(true)}>
        Cancel
      </Button>
      {asked && (
        <Confirm
          title="Cancel this export?"
          button="Cancel the export"
          meaning={meaning}
          takesReason
          ask={ask}
          close={() => setAsked(false)}
        />
      )}
    </>
  );
}
