// The destinations among the export settings: each with its secret, and a test of those that are saved.
import { Button, Fieldset, Group, Stack, TextInput } from '@mantine/core';
import { DestinationSecret } from './destination-secret.tsx';
import { PingDestination } from './ping-destination.tsx';
import type { DestinationDraft } from './settings-draft.ts';

interface DestinationsProps {
  readonly destinations: readonly DestinationDraft[];
  readonly change: (destinations: readonly DestinationDraft[]) => void;
  /** Whether it is in the settings as it stands here, and may be tested. */
  readonly mayPing: (destination: DestinationDraft) => boolean;
}

export function Destinations({ destinations, change, mayPing }: DestinationsProps) {
  const put = (key: number, part: Partial<DestinationDraft>) =>
    change(destinations.map((one) => (one.key === key ? { ...one, ...part } : one)));
  const add = () =>
    change([...destinations, { key: Math.max(-1, ...destinations.map(({ key }) => key)) + 1, name: '', url: '', secret: '' }]);
  return (
    <>
      {destinations.map((destination, index) => {
        const { key, name, url, secret } = destination;
        const called = name === '' ? `destination ${index + 1}` : name;
        return (
          <Fieldset key={key} legend={name === '' ? `Destination ${index + 1}` : name}>
            <Stack gap="xs">
              <Group gap="sm" align="flex-start" grow preventGrowOverflow={false}>
                <TextInput label="Name" miw={140} value={name} onChange={(event) => put(key, { name: event.currentTarget.value })} />
                <TextInput
                  label="URL"
                  miw={220}
                  inputMode="url"
                  value={url}
                  onChange={(event) => put(key, { url: event.currentTarget.value })}
                />
              </Group>
              <DestinationSecret called={called} secret={secret} change={(next) => put(key, { secret: next })} />
              <Group>
                {mayPing(destination) && <PingDestination key={`${name} ${url}`} name={name} />}
                <Button
                  size="xs"
                  variant="default"
                  aria-label={`Forget ${called}`}
                  onClick={() => change(destinations.filter((one) => one.key !== key))}
                >
                  Forget it
                </Button>
              </Group>
            </Stack>
          </Fieldset>
        );
      })}
      <Group>
        <Button size="xs" variant="default" onClick={add}>
          Add a destination
        </Button>
      </Group>
    </>
  );
}
