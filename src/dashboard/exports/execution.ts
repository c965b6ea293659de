// An export as its page reads it, and what its package is shown with.
import type { ExportPageQuery } from '../../client/gql/graphql.ts';

export type Execution = NonNullable<ExportPageQuery['exportExecution']>;

export interface PackageProps {
  readonly exportPackage: NonNullable<Execution['exportPackage']>;
  /** As they were when the export was admitted. */
  readonly destinations: Execution['settings']['destinations'];
  readonly again: () => void;
}
