// A run as its page reads it.
import type { RunPageQuery } from '../../client/gql/graphql.ts';

export type Run = NonNullable<RunPageQuery['dataRun']>;

/** States of a step whose child may be working. */
export const atWork: ReadonlySet<string> = new Set(['SUBMITTING', 'ACTIVE', 'CANCELLING']);
