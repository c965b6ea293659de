// The rows that a run left out, taken away as a data package.
import { Button, Group, Text } from '@mantine/core';
import { useState } from 'react';
import { useMutation } from 'urql';
import { issueRejectedRowsLinkDocument } from '../../client/rejected-documents.ts';
import { typed } from '../api.ts';
import { refusalOf } from '../confirm.tsx';
import { save } from '../download.ts';
import { count, Wrong } from '../said.tsx';
import type { Run } from './run.ts';

export function RejectedRows({ run }: { readonly run: Run }) {
  const [{ fetching }, issue] = useMutation(typed(issueRejectedRowsLinkDocument));
  const [refusal, setRefusal] = useState<string | null>(null);
  const written = run.steps.filter(({ state }) => state === 'SUCCEEDED' || state === 'BLOCKED');
  const left = written.reduce((sum, { rows }) => sum + BigInt(rows.rejected), 0n);
  if (left === 0n) return null;
  const ask = async () => {
    const { data, error } = await issue({ input: { dataRunId: run.id } });
    setRefusal(refusalOf('DownloadLink', Object.values(data ?? {}), error));
    if (data?.issueRejectedRowsLink.__typename !== 'DownloadLink') return;
    const { pathname, search } = new URL(data.issueRejectedRowsLink.url); // of this origin, whatever name the server knows itself by
    save(pathname + search);
  };
  return (
    <Group gap="sm">
      <Text size="sm">
        {count(String(left))} {left === 1n ? 'row was' : 'rows were'} left out:
      </Text>
      <Button size="xs" variant="default" loading={fetching} onClick={ask}>
        Download as a data package
      </Button>
      {refusal !== null && <Wrong>{refusal}</Wrong>}
    </Group>
  );
}
