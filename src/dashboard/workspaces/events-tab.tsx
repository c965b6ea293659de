// What happened in a workspace, newest first, a page at a time.
import { Table, Text } from '@mantine/core';
import { workspacePastEventsDocument } from '../../client/page-documents.ts';
import { typed } from '../api.ts';
import { type SeenEvent, useLive } from '../live.ts';
import { Paging } from '../paging.tsx';
import { Empty, Fault, Loading, When } from '../said.tsx';
import { Wide } from '../wide.tsx';
import type { ListProps } from './lists.tsx';
import { useWorkspace } from './workspace-frame.tsx';

/** The log is kept oldest first: what comes next here came before. */
export function EventsTab({ search: { after, before }, turn }: ListProps) {
  const { slug } = useWorkspace();
  const page = before === undefined ? { forward: false, before: after ?? null } : { forward: true, after: before };
  const [{ data, error }, again] = useLive(typed(workspacePastEventsDocument), { slug, ...page }, () => true);
  if (error !== undefined) return <Fault error={error} again={() => again({ requestPolicy: 'network-only' })} />;
  const events = data?.workspace?.events ?? data?.workspace?.pastEvents;
  if (events === undefined) return <Loading what="events" />;
  const { hasNextPage, hasPreviousPage, startCursor, endCursor } = events.pageInfo;
  if (events.edges.length === 0) {
    return (
      <Empty title="Nothing has happened yet">
        Every change in this workspace shows here as it is committed, with who made it and why.
      </Empty>
    );
  }
  return (
    <>
      <Wide label="Events" head={['When', 'What', 'Of', 'From', 'To', 'Who', 'Why']}>
        {events.edges.toReversed().map(({ node }) => (
          <EventLine key={node.id} event={node} />
        ))}
      </Wide>
      <Paging
        pageInfo={{ hasNextPage: hasPreviousPage, hasPreviousPage: hasNextPage, startCursor: endCursor, endCursor: startCursor }}
        go={turn}
      />
    </>
  );
}

export function EventLine({ event }: { readonly event: SeenEvent }) {
  const { id, at, action, from, to, actor, cause, reason } = event;
  const subject = event.__typename === 'DataRunEvent' ? (event.dataset ?? 'the run') : (event.destination ?? 'the export');
  return (
    <Table.Tr data-event={id}>
      <Table.Td>
        <When at={at} />
      </Table.Td>
      <Table.Td>{action}</Table.Td>
      <Table.Td>{subject}</Table.Td>
      <Table.Td>{from}</Table.Td>
      <Table.Td>{to}</Table.Td>
      <Table.Td>{actor}</Table.Td>
      <Table.Td className="text">{reason ?? (cause !== null && <Text size="sm">{cause}</Text>)}</Table.Td>
    </Table.Tr>
  );
}
