// One page of a list, by the cursors of its ends. Where one is stands in the address.
import { Button, Group } from '@mantine/core';

export interface Place {
  readonly after?: string;
  readonly before?: string;
}

/** Whatever else stands in an address is left out. */
export function placeIn({ after, before }: Record<string, unknown>): Place {
  return { ...(typeof after === 'string' ? { after } : {}), ...(typeof before === 'string' ? { before } : {}) };
}

export function pageOf({ after, before }: Place, pageLength = 20): { first?: number; after?: string; last?: number; before?: string } {
  if (before !== undefined) return { last: pageLength, before };
  return { first: pageLength, ...(after === undefined ? {} : { after }) };
}

interface PagingProps {
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly startCursor: string | null;
    readonly endCursor: string | null;
  };
  readonly go: (place: Place) => void;
}

/** Nothing where all of the list is shown. */
export function Paging({ pageInfo: { hasNextPage, hasPreviousPage, startCursor, endCursor }, go }: PagingProps) {
  if (!hasNextPage && !hasPreviousPage) return null;
  return (
    <Group justify="center" p="sm" component="nav" aria-label="Pages">
      <Button variant="default" disabled={!hasPreviousPage} onClick={() => go({})}>
        First
      </Button>
      <Button
        variant="default"
        disabled={!hasPreviousPage || startCursor === null}
        onClick={() => startCursor && go({ before: startCursor })}
      >
        Previous
      </Button>
      <Button variant="default" disabled={!hasNextPage || endCursor === null} onClick={() => endCursor && go({ after: endCursor })}>
        Next
      </Button>
    </Group>
  );
}
