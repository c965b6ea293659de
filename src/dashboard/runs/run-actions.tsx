// What may be done to a run now, as its row says; each asks once more, and for the reason that everybody will read.
import { Button, Group } from '@mantine/core';
import { useState } from 'react';
import { type TypedDocumentNode, useClient } from 'urql';
import {
  advanceDataRunDocument,
  cancelDataRunDocument,
  pauseDataRunDocument,
  resetDataRunDocument,
  resumeDataRunDocument,
  startDataRunDocument,
} from '../../client/documents.ts';
import type { DataRunAction } from '../../client/gql/graphql.ts';
import { typed } from '../api.ts';
import { type Answer, Confirm, refusalOf } from '../confirm.tsx';
import { ForceCancel } from './force-cancel.tsx';
import type { Run } from './run.ts';

type Input = { readonly dataRunId: string; readonly reason?: string; readonly planDigest?: string; readonly force?: boolean };
type Ask = TypedDocumentNode<Readonly<Record<string, Answer>>, { readonly input: Input }>;

interface Offer {
  readonly verb: string;
  readonly meaning: string;
  readonly takesReason: boolean;
  readonly ends?: boolean;
  readonly ask: Ask;
}

// The documents’ own types are narrower: each has one result of its name, and its input at least what Input has.
const offers: Readonly<Record<DataRunAction, Offer>> = {
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
  RESET: {
    verb: 'Reset',
    meaning: 'What it wrote is taken back, and what it replaced is there again. The run stays as it ended. This cannot be undone.',
    takesReason: true,
    ends: true,
    ask: typed(resetDataRunDocument) as Ask,
  },
};

interface RunActionsProps {
  readonly run: Run;
  /** Of the plan that is shown beside them. */
  readonly planDigest: string | null;
}

export function RunActions({ run, planDigest }: RunActionsProps) {
  const [asked, setAsked] = useState<Offer | null>(null);
  const [isForced, setIsForced] = useState(false);
  const client = useClient();
  const ask = async (offer: Offer, reason: string | undefined) => {
    const planned = offer === offers.START && planDigest !== null ? { planDigest } : {};
    const forced = offer === offers.CANCEL && isForced ? { force: true } : {};
    const { data, error } = await client.mutation(offer.ask, {
      input: { dataRunId: run.id, ...planned, ...forced, ...(reason === undefined ? {} : { reason }) },
    });
    return refusalOf('DataRun', Object.values(data ?? {}), error);
  };
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
      {asked !== null && (
        <Confirm
          title={`${asked.verb} ${run.package.name}?`}
          button={`${asked.verb} the run`}
          meaning={asked.meaning}
          takesReason={asked.takesReason}
          ask={(reason) => ask(asked, reason)}
          close={() => {
            setAsked(null);
            setIsForced(false);
          }}
        >
          {asked === offers.CANCEL && run.state !== 'REGISTERED' && <ForceCancel isForced={isForced} force={setIsForced} />}
        </Confirm>
      )}
    </>
  );
}
