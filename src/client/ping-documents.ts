// Testing a destination of exports, on the page of its settings.
import { graphql } from './gql/gql.ts';

export const pingDestinationDocument = graphql(`
  mutation PingDestination($input: PingDestinationInput!) {
    pingDestination(input: $input) {
      __typename
      ... on DestinationPing { status code message ms at }
      ... on NotFoundError { code message }
      ... on ForbiddenError { code message permission }
      ... on ConflictError { code message }
      ... on InvalidInputError { code message field }
    }
  }
`);
