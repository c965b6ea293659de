// Whose access to a workspace was taken back, on the page for that.
import { graphql } from './gql/gql.ts';

export const revokedAccessDocument = graphql(`
  query RevokedAccess($slug: String!) {
    workspace(slug: $slug) { id revokedAccess { subject reason revokedBy revokedAt } }
  }
`);

export const revokeAccessDocument = graphql(`
  mutation RevokeAccess($input: RevokeAccessInput!) {
    revokeAccess(input: $input) {
      __typename
      ... on Workspace { id }
      ... on NotFoundError { code message }
      ... on ForbiddenError { code message permission }
      ... on InvalidInputError { code message field }
    }
  }
`);

export const restoreAccessDocument = graphql(`
  mutation RestoreAccess($input: RestoreAccessInput!) {
    restoreAccess(input: $input) {
      __typename
      ... on Workspace { id }
      ... on NotFoundError { code message }
      ... on ForbiddenError { code message permission }
      ... on InvalidInputError { code message field }
    }
  }
`);
