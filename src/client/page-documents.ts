// What the dashboard asks for beyond what the command line does: lists a page long, and everything that one page of it shows.
import { graphql } from './gql/gql.ts';

graphql(`
  fragment RunRow on DataRun {
    id
    state
    registeredAt
    registeredBy
    settledAt
    activeChildren
    package { name title version }
    progress { done total totalIsExact unit }
    readiness { ready }
    failure { code summary }
  }
`);

graphql(`
  fragment HoldFields on Hold { code message remedy since subject }
`);

export const viewerDocument = graphql(`
  query Viewer {
    viewer { subject permissions }
  }
`);

export const workspacesDocument = graphql(`
  query Workspaces($first: Int, $after: String, $last: Int, $before: String) {
    workspaces(first: $first, after: $after, last: $last, before: $before) {
      edges {
        node {
          id
          slug
          name
          createdAt
          dataRuns(first: 1) { edges { node { id state registeredAt settledAt package { name version } } } }
        }
      }
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    }
  }
`);

export const workspaceRunsDocument = graphql(`
  query WorkspaceRuns($slug: String!, $filter: DataRunFilter, $first: Int, $after: String, $last: Int, $before: String) {
    workspace(slug: $slug) {
      id
      dataRuns(filter: $filter, first: $first, after: $after, last: $last, before: $before) {
        edges { node { ...RunRow } }
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
      }
    }
  }
`);

export const workspacePastEventsDocument = graphql(`
  query WorkspacePastEvents($slug: String!, $forward: Boolean!, $after: String, $before: String) {
    workspace(slug: $slug) {
      id
      events(first: 50, after: $after) @include(if: $forward) { ...EventPage }
      pastEvents(last: 50, before: $before) @skip(if: $forward) { ...EventPage }
    }
  }
  fragment EventPage on WorkspaceEventsConnection {
    edges { node { ...EventFields } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  }
`);

export const workspaceExportsDocument = graphql(`
  query WorkspaceExports($slug: String!, $filter: ExportExecutionFilter, $first: Int, $after: String, $last: Int, $before: String) {
    workspace(slug: $slug) {
      id
      exportExecutions(filter: $filter, first: $first, after: $after, last: $last, before: $before) {
        edges {
          node {
            id
            state
            phase
            requestedAt
            requestedBy
            settledAt
            cutoff
            manifestDigest
            progress { done total totalIsExact unit }
            failure { code summary }
            whyNotRunning { ...HoldFields }
            exportPackage { id state bytes expiresAt }
          }
        }
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
      }
    }
  }
`);

export const workspaceDatasetsDocument = graphql(`
  query WorkspaceDatasets($slug: String!, $first: Int, $after: String, $last: Int, $before: String) {
    workspace(slug: $slug) {
      id
      datasets(first: $first, after: $after, last: $last, before: $before) {
        edges { node { id name rowCount updatedAt } }
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
      }
    }
  }
`);

export const runPageDocument = graphql(`
  query RunPage($id: ID!) {
    dataRun(id: $id) {
      ...RunFields
      ...RetryFields
      progress { done total totalIsExact unit }
      previousRun { id }
      grant { subject grantedAt expiresAt endedAt targets }
      outstandingCancellations { id dataset state cancelAnswer }
      steps {
        id
        position
        dependsOn
        progress { done total totalIsExact unit }
        blockers { code dataset message count sampleKeys clearedBy }
        whyNotRunning { ...HoldFields }
        submittedAt
        settledAt
      }
    }
  }
`);

export const renewDataRunGrantDocument = graphql(`
  mutation RenewDataRunGrant($input: RenewDataRunGrantInput!) {
    renewDataRunGrant(input: $input) {
      __typename
      ... on DataRun { id grant { subject grantedAt expiresAt endedAt targets } }
      ... on NotFoundError { code message }
      ... on ForbiddenError { code message permission dataset }
      ... on ConflictError { code message conflictingId }
      ... on InvalidInputError { code message field }
    }
  }
`);

export const exportPageDocument = graphql(`
  query ExportPage($id: ID!) {
    exportExecution(id: $id) {
      ...ExportFields
      settings { destinations { name url } }
      exportPackage {
        deliveries {
          id
          destination
          state
          attempts
          nextAttemptAt
          deliveredAt
          attemptLog { number at status code message durationMs }
        }
      }
    }
  }
`);

export const republishExportDocument = graphql(`
  mutation RepublishExport($input: RepublishExportInput!) {
    republishExport(input: $input) {
      __typename
      ... on ExportExecution { id exportPackage { id state } }
      ... on NotFoundError { code message }
      ... on ForbiddenError { code message permission }
      ... on ConflictError { code message conflictingId }
      ... on InvalidInputError { code message field }
    }
  }
`);

export const redeliverDocument = graphql(`
  mutation Redeliver($input: RedeliverInput!) {
    redeliver(input: $input) {
      __typename
      ... on ExportDelivery { id state }
      ... on NotFoundError { code message }
      ... on ForbiddenError { code message permission }
      ... on ConflictError { code message conflictingId }
      ... on InvalidInputError { code message field }
    }
  }
`);

export const exportSettingsDocument = graphql(`
  query ExportSettings($slug: String!) {
    workspace(slug: $slug) { id exportSettings { format datasets retentionDays destinations { name url } } }
  }
`);

/** \`secret\`: null but for destinations whose secret this very answer made. */
export const updateExportSettingsDocument = graphql(`
  mutation UpdateExportSettings($input: UpdateExportSettingsInput!) {
    updateExportSettings(input: $input) {
      __typename
      ... on Workspace { id exportSettings { format datasets retentionDays destinations { name url secret } } }
      ... on NotFoundError { code message }
      ... on ForbiddenError { code message permission }
      ... on InvalidInputError { code message field }
    }
  }
`);

export const lifecyclesDocument = graphql(`
  query Lifecycles {
    lifecycles {
      name
      states { name meaning terminal }
      transitions { from to action guard sideEffects who }
      refused { from to why }
    }
  }
`);

export const runStateDocument = graphql(`
  query RunState($id: ID!) {
    dataRun(id: $id) { id state package { name version } workspace { slug } }
  }
`);

export const exportStateDocument = graphql(`
  query ExportState($id: ID!) {
    exportExecution(id: $id) { id state cutoff workspace { slug } }
  }
`);

export const datasetPageDocument = graphql(`
  query DatasetPage($id: ID!, $first: Int, $after: String, $last: Int, $before: String) {
    node(id: $id) {
      __typename
      ... on Dataset {
        id
        name
        schema
        rowCount
        updatedAt
        rows(first: $first, after: $after, last: $last, before: $before) {
          edges { cursor node { key values writtenBy { id registeredAt package { name version } } } }
          pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
        }
      }
    }
  }
`);

export const stepErrorsDocument = graphql(`
  query StepErrors($id: ID!) {
    node(id: $id) {
      __typename
      ... on DataRunStep { id rowErrors { row field code message } }
    }
  }
`);
