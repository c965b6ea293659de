// Every operation on exports that the command line asks for.
import { graphql } from './gql/gql.ts';

graphql(`
  fragment ExportFields on ExportExecution {
    id
    state
    phase
    cutoff
    requestedAt
    requestedBy
    startedAt
    settledAt
    manifestDigest
    allowedActions
    lastEventCursor
    workspace { id slug }
    settings { format datasets retentionDays }
    progress { done total totalIsExact unit }
    counts { dataset rows bytes }
    failure { code origin phase retryable summary }
    whyNotRunning { code message remedy since subject }
    exportPackage {
      id
      state
      bytes
      digest
      publishedAt
      expiresAt
      failure { code origin phase retryable summary }
      deliveries { destination state attempts nextAttemptAt failure { code summary } }
    }
  }
`);

export const requestWorkspaceExportDocument = graphql(`
  mutation RequestWorkspaceExport($input: RequestWorkspaceExportInput!) {
    requestWorkspaceExport(input: $input) {
      __typename
      ... on ExportExecution { ...ExportFields }
      ... on NotFoundError { code message }
      ... on ForbiddenError { code message permission }
      ... on ConflictError { code message conflictingId }
      ... on InvalidInputError { code message field }
    }
  }
`);

export const cancelExportExecutionDocument = graphql(`
  mutation CancelExportExecution($input: CancelExportExecutionInput!) {
    cancelExportExecution(input: $input) {
      __typename
      ... on ExportExecution { ...ExportFields }
      ... on NotFoundError { code message }
      ... on ForbiddenError { code message permission }
      ... on ConflictError { code message conflictingId }
      ... on InvalidInputError { code message field }
      ... on InvalidTransitionError { code message from action allowed }
    }
  }
`);

export const issueDownloadLinkDocument = graphql(`
  mutation IssueDownloadLink($input: IssueDownloadLinkInput!) {
    issueDownloadLink(input: $input) {
      __typename
      ... on DownloadLink { url expiresAt }
      ... on NotFoundError { code message }
      ... on ForbiddenError { code message permission }
      ... on ConflictError { code message conflictingId }
      ... on InvalidInputError { code message field }
    }
  }
`);

export const exportExecutionDocument = graphql(`
  query ExportExecution($id: ID!) {
    exportExecution(id: $id) { ...ExportFields }
  }
`);

export const runOrExportDocument = graphql(`
  query RunOrExport($id: ID!) {
    dataRun(id: $id) { ...RunFields }
    exportExecution(id: $id) { ...ExportFields }
  }
`);

export const exportExecutionsDocument = graphql(`
  query ExportExecutions($slug: String!, $first: Int!, $after: String) {
    workspace(slug: $slug) {
      exportExecutions(first: $first, after: $after) {
        edges {
          node { id state requestedAt requestedBy settledAt cutoff manifestDigest failure { code summary } exportPackage { state bytes } }
        }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
`);

export const pastExportEventsDocument = graphql(`
  query PastExportEvents($id: ID!, $first: Int!, $after: String) {
    exportExecution(id: $id) {
      events(first: $first, after: $after) {
        edges { node { ...EventFields } }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
`);

export const exportExecutionEventsDocument = graphql(`
  subscription ExportExecutionEvents($id: ID!, $after: String) {
    exportExecutionEvents(id: $id, after: $after) { ...EventFields }
  }
`);

export const exportExecutionProgressDocument = graphql(`
  subscription ExportExecutionProgress($id: ID!) {
    exportExecutionProgress(id: $id) {
      at
      state
      phase
      progress { done total totalIsExact unit }
      datasets { dataset bytes progress { done total totalIsExact unit } }
    }
  }
`);
