// `packhorse watch ID` and `watch --workspace W`: events as they come, through any disconnect, none missing and none twice.
import type { Command } from '@commander-js/extra-typings';
import { dataRunEventsDocument, pastEventsDocument, workspaceDocument, workspaceEventsDocument } from '../client/documents.ts';
import type { EventFieldsFragment, PastEventsQuery } from '../client/gql/graphql.ts';
import { type Connection, execute } from '../client/request.ts';
import { subscribe } from '../client/resume.ts';
import { clientCommand, connect } from './connection.ts';
import { readRun } from './load.ts';
import { exitCode, hasEnded, notFound, outcomeOf, Refusal } from './outcome.ts';
import { eventLine } from './print.ts';
import type { Surroundings } from './surroundings.ts';

const pageSize = 100;

export function addWatch(program: Command, surroundings: Surroundings): void {
  clientCommand(program, 'watch', 'show the events of a run from its first until it has ended, or those of a workspace from now on')
    .argument('[id]', 'the run’s id')
    .option('--workspace <slug>', 'everything in this workspace')
    .action(async (id, options) => {
      if ((id === undefined) === (options.workspace === undefined)) {
        throw new Refusal('USAGE', 'Name a run or a workspace: watch ID, or watch --workspace SLUG.');
      }
      const connection = connect(options, surroundings);
      const show = (event: EventFieldsFragment) => surroundings.out(options.json ? JSON.stringify(event) : eventLine(event));
      const onDisconnect = (reason: string, waitMs: number) =>
        surroundings.note(`disconnected (${reason}); trying again in ${(waitMs / 1_000).toFixed(1)} s`);
      if (id !== undefined) surroundings.finish(await watchRun(connection, id, { show, onDisconnect }));
      else if (options.workspace !== undefined) {
        await watchWorkspace(connection, options.workspace, { show, onDisconnect });
        surroundings.finish(exitCode.succeeded);
      }
    });
}

interface Watching {
  readonly show: (event: EventFieldsFragment) => void;
  readonly onDisconnect: (reason: string, waitMs: number) => void;
}

async function watchRun(connection: Connection, id: string, { show, onDisconnect }: Watching): Promise<number> {
  const { after, ended } = await showPast(connection, id, show);
  if (!ended) {
    const cursorOf = ({ dataRunEvents }: { dataRunEvents: EventFieldsFragment }) => dataRunEvents.cursor;
    for await (const { dataRunEvents: event } of subscribe(connection, dataRunEventsDocument, { id, after }, { cursorOf, onDisconnect })) {
      show(event);
      if (isEnd(event)) break;
    }
  }
  return outcomeOf(await readRun(connection, id));
}

function isEnd({ dataset, to }: EventFieldsFragment): boolean {
  return dataset === null && hasEnded(to);
}

async function showPast(connection: Connection, id: string, show: Watching['show']): Promise<{ after: string | null; ended: boolean }> {
  let after: string | null = null;
  let ended = false;
  for (;;) {
    const page: PastEventsQuery = await execute(connection, pastEventsDocument, { id, first: pageSize, after });
    if (page.dataRun === null) throw notFound('data run');
    const { edges, pageInfo } = page.dataRun.events;
    for (const { node } of edges) show(node);
    after = pageInfo.endCursor ?? after;
    // The state is read before the events: the end may show in either alone, and late results may follow it.
    ended ||= hasEnded(page.dataRun.state) || edges.some(({ node }) => isEnd(node));
    if (!pageInfo.hasNextPage) return { after, ended };
  }
}

async function watchWorkspace(connection: Connection, slug: string, { show, onDisconnect }: Watching): Promise<void> {
  const { workspace } = await execute(connection, workspaceDocument, { slug });
  if (workspace === null) throw notFound('workspace');
  const cursorOf = ({ workspaceEvents }: { workspaceEvents: EventFieldsFragment }) => workspaceEvents.cursor;
  // From a cursor, so that what happens before the first connection and between two is not missed.
  const variables = { workspace: workspace.id, after: workspace.lastEventCursor };
  for await (const { workspaceEvents } of subscribe(connection, workspaceEventsDocument, variables, { cursorOf, onDisconnect })) {
    show(workspaceEvents);
  }
}
