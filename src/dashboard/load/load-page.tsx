// A package dropped or chosen, as a folder or as a file: brought to the server, judged there, and registered as a run.
import { Alert, Button, FileButton, Group, Stack, Table, Text, Title } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { type DragEvent, useEffect, useRef, useState } from 'react';
import { useClient } from 'urql';
import type { Policies } from '../policies.ts';
import { Bar } from '../progress.tsx';
import { Wide } from '../wide.tsx';
import { useWorkspace } from '../workspaces/workspace-frame.tsx';
import { ChoosePolicies } from './choose-policies.tsx';
import { chosenFolder, droppedPackage, type Folder } from './folder.ts';
import { bring, LoadRefused } from './upload.ts';

interface Work {
  readonly name: string;
  readonly doing: 'packed' | 'sent';
  readonly done: number;
  /** Null: nobody knows yet. */
  readonly total: number | null;
}

type Load = (choose: () => File | Folder | null) => Promise<void>;

export default function LoadPage() {
  const { id, slug } = useWorkspace();
  const client = useClient();
  const navigate = useNavigate();
  const [work, setWork] = useState<Work | null>(null);
  const [policies, setPolicies] = useState<Policies>({});
  const [refusal, setRefusal] = useState<LoadRefused | null>(null);
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), []);
  const load: Load = async (choose) => {
    const stopping = new AbortController();
    stop.current = stopping;
    setRefusal(null);
    try {
      const chosen = choose();
      if (chosen === null) return;
      const file = chosen instanceof File ? chosen : await packed(chosen, setWork, stopping.signal);
      const tell = (sent: number) => setWork({ name: file.name, doing: 'sent', done: sent, total: file.size });
      tell(0);
      const runId = await bring(client, { workspaceId: id, ...policies }, file, tell, stopping.signal);
      await navigate({ to: '/workspaces/$slug/runs/$runId', params: { slug, runId } });
    } catch (error) {
      if (!(error instanceof LoadRefused)) throw error;
      setRefusal(error);
    } finally {
      setWork(null);
    }
  };
  return (
    <Stack>
      <title>{`Load into ${slug} · Packhorse`}</title>
      <Title order={1} size="h2">
        Load a package into {slug}
      </Title>
      {work === null && <ChoosePolicies chosen={policies} choose={setPolicies} />}
      {work === null ? <Choose load={load} /> : <Working work={work} stop={() => stop.current?.abort()} />}
      {refusal !== null && <Refused refusal={refusal} />}
    </Stack>
  );
}

async function packed(folder: Folder, tell: (work: Work) => void, signal: AbortSignal): Promise<File> {
  const { name } = folder;
  tell({ name, doing: 'packed', done: 0, total: null });
  const { pack } = await import('./pack.ts').catch(() => {
    throw new LoadRefused('What packs a folder could not be fetched from the server. Load this page again.');
  });
  return pack(folder, (done, total) => tell({ name, doing: 'packed', done, total }), signal);
}

function Choose({ load }: { readonly load: Load }) {
  const [isOver, setIsOver] = useState(false);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setIsOver(false);
    return load(() => droppedPackage(event.dataTransfer));
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
      <Text>Drop a data package here, its folder or a zip of it, or</Text>
      <Group justify="center">
        <FileButton
          multiple
          onChange={(files) => load(() => chosenFolder(files))}
          inputProps={{ webkitdirectory: '', 'aria-label': 'The folder' }}
        >
          {(props) => <Button {...props}>Choose a folder</Button>}
        </FileButton>
        <FileButton accept=".zip,.json" onChange={(file) => load(() => file)} inputProps={{ 'aria-label': 'The package' }}>
          {(props) => <Button {...props}>Choose a file</Button>}
        </FileButton>
      </Group>
      <Text size="sm" c="dimmed">
        Of a folder, only datapackage.json and the files it names are sent. The package is judged before anything is registered, and
        registered before anything is written: the next page says what it would do, and has the button that starts it.
      </Text>
    </section>
  );
}

function Working({ work: { name, doing, done, total }, stop }: { readonly work: Work; readonly stop: () => void }) {
  const isSent = doing === 'sent' && done >= (total ?? 0);
  const progress = {
    done: String(total === null ? done : Math.min(done, total)), // of what is sent, the headers are counted too
    total: total === null ? null : String(total),
    totalIsExact: true,
    unit: 'bytes',
  };
  return (
    <Stack gap="xs" role="status">
      <Text>{isSent ? `${name} has arrived, and is judged…` : `${name} is ${doing}…`}</Text>
      <Bar progress={progress} state="RUNNING" label={`${name} ${doing}`} />
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
