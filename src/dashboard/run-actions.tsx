// What may be done to a run now, as its row says; each asks once more, and for the reason that everybody will read.
import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { type TypedDocumentNode, useClient } from 'urql';
import {
  advanceDataRunDocument,
  cancelDataRunDocument,
  pauseDataRunDocument,
  resumeDataRunDocument,
  startDataRunDocument,
} from '../client/documents.ts';
import type { DataRunAction } from '../client/gql/graphql.ts';
import { sentenceOf, typed } from './api.ts';
import type { Run } from './run-page.tsx';

type Input = { readonly dataRunId: string; readonly reason?: string };
type Answer = { readonly __typename: string; readonly message?: string };
type Ask = TypedDocumentNode<Readonly<Record<string, Answer>>, { readonly input: Input }>;

interface Offer {
  readonly verb: string;
  readonly meaning: string;
  readonly takesReason: boolean;
  readonly ends?: boolean;
  readonly ask: Ask;
}

// The documents’ own types are narrower: each has one result of its name, and its input at least what Input has.
const offers: Readonly<Partial<Record<DataRunAction, Offer>>> = {
  START: {
    verb: 'Start',
    meaning: 'Its datasets are written in their order, driven under your authority.',
    takesReason: false,
    ask: typed(startDataRunDocument) as Ask,
  },
  PAUSE: {
    verb: 'Pause',
    meaning: 'Nothing more is submitted until it is resumed. Child jobs that are at work go on.',
    takesReason: true,
    ask: typed(pauseDataRunDocument) as Ask,
  },
  RESUME: { verb: 'Resume', meaning: 'It goes on where it was.', takesReason: true, ask: typed(resumeDataRunDocument) as Ask },
  ADVANCE: {
    verb: 'Advance',
    meaning: 'One pass now, under your own authority. It may end the run.',
    takesReason: false,
    ask: typed(advanceDataRunDocument) as Ask,
  },
  CANCEL: {
    verb: 'Cancel',
    meaning: 'Child jobs are asked to stop, and what was not begun is skipped. What was written stays. This cannot be undone.',
    takesReason: true,
    ends: true,
    ask: typed(cancelDataRunDocument) as Ask,
  },
};

export function RunActions({ run }: { readonly run: Run }) {
  const [asked, setAsked] = useState<Offer | null>(null);
  const allowed = Object.entries(offers).filter(
    ([action]) => (run.allowedActions as readonly string[]).includes(action) && (action !== 'ADVANCE' || run.driving === 'ON_REQUEST'),
  );
  return (
    <>
      <Group gap="xs">
        {allowed.map(([action, offer]) => (
          <Button
            key={action}
            variant={offer.ends === true ? 'outline' : 'filled'}
            {...(offer.ends === true ? { color: 'var(--mantine-color-error)' } : {})}
            onClick={() => setAsked(offer)}
          >
            {offer.verb}
          </Button>
        ))}
      </Group>
      {asked !== null && <Confirm offer={asked} run={run} close={() => setAsked(null)} />}
    </>
  );
}

interface ConfirmProps {
  readonly offer: Offer;
  readonly run: Run;
  readonly close: () => void;
}

function Confirm({ offer: { verb, meaning, takesReason, ask }, run, close }: ConfirmProps) {
  const client = useClient();
  const [reason, setReason] = useState('');
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<string | null>(null);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    const input = { dataRunId: run.id, ...(reason.trim() === '' ? {} : { reason: reason.trim() }) };
    const { data, error } = await client.mutation(ask, { input });
    setBusy(false);
    const [answer] = Object.values(data ?? {}).filter((value) => typeof value === 'object');
    if (error !== undefined) return setRefusal(sentenceOf(error));
    if (answer?.__typename === 'DataRun') return close();
    setRefusal(answer?.message ?? 'The server did not say what became of it.');
  };
  return (
    <Modal opened onClose={close} title={`${verb} ${run.package.name}?`} closeButtonProps={{ 'aria-label': 'Close' }} centered>
      <form onSubmit={submit}>
        <Stack>
          <Text size="sm">{meaning}</Text>
          {takesReason && (
            <TextInput
              label="Reason"
              description="It stands in the history of the run."
              value={reason}
              onChange={(event) => setReason(event.currentTarget.value)}
              data-autofocus
            />
          )}
          {refusal !== null && (
            <Text size="sm" c="var(--mantine-color-error)" role="alert">
              {refusal}
            </Text>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Leave it
            </Button>
            <Button type="submit" loading={busy}>
              {`${verb} the run`}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
