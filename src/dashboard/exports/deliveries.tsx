// Who was told that a package is there: each attempt, what was answered, and telling once more.
import { Anchor, Button, Group, Stack, Table, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useClient } from 'urql';
import { redeliverDocument } from '../../client/page-documents.ts';
import { typed } from '../api.ts';
import { Confirm, refusalOf } from '../confirm.tsx';
import { useAskedAgain } from '../live.ts';
import { State, When } from '../said.tsx';
import { useMay } from '../viewer.ts';
import { Wide } from '../wide.tsx';
import { useWorkspace } from '../workspaces/workspace-frame.tsx';
import type { PackageProps } from './execution.ts';

type Delivery = PackageProps['exportPackage']['deliveries'][number];

/** While an attempt is under way; and after the time of the next one, until its end is written. */
const pauseMs = 2_000;

export function Deliveries({ exportPackage: { state, deliveries }, destinations, again }: PackageProps) {
  const { slug } = useWorkspace();
  const mayTell = useMay('data-export:execute');
  useAskedAgain(nextLookMs(deliveries), again);
  const settings = (
    <Anchor inherit underline="always" renderRoot={(props) => <Link {...props} to="/workspaces/$slug/export-settings" params={{ slug }} />}>
      export settings
    </Anchor>
  );
  if (destinations.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        Nobody is told of it: when it was requested, there was no destination in the {settings}.
      </Text>
    );
  }
  const pending = new Set(deliveries.filter((one) => one.state === 'PENDING').map(({ destination }) => destination));
  // Of one destination only the newest is told again: it is the same message, and where it goes is in the settings.
  const newest = new Map(deliveries.map(({ destination, id }) => [destination, id]));
  return (
    <Stack gap="md" component="section" aria-label="Deliveries">
      <Title order={3} size="h5">
        Deliveries
      </Title>
      {deliveries.length === 0 && (
        <Text size="sm" c="dimmed">
          {destinations.map(({ name }) => name).join(', ')} will be told when the package is published.
        </Text>
      )}
      {deliveries.map((delivery) => (
        <Told
          key={delivery.id}
          delivery={delivery}
          url={destinations.find(({ name }) => name === delivery.destination)?.url}
          again={
            mayTell === true &&
            state === 'PUBLISHED' &&
            !pending.has(delivery.destination) &&
            newest.get(delivery.destination) === delivery.id
              ? again
              : null
          }
        />
      ))}
      {mayTell === true && state === 'PUBLISHED' && (
        <Text size="sm" c="dimmed">
          A wrong address is mended in the {settings}: what is delivered again goes to where they now have the destination.
        </Text>
      )}
    </Stack>
  );
}

/** An attempt that fails and is to be repeated makes no event: while something is to be sent, the page looks by itself. */
function nextLookMs(deliveries: readonly Delivery[]): number | null {
  const times = deliveries.flatMap(({ nextAttemptAt }) => (nextAttemptAt === null ? [] : [Date.parse(nextAttemptAt)]));
  if (times.length === 0) return null;
  const inMs = Math.min(...times) - Date.now() + 1_000;
  return Math.min(Math.max(inMs, pauseMs), 60_000); // clocks differ, and somebody may redeliver
}

interface ToldProps {
  readonly delivery: Delivery;
  /** Where it went when the export was admitted; undefined where that had no such destination. */
  readonly url: string | undefined;
  /** Null: not offered. */
  readonly again: (() => void) | null;
}

function Told({ delivery: { id, destination, state, attempts, attemptLog, nextAttemptAt, deliveredAt }, url, again }: ToldProps) {
  const isSending = state === 'PENDING' && attempts > attemptLog.length;
  return (
    <Stack gap="xs" data-delivery={id}>
      <Group gap="sm" justify="space-between">
        <Group gap="sm">
          <Text fw={600}>{destination}</Text>
          <State state={state} />
          <Text size="sm" c="dimmed">
            {isSending && 'being told now'}
            {!isSending && nextAttemptAt !== null && (
              <>
                next try <When at={nextAttemptAt} />
              </>
            )}
            {deliveredAt !== null && <When at={deliveredAt} />}
          </Text>
        </Group>
        {again !== null && <Redeliver id={id} destination={destination} again={again} />}
      </Group>
      {url !== undefined && (
        <Text size="sm" c="dimmed">
          {url}
        </Text>
      )}
      {attemptLog.length === 0 ? (
        <Text size="sm">Not tried yet.</Text>
      ) : (
        <Wide label={`Attempts to tell ${destination}`} head={['Try#', 'When', 'Status#', 'What came of it', 'Code', 'Took#']}>
          {attemptLog.map(({ number, at, status, durationMs, message, code }) => (
            <Table.Tr key={number}>
              <Table.Td className="num">{number}</Table.Td>
              <Table.Td>
                <When at={at} />
              </Table.Td>
              <Table.Td className="num">{status ?? 'none'}</Table.Td>
              <Table.Td className="text">{message}</Table.Td>
              <Table.Td>{code}</Table.Td>
              <Table.Td className="num">{durationMs.toLocaleString('en')} ms</Table.Td>
            </Table.Tr>
          ))}
        </Wide>
      )}
    </Stack>
  );
}

function Redeliver({ id, destination, again }: { readonly id: string; readonly destination: string; readonly again: () => void }) {
  const client = useClient();
  const [asked, setAsked] = useState(false);
  const ask = async () => {
    const { data, error } = await client.mutation(typed(redeliverDocument), { input: { exportDeliveryId: id } });
    const refusal = refusalOf('ExportDelivery', Object.values(data ?? {}), error);
    if (refusal === null) again(); // a delivery that begins makes no event either
    return refusal;
  };
  return (
    <>
      <Button size="xs" variant="default" onClick={() => setAsked(true)} aria-label={`Deliver to ${destination} again`}>
        Deliver again
      </Button>
      {asked && (
        <Confirm
          title={`Tell ${destination} again?`}
          button="Deliver again"
          meaning="The same message is sent with the same webhook id, to where the export settings now have the destination. Nothing is generated."
          takesReason={false}
          ask={ask}
          close={() => setAsked(false)}
        />
      )}
    </>
  );
}
