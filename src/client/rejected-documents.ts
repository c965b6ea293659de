// What is asked about the rows that a run left out, by the command line and by the dashboard.
import { graphql } from './gql/gql.ts';

export const issueRejectedRowsLinkDocument = graphql(`
  mutation IssueRejectedRowsLink($input: IssueRejectedRowsLinkInput!) {
    issueRejectedRowsLink(input: $input) {
      __typename
      ... on DownloadLink { url expiresAt }
      ... on NotFoundError { code message }
      ... on ForbiddenError { code message permission }
      ... on ConflictError { code message }
      ... on InvalidInputError { code message field }
    }
  }
`);
