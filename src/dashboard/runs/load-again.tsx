// Another attempt of a run that has ended and left something to do: registered here, planned and started on its own page.
import { Anchor, Button, Stack, Text } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import { type ReactElement, useState } from 'react';
import { useClient } from 'urql';
import { registerDataRunDocument } from '../../client/documents.ts';
import type { RegisterDataRunMutation } from '../../client/gql/graphql.ts';
import { retryOf } from '../../client/retry.ts';
import { typed } from '../api.ts';
import { Confirm, refusalOf } from '../confirm.tsx';
import { useMay } from '../viewer.ts';
import type { Run } from './run.ts';

type Answer = RegisterDataRunMutation['registerDataRun'];

export function LoadAgain({ run }: { readonly run: Run }) {
  const client = useClient();
  const navigate = useNavigate();
  const [asked, setAsked] = useState(false);
  const mayLoad = useMay('data-run');
  const { slug } = run.workspace;
  const isWhole = run.state === 'SUCCEEDED' && run.readiness.ready;
  if (mayLoad !== true || run.settledAt === null || isWhole) return null;
  const ask = async () => {
    const { data, error } = await client.mutation(typed(registerDataRunDocument), { input: retryOf(run) });
    const answer = data?.registerDataRun;
    if (answer?.__typename === 'DataRun') {
      await navigate({ to: '/workspaces/$slug/runs/$runId', params: { slug, runId: answer.id } });
      return null;
    }
    return <Refused message={refusalOf('DataRun', [answer], error) ?? ''} answer={answer} slug={slug} />;
  };
  return (
    <>
      <Button onClick={() => setAsked(true)}>Load again</Button>
      {asked && (
        <Confirm
          title={`Load ${run.package.name} again?`}
          button="Register a new run"
          meaning={meaningOf(run)}
          takesReason={false}
          ask={ask}
          close={() => setAsked(false)}
        />
      )}
    </>
  );
}

function meaningOf({ steps }: Run): string {
  const own = steps.some(({ target }) => target !== 'store');
  const registered =
    'The same package is registered as a new run, driven as this one and under its policies. Nothing is written until it is started, on its page.';
  const unchanged = 'Rows that are there already count as unchanged, so what succeeded is not written twice.';
  return `${registered} ${unchanged}${own ? ' A job target of your own is given its datasets again.' : ''}`;
}

interface RefusedProps {
  readonly message: string;
  readonly answer: Answer | undefined;
  readonly slug: string;
}

/** In the server’s words; and what may be done about it. */
function Refused({ message, answer, slug }: RefusedProps): ReactElement {
  const isGone = answer?.__typename === 'ConflictError' && answer.code === 'PACKAGE_NOT_UPLOADED';
  const inTheWay = answer?.__typename === 'ConflictError' ? answer.conflictingId : null;
  const problems = answer?.__typename === 'InvalidPackageError' ? answer.problems : [];
  return (
    <Stack gap="xs">
      <Text inherit>{message}</Text>
      {problems.length > 0 && (
        <Stack gap={4} component="ul" aria-label="Problems of the package" m={0} pl="md">
          {problems.map(({ code, pointer, resource, message: what }) => (
            <li key={`${code} ${pointer} ${resource} ${what}`}>
              {what} ({code}
              {pointer !== '' && ` at ${pointer}`})
            </li>
          ))}
        </Stack>
      )}
      {inTheWay !== null && (
        <Anchor
          inherit
          underline="always"
          renderRoot={(props) => <Link {...props} to="/workspaces/$slug/runs/$runId" params={{ slug, runId: inTheWay }} />}
        >
          To the run in the way
        </Anchor>
      )}
      {(isGone || problems.length > 0) && (
        <Anchor inherit underline="always" renderRoot={(props) => <Link {...props} to="/workspaces/$slug/load" params={{ slug }} />}>
          {isGone ? 'Load it from your files' : 'Mend it, and load it from your files'}
        </Anchor>
      )}
    </Stack>
  );
}
