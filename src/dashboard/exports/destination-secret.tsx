import { Button, Group, PasswordInput, Stack, Text } from '@mantine/core';
import { useState } from 'react';

interface DestinationSecretProps {
  readonly called: string;
  readonly secret: string;
  readonly change: (secret: string) => void;
}

/** A secret is never read back: a new one is shown here, and saved with the rest. */
export function DestinationSecret({ called, secret, change }: DestinationSecretProps) {
  const [isShown, setIsShown] = useState(false);
  const [made, setMade] = useState<string | null>(null);
  const make = () => {
    const fresh = newSecret();
    change(fresh);
    setMade(fresh);
    setIsShown(true);
  };
  return (
    <Stack gap={6}>
      <PasswordInput
        label="Signing secret"
        description="Left empty: as it is where name and URL are kept, else one is made and shown once."
        placeholder="whsec_…"
        autoComplete="off"
        visible={isShown}
        onVisibilityChange={setIsShown}
        visibilityToggleButtonProps={{ 'aria-label': 'Show the secret' }}
        value={secret}
        onChange={(event) => change(event.currentTarget.value)}
      />
      <Group gap="sm">
        <Button size="xs" variant="default" aria-label={`Make a new secret for ${called}`} onClick={make}>
          Make a new secret
        </Button>
        {made !== null && made === secret && (
          <Text size="xs" role="status">
            Give it to the receiver, and save. It holds from then on, and is not shown again.
          </Text>
        )}
      </Group>
    </Stack>
  );
}

/** As Standard Webhooks has them. Made here, so that it can be given to the receiver before anything is signed by it. */
function newSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return `whsec_${btoa(String.fromCharCode(...bytes))}`;
}
