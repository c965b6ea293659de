// A lifecycle as its pages read it.
import type { LifecyclesQuery } from '../../client/gql/graphql.ts';

export type Lifecycle = LifecyclesQuery['lifecycles'][number];
