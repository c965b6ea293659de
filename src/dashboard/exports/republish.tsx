// An archive that could not be stored, or is no longer kept, stored again.
import { Button, Group } from '@mantine/core';
import { useState } from 'react';
import { useClient } from 'urql';
import { republishExportDocument } from '../../client/page-documents.ts';
import { typed } from '../api.ts';
import { Confirm, refusalOf } from '../confirm.tsx';
import { useMay } from '../viewer.ts';
import type { PackageProps } from './execution.ts';

interface RepublishProps extends Pick<PackageProps, 'destinations' | 'again'> {
  readonly exportId: string;
}

export function Republish({ exportId, destinations, again }: RepublishProps) {
  const client = useClient();
  const [asked, setAsked] = useState(false);
  const mayPublish = useMay('data-export:execute');
  if (mayPublish !== true) return null;
  const ask = async () => {
    const { data, error } = await client.mutation(typed(republishExportDocument), { input: { exportExecutionId: exportId } });
    const refusal = refusalOf('ExportExecution', Object.values(data ?? {}), error);
    if (refusal === null) again(); // a package that begins makes no event
    return refusal;
  };
  const names = destinations.map(({ name }) => name).join(', ');
  const told = names === '' ? '' : ` Once it is published, its destinations are told of it: ${names}.`;
  return (
    <Group>
      <Button variant="default" size="xs" onClick={() => setAsked(true)}>
        Publish again
      </Button>
      {asked && (
        <Confirm
          title="Publish this export again?"
          button="Publish it"
          meaning={`The same archive is stored once more: the workspace as it was at the cutoff, with the digest that it had.${told}`}
          takesReason={false}
          ask={ask}
          close={() => setAsked(false)}
        />
      )}
    </Group>
  );
}
