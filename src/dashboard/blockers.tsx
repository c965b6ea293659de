// Why something waits, and what is missing: in the server’s words.
import { Alert, Group, Stack, Text } from '@mantine/core';
import type { HoldFieldsFragment, RunFieldsFragment } from '../client/gql/graphql.ts';
import { When } from './said.tsx';
import { Section } from './section.tsx';

export function Holds({ title, holds }: { readonly title: string; readonly holds: readonly HoldFieldsFragment[] }) {
  return (
    <Alert color="orange" variant="outline" title={title}>
      <Stack gap={4} component="ul" m={0} pl="md">
        {holds.map(({ code, subject, message, remedy, since }) => (
          <li key={`${code} ${subject}`}>
            <Text size="sm">
              {message} {remedy} (since <When at={since} />)
            </Text>
          </li>
        ))}
      </Stack>
    </Alert>
  );
}

type Readiness = RunFieldsFragment['readiness'];

/** Apart from how the run ended: it can succeed, and its data not be whole. */
export function ReadinessCard({ readiness: { ready, blockers } }: { readonly readiness: Readiness }) {
  return (
    <Section title="Readiness of the data">
      <Group gap="xs" wrap="nowrap">
        <span className="dot" data-tone={ready ? 'good' : 'warn'} />
        <Text size="sm">
          {ready ? 'The package’s data are in the workspace, whole.' : 'The package’s data are not all in the workspace.'}
        </Text>
      </Group>
      <Blockers blockers={blockers} />
    </Section>
  );
}

export function Blockers({ blockers }: { readonly blockers: Readiness['blockers'] }) {
  return blockers.map(({ code, dataset, message, sampleKeys, clearedBy }) => (
    <Text key={`${code} ${dataset}`} size="sm">
      {dataset}: {message}
      {sampleKeys.length > 0 && ` Such as ${sampleKeys.join(', ')}.`}
      {clearedBy.length > 0 && ` To be cleared by ${clearedBy.join(', ')}.`}
    </Text>
  ));
}
