// Saying what became of a submission whose answer was lost, by the command line and by the dashboard.
import { graphql } from './gql/gql.ts';

export const runHoldsDocument = graphql(`
  query RunHolds($id: ID!) {
    dataRun(id: $id) { id steps { id dataset whyNotRunning { code } } }
  }
`);

export const settleSubmissionDocument = graphql(`
  mutation SettleSubmission($input: SettleSubmissionInput!) {
    settleSubmission(input: $input) {
      __typename
      ... on DataRunStep { id dataset state }
      ... on NotFoundError { code message }
      ... on ForbiddenError { code message permission }
      ... on ConflictError { code message conflictingId }
      ... on InvalidInputError { code message field }
    }
  }
`);
