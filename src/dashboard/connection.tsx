// Whether what is shown is what is: the state of all subscriptions of the page together.
import { Badge, Tooltip } from '@mantine/core';
import { createContext, useContext } from 'react';
import type { ConnectionState } from '../client/urql.ts';

export interface ConnectionSeen {
  readonly state: ConnectionState;
  /** Of the disconnect. */
  readonly reason: string | null;
}

export const ConnectionContext = createContext<ConnectionSeen>({ state: 'idle', reason: null });

const said: Readonly<Record<ConnectionState, readonly [tone: string, meaning: string]>> = {
  idle: ['idle', 'Nothing is followed on this page: it was read once.'],
  live: ['good', 'Every change is shown as it is committed.'],
  reconnecting: ['warn', 'The connection is lost. What is shown may be old; it goes on by itself.'],
  resumed: ['good', 'The connection was lost and is back. Nothing was missed.'],
};

export function ConnectionBadge() {
  const { state, reason } = useContext(ConnectionContext);
  const [tone, meaning] = said[state];
  return (
    <Tooltip label={reason === null || state !== 'reconnecting' ? meaning : `${meaning} (${reason})`} multiline maw={320} withArrow>
      <Badge
        variant="default"
        tt="none"
        size="lg"
        miw="max-content"
        role="status"
        tabIndex={0}
        aria-label={`Connection: ${state}. ${meaning}`}
        data-connection={state}
        leftSection={<span className="dot" data-tone={tone} />}
      >
        {state}
      </Badge>
    </Tooltip>
  );
}
