import { Button, Group, Text } from '@mantine/core';
import { useState } from 'react';
import { useMutation } from 'urql';
import { renewDataRunGrantDocument } from '../../client/page-documents.ts';
import { sentenceOf, typed } from '../api.ts';
import { When, Wrong } from '../said.tsx';
import { Section } from '../section.tsx';
import type { Run } from './run.ts';

const open = new Set<string>(['RUNNING', 'PAUSED']);

/** Under whose authority it is driven while nobody asks. */
export function GrantCard({ run }: { readonly run: Run }) {
  const [{ fetching }, renew] = useMutation(typed(renewDataRunGrantDocument));
  const [refusal, setRefusal] = useState<string | null>(null);
  const { grant } = run;
  const ask = async () => {
    const { data, error } = await renew({ input: { dataRunId: run.id } });
    const answer = data?.renewDataRunGrant;
    setRefusal(error !== undefined ? sentenceOf(error) : answer === undefined || answer.__typename === 'DataRun' ? null : answer.message);
  };
  return (
    <Section title="Authority">
      <Text size="sm">
        {grant === null ? (
          run.driving === 'ON_REQUEST' ? (
            'It is driven only when somebody asks for a pass.'
          ) : (
            'It was not started yet: nobody has left authority for it.'
          )
        ) : (
          <>
            {open.has(run.state) && grant.endedAt === null ? 'Driven' : 'It was driven'} under the authority of <b>{grant.subject}</b> for{' '}
            {grant.targets.join(', ')}.{' '}
            {grant.endedAt !== null ? (
              <>
                That ended <When at={grant.endedAt} />.
              </>
            ) : (
              open.has(run.state) && (
                <>
                  That ends <When at={grant.expiresAt} />.
                </>
              )
            )}
          </>
        )}
      </Text>
      {open.has(run.state) && run.driving === 'BACKGROUND' && (
        <Group>
          <Button size="xs" variant="default" loading={fetching} onClick={ask}>
            Renew under my authority
          </Button>
        </Group>
      )}
      {refusal !== null && <Wrong>{refusal}</Wrong>}
    </Section>
  );
}
