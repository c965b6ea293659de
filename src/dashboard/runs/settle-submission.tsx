// Whether a target has a job is not known, and it cannot be asked by key: whoever has looked there says so here.
import { Button, Group, Radio, Stack, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { useMutation } from 'urql';
import type { SubmissionOutcome } from '../../client/gql/graphql.ts';
import { settleSubmissionDocument } from '../../client/settle-documents.ts';
import { typed } from '../api.ts';
import { Confirm, refusalOf } from '../confirm.tsx';
import { useMay } from '../viewer.ts';
import type { Run } from './run.ts';

interface SettleSubmissionProps {
  readonly step: Run['steps'][number];
  /** The run: nothing is sent any more then, and a job that is there is stopped. */
  readonly hasEnded: boolean;
}

export function SettleSubmission({ step: { id, dataset, target }, hasEnded }: SettleSubmissionProps) {
  const mayDrive = useMay('data-run');
  const [, settle] = useMutation(typed(settleSubmissionDocument));
  const [outcome, setOutcome] = useState<SubmissionOutcome | null>(null);
  const [jobId, setJobId] = useState('');
  const [isAsked, setIsAsked] = useState(false);
  if (mayDrive !== true) return null;
  const childJobId = outcome === 'CREATED' ? jobId.trim() : null;
  const ask = async (reason: string | undefined) => {
    if (outcome === null) return null;
    const { data, error } = await settle({
      input: { dataRunStepId: id, outcome, ...(childJobId === null ? {} : { childJobId }), ...(reason === undefined ? {} : { reason }) },
    });
    return refusalOf('DataRunStep', Object.values(data ?? {}), error);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setIsAsked(true);
  };
  return (
    <>
      <form onSubmit={submit} aria-label={`What became of ${dataset}`}>
        <Stack gap="xs" mt="xs">
          <Radio.Group
            label={`What did you find at the target ${target}?`}
            value={outcome}
            onChange={(next) => setOutcome(next as SubmissionOutcome)} // of the two below
          >
            <Stack gap={6} mt={4}>
              <Radio value="NEVER_CREATED" label="No job of that key was ever created" />
              <Radio value="CREATED" label="The job is there" />
            </Stack>
          </Radio.Group>
          {outcome === 'CREATED' && (
            <TextInput
              label="The target’s id of the job"
              maw={320}
              maxLength={500}
              value={jobId}
              onChange={(event) => setJobId(event.currentTarget.value)}
            />
          )}
          <Group>
            <Button type="submit" size="xs" variant="default" disabled={outcome === null || childJobId === ''}>
              Settle {dataset}
            </Button>
          </Group>
        </Stack>
      </form>
      {isAsked && outcome !== null && (
        <Confirm
          title={`Settle ${dataset}?`}
          button="Settle it"
          meaning={meaningOf(outcome, hasEnded)}
          takesReason
          ask={ask}
          close={() => setIsAsked(false)}
        />
      )}
    </>
  );
}

function meaningOf(outcome: SubmissionOutcome, hasEnded: boolean): string {
  if (outcome === 'CREATED') {
    return hasEnded
      ? 'The run has ended: the job of that id is asked to stop, until it has.'
      : 'The job of that id is followed as this dataset’s. Were it another one, what becomes of the dataset would be told wrongly.';
  }
  return hasEnded
    ? 'The run has ended, and there is nothing to stop. Were the job there after all, nobody would stop it.'
    : 'The dataset is sent again, with the same key. Were the job there after all, it would be loaded twice.';
}
