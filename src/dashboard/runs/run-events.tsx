import { Button, Center } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { pastEventsDocument } from '../../client/documents.ts';
import { typed } from '../api.ts';
import { runOf, useLive } from '../live.ts';
import { Fault, Loading } from '../said.tsx';
import { Wide } from '../wide.tsx';
import { EventLine } from '../workspaces/events-tab.tsx';

const pageLength = 50;

/** All that happened to a run, oldest first: who, when and why. */
export function RunEvents({ id }: { readonly id: string }) {
  const [starts, setStarts] = useState<readonly (string | null)[]>([null]);
  return (
    <Wide label="Events of the run" head={['When', 'What', 'Of', 'From', 'To', 'Who', 'Why']}>
      {starts.map((after, index) => (
        <Page key={after} id={id} after={after} more={index === starts.length - 1 ? (end) => setStarts([...starts, end]) : null} />
      ))}
    </Wide>
  );
}

interface PageProps {
  readonly id: string;
  readonly after: string | null;
  /** Null where the next page is shown already. */
  readonly more: ((after: string) => void) | null;
}

function Page({ id, after, more }: PageProps) {
  const variables = { id, first: pageLength, after };
  const [{ data, error }, again] = useLive(typed(pastEventsDocument), variables, (event) => runOf(event) === id);
  const events = data?.dataRun?.events;
  const { endCursor = null, hasNextPage = false } = events?.pageInfo ?? {};
  const said = (what: ReactNode) => (
    <tr>
      <td colSpan={7}>{what}</td>
    </tr>
  );
  if (error !== undefined) return said(<Fault error={error} again={() => again({ requestPolicy: 'network-only' })} />);
  if (events === undefined) return said(<Loading what="events" />);
  return (
    <>
      {events.edges.map(({ node }) => (
        <EventLine key={node.id} event={node} />
      ))}
      {hasNextPage &&
        more !== null &&
        endCursor !== null &&
        said(
          <Center p="xs">
            <Button size="xs" variant="default" onClick={() => more(endCursor)}>
              Show what came after
            </Button>
          </Center>,
        )}
    </>
  );
}
