// Clients of the campaign on events: each follows a workspace or a run, hangs up when it is told to, and comes again at a cursor that it had.
import { setTimeout as pause } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { dataRunEventsDocument } from '../../src/client/documents.ts';
import { type DataRunEventsSubscription, TypedDocumentString } from '../../src/client/gql/graphql.ts';
import { subscribe } from '../../src/client/resume.ts';
import { decodeCursor, encodeCursor } from '../../src/events/cursor.ts';
import type { LogScope } from '../../src/events/log.ts';
import { globalId } from '../../src/graphql/builder.ts';
import { events as openEvents } from '../server/raw.ts';

/** From where it chose to begin, through whatever ended its connections, until it hung up. */
export interface Voyage {
  /** A position of the workspace's log; null: it began "now". */
  readonly after: bigint | null;
  /** Each event as `told` writes it. */
  readonly received: string[];
}

export interface Client {
  readonly name: string;
  readonly scope: LogScope;
  readonly voyages: readonly Voyage[];
  /** The position of what it received last. */
  readonly reached: () => bigint | undefined;
  /** The greatest that it ever received. */
  readonly furthest: () => bigint;
  /** How often a server took a connection of its, and how many events came that it had already. */
  readonly counts: () => { readonly connections: number; readonly repeats: number };
  hangUp(): void;
  /** Rejects with what a client cannot mend. */
  stop(): Promise<void>;
  readonly failed: Promise<never>;
}

export interface Way {
  readonly name: string;
  readonly by: 'socket' | 'sse';
  /** Asked each time it connects. */
  readonly url: () => string;
  readonly token: string;
  readonly random: () => number;
  readonly beginsNow: boolean;
}

interface ToldEvent {
  readonly cursor: string;
  readonly sequence: number;
  readonly action: string;
  readonly from: string | null;
  readonly to: string;
  readonly dataset: string | null;
  readonly reason: string | null;
  readonly dataRun?: { readonly id: string };
}

/** All of an event that its subscribers are to see alike, in one line. */
export function told(event: Omit<ToldEvent, 'cursor' | 'dataRun'>, position: bigint): string {
  const { sequence, action, from, to, dataset, reason } = event;
  return [position, sequence, action, from, to, dataset, reason].join(' ');
}

/** So that the same line is held once, however many clients have it. */
const lines = new Map<string, string>();
const held = (line: string): string => {
  const known = lines.get(line);
  if (known === undefined) lines.set(line, line);
  return known ?? line;
};

export function followAs(scope: LogScope, way: Way): Client {
  const voyages: Voyage[] = [];
  const had: bigint[] = [];
  const counted = { connections: 0, arrived: 0, received: 0 };
  const whose = scope.dataRunId === undefined ? undefined : globalId('DataRun', scope.dataRunId);
  let furthest = 0n;
  let stopped = false;
  let leaving = new AbortController();

  /** The newest, or one that it had before: mostly a near one, now and then any. */
  const somewhere = (): bigint | null => {
    if (had.length === 0) return way.beginsNow && voyages.length === 0 ? null : 0n;
    const back = way.random() < 0.4 ? 0 : Math.floor(way.random() ** 6 * had.length);
    return had[had.length - 1 - back] ?? 0n;
  };
  const follow = async () => {
    while (!stopped) {
      const voyage: Voyage = { after: somewhere(), received: [] };
      voyages.push(voyage);
      leaving = new AbortController();
      const after = voyage.after === null ? null : encodeCursor(scope.workspaceId, voyage.after);
      const stream = (way.by === 'socket' ? bySocket : bySse)(scope, way, after, leaving.signal, counted);
      for await (const event of stream) {
        const { cursor, dataRun } = event;
        if (dataRun !== undefined && dataRun.id !== whose) throw new Error(`${way.name} was told of ${dataRun.id}`);
        const position = decodeCursor(scope.workspaceId, cursor); // throws for what is not exactly such a cursor
        had.push(position);
        if (position > furthest) furthest = position;
        counted.received++;
        voyage.received.push(held(told(event, position)));
      }
    }
  };
  const done = follow();
  const failed = new Promise<never>((_, reject) => void done.catch(reject));
  failed.catch(() => {}); // the campaign learns of it
  return {
    name: way.name,
    scope,
    voyages,
    reached: () => had.at(-1),
    furthest: () => furthest,
    counts: () => ({ connections: counted.connections, repeats: counted.arrived - counted.received }),
    hangUp: () => leaving.abort(),
    async stop() {
      stopped = true;
      leaving.abort();
      await done;
    },
    failed,
  };
}

interface Counted {
  connections: number;
  arrived: number;
}

type Arrived = { readonly workspaceEvents: ToldEvent } | DataRunEventsSubscription;

function eventIn(result: Arrived): ToldEvent {
  if ('workspaceEvents' in result) return result.workspaceEvents;
  const event = result.dataRunEvents;
  if (event.__typename !== 'DataRunEvent') throw new Error(`a run's follower was told of an export`);
  return event;
}

/** Without the run of each event, which is a query each: followers of a workspace are many. Its writers say in the reason whose it is. */
const wholeDocument = new TypedDocumentString<{ workspaceEvents: ToldEvent }, { workspace: string; after: string | null }>(`
  subscription ($workspace: ID!, $after: String) {
    workspaceEvents(workspace: $workspace, after: $after) {
      cursor sequence action from to reason
      ... on DataRunEvent { dataset }
    }
  }
`);

const ofWorkspace = ({ workspaceId }: LogScope, after: string | null) => ({ workspace: globalId('Workspace', workspaceId), after });
const ofRun = (dataRunId: string, after: string | null) => ({ id: globalId('DataRun', dataRunId), after });

/** The project's own client, which goes on by itself. It drops what comes twice: what came is counted before. */
async function* bySocket(scope: LogScope, way: Way, after: string | null, signal: AbortSignal, counted: Counted) {
  const connection = {
    get url() {
      return way.url();
    },
    token: way.token,
    webSocket: WebSocket,
  };
  const cursorOf = (result: Arrived) => {
    counted.arrived++;
    return eventIn(result).cursor;
  };
  const onConnect = () => {
    counted.connections++;
  };
  const options = { cursorOf, signal, onConnect, firstWaitMs: 50, longestWaitMs: 400 };
  const stream: AsyncGenerator<Arrived> =
    scope.dataRunId === undefined
      ? subscribe(connection, wholeDocument, ofWorkspace(scope, after), options)
      : subscribe(connection, dataRunEventsDocument, ofRun(scope.dataRunId, after), options);
  for await (const result of stream) yield eventIn(result);
}

/** As a browser's EventSource does: the same again, with the last id. It drops nothing. */
async function* bySse(scope: LogScope, way: Way, after: string | null, signal: AbortSignal, counted: Counted) {
  const query = (scope.dataRunId === undefined ? wholeDocument : dataRunEventsDocument).toString();
  const variables = scope.dataRunId === undefined ? ofWorkspace(scope, after) : ofRun(scope.dataRunId, after);
  let lastId: string | undefined;
  while (!signal.aborted) {
    const headers: Record<string, string> = lastId === undefined ? {} : { 'last-event-id': lastId };
    const stream = await openEvents(way.url(), way.token, query, variables, headers).catch(() => null); // nobody listens there
    if (stream === null) {
      await pause(50 + way.random() * 350);
      continue;
    }
    counted.connections++;
    signal.addEventListener('abort', stream.close, { once: true });
    if (signal.aborted) stream.close();
    for (let payload = await stream.next(); payload !== null; payload = await stream.next()) {
      if (payload.errors !== undefined) throw new Error(`${way.name}: ${JSON.stringify(payload.errors)}`);
      counted.arrived++;
      lastId = stream.lastId();
      const event = eventIn(payload.data);
      if (event.cursor !== lastId) throw new Error(`${way.name} was given ${event.cursor} under the id ${lastId}`);
      yield event;
    }
    signal.removeEventListener('abort', stream.close);
    stream.close();
  }
}
