// The archive of an export: where it is, links to it, and who was told of it.
import { Anchor, Button, Code, Group, Text } from '@mantine/core';
import { useMutation } from 'urql';
import { issueDownloadLinkDocument } from '../../client/export-documents.ts';
import { typed } from '../api.ts';
import { refusalOf } from '../confirm.tsx';
import { bytesIn, State, When, Wrong } from '../said.tsx';
import { Section } from '../section.tsx';
import { Deliveries } from './deliveries.tsx';
import type { PackageProps } from './execution.ts';
import { Republish } from './republish.tsx';

const unpublished = new Set<string>(['FAILED', 'EXPIRED']);

export function Package({ exportId, exportPackage, destinations, again }: PackageProps & { readonly exportId: string }) {
  const { id, state, bytes, digest, expiresAt, failure } = exportPackage;
  const [{ data, error, fetching }, issue] = useMutation(typed(issueDownloadLinkDocument));
  const link = data?.issueDownloadLink;
  const refusal = data === undefined && error === undefined ? null : refusalOf('DownloadLink', [link], error);
  return (
    <Section title="Package">
      <Group gap="sm">
        <State state={state} />
        {bytes !== null && <Text size="sm">{bytesIn(bytes)}</Text>}
        {expiresAt !== null && (
          <Text size="sm" c="dimmed">
            expires <When at={expiresAt} />
          </Text>
        )}
      </Group>
      {digest !== null && <Code>{digest}</Code>}
      {failure !== null && <Text size="sm">{failure.summary}</Text>}
      {unpublished.has(state) && <Republish exportId={exportId} destinations={destinations} again={again} />}
      {state === 'PUBLISHED' && (
        <Group gap="sm">
          <Button variant="default" size="xs" loading={fetching} onClick={() => issue({ input: { exportPackageId: id } })}>
            Make a link
          </Button>
          {link?.__typename === 'DownloadLink' && (
            <Text size="sm">
              <Anchor href={here(link.url)} inherit download>
                Download
              </Anchor>
              , for whoever has the link; it ends <When at={link.expiresAt} />.
            </Text>
          )}
        </Group>
      )}
      {refusal !== null && <Wrong>{refusal}</Wrong>}
      <Deliveries exportPackage={exportPackage} destinations={destinations} again={again} />
    </Section>
  );
}

/** On this origin, whatever name the server knows itself by. */
function here(url: string): string {
  const { pathname, search } = new URL(url);
  return pathname + search;
}
