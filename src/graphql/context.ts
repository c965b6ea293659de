// What every resolver gets: who asks, and the operations' surroundings. Made once a request, or once an operation on a socket.
import { GraphQLError } from 'graphql';
import type { Caller } from '../auth/caller.ts';
import type { Viewer } from '../auth/viewer.ts';
import type { Db } from '../db.ts';
import type { AccessWatch } from '../events/access.ts';
import type { FanOut } from '../events/fan-out.ts';
import type { StreamEnds, StreamPlace } from '../events/follow.ts';
import type { Bell } from '../events/listen.ts';
import type { Exports } from '../exports/operations.ts';
import type { Packages } from '../packages/operations.ts';
import type { Runs } from '../runs/operations.ts';

export interface App {
  readonly db: Db;
  readonly bell: Bell;
  readonly fan: FanOut;
  readonly access: AccessWatch;
  /** How many results of subscriptions were sent to sockets. */
  readonly delivered: () => number;
  readonly runs: Runs;
  readonly packages: Packages;
  readonly exports: Exports;
  /** The JWKS that job targets check our calls with. */
  readonly callKeys: object;
}

export interface Context extends App {
  /** null: no token was sent. Only introspection is answered then. */
  readonly viewer: Viewer | null;
  readonly requestId: string;
  /** What ends a stream of a workspace that this operation opens, or a plan. Asked for by these alone: a request's signal costs something to make. */
  readonly ends: (workspaceId: string) => StreamEnds;
  /** Given by who carries a stream of events on to others. */
  readonly place?: StreamPlace;
}

export function unauthenticated(message = 'A valid access token is needed: Authorization: Bearer <token>.'): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'UNAUTHENTICATED' } });
}

/** The viewer of a field that only signed-in callers reach. */
export function viewerOf(context: Context): Viewer {
  if (context.viewer === null) throw unauthenticated();
  return context.viewer;
}

export function callerOf(context: Context): Caller {
  return { viewer: viewerOf(context), requestId: context.requestId };
}
