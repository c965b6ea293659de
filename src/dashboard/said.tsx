// How things are put into words and signs, the same on every page.
import { Alert, Anchor, Badge, Button, Center, Group, Loader, Stack, Text, Title } from '@mantine/core';
import type { ErrorComponentProps } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { CombinedError } from 'urql';
import { codeOf, sentenceOf } from './api.ts';

const tones: Readonly<Record<string, string>> = {
  SUCCEEDED: 'good',
  PUBLISHED: 'good',
  DELIVERED: 'good',
  RUNNING: 'busy',
  ACTIVE: 'busy',
  SUBMITTING: 'busy',
  PAUSED: 'warn',
  BLOCKED: 'warn',
  CANCELLING: 'warn',
  FAILED: 'bad',
};

export function toneOf(state: string): string {
  return tones[state] ?? 'idle';
}

/** A state by its word first: the colour only helps. */
export function State({ state }: { readonly state: string }) {
  return (
    <Badge
      variant="default"
      radius="sm"
      miw="max-content"
      data-state={state}
      leftSection={<span className="dot" data-tone={toneOf(state)} />}
    >
      {state}
    </Badge>
  );
}

/** Why what was asked for was not done. */
export function Wrong({ children }: { readonly children: ReactNode }) {
  return (
    <Text size="sm" c="var(--mantine-color-error)" component="div" role="alert">
      {children}
    </Text>
  );
}

const units: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

/** How long ago; exactly, and in UTC, where it is pointed at. */
export function When({ at }: { readonly at: string }) {
  const seconds = (Date.parse(at) - Date.now()) / 1_000;
  const [unit, length] = units.find(([, least]) => Math.abs(seconds) >= least) ?? (['second', 1] as const);
  return (
    <time dateTime={at} title={at}>
      {Math.abs(seconds) < 5 ? 'now' : relative.format(Math.round(seconds / length), unit)}
    </time>
  );
}

/** Counts arrive as strings of any length. */
export function count(value: string): string {
  return BigInt(value).toLocaleString('en');
}

export function bytesIn(value: string): string {
  const bytes = Number(value);
  const [unit, size] = bytes >= 1e9 ? ['GB', 1e9] : bytes >= 1e6 ? ['MB', 1e6] : bytes >= 1e3 ? ['kB', 1e3] : ['bytes', 1];
  return `${(bytes / Number(size)).toLocaleString('en', { maximumFractionDigits: 1 })} ${unit}`;
}

export function Loading({ what }: { readonly what: string }) {
  return (
    <Center p="xl" role="status">
      <Group gap="sm">
        <Loader size="sm" aria-hidden />
        <Text c="dimmed">Loading {what}…</Text>
      </Group>
    </Center>
  );
}

/** Where there is nothing yet: what would be here, and what to do for it. */
export function Empty({ title, children, action }: { readonly title: string; readonly children: ReactNode; readonly action?: ReactNode }) {
  return (
    <Stack align="center" gap="xs" p="xl" ta="center">
      <Title order={3} size="h4">
        {title}
      </Title>
      <Text c="dimmed" component="div" maw={520}>
        {children}
      </Text>
      {action}
    </Stack>
  );
}

/** What went wrong, in the server’s words, and what may be done about it. */
export function Fault({ error, again }: { readonly error: CombinedError; readonly again: () => void }) {
  const code = codeOf(error);
  return (
    <Alert color="red" variant="outline" title={sentenceOf(error)} m="md" role="alert">
      <Stack gap="xs" align="flex-start">
        <Text size="sm">
          {code === 'UNREACHABLE'
            ? 'Is it running? It is asked again when it is back, and by the button.'
            : `The server’s code for it: ${code}.`}
        </Text>
        <Button size="xs" variant="default" onClick={again}>
          Try again
        </Button>
      </Stack>
    </Alert>
  );
}

/** A fault of the page itself, or a part of it that could not be fetched: after an update the server has other ones. */
export function Broken({ error }: ErrorComponentProps) {
  return (
    <Alert color="red" variant="outline" title="This page has failed" m="md" role="alert">
      <Stack gap="xs" align="flex-start">
        <Text size="sm">{error instanceof Error ? error.message : String(error)}</Text>
        <Text size="sm">Nothing in the workspace has changed by it. Load the page again.</Text>
        <Button size="xs" variant="default" onClick={() => location.reload()}>
          Load again
        </Button>
      </Stack>
    </Alert>
  );
}

export function Missing({ what, home = '/' }: { readonly what: string; readonly home?: string }) {
  return (
    <Empty title={`There is no such ${what}`} action={<Anchor href={home}>To the workspaces</Anchor>}>
      Either it was never there, or your token does not name its workspace: the server says the same of both.
    </Empty>
  );
}
