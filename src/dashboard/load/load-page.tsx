// A package dropped or chosen: brought to the server, judged there, and registered as a run.
import { Alert, Button, FileButton, Group, Stack, Table, Text, Title } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type DragEvent, useEffect, useRef, useState } from 'react';
import { useClient } from 'urql';
import { Bar } from '../progress.tsx';
import { Wide } from '../wide.tsx';
import { useWorkspace } from '../workspaces/workspace-frame.tsx';
import { bring, LoadRefused } from './upload.ts';

interface Sending {
  readonly file: File;
  readonly sent: number;
}

export default function LoadPage() {
  const { id, slug } = useWorkspace();
  const client = useClient();
  const navigate = useNavigate();
  const [sending, setSending] = useState<Sending | null>(null);
  const [refusal, setRefusal] = useState<LoadRefused | null>(null);
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), []);
  const load = async (file: File | null | undefined) => {
    if (!file) return;
    const stopping = new AbortController();
    stop.current = stopping;
    setRefusal(null);
    setSending({ file, sent: 0 });
    try {
      const runId = await bring(client, id, file, (sent) => setSending({ file, sent }), stopping.signal);
      await navigate({ to: '/workspaces/$slug/runs/$runId', params: { slug, runId } });
    } catch (error) {
      if (!(error instanceof LoadRefused)) throw error;
      setRefusal(error);
    } finally {
      setSending(null);
    }
  };
  return (
    <Stack>
      <title>{`Load into ${slug} · Packhorse`}</title>
      <Title order={1} size="h2">
        Load a package into {slug}
      </Title>
      {sending === null ? <Choose load={load} /> : <Sent sending={sending} stop={() => stop.current?.abort()} />}
      {refusal !== null && <Refused refusal={refusal} />}
    </Stack>
  );
}

function Choose({ load }: { readonly load: (file: File | null | undefined) => Promise<void> }) {
  const [isOver, setIsOver] = useState(false);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setIsOver(false);
    return load(event.dataTransfer.files[0]);
  };
  return (
    <section
      aria-label="Drop a package here"
      className="drop"
      data-over={isOver}
      onDragOver={(event) => {
        event.preventDefault(); // or the browser opens the file
        setIsOver(true);
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={drop}
    >
      <Text>Drop the zip of a data package here, or</Text>
      <FileButton accept=".zip,.json" onChange={load} inputProps={{ 'aria-label': 'The package' }}>
        {(props) => <Button {...props}>Choose a file</Button>}
      </FileButton>
      <Text size="sm" c="dimmed">
        It is judged before anything is registered, and registered before anything is written: the next page says what it would do, and has
        the button that starts it.
      </Text>
    </section>
  );
}

function Sent({ sending: { file, sent }, stop }: { readonly sending: Sending; readonly stop: () => void }) {
  const isSent = sent >= file.size;
  const progress = { done: String(Math.min(sent, file.size)), total: String(file.size), totalIsExact: true, unit: 'bytes' };
  return (
    <Stack gap="xs" role="status">
      <Text>{isSent ? `${file.name} has arrived, and is judged…` : `${file.name} is sent…`}</Text>
      <Bar progress={progress} state="RUNNING" label={`${file.name} sent`} />
      {!isSent && (
        <Group>
          <Button variant="default" onClick={stop}>
            Stop
          </Button>
        </Group>
      )}
    </Stack>
  );
}

function Refused({ refusal: { message, problems } }: { readonly refusal: LoadRefused }) {
  return (
    <>
      <Alert color="red" variant="outline" title={message} role="alert">
        Nothing was registered. Mend the package and load it again.
      </Alert>
      {problems.length > 0 && (
        <Wide label="Problems of the package" head={['Dataset', 'Where', 'What is wrong', 'Code']}>
          {problems.map(({ code, pointer, resource, message: what }) => (
            <Table.Tr key={`${code} ${pointer} ${resource} ${what}`}>
              <Table.Td>{resource}</Table.Td>
              <Table.Td>{pointer}</Table.Td>
              <Table.Td className="text">{what}</Table.Td>
              <Table.Td>{code}</Table.Td>
            </Table.Tr>
          ))}
        </Wide>
      )}
    </>
  );
}
