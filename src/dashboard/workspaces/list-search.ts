// What an address says of a workspace's lists: which, what it is filtered by, and where in it one is.
import { type Place, placeIn } from '../paging.tsx';

export const tabs = ['runs', 'exports', 'datasets', 'events'] as const;

export interface ListSearch extends Place {
  readonly tab?: (typeof tabs)[number];
  readonly states?: readonly string[];
  readonly package?: string;
}

/** Whatever else stands in an address is left out. */
export function parseListSearch({ tab, states, package: name, ...place }: Record<string, unknown>): ListSearch {
  const known = tabs.find((one) => one === tab);
  const list = Array.isArray(states) ? states.filter((state): state is string => typeof state === 'string') : [];
  return {
    ...(known === undefined || known === 'runs' ? {} : { tab: known }),
    ...(list.length === 0 ? {} : { states: list }),
    ...(typeof name === 'string' && name !== '' ? { package: name } : {}),
    ...placeIn(place),
  };
}
