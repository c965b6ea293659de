// Who makes a call, and in which request: what every operation that a person asks for is given.
import type { Cause } from '../events/log.ts';
import type { Viewer } from './viewer.ts';

export interface Caller {
  readonly viewer: Viewer;
  readonly requestId: string;
}

export function causeOf(caller: Caller, reason?: string | null): Cause {
  return { actor: caller.viewer.subject, reason: reason ?? null, requestId: caller.requestId };
}
