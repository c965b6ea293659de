// `packhorse watch ID` and `watch --workspace W`: events as they come, through any disconnect, none missing and none twice.
import type { Command } from '@commander-js/extra-typings';
import { dataRunEventsDocument, pastEventsDocument, workspaceDocument, workspaceEventsDocument } from '../client/documents.ts';
import { exportExecutionEventsDocument, pastExportEventsDocument, runOrExportDocument } from '../client/export-documents.ts';
import type { EventFieldsFragment } from '../client/gql/graphql.ts';
import { type Connection, execute } from '../client/request.ts';
import { subscribe } from '../client/resume.ts';
import { clientCommand, connect } from './connection.ts';
import { isEndOfExport, isOver, readExport } from './follow-export.ts';
import { readRun } from './load.ts';
import { exitCode, hasEnded, notFound, outcomeOf, outcomeOfExport, Refusal } from './outcome.ts';
import { eventLine } from './print.ts';
import type { Surroundings } from './surroundings.ts';

const pageSize = 100;

export function addWatch(program: Command, surroundings: Surroundings): void {
  clientCommand(program, 'watch', 'show the events of a run or an export from its first until it has ended, or a workspace’s from now on')
    .argument('[id]', 'the run’s or the export’s id')
    .option('--workspace <slug>', 'everything in this workspace')
    .action(async (id, options) => {
      if ((id === undefined) === (options.workspace === undefined)) {
        throw new Refusal('USAGE', 'Name a run, an export or a workspace: watch ID, or watch --workspace SLUG.');
      }
      const connection = connect(options, surroundings);
      const show = (event: EventFieldsFragment) => surroundings.out(options.json ? JSON.stringify(event) : eventLine(event));
      const onDisconnect = (reason: string, waitMs: number) =>
        surroundings.note(`disconnected (${reason}); trying again in ${(waitMs / 1_000).toFixed(1)} s`);
      if (id !== undefined) surroundings.finish(await watchOne(await find(connection, id, onDisconnect), show));
      else if (options.workspace !== undefined) {
        await watchWorkspace(connection, options.workspace, { show, onDisconnect });
        surroundings.finish(exitCode.succeeded);
      }
    });
}

type Show = (event: EventFieldsFragment) => void;
type OnDisconnect = (reason: string, waitMs: number) => void;

interface Page {
  readonly edges: readonly { readonly node: EventFieldsFragment }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

/** What has an id, events, and an end. */
interface Watched {
  past(after: string | null): Promise<Page>;
  live(after: string | null): AsyncGenerator<EventFieldsFragment>;
  isEnd(event: EventFieldsFragment): boolean;
  /** As it is now: the exit code, and whether there is anything to wait for. */
  read(): Promise<{ over: boolean; code: number }>;
}

async function find(connection: Connection, id: string, onDisconnect: OnDisconnect): Promise<Watched> {
  const { dataRun, exportExecution } = await execute(connection, runOrExportDocument, { id });
  if (dataRun !== null) return watchedRun(connection, id, onDisconnect);
  if (exportExecution !== null) return watchedExport(connection, id, onDisconnect);
  throw notFound('run or export');
}

function watchedRun(connection: Connection, id: string, onDisconnect: OnDisconnect): Watched {
  return {
    async past(after) {
      const { dataRun } = await execute(connection, pastEventsDocument, { id, first: pageSize, after });
      if (dataRun === null) throw notFound('data run');
      return dataRun.events;
    },
    async *live(after) {
      for await (const result of subscribe(connection, dataRunEventsDocument, { id, after }, { onDisconnect })) yield result.dataRunEvents;
    },
    isEnd: (event) => event.__typename === 'DataRunEvent' && event.dataset === null && hasEnded(event.to),
    async read() {
      const run = await readRun(connection, id);
      return { over: hasEnded(run.state), code: outcomeOf(run) };
    },
  };
}

function watchedExport(connection: Connection, id: string, onDisconnect: OnDisconnect): Watched {
  return {
    async past(after) {
      const { exportExecution } = await execute(connection, pastExportEventsDocument, { id, first: pageSize, after });
      if (exportExecution === null) throw notFound('export');
      return exportExecution.events;
    },
    async *live(after) {
      for await (const result of subscribe(connection, exportExecutionEventsDocument, { id, after }, { onDisconnect }))
        yield result.exportExecutionEvents;
    },
    isEnd: isEndOfExport,
    async read() {
      const execution = await readExport(connection, id);
      return { over: isOver(execution), code: outcomeOfExport(execution) };
    },
  };
}

/** The state is read after the past: where it is not the end, the event that ends it is still to come, and where it is, at most a page is. */
async function watchOne(watched: Watched, show: Show): Promise<number> {
  const after = await showPast(watched, null, show);
  const { over, code } = await watched.read();
  if (over) {
    await showPast(watched, after, show);
    return code;
  }
  for await (const event of watched.live(after)) {
    show(event);
    if (watched.isEnd(event)) break;
  }
  return (await watched.read()).code;
}

async function showPast(watched: Watched, from: string | null, show: Show): Promise<string | null> {
  let after = from;
  for (;;) {
    const { edges, pageInfo } = await watched.past(after);
    for (const { node } of edges) show(node);
    after = pageInfo.endCursor ?? after;
    if (!pageInfo.hasNextPage) return after;
  }
}

async function watchWorkspace(
  connection: Connection,
  slug: string,
  { show, onDisconnect }: { readonly show: Show; readonly onDisconnect: OnDisconnect },
): Promise<void> {
  const { workspace } = await execute(connection, workspaceDocument, { slug });
  if (workspace === null) throw notFound('workspace');
  // From a cursor, so that what happens before the first connection and between two is not missed.
  const variables = { workspace: workspace.id, after: workspace.lastEventCursor };
  for await (const { workspaceEvents } of subscribe(connection, workspaceEventsDocument, variables, { onDisconnect })) {
    show(workspaceEvents);
  }
}
