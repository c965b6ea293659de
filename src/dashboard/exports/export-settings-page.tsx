// How exports of a workspace are made: shown to whoever may look, changed by whoever may.
import { Alert, Anchor, Button, Code, Group, Stack, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useClient, useQuery } from 'urql';
import { exportSettingsDocument, updateExportSettingsDocument } from '../../client/page-documents.ts';
import { sentenceOf, typed } from '../api.ts';
import { refusalOf } from '../confirm.tsx';
import { Fault, Loading, Missing } from '../said.tsx';
import { useMay } from '../viewer.ts';
import { useWorkspace } from '../workspaces/workspace-frame.tsx';
import { type Refused, SettingsForm } from './export-settings-form.tsx';
import { changeOf, type Draft, draftOf, type Field, isKept, rebased, type Settings, takenMeanwhile } from './settings-draft.ts';

interface Secret {
  readonly name: string;
  readonly secret: string;
}

export default function ExportSettingsPage() {
  const { slug } = useWorkspace();
  const [{ data, error }, again] = useQuery({ query: typed(exportSettingsDocument), variables: { slug }, requestPolicy: 'network-only' });
  const settings = data?.workspace?.exportSettings;
  return (
    <Stack maw={960}>
      <title>{`Export settings of ${slug} · Packhorse`}</title>
      <Title order={1} size="h2">
        Export settings
      </Title>
      <Text c="dimmed">
        They hold from the next export on: one that was requested keeps those it was requested with.{' '}
        <Anchor
          inherit
          underline="always"
          renderRoot={(props) => <Link {...props} to="/workspaces/$slug" params={{ slug }} search={{ tab: 'exports' }} />}
        >
          To the exports
        </Anchor>
      </Text>
      {settings ? (
        <Changed settings={settings} />
      ) : error !== undefined ? (
        <Fault error={error} again={() => again({ requestPolicy: 'network-only' })} />
      ) : data === undefined ? (
        <Loading what="the export settings" />
      ) : (
        <Missing what="workspace" />
      )}
    </Stack>
  );
}

function Changed({ settings: read }: { readonly settings: Settings }) {
  const { id, slug } = useWorkspace();
  const client = useClient();
  const mayChange = useMay('workspace:admin');
  const [settings, setSettings] = useState(read); // what the draft was begun from: not what is read again behind it
  const [draft, setDraft] = useState(() => draftOf(read));
  const [theirs, setTheirs] = useState<{ readonly settings: Settings; readonly fields: readonly Field[] } | null>(null);
  const [secrets, setSecrets] = useState<readonly Secret[]>([]);
  const [refused, setRefused] = useState<Refused | null>(null);
  const [isSaved, setIsSaved] = useState(false);
  const wanted = changeOf(settings, draft);
  const begin = (from: Settings, next: Draft) => {
    setSettings(from);
    setDraft(next);
    setTheirs(null);
    setRefused(null);
  };
  const write = async () => {
    const { data, error } = await client.mutation(typed(updateExportSettingsDocument), { input: { ...wanted, workspaceId: id } });
    const answer = data?.updateExportSettings;
    if (answer?.__typename !== 'Workspace') {
      const message = refusalOf('Workspace', [answer], error) ?? '';
      return setRefused({ message, field: answer?.__typename === 'InvalidInputError' ? answer.field : null });
    }
    setSecrets(answer.exportSettings.destinations.flatMap(({ name, secret }) => (secret === null ? [] : [{ name, secret }])));
    setIsSaved(true);
    begin(answer.exportSettings, draftOf(answer.exportSettings));
  };
  // The API takes no version of the settings. So they are read once more just before, and what somebody else has changed is not overwritten unseen.
  const save = async () => {
    setIsSaved(false);
    setRefused(null);
    setTheirs(null);
    if (!Number.isInteger(wanted.retentionDays ?? 0))
      return setRefused({ field: 'retentionDays', message: 'Give a whole number of days.' });
    const { data, error } = await client.query(typed(exportSettingsDocument), { slug }, { requestPolicy: 'network-only' });
    if (error !== undefined) return setRefused({ message: sentenceOf(error), field: null });
    const now = data?.workspace?.exportSettings;
    const fields = now === undefined ? [] : takenMeanwhile(wanted, settings, now);
    if (now === undefined || fields.length === 0) return write();
    setTheirs({ settings: now, fields });
  };
  return (
    <>
      {secrets.length > 0 && <MadeSecrets secrets={secrets} />}
      {theirs !== null && (
        <Alert color="orange" variant="outline" title="Somebody else has changed these settings meanwhile" role="alert">
          <Stack gap="xs" align="flex-start">
            <Text size="sm">Nothing was saved. Both of you have changed {theirs.fields.map((field) => said[field]).join(', ')}.</Text>
            <Group gap="xs">
              <Button size="xs" variant="default" onClick={() => begin(theirs.settings, draftOf(theirs.settings))}>
                Show theirs
              </Button>
              <Button size="xs" variant="default" onClick={() => begin(theirs.settings, rebased(draft, wanted, theirs.settings))}>
                Keep mine, to save over theirs
              </Button>
            </Group>
          </Stack>
        </Alert>
      )}
      {mayChange === false && (
        <Text size="sm">
          Changing them needs the permission <Code>workspace:admin</Code>, which your token does not have.
        </Text>
      )}
      <SettingsForm
        draft={draft}
        change={(part) => setDraft((before) => ({ ...before, ...part }))}
        refused={refused}
        isChanged={Object.keys(wanted).length > 0}
        isSaved={(destination) => isKept(settings, destination)}
        undo={() => begin(settings, draftOf(settings))}
        save={mayChange === true ? save : null}
      />
      {isSaved && (
        <Text size="sm" role="status">
          Saved. They hold from the next export on.
        </Text>
      )}
    </>
  );
}

const said: Readonly<Record<Field, string>> = {
  format: 'the format',
  datasets: 'the datasets',
  retentionDays: 'the days kept',
  destinations: 'the destinations',
};

function MadeSecrets({ secrets }: { readonly secrets: readonly Secret[] }) {
  return (
    <Alert color="orange" variant="outline" title="Signing secrets that were made: keep them now" role="alert">
      <Stack gap="xs">
        <Text size="sm">They are shown this once and never again. The receiver checks the webhook’s signature by its own.</Text>
        {secrets.map(({ name, secret }) => (
          <div key={name}>
            <Text size="sm">{name}</Text>
            <Code block>{secret}</Code>
          </div>
        ))}
      </Stack>
    </Alert>
  );
}
