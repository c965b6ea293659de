// All events of a run to take away: an object a line, as `packhorse watch ID --json` prints them.
import { Button, Group, Text } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { type Client, useClient } from 'urql';
import { pastEventsDocument } from '../../client/documents.ts';
import { sentenceOf, typed } from '../api.ts';
import { download } from '../download.ts';
import { Wrong } from '../said.tsx';
import type { Run } from './run.ts';

/** The longest that there is. */
const pageLength = 100;

export function RunLog({ run: { id, package: loaded } }: { readonly run: Run }) {
  const client = useClient();
  const [read, setRead] = useState<number | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const isShown = useRef(true);
  useEffect(() => {
    isShown.current = true;
    return () => {
      isShown.current = false;
    };
  }, []);
  const save = async () => {
    const lines: string[] = [];
    let after: string | null = null;
    setFault(null);
    do {
      setRead(lines.length);
      const page = await pageAfter(client, id, after);
      if (!isShown.current) return;
      if (typeof page === 'string') {
        setRead(null);
        return setFault(page);
      }
      lines.push(...page.edges.map(({ node }) => `${JSON.stringify(node)}\n`));
      after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null;
    } while (after !== null);
    setRead(null);
    download(`${loaded.name}-events.ndjson`, 'application/x-ndjson', lines);
  };
  return (
    <Group gap="sm">
      <Button size="xs" variant="default" loading={read !== null} onClick={save}>
        Download as NDJSON
      </Button>
      {read !== null && (
        <Text size="sm" role="status">
          {read.toLocaleString('en')} events read so far…
        </Text>
      )}
      {fault !== null && <Wrong>{fault} Nothing was saved: press the button to read them again from the first.</Wrong>}
    </Group>
  );
}

/** A page of them, or why there is none. */
async function pageAfter(client: Client, id: string, after: string | null) {
  const { data, error } = await client.query(typed(pastEventsDocument), { id, first: pageLength, after }).toPromise();
  if (error !== undefined) return sentenceOf(error);
  return data?.dataRun?.events ?? 'The run is no longer yours to see.';
}
