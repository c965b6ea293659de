import { Button, Text } from '@mantine/core';
import { useMutation } from 'urql';
import type { PingDestinationMutation } from '../../client/gql/graphql.ts';
import { pingDestinationDocument } from '../../client/ping-documents.ts';
import { typed } from '../api.ts';
import { refusalOf } from '../confirm.tsx';
import { Wrong } from '../said.tsx';
import { useWorkspace } from '../workspaces/workspace-frame.tsx';

/** One webhook to a destination as it is saved, and what was answered. */
export function PingDestination({ name }: { readonly name: string }) {
  const { id } = useWorkspace();
  const [{ fetching, data, error }, ping] = useMutation(typed(pingDestinationDocument));
  const answer = data?.pingDestination;
  const refusal = answer === undefined && error === undefined ? null : refusalOf('DestinationPing', [answer], error);
  return (
    <>
      <Button
        size="xs"
        variant="default"
        loading={fetching}
        aria-label={`Send a test to ${name}`}
        onClick={() => ping({ input: { workspaceId: id, name } })}
      >
        Send a test
      </Button>
      {!fetching && refusal !== null && <Wrong>{refusal}</Wrong>}
      {!fetching && answer?.__typename === 'DestinationPing' && (
        <Text size="sm" role="status">
          {inWords(name, answer)}
        </Text>
      )}
    </>
  );
}

type Ping = Extract<PingDestinationMutation['pingDestination'], { readonly __typename: 'DestinationPing' }>;

const unanswered = new Set(['TIMEOUT', 'BROKEN_ANSWER']);

function inWords(name: string, { status, code, message, ms }: Ping): string {
  if (status === null) return `${name} ${unanswered.has(code) ? 'was sent it, and gave no whole answer' : 'was not reached'}: ${message}`;
  return `${name} answered ${status} in ${ms.toLocaleString('en')} ms${code === 'DELIVERED' ? '.' : `, which is no delivery (${code}).`}`;
}
