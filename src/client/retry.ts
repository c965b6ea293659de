// Another attempt of a run that has ended: the same package, under the same policies.
import { graphql } from './gql/gql.ts';
import type { RegisterDataRunInput, RetryFieldsFragment } from './gql/graphql.ts';

graphql(`
  fragment RetryFields on DataRun {
    id
    driving
    onInvalidRow
    onMissingReference
    onHashMismatch
    package { id }
    workspace { id }
  }
`);

export const retriedRunDocument = graphql(`
  query RetriedRun($id: ID!) {
    dataRun(id: $id) { ...RetryFields }
  }
`);

export function retryOf(run: RetryFieldsFragment): RegisterDataRunInput {
  const { id, workspace, driving, onInvalidRow, onMissingReference, onHashMismatch } = run;
  const policies = { onInvalidRow, onMissingReference, onHashMismatch };
  return { workspaceId: workspace.id, packageId: run.package.id, previousRunId: id, driving, ...policies };
}
