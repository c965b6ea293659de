// A dataset as its page reads it.
import type { DatasetPageQuery } from '../../client/gql/graphql.ts';

export type Dataset = Extract<DatasetPageQuery['node'], { __typename: 'Dataset' }>;
