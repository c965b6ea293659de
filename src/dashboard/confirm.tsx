// Asked once more before something is done, and for the reason that everybody will read.
import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, type ReactElement, type ReactNode, useState } from 'react';
import type { CombinedError } from 'urql';
import { sentenceOf } from './api.ts';
import { Wrong } from './said.tsx';

export interface Answer {
  readonly __typename: string;
  readonly message?: string;
}

/** Null where the answer of a mutation is what was asked for; else one sentence on why not. */
export function refusalOf(wanted: string, answers: readonly unknown[], error: CombinedError | undefined): string | null {
  if (error !== undefined) return sentenceOf(error);
  // A mutation has one field; urql puts __typename beside it.
  const answer = answers.find((value): value is Answer => typeof value === 'object' && value !== null && '__typename' in value);
  return answer?.__typename === wanted ? null : (answer?.message ?? 'The server did not say what became of it.');
}

interface ConfirmProps {
  readonly title: string;
  readonly button: string;
  readonly meaning: string;
  readonly takesReason: boolean;
  readonly whereKept?: string;
  /** What else there is to decide. */
  readonly children?: ReactNode;
  /** Null when it is done; else why not, and what may be done about it. */
  readonly ask: (reason: string | undefined) => Promise<ReactElement | string | null>;
  readonly close: () => void;
}

export function Confirm({
  title,
  button,
  meaning,
  takesReason,
  whereKept = 'It stands in the history.',
  children,
  ask,
  close,
}: ConfirmProps) {
  const [reason, setReason] = useState('');
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<ReactElement | string | null>(null);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    const refused = await ask(reason.trim() === '' ? undefined : reason.trim());
    setBusy(false);
    if (refused === null) return close();
    setRefusal(refused);
  };
  return (
    <Modal opened onClose={close} title={title} closeButtonProps={{ 'aria-label': 'Close' }} centered>
      <form onSubmit={submit}>
        <Stack>
          <Text size="sm">{meaning}</Text>
          {takesReason && (
            <TextInput
              label="Reason"
              description={whereKept}
              value={reason}
              onChange={(event) => setReason(event.currentTarget.value)}
              data-autofocus
            />
          )}
          {children}
          {refusal !== null && <Wrong>{refusal}</Wrong>}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Leave it
            </Button>
            <Button type="submit" loading={busy}>
              {button}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
