// Whose access to the workspace was taken back before their tokens end: for its administrators, who take it and give it again.
import { Button, Code, Group, Stack, Table, Text, TextInput, Title } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { useMutation, useQuery } from 'urql';
import { restoreAccessDocument, revokeAccessDocument, revokedAccessDocument } from '../../client/access-documents.ts';
import type { RevokedAccessQuery } from '../../client/gql/graphql.ts';
import { viewerDocument } from '../../client/page-documents.ts';
import { typed } from '../api.ts';
import { Confirm, refusalOf } from '../confirm.tsx';
import { Empty, Fault, Loading, Missing, When } from '../said.tsx';
import { Wide } from '../wide.tsx';
import { useWorkspace } from './workspace-frame.tsx';

type Revocation = NonNullable<NonNullable<RevokedAccessQuery['workspace']>['revokedAccess']>[number];

export default function AccessPage() {
  const { slug } = useWorkspace();
  const [{ data, error }, again] = useQuery({ query: typed(revokedAccessDocument), variables: { slug }, requestPolicy: 'network-only' });
  const read = () => again({ requestPolicy: 'network-only' });
  const workspace = data?.workspace;
  return (
    <Stack maw={960}>
      <title>{`Access to ${slug} · Packhorse`}</title>
      <Title order={1} size="h2">
        Access
      </Title>
      {error !== undefined ? (
        <Fault error={error} again={read} />
      ) : data === undefined ? (
        <Loading what="whose access was taken back" />
      ) : !workspace ? (
        <Missing what="workspace" />
      ) : workspace.revokedAccess === null ? (
        <Text size="sm">
          Who had their access taken back is shown to whoever has the permission <Code>workspace:admin</Code>, which your token does not
          have.
        </Text>
      ) : (
        <>
          <Text c="dimmed">
            Tokens say who may do what, until they end. Access to this workspace can be taken back before that, from everybody with the same
            subject.
          </Text>
          <TakeBack read={read} />
          <Revoked revocations={workspace.revokedAccess} read={read} />
        </>
      )}
    </Stack>
  );
}

interface ActProps {
  /** Whose access was taken back, once more. */
  readonly read: () => void;
}

function TakeBack({ read }: ActProps) {
  const { id } = useWorkspace();
  const [{ data }] = useQuery({ query: typed(viewerDocument) });
  const [, revoke] = useMutation(typed(revokeAccessDocument));
  const [subject, setSubject] = useState('');
  const [isAsked, setIsAsked] = useState(false);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setIsAsked(true);
  };
  const ask = async (reason: string | undefined) => {
    const answer = await revoke({ input: { workspaceId: id, subject, ...(reason === undefined ? {} : { reason }) } });
    const refusal = refusalOf('Workspace', Object.values(answer.data ?? {}), answer.error);
    if (refusal !== null) return refusal;
    setSubject('');
    read();
    return null;
  };
  const isOwn = subject === data?.viewer.subject;
  return (
    <>
      <form onSubmit={submit}>
        <Group align="flex-end" gap="sm">
          <TextInput
            label="Subject"
            description="The sub of their tokens."
            autoComplete="off"
            maxLength={200}
            value={subject}
            onChange={(event) => setSubject(event.currentTarget.value)}
          />
          <Button type="submit" variant="outline" color="var(--mantine-color-error)" disabled={subject === ''}>
            Take access back
          </Button>
        </Group>
      </form>
      {isAsked && (
        <Confirm
          title={`Take access back from ${subject}?`}
          button="Take it back"
          meaning={`${isOwn ? 'That is you: somebody else has to give it back. ' : ''}${meaning}`}
          takesReason
          whereKept="It stands on this page."
          ask={ask}
          close={() => setIsAsked(false)}
        />
      )}
    </>
  );
}

const meaning =
  'Whatever their tokens say, from now on their calls do not find this workspace; the authority that they left to its runs ends, and their open streams end within seconds. What was ended stays ended when access is given back. Links to export packages hold on: they are nobody’s.';

interface RevokedProps extends ActProps {
  readonly revocations: readonly Revocation[];
}

function Revoked({ revocations, read }: RevokedProps) {
  const { id } = useWorkspace();
  const [, restore] = useMutation(typed(restoreAccessDocument));
  const [asked, setAsked] = useState<string | null>(null);
  if (revocations.length === 0) return <Empty title="Nobody’s access is taken back">Who is named in a token has what it says.</Empty>;
  const ask = async (subject: string) => {
    const { data, error } = await restore({ input: { workspaceId: id, subject } });
    const refusal = refusalOf('Workspace', Object.values(data ?? {}), error);
    if (refusal === null) read();
    return refusal;
  };
  return (
    <>
      <Wide label="Whose access was taken back" head={['Subject', 'Taken back', 'By', 'Reason', 'Back']}>
        {revocations.map(({ subject, revokedAt, revokedBy, reason }) => (
          <Table.Tr key={subject}>
            <Table.Th scope="row">{subject}</Table.Th>
            <Table.Td>
              <When at={revokedAt} />
            </Table.Td>
            <Table.Td>{revokedBy}</Table.Td>
            <Table.Td className="text">{reason}</Table.Td>
            <Table.Td>
              <Button size="xs" variant="default" aria-label={`Give access back to ${subject}`} onClick={() => setAsked(subject)}>
                Give it back
              </Button>
            </Table.Td>
          </Table.Tr>
        ))}
      </Wide>
      {asked !== null && (
        <Confirm
          title={`Give access back to ${asked}?`}
          button="Give it back"
          meaning="Tokens that name this workspace hold again. Authority and streams that ended stay ended."
          takesReason={false}
          ask={() => ask(asked)}
          close={() => setAsked(null)}
        />
      )}
    </>
  );
}
