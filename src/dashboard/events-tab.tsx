import { Table, Text } from '@mantine/core';
import { use } from 'react';
import { Wide } from './lists.tsx';
import { FeedContext, type SeenEvent } from './live.ts';
import { Empty, When } from './said.tsx';

/** What has happened since the page was opened, newest first. */
export function EventsTab() {
  const feed = use(FeedContext);
  const recent = feed?.recent ?? [];
  if (recent.length === 0) {
    return (
      <Empty title="Nothing has happened since this page was opened">
        Every change in this workspace shows here as it is committed. What became of a run before stands on its own page.
      </Empty>
    );
  }
  return (
    <Wide label="Events" head={['When', 'What', 'Of', 'From', 'To', 'Who', 'Why']}>
      {recent.map((event) => (
        <EventLine key={event.id} event={event} />
      ))}
    </Wide>
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
