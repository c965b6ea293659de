// Another attempt of a run that has ended: the same package, under the same policies.
import { graphql } from './gql/gql.ts';
import type { RegisterDataRunInput, RetryFieldsFragment } from './gql/graphql.ts';

graphql(`
  fragment RetryFields on DataRun {
    id
    driving
    onInvalidRow
    onMissingReference
    package { id }
    workspace { id }
  }
`);

export const retriedRunDocument = graphql(`
  query RetriedRun($id: ID!) {
    dataRun(id: $id) { ...RetryFields }
  }
`);

/** `onHashMismatch` is not told by the API. Where it was WARN, the server refuses, and names what is wrong with the package. */
export function retryOf(run: RetryFieldsFragment): RegisterDataRunInput {
  const { id, workspace, driving, onInvalidRow, onMissingReference } = run;
  return { workspaceId: workspace.id, packageId: run.package.id, previousRunId: id, driving, onInvalidRow, onMissingReference };
}
