import { Button, Fieldset, Group, MultiSelect, Radio, Stack, Switch, Text, TextInput } from '@mantine/core';
import { type FormEvent, useEffect, useState } from 'react';
import { useClient } from 'urql';
import type { ExportFormat } from '../../client/gql/graphql.ts';
import { datasetsOf } from '../datasets/find-dataset.ts';
import { Wrong } from '../said.tsx';
import { useWorkspace } from '../workspaces/workspace-frame.tsx';
import { Destinations } from './settings-destinations.tsx';
import type { DestinationDraft, Draft } from './settings-draft.ts';

export interface Refused {
  readonly message: string;
  /** Of the input; null where it is about none of them. */
  readonly field: string | null;
}

interface SettingsFormProps extends Omit<PartProps, 'error'> {
  readonly refused: Refused | null;
  readonly isChanged: boolean;
  readonly isSaved: (destination: DestinationDraft) => boolean;
  readonly undo: () => void;
  /** Null: they may only be looked at. */
  readonly save: (() => Promise<void>) | null;
}

const formats: Readonly<Record<ExportFormat, string>> = {
  CSV: 'Comma-separated values, with a header.',
  NDJSON: 'One JSON object a line.',
  PARQUET: 'Apache Parquet. It cannot be loaded again.',
};

/** What has a place of its own to say what is wrong with it. */
const fields = new Set(['format', 'datasets', 'retentionDays', 'destinations']);

export function SettingsForm({ draft, change, refused, isChanged, isSaved, undo, save }: SettingsFormProps) {
  const [busy, setBusy] = useState(false);
  const errorOf = (field: string) => (refused?.field === field ? refused.message : undefined);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (save === null) return;
    setBusy(true);
    await save();
    setBusy(false);
  };
  return (
    <form onSubmit={submit} noValidate>
      {/* One disabled fieldset around all: nothing in it takes a key or a click. */}
      <Fieldset variant="unstyled" disabled={save === null}>
        <Stack gap="lg">
          <Radio.Group
            label="Format of the data files"
            value={draft.format}
            onChange={(format) => change({ format: format as ExportFormat })} // of the three below
            error={errorOf('format')}
          >
            <Stack gap={6} mt={4}>
              {Object.entries(formats).map(([format, meaning]) => (
                <Radio key={format} value={format} label={format} description={meaning} />
              ))}
            </Stack>
          </Radio.Group>
          <Datasets draft={draft} change={change} error={errorOf('datasets')} />
          <TextInput
            label="Days that a published package is kept"
            description="1 to 3,650. Then its archive is deleted."
            inputMode="numeric"
            maw={320}
            value={draft.retentionDays}
            onChange={(event) => change({ retentionDays: event.currentTarget.value })}
            error={errorOf('retentionDays')}
          />
          <Stack gap="sm">
            <div>
              <Text fw={600} size="sm">
                Destinations
              </Text>
              <Text size="xs" c="dimmed">
                Each is told of a published export by a signed webhook. Its host must stand in PACKHORSE_FETCH_HOSTS.
              </Text>
            </div>
            {errorOf('destinations') !== undefined && <Wrong>{errorOf('destinations')}</Wrong>}
            <Destinations
              destinations={draft.destinations}
              change={(destinations) => change({ destinations })}
              mayPing={(destination) => save !== null && isSaved(destination)}
            />
          </Stack>
          {refused !== null && !fields.has(refused.field ?? '') && <Wrong>{refused.message}</Wrong>}
          {save !== null && (
            <Group>
              <Button type="submit" loading={busy} disabled={!isChanged}>
                Save
              </Button>
              {isChanged && (
                <Button variant="default" onClick={undo}>
                  As they were
                </Button>
              )}
            </Group>
          )}
        </Stack>
      </Fieldset>
    </form>
  );
}

interface PartProps {
  readonly draft: Draft;
  readonly change: (part: Partial<Draft>) => void;
  readonly error: string | undefined;
}

function Datasets({ draft: { takesAll, datasets }, change, error }: PartProps) {
  const { slug } = useWorkspace();
  const client = useClient();
  const [known, setKnown] = useState<readonly string[]>([]);
  useEffect(() => {
    if (takesAll) return;
    let isGone = false;
    datasetsOf(client, slug).then(
      (found) => isGone || setKnown(found.map(({ name }) => name)),
      reportError, // those that are named can still be taken out
    );
    return () => {
      isGone = true;
    };
  }, [client, slug, takesAll]);
  return (
    <Stack gap="xs">
      <Switch
        label="All datasets"
        description="Those that come later, too."
        checked={takesAll}
        onChange={(event) => change({ takesAll: event.currentTarget.checked })}
      />
      {!takesAll && (
        <MultiSelect
          label="Only these datasets"
          placeholder="Type to find one"
          data={[...new Set([...datasets, ...known])]}
          value={[...datasets]}
          onChange={(next) => change({ datasets: next })}
          searchable
          hidePickedOptions
          limit={100}
          nothingFoundMessage="No dataset of that name"
          error={error}
        />
      )}
    </Stack>
  );
}
