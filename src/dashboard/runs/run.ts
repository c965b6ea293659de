// A run as its page reads it.
import type { RunPageQuery } from '../../client/gql/graphql.ts';

export type Run = NonNullable<RunPageQuery['dataRun']>;
