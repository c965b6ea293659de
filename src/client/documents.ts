// Every operation that the command line asks for, but for exports. `npm run generate` makes their types from schema.graphql.
import { graphql } from './gql/gql.ts';

graphql(`
  fragment RunFields on DataRun {
    id
    state
    driving
    activeChildren
    allowedActions
    registeredAt
    registeredBy
    startedAt
    settledAt
    resetAt
    cancelRequestedAt
    lastEventCursor
    notes
    package { name title version digest }
    workspace { id slug }
    failure { code origin phase retryable summary }
    failedStep { dataset }
    readiness { ready blockers { code dataset message count sampleKeys clearedBy } }
    whyNotRunning { code message remedy since subject }
    steps {
      id
      dataset
      target
      state
      attempt
      finallyBlocked
      skippedBecause
      rows { source loaded updated unchanged rejected blocked unprocessed }
      failure { code origin phase retryable summary }
      rowErrorCount
    }
  }
`);

graphql(`
  fragment EventFields on LifecycleEvent {
    __typename
    id
    cursor
    sequence
    at
    action
    from
    to
    actor
    cause
    reason
    requestId
    ... on DataRunEvent { dataset dataRun { id } }
    ... on ExportExecutionEvent { destination exportExecution { id } }
  }
`);

export const createWorkspaceDocument = graphql(`
  mutation CreateWorkspace($input: CreateWorkspaceInput!) {
    createWorkspace(input: $input) {
      __typename
      ... on Workspace { id slug name lastEventCursor }
      ... on ForbiddenError { code message permission }
      ... on ConflictError { code message conflictingId }
      ... on InvalidInputError { code message field }
    }
  }
`);

export const workspaceDocument = graphql(`
  query WorkspaceBySlug($slug: String!) {
    workspace(slug: $slug) { id slug name lastEventCursor }
  }
`);

export const datasetsDocument = graphql(`
  query Datasets($slug: String!, $first: Int!, $after: String) {
    workspace(slug: $slug) {
      datasets(first: $first, after: $after) {
        edges { node { id name rowCount updatedAt } }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
`);

export const datasetRowsDocument = graphql(`
  query DatasetRows($id: ID!, $first: Int!) {
    node(id: $id) {
      __typename
      ... on Dataset { name rows(first: $first) { edges { node { key values } } } }
    }
  }
`);

export const stagePackageDocument = graphql(`
  mutation StagePackage($input: StagePackageInput!) {
    stagePackage(input: $input) {
      __typename
      ... on StagedPackage { packageId uploadUrl expiresAt }
      ... on NotFoundError { code message }
      ... on ForbiddenError { code message permission }
      ... on InvalidInputError { code message field }
    }
  }
`);

export const registerDataRunDocument = graphql(`
  mutation RegisterDataRun($input: RegisterDataRunInput!) {
    registerDataRun(input: $input) {
      __typename
      ... on DataRun { ...RunFields }
      ... on NotFoundError { code message }
      ... on ForbiddenError { code message permission dataset }
      ... on ConflictError { code message conflictingId }
      ... on InvalidInputError { code message field }
      ... on InvalidPackageError { code message problems { code pointer resource message } }
    }
  }
`);

export const planDataRunDocument = graphql(`
  mutation PlanDataRun($input: PlanDataRunInput!) {
    planDataRun(input: $input) {
      __typename
      ... on DataRunPlan {
        digest
        order
        blockers { code dataset message count sampleKeys clearedBy }
        datasets {
          dataset
          rows
          invalidRows
          target
          authorised
          state
          removed
          account { source loaded updated unchanged rejected blocked unprocessed }
          failure { code origin phase retryable summary }
          rowErrorCount
          rowErrors { row field code message }
        }
      }
      ... on NotFoundError { code message }
      ... on ForbiddenError { code message permission dataset }
      ... on InvalidInputError { code message field }
      ... on InvalidTransitionError { code message from action allowed }
    }
  }
`);

export const startDataRunDocument = graphql(`
  mutation StartDataRun($input: StartDataRunInput!) {
    startDataRun(input: $input) {
      __typename
      ... on DataRun { ...RunFields }
      ... on NotFoundError { code message }
      ... on ForbiddenError { code message permission dataset }
      ... on ConflictError { code message conflictingId }
      ... on InvalidInputError { code message field }
      ... on InvalidTransitionError { code message from action allowed }
    }
  }
`);

export const pauseDataRunDocument = graphql(`
  mutation PauseDataRun($input: PauseDataRunInput!) {
    pauseDataRun(input: $input) {
      __typename
      ... on DataRun { ...RunFields }
      ... on NotFoundError { code message }
      ... on ForbiddenError { code message permission dataset }
      ... on ConflictError { code message conflictingId }
      ... on InvalidInputError { code message field }
      ... on InvalidTransitionError { code message from action allowed }
    }
  }
`);

export const resumeDataRunDocument = graphql(`
  mutation ResumeDataRun($input: ResumeDataRunInput!) {
    resumeDataRun(input: $input) {
      __typename
      ... on DataRun { ...RunFields }
      ... on NotFoundError { code message }
      ... on ForbiddenError { code message permission dataset }
      ... on ConflictError { code message conflictingId }
      ... on InvalidInputError { code message field }
      ... on InvalidTransitionError { code message from action allowed }
    }
  }
`);

export const cancelDataRunDocument = graphql(`
  mutation CancelDataRun($input: CancelDataRunInput!) {
    cancelDataRun(input: $input) {
      __typename
      ... on DataRun { ...RunFields }
      ... on NotFoundError { code message }
      ... on ForbiddenError { code message permission dataset }
      ... on ConflictError { code message conflictingId }
      ... on InvalidInputError { code message field }
      ... on InvalidTransitionError { code message from action allowed }
    }
  }
`);

export const resetDataRunDocument = graphql(`
  mutation ResetDataRun($input: ResetDataRunInput!) {
    resetDataRun(input: $input) {
      __typename
      ... on DataRun { ...RunFields }
      ... on NotFoundError { code message }
      ... on ForbiddenError { code message permission dataset }
      ... on ConflictError { code message conflictingId }
      ... on InvalidInputError { code message field }
      ... on InvalidTransitionError { code message from action allowed }
    }
  }
`);

export const advanceDataRunDocument = graphql(`
  mutation AdvanceDataRun($input: AdvanceDataRunInput!) {
    advanceDataRun(input: $input) {
      __typename
      ... on DataRun { ...RunFields }
      ... on NotFoundError { code message }
      ... on ForbiddenError { code message permission dataset }
      ... on InvalidInputError { code message field }
      ... on InvalidTransitionError { code message from action allowed }
    }
  }
`);

export const dataRunDocument = graphql(`
  query DataRun($id: ID!) {
    dataRun(id: $id) { ...RunFields }
  }
`);

/** Of the dataset that failed, the first of its faulty rows. */
export const rowErrorsDocument = graphql(`
  query RowErrors($id: ID!) {
    dataRun(id: $id) {
      failedStep { dataset rowErrorCount rowErrors { row field code message } }
    }
  }
`);

export const dataRunsDocument = graphql(`
  query DataRuns($slug: String!, $first: Int!, $after: String, $filter: DataRunFilter) {
    workspace(slug: $slug) {
      dataRuns(first: $first, after: $after, filter: $filter) {
        edges {
          node { id state registeredAt registeredBy settledAt package { name version } failure { code summary } readiness { ready } }
        }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
`);

export const pastEventsDocument = graphql(`
  query PastEvents($id: ID!, $first: Int!, $after: String) {
    dataRun(id: $id) {
      events(first: $first, after: $after) {
        edges { node { ...EventFields } }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
`);

export const dataRunEventsDocument = graphql(`
  subscription DataRunEvents($id: ID!, $after: String) {
    dataRunEvents(id: $id, after: $after) { ...EventFields }
  }
`);

export const workspaceEventsDocument = graphql(`
  subscription WorkspaceEvents($workspace: ID!, $after: String) {
    workspaceEvents(workspace: $workspace, after: $after) { ...EventFields }
  }
`);

export const dataRunProgressDocument = graphql(`
  subscription DataRunProgress($id: ID!) {
    dataRunProgress(id: $id) {
      at
      state
      progress { done total totalIsExact unit }
      steps { dataset state progress { done total totalIsExact unit } }
    }
  }
`);
