// What is shown follows what is committed: each event of the workspace has those queries asked again that it touches.
import { replaceEqualDeep } from '@tanstack/react-router';
import { createContext, useCallback, useContext, useEffect, useRef, useState } from 'react';
import {
  type AnyVariables,
  type CombinedError,
  type DocumentInput,
  type UseQueryExecute,
  type UseQueryResponse,
  useClient,
  useQuery,
} from 'urql';
import { workspaceDocument, workspaceEventsDocument } from '../client/documents.ts';
import type { EventFieldsFragment, WorkspaceEventsSubscription } from '../client/gql/graphql.ts';
import { codeOf, typed } from './api.ts';

export type SeenEvent = WorkspaceEventsSubscription['workspaceEvents'];
type Listener = (event: SeenEvent | null) => void;

export interface Feed {
  /** Told of each event; of null where events were lost to retention, and everything has to be read again. */
  readonly listen: (listener: Listener) => () => void;
  /** What ended the stream for good. */
  readonly error: CombinedError | null;
}

/** Between two readings of one and the same query: a run of many datasets makes many events. */
const pauseMs = 150;

export const FeedContext = createContext<Feed | null>(null);

/** Follows a workspace from a cursor. What is read after that cursor misses nothing. */
export function useFeed(slug: string, workspace: string, from: string): Feed {
  const client = useClient();
  const listeners = useRef(new Set<Listener>());
  const [error, setError] = useState<CombinedError | null>(null);
  const [start, setStart] = useState(from);
  useEffect(() => {
    const tell = (event: SeenEvent | null) => {
      for (const listener of listeners.current) listener(event);
    };
    const goOnFromNow = async () => {
      const { data } = await client.query(typed(workspaceDocument), { slug }, { requestPolicy: 'network-only' });
      if (data?.workspace) setStart(data.workspace.lastEventCursor);
      tell(null); // after the cursor was read, so that nothing falls between
    };
    const following = client
      .subscription(typed(workspaceEventsDocument), { workspace, after: start })
      .subscribe(({ data, error: failure }) => {
        if (failure !== undefined) {
          if (codeOf(failure) !== 'CURSOR_EXPIRED') return setError(failure);
          goOnFromNow().catch(setError);
          return;
        }
        if (data === undefined) return;
        tell(data.workspaceEvents);
      });
    return () => following.unsubscribe();
  }, [client, slug, workspace, start]);
  const listen = useCallback((listener: Listener) => {
    listeners.current.add(listener);
    return () => listeners.current.delete(listener);
  }, []);
  return { listen, error };
}

/**
 * As `useQuery`, and asked again whenever an event touches it: one question at a time, and one more for whatever happened meanwhile. What is
 * equal in the next answer is the same object as before, so that of two hundred lines only those are drawn again that say something else.
 */
export function useLive<Result, Variables extends AnyVariables>(
  query: DocumentInput<Result, Variables>,
  variables: Variables,
  touches: (event: EventFieldsFragment) => boolean,
): UseQueryResponse<Result, Variables> {
  const client = useClient();
  const feed = useContext(FeedContext);
  const response = useQuery<Result, Variables>({ query, variables, requestPolicy: 'network-only' } as Parameters<
    typeof useQuery<Result, Variables>
  >[0]); // its own type asks, by a condition on Variables, for what is given
  const now = useRef({ query, variables, touches, asking: false, again: false, gone: false });
  Object.assign(now.current, { query, variables, touches });
  useEffect(() => {
    const it = now.current;
    it.gone = false;
    const ask = async () => {
      it.again = true;
      if (it.asking) return;
      it.asking = true;
      while (it.again && !it.gone) {
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
        it.again = false;
        await client.query(it.query, it.variables, { requestPolicy: 'network-only' }).toPromise();
      }
      it.asking = false;
    };
    const leave = feed?.listen((event) => {
      if (event === null || it.touches(event)) ask().catch(reportError);
    });
    return () => {
      it.gone = true;
      leave?.();
    };
  }, [client, feed?.listen]);
  const shared = useRef<Result>(undefined);
  const [{ data, ...state }, execute] = response;
  if (data === undefined) return [state, execute];
  shared.current = replaceEqualDeep(shared.current, data);
  return [{ ...state, data: shared.current }, execute];
}

/** What can change without an event: a queue moves by what other workspaces do, and a grant ends with the time. */
export const unannouncedMs = 3_000;

/** Every so many milliseconds; null: what can change makes an event. */
export function useAskedAgain(everyMs: number | null, again: UseQueryExecute): void {
  useEffect(() => {
    if (everyMs === null) return;
    const timer = setInterval(() => again({ requestPolicy: 'network-only' }), everyMs);
    return () => clearInterval(timer);
  }, [everyMs, again]);
}

export function runOf(event: EventFieldsFragment): string | null {
  return event.__typename === 'DataRunEvent' ? event.dataRun.id : null;
}

export function exportOf(event: EventFieldsFragment): string | null {
  return event.__typename === 'ExportExecutionEvent' ? event.exportExecution.id : null;
}

interface Placed {
  readonly workspace: { readonly slug: string };
}

/** As if it were not there where its address names another workspace: that one’s events are followed, and it would stand still. */
export function placed<Found extends Placed>(found: Found | null | undefined, slug: string): Found | null | undefined {
  return found && found.workspace.slug !== slug ? null : found;
}
