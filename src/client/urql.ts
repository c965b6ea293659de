// Subscriptions of an urql client: for its `subscriptionExchange`, on top of resume.ts.
import { type Operation, type SubscriptionForwarder, stringifyDocument } from '@urql/core';
import { ClientError, type Connection } from './request.ts';
import { type SubscribeOptions, subscribe } from './resume.ts';

/**
 * Of all the subscriptions of a page together. `live`: connected for the first time. `reconnecting`: at least one has lost its connection, or
 * could not make it. `resumed`: all are connected again, and have missed nothing that has a cursor. `idle`: there is none.
 */
export type ConnectionState = 'idle' | 'live' | 'reconnecting' | 'resumed';

export interface ForwardOptions extends Pick<SubscribeOptions<unknown>, 'firstWaitMs' | 'longestWaitMs'> {
  /** As in `subscribe`; of whatever subscription arrived. */
  readonly cursorOf?: (data: Record<string, unknown>, operation: Operation) => string | null;
  /** Told of each change. `reason`: one sentence on the disconnect. */
  readonly onState?: (state: ConnectionState, reason?: string) => void;
}

/**
 * What `forwardSubscription` of urql's `subscriptionExchange` takes. A refusal ends the subscription with an error, whose
 * `graphQLErrors[0].extensions.code` says which; everything else is tried again. The stream ends with urql's teardown. Where the server
 * completes it, as it does progress, urql gives the last result once more, with `hasNext: false`.
 */
export function forwardSubscriptions(connection: Connection, options: ForwardOptions = {}): SubscriptionForwarder {
  const { cursorOf, onState = () => {}, ...waits } = options;
  const track = stateOfAll(onState);
  return (_, operation) => ({
    subscribe(sink) {
      const stop = new AbortController();
      const tracked = track();
      const follow = async () => {
        // Of data urql says no more than that they are an object.
        const results = subscribe<Record<string, unknown>, Record<string, unknown>>(
          connection,
          stringifyDocument(operation.query),
          operation.variables ?? {},
          {
            ...waits,
            ...(cursorOf === undefined ? {} : { cursorOf: (data) => cursorOf(data, operation) }),
            signal: stop.signal,
            onConnect: () => tracked.now('connected'),
            onDisconnect: (reason) => tracked.now('lost', reason),
          },
        );
        for await (const data of results) sink.next({ data });
      };
      const ended = (tell: () => void) => {
        tracked.end();
        if (!stop.signal.aborted) tell();
      };
      follow().then(
        () => ended(() => sink.complete()),
        (error: unknown) =>
          ended(() => {
            if (!(error instanceof ClientError)) return sink.error(error);
            // A result, and the last: after sink.error urql leaves the stream open, and what may not be the last it gives again when it is.
            sink.next({ errors: [{ message: error.message, extensions: { code: error.code } }], hasNext: false });
            sink.complete();
          }),
      );
      return { unsubscribe: () => stop.abort() };
    },
  });
}

type One = 'connecting' | 'connected' | 'lost';

/** The state of many subscriptions as one: each is tracked from its beginning to its end. */
function stateOfAll(onState: (state: ConnectionState, reason?: string) => void) {
  const all = new Map<object, One>();
  let told: ConnectionState = 'idle';
  const tell = (reason?: string) => {
    const state = stateOf(new Set(all.values()), told);
    if (state === told) return;
    told = state;
    onState(state, reason);
  };
  return () => {
    const key = {};
    all.set(key, 'connecting');
    return {
      now(one: One, reason?: string) {
        all.set(key, one);
        tell(reason);
      },
      end() {
        all.delete(key);
        tell();
      },
    };
  };
}

function stateOf(all: ReadonlySet<One>, told: ConnectionState): ConnectionState {
  if (all.size === 0) return 'idle';
  if (all.has('lost')) return 'reconnecting';
  if (!all.has('connected')) return told;
  return told === 'idle' ? 'live' : told === 'reconnecting' ? 'resumed' : told;
}
