/* eslint-disable */
import * as types from './graphql.ts';



/**
 * Map of all GraphQL operations in the project.
 *
 * This map has several performance disadvantages:
 * 1. It is not tree-shakeable, so it will include all operations in the project.
 * 2. It is not minifiable, so the string of a GraphQL query will be multiple times inside the bundle.
 * 3. It does not support dead code elimination, so it will add unused operations.
 *
 * Therefore it is highly recommended to use the babel or swc plugin for production.
 * Learn more about it here: https://the-guild.dev/graphql/codegen/plugins/presets/preset-client#reducing-bundle-size
 */
type Documents = {
    "\n  fragment RunFields on DataRun {\n    id\n    state\n    driving\n    activeChildren\n    allowedActions\n    registeredAt\n    registeredBy\n    startedAt\n    settledAt\n    resetAt\n    cancelRequestedAt\n    lastEventCursor\n    notes\n    package { name title version digest }\n    workspace { id slug }\n    failure { code origin phase retryable summary }\n    failedStep { dataset }\n    readiness { ready blockers { code dataset message count sampleKeys clearedBy } }\n    whyNotRunning { code message remedy since subject }\n    steps {\n      id\n      dataset\n      target\n      state\n      attempt\n      finallyBlocked\n      skippedBecause\n      rows { source loaded updated unchanged rejected blocked unprocessed }\n      failure { code origin phase retryable summary }\n      rowErrorCount\n    }\n  }\n": typeof types.RunFieldsFragmentDoc,
    "\n  fragment EventFields on LifecycleEvent {\n    __typename\n    id\n    cursor\n    sequence\n    at\n    action\n    from\n    to\n    actor\n    cause\n    reason\n    requestId\n    ... on DataRunEvent { dataset dataRun { id } }\n    ... on ExportExecutionEvent { destination exportExecution { id } }\n  }\n": typeof types.EventFieldsFragmentDoc,
    "\n  mutation CreateWorkspace($input: CreateWorkspaceInput!) {\n    createWorkspace(input: $input) {\n      __typename\n      ... on Workspace { id slug name lastEventCursor }\n      ... on ForbiddenError { code message permission }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n    }\n  }\n": typeof types.CreateWorkspaceDocument,
    "\n  query WorkspaceBySlug($slug: String!) {\n    workspace(slug: $slug) { id slug name lastEventCursor }\n  }\n": typeof types.WorkspaceBySlugDocument,
    "\n  query Datasets($slug: String!, $first: Int!, $after: String) {\n    workspace(slug: $slug) {\n      datasets(first: $first, after: $after) {\n        edges { node { id name rowCount updatedAt } }\n        pageInfo { hasNextPage endCursor }\n      }\n    }\n  }\n": typeof types.DatasetsDocument,
    "\n  query DatasetRows($id: ID!, $first: Int!) {\n    node(id: $id) {\n      __typename\n      ... on Dataset { name rows(first: $first) { edges { node { key values } } } }\n    }\n  }\n": typeof types.DatasetRowsDocument,
    "\n  mutation StagePackage($input: StagePackageInput!) {\n    stagePackage(input: $input) {\n      __typename\n      ... on StagedPackage { packageId uploadUrl expiresAt }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission }\n      ... on InvalidInputError { code message field }\n    }\n  }\n": typeof types.StagePackageDocument,
    "\n  mutation RegisterDataRun($input: RegisterDataRunInput!) {\n    registerDataRun(input: $input) {\n      __typename\n      ... on DataRun { ...RunFields }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission dataset }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n      ... on InvalidPackageError { code message problems { code pointer resource message } }\n    }\n  }\n": typeof types.RegisterDataRunDocument,
    "\n  mutation StartDataRun($input: StartDataRunInput!) {\n    startDataRun(input: $input) {\n      __typename\n      ... on DataRun { ...RunFields }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission dataset }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n      ... on InvalidTransitionError { code message from action allowed }\n    }\n  }\n": typeof types.StartDataRunDocument,
    "\n  mutation PauseDataRun($input: PauseDataRunInput!) {\n    pauseDataRun(input: $input) {\n      __typename\n      ... on DataRun { ...RunFields }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission dataset }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n      ... on InvalidTransitionError { code message from action allowed }\n    }\n  }\n": typeof types.PauseDataRunDocument,
    "\n  mutation ResumeDataRun($input: ResumeDataRunInput!) {\n    resumeDataRun(input: $input) {\n      __typename\n      ... on DataRun { ...RunFields }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission dataset }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n      ... on InvalidTransitionError { code message from action allowed }\n    }\n  }\n": typeof types.ResumeDataRunDocument,
    "\n  mutation CancelDataRun($input: CancelDataRunInput!) {\n    cancelDataRun(input: $input) {\n      __typename\n      ... on DataRun { ...RunFields }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission dataset }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n      ... on InvalidTransitionError { code message from action allowed }\n    }\n  }\n": typeof types.CancelDataRunDocument,
    "\n  mutation ResetDataRun($input: ResetDataRunInput!) {\n    resetDataRun(input: $input) {\n      __typename\n      ... on DataRun { ...RunFields }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission dataset }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n      ... on InvalidTransitionError { code message from action allowed }\n    }\n  }\n": typeof types.ResetDataRunDocument,
    "\n  mutation AdvanceDataRun($input: AdvanceDataRunInput!) {\n    advanceDataRun(input: $input) {\n      __typename\n      ... on DataRun { ...RunFields }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission dataset }\n      ... on InvalidInputError { code message field }\n      ... on InvalidTransitionError { code message from action allowed }\n    }\n  }\n": typeof types.AdvanceDataRunDocument,
    "\n  query DataRun($id: ID!) {\n    dataRun(id: $id) { ...RunFields }\n  }\n": typeof types.DataRunDocument,
    "\n  query RowErrors($id: ID!) {\n    dataRun(id: $id) {\n      failedStep { dataset rowErrorCount rowErrors { row field code message } }\n    }\n  }\n": typeof types.RowErrorsDocument,
    "\n  query DataRuns($slug: String!, $first: Int!, $after: String, $filter: DataRunFilter) {\n    workspace(slug: $slug) {\n      dataRuns(first: $first, after: $after, filter: $filter) {\n        edges {\n          node { id state registeredAt registeredBy settledAt package { name version } failure { code summary } readiness { ready } }\n        }\n        pageInfo { hasNextPage endCursor }\n      }\n    }\n  }\n": typeof types.DataRunsDocument,
    "\n  query PastEvents($id: ID!, $first: Int!, $after: String) {\n    dataRun(id: $id) {\n      events(first: $first, after: $after) {\n        edges { node { ...EventFields } }\n        pageInfo { hasNextPage endCursor }\n      }\n    }\n  }\n": typeof types.PastEventsDocument,
    "\n  subscription DataRunEvents($id: ID!, $after: String) {\n    dataRunEvents(id: $id, after: $after) { ...EventFields }\n  }\n": typeof types.DataRunEventsDocument,
    "\n  subscription WorkspaceEvents($workspace: ID!, $after: String) {\n    workspaceEvents(workspace: $workspace, after: $after) { ...EventFields }\n  }\n": typeof types.WorkspaceEventsDocument,
    "\n  subscription DataRunProgress($id: ID!) {\n    dataRunProgress(id: $id) {\n      at\n      state\n      progress { done total totalIsExact unit }\n      steps { dataset state progress { done total totalIsExact unit } }\n    }\n  }\n": typeof types.DataRunProgressDocument,
    "\n  fragment ExportFields on ExportExecution {\n    id\n    state\n    phase\n    cutoff\n    requestedAt\n    requestedBy\n    startedAt\n    settledAt\n    manifestDigest\n    allowedActions\n    lastEventCursor\n    workspace { id slug }\n    settings { format datasets retentionDays }\n    progress { done total totalIsExact unit }\n    counts { dataset rows bytes }\n    failure { code origin phase retryable summary }\n    whyNotRunning { code message remedy since subject }\n    exportPackage {\n      id\n      state\n      bytes\n      digest\n      publishedAt\n      expiresAt\n      failure { code origin phase retryable summary }\n      deliveries { destination state attempts nextAttemptAt failure { code summary } }\n    }\n  }\n": typeof types.ExportFieldsFragmentDoc,
    "\n  mutation RequestWorkspaceExport($input: RequestWorkspaceExportInput!) {\n    requestWorkspaceExport(input: $input) {\n      __typename\n      ... on ExportExecution { ...ExportFields }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n    }\n  }\n": typeof types.RequestWorkspaceExportDocument,
    "\n  mutation CancelExportExecution($input: CancelExportExecutionInput!) {\n    cancelExportExecution(input: $input) {\n      __typename\n      ... on ExportExecution { ...ExportFields }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n      ... on InvalidTransitionError { code message from action allowed }\n    }\n  }\n": typeof types.CancelExportExecutionDocument,
    "\n  mutation IssueDownloadLink($input: IssueDownloadLinkInput!) {\n    issueDownloadLink(input: $input) {\n      __typename\n      ... on DownloadLink { url expiresAt }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n    }\n  }\n": typeof types.IssueDownloadLinkDocument,
    "\n  query ExportExecution($id: ID!) {\n    exportExecution(id: $id) { ...ExportFields }\n  }\n": typeof types.ExportExecutionDocument,
    "\n  query RunOrExport($id: ID!) {\n    dataRun(id: $id) { ...RunFields }\n    exportExecution(id: $id) { ...ExportFields }\n  }\n": typeof types.RunOrExportDocument,
    "\n  query ExportExecutions($slug: String!, $first: Int!, $after: String) {\n    workspace(slug: $slug) {\n      exportExecutions(first: $first, after: $after) {\n        edges {\n          node { id state requestedAt requestedBy settledAt cutoff manifestDigest failure { code summary } exportPackage { state bytes } }\n        }\n        pageInfo { hasNextPage endCursor }\n      }\n    }\n  }\n": typeof types.ExportExecutionsDocument,
    "\n  query PastExportEvents($id: ID!, $first: Int!, $after: String) {\n    exportExecution(id: $id) {\n      events(first: $first, after: $after) {\n        edges { node { ...EventFields } }\n        pageInfo { hasNextPage endCursor }\n      }\n    }\n  }\n": typeof types.PastExportEventsDocument,
    "\n  subscription ExportExecutionEvents($id: ID!, $after: String) {\n    exportExecutionEvents(id: $id, after: $after) { ...EventFields }\n  }\n": typeof types.ExportExecutionEventsDocument,
    "\n  subscription ExportExecutionProgress($id: ID!) {\n    exportExecutionProgress(id: $id) {\n      at\n      state\n      phase\n      progress { done total totalIsExact unit }\n      datasets { dataset bytes progress { done total totalIsExact unit } }\n    }\n  }\n": typeof types.ExportExecutionProgressDocument,
    "\n  fragment RunRow on DataRun {\n    id\n    state\n    registeredAt\n    registeredBy\n    settledAt\n    activeChildren\n    package { name title version }\n    progress { done total totalIsExact unit }\n    readiness { ready }\n    failure { code summary }\n  }\n": typeof types.RunRowFragmentDoc,
    "\n  fragment HoldFields on Hold { code message remedy since subject }\n": typeof types.HoldFieldsFragmentDoc,
    "\n  query Viewer {\n    viewer { subject permissions }\n  }\n": typeof types.ViewerDocument,
    "\n  query Workspaces($first: Int, $after: String, $last: Int, $before: String) {\n    workspaces(first: $first, after: $after, last: $last, before: $before) {\n      edges {\n        node {\n          id\n          slug\n          name\n          createdAt\n          dataRuns(first: 1) { edges { node { id state registeredAt settledAt package { name version } } } }\n        }\n      }\n      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }\n    }\n  }\n": typeof types.WorkspacesDocument,
    "\n  query WorkspaceRuns($slug: String!, $filter: DataRunFilter, $first: Int, $after: String, $last: Int, $before: String) {\n    workspace(slug: $slug) {\n      id\n      dataRuns(filter: $filter, first: $first, after: $after, last: $last, before: $before) {\n        edges { node { ...RunRow } }\n        pageInfo { hasNextPage hasPreviousPage startCursor endCursor }\n      }\n    }\n  }\n": typeof types.WorkspaceRunsDocument,
    "\n  query WorkspaceExports($slug: String!, $filter: ExportExecutionFilter, $first: Int, $after: String, $last: Int, $before: String) {\n    workspace(slug: $slug) {\n      id\n      exportExecutions(filter: $filter, first: $first, after: $after, last: $last, before: $before) {\n        edges {\n          node {\n            id\n            state\n            phase\n            requestedAt\n            requestedBy\n            settledAt\n            cutoff\n            manifestDigest\n            progress { done total totalIsExact unit }\n            failure { code summary }\n            whyNotRunning { ...HoldFields }\n            exportPackage { id state bytes expiresAt }\n          }\n        }\n        pageInfo { hasNextPage hasPreviousPage startCursor endCursor }\n      }\n    }\n  }\n": typeof types.WorkspaceExportsDocument,
    "\n  query WorkspaceDatasets($slug: String!, $first: Int, $after: String, $last: Int, $before: String) {\n    workspace(slug: $slug) {\n      id\n      datasets(first: $first, after: $after, last: $last, before: $before) {\n        edges { node { id name rowCount updatedAt } }\n        pageInfo { hasNextPage hasPreviousPage startCursor endCursor }\n      }\n    }\n  }\n": typeof types.WorkspaceDatasetsDocument,
    "\n  query RunPage($id: ID!) {\n    dataRun(id: $id) {\n      ...RunFields\n      progress { done total totalIsExact unit }\n      previousRun { id }\n      grant { subject grantedAt expiresAt endedAt targets }\n      outstandingCancellations { id dataset state cancelAnswer }\n      steps {\n        id\n        position\n        dependsOn\n        progress { done total totalIsExact unit }\n        blockers { code dataset message count sampleKeys clearedBy }\n        whyNotRunning { ...HoldFields }\n        submittedAt\n        settledAt\n      }\n    }\n  }\n": typeof types.RunPageDocument,
    "\n  mutation RenewDataRunGrant($input: RenewDataRunGrantInput!) {\n    renewDataRunGrant(input: $input) {\n      __typename\n      ... on DataRun { id grant { subject grantedAt expiresAt endedAt targets } }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission dataset }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n    }\n  }\n": typeof types.RenewDataRunGrantDocument,
    "\n  query ExportPage($id: ID!) {\n    exportExecution(id: $id) {\n      ...ExportFields\n      settings { destinations { name url } }\n      exportPackage {\n        deliveries {\n          id\n          destination\n          state\n          attempts\n          nextAttemptAt\n          deliveredAt\n          attemptLog { number at status code message durationMs }\n        }\n      }\n    }\n  }\n": typeof types.ExportPageDocument,
    "\n  mutation Redeliver($input: RedeliverInput!) {\n    redeliver(input: $input) {\n      __typename\n      ... on ExportDelivery { id state }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n    }\n  }\n": typeof types.RedeliverDocument,
    "\n  query ExportSettings($slug: String!) {\n    workspace(slug: $slug) { id exportSettings { format datasets retentionDays destinations { name url } } }\n  }\n": typeof types.ExportSettingsDocument,
    "\n  mutation UpdateExportSettings($input: UpdateExportSettingsInput!) {\n    updateExportSettings(input: $input) {\n      __typename\n      ... on Workspace { id exportSettings { format datasets retentionDays destinations { name url secret } } }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission }\n      ... on InvalidInputError { code message field }\n    }\n  }\n": typeof types.UpdateExportSettingsDocument,
    "\n  query Lifecycles {\n    lifecycles {\n      name\n      states { name meaning terminal }\n      transitions { from to action guard sideEffects who }\n      refused { from to why }\n    }\n  }\n": typeof types.LifecyclesDocument,
    "\n  query RunState($id: ID!) {\n    dataRun(id: $id) { id state package { name version } }\n  }\n": typeof types.RunStateDocument,
    "\n  query ExportState($id: ID!) {\n    exportExecution(id: $id) { id state cutoff }\n  }\n": typeof types.ExportStateDocument,
    "\n  query DatasetPage($id: ID!, $first: Int, $after: String, $last: Int, $before: String) {\n    node(id: $id) {\n      __typename\n      ... on Dataset {\n        id\n        name\n        schema\n        rowCount\n        updatedAt\n        rows(first: $first, after: $after, last: $last, before: $before) {\n          edges { cursor node { key values } }\n          pageInfo { hasNextPage hasPreviousPage startCursor endCursor }\n        }\n      }\n    }\n  }\n": typeof types.DatasetPageDocument,
    "\n  query StepErrors($id: ID!) {\n    node(id: $id) {\n      __typename\n      ... on DataRunStep { id rowErrors { row field code message } }\n    }\n  }\n": typeof types.StepErrorsDocument,
};
const documents: Documents = {
    "\n  fragment RunFields on DataRun {\n    id\n    state\n    driving\n    activeChildren\n    allowedActions\n    registeredAt\n    registeredBy\n    startedAt\n    settledAt\n    resetAt\n    cancelRequestedAt\n    lastEventCursor\n    notes\n    package { name title version digest }\n    workspace { id slug }\n    failure { code origin phase retryable summary }\n    failedStep { dataset }\n    readiness { ready blockers { code dataset message count sampleKeys clearedBy } }\n    whyNotRunning { code message remedy since subject }\n    steps {\n      id\n      dataset\n      target\n      state\n      attempt\n      finallyBlocked\n      skippedBecause\n      rows { source loaded updated unchanged rejected blocked unprocessed }\n      failure { code origin phase retryable summary }\n      rowErrorCount\n    }\n  }\n": types.RunFieldsFragmentDoc,
    "\n  fragment EventFields on LifecycleEvent {\n    __typename\n    id\n    cursor\n    sequence\n    at\n    action\n    from\n    to\n    actor\n    cause\n    reason\n    requestId\n    ... on DataRunEvent { dataset dataRun { id } }\n    ... on ExportExecutionEvent { destination exportExecution { id } }\n  }\n": types.EventFieldsFragmentDoc,
    "\n  mutation CreateWorkspace($input: CreateWorkspaceInput!) {\n    createWorkspace(input: $input) {\n      __typename\n      ... on Workspace { id slug name lastEventCursor }\n      ... on ForbiddenError { code message permission }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n    }\n  }\n": types.CreateWorkspaceDocument,
    "\n  query WorkspaceBySlug($slug: String!) {\n    workspace(slug: $slug) { id slug name lastEventCursor }\n  }\n": types.WorkspaceBySlugDocument,
    "\n  query Datasets($slug: String!, $first: Int!, $after: String) {\n    workspace(slug: $slug) {\n      datasets(first: $first, after: $after) {\n        edges { node { id name rowCount updatedAt } }\n        pageInfo { hasNextPage endCursor }\n      }\n    }\n  }\n": types.DatasetsDocument,
    "\n  query DatasetRows($id: ID!, $first: Int!) {\n    node(id: $id) {\n      __typename\n      ... on Dataset { name rows(first: $first) { edges { node { key values } } } }\n    }\n  }\n": types.DatasetRowsDocument,
    "\n  mutation StagePackage($input: StagePackageInput!) {\n    stagePackage(input: $input) {\n      __typename\n      ... on StagedPackage { packageId uploadUrl expiresAt }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission }\n      ... on InvalidInputError { code message field }\n    }\n  }\n": types.StagePackageDocument,
    "\n  mutation RegisterDataRun($input: RegisterDataRunInput!) {\n    registerDataRun(input: $input) {\n      __typename\n      ... on DataRun { ...RunFields }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission dataset }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n      ... on InvalidPackageError { code message problems { code pointer resource message } }\n    }\n  }\n": types.RegisterDataRunDocument,
    "\n  mutation StartDataRun($input: StartDataRunInput!) {\n    startDataRun(input: $input) {\n      __typename\n      ... on DataRun { ...RunFields }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission dataset }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n      ... on InvalidTransitionError { code message from action allowed }\n    }\n  }\n": types.StartDataRunDocument,
    "\n  mutation PauseDataRun($input: PauseDataRunInput!) {\n    pauseDataRun(input: $input) {\n      __typename\n      ... on DataRun { ...RunFields }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission dataset }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n      ... on InvalidTransitionError { code message from action allowed }\n    }\n  }\n": types.PauseDataRunDocument,
    "\n  mutation ResumeDataRun($input: ResumeDataRunInput!) {\n    resumeDataRun(input: $input) {\n      __typename\n      ... on DataRun { ...RunFields }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission dataset }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n      ... on InvalidTransitionError { code message from action allowed }\n    }\n  }\n": types.ResumeDataRunDocument,
    "\n  mutation CancelDataRun($input: CancelDataRunInput!) {\n    cancelDataRun(input: $input) {\n      __typename\n      ... on DataRun { ...RunFields }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission dataset }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n      ... on InvalidTransitionError { code message from action allowed }\n    }\n  }\n": types.CancelDataRunDocument,
    "\n  mutation ResetDataRun($input: ResetDataRunInput!) {\n    resetDataRun(input: $input) {\n      __typename\n      ... on DataRun { ...RunFields }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission dataset }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n      ... on InvalidTransitionError { code message from action allowed }\n    }\n  }\n": types.ResetDataRunDocument,
    "\n  mutation AdvanceDataRun($input: AdvanceDataRunInput!) {\n    advanceDataRun(input: $input) {\n      __typename\n      ... on DataRun { ...RunFields }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission dataset }\n      ... on InvalidInputError { code message field }\n      ... on InvalidTransitionError { code message from action allowed }\n    }\n  }\n": types.AdvanceDataRunDocument,
    "\n  query DataRun($id: ID!) {\n    dataRun(id: $id) { ...RunFields }\n  }\n": types.DataRunDocument,
    "\n  query RowErrors($id: ID!) {\n    dataRun(id: $id) {\n      failedStep { dataset rowErrorCount rowErrors { row field code message } }\n    }\n  }\n": types.RowErrorsDocument,
    "\n  query DataRuns($slug: String!, $first: Int!, $after: String, $filter: DataRunFilter) {\n    workspace(slug: $slug) {\n      dataRuns(first: $first, after: $after, filter: $filter) {\n        edges {\n          node { id state registeredAt registeredBy settledAt package { name version } failure { code summary } readiness { ready } }\n        }\n        pageInfo { hasNextPage endCursor }\n      }\n    }\n  }\n": types.DataRunsDocument,
    "\n  query PastEvents($id: ID!, $first: Int!, $after: String) {\n    dataRun(id: $id) {\n      events(first: $first, after: $after) {\n        edges { node { ...EventFields } }\n        pageInfo { hasNextPage endCursor }\n      }\n    }\n  }\n": types.PastEventsDocument,
    "\n  subscription DataRunEvents($id: ID!, $after: String) {\n    dataRunEvents(id: $id, after: $after) { ...EventFields }\n  }\n": types.DataRunEventsDocument,
    "\n  subscription WorkspaceEvents($workspace: ID!, $after: String) {\n    workspaceEvents(workspace: $workspace, after: $after) { ...EventFields }\n  }\n": types.WorkspaceEventsDocument,
    "\n  subscription DataRunProgress($id: ID!) {\n    dataRunProgress(id: $id) {\n      at\n      state\n      progress { done total totalIsExact unit }\n      steps { dataset state progress { done total totalIsExact unit } }\n    }\n  }\n": types.DataRunProgressDocument,
    "\n  fragment ExportFields on ExportExecution {\n    id\n    state\n    phase\n    cutoff\n    requestedAt\n    requestedBy\n    startedAt\n    settledAt\n    manifestDigest\n    allowedActions\n    lastEventCursor\n    workspace { id slug }\n    settings { format datasets retentionDays }\n    progress { done total totalIsExact unit }\n    counts { dataset rows bytes }\n    failure { code origin phase retryable summary }\n    whyNotRunning { code message remedy since subject }\n    exportPackage {\n      id\n      state\n      bytes\n      digest\n      publishedAt\n      expiresAt\n      failure { code origin phase retryable summary }\n      deliveries { destination state attempts nextAttemptAt failure { code summary } }\n    }\n  }\n": types.ExportFieldsFragmentDoc,
    "\n  mutation RequestWorkspaceExport($input: RequestWorkspaceExportInput!) {\n    requestWorkspaceExport(input: $input) {\n      __typename\n      ... on ExportExecution { ...ExportFields }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n    }\n  }\n": types.RequestWorkspaceExportDocument,
    "\n  mutation CancelExportExecution($input: CancelExportExecutionInput!) {\n    cancelExportExecution(input: $input) {\n      __typename\n      ... on ExportExecution { ...ExportFields }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n      ... on InvalidTransitionError { code message from action allowed }\n    }\n  }\n": types.CancelExportExecutionDocument,
    "\n  mutation IssueDownloadLink($input: IssueDownloadLinkInput!) {\n    issueDownloadLink(input: $input) {\n      __typename\n      ... on DownloadLink { url expiresAt }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n    }\n  }\n": types.IssueDownloadLinkDocument,
    "\n  query ExportExecution($id: ID!) {\n    exportExecution(id: $id) { ...ExportFields }\n  }\n": types.ExportExecutionDocument,
    "\n  query RunOrExport($id: ID!) {\n    dataRun(id: $id) { ...RunFields }\n    exportExecution(id: $id) { ...ExportFields }\n  }\n": types.RunOrExportDocument,
    "\n  query ExportExecutions($slug: String!, $first: Int!, $after: String) {\n    workspace(slug: $slug) {\n      exportExecutions(first: $first, after: $after) {\n        edges {\n          node { id state requestedAt requestedBy settledAt cutoff manifestDigest failure { code summary } exportPackage { state bytes } }\n        }\n        pageInfo { hasNextPage endCursor }\n      }\n    }\n  }\n": types.ExportExecutionsDocument,
    "\n  query PastExportEvents($id: ID!, $first: Int!, $after: String) {\n    exportExecution(id: $id) {\n      events(first: $first, after: $after) {\n        edges { node { ...EventFields } }\n        pageInfo { hasNextPage endCursor }\n      }\n    }\n  }\n": types.PastExportEventsDocument,
    "\n  subscription ExportExecutionEvents($id: ID!, $after: String) {\n    exportExecutionEvents(id: $id, after: $after) { ...EventFields }\n  }\n": types.ExportExecutionEventsDocument,
    "\n  subscription ExportExecutionProgress($id: ID!) {\n    exportExecutionProgress(id: $id) {\n      at\n      state\n      phase\n      progress { done total totalIsExact unit }\n      datasets { dataset bytes progress { done total totalIsExact unit } }\n    }\n  }\n": types.ExportExecutionProgressDocument,
    "\n  fragment RunRow on DataRun {\n    id\n    state\n    registeredAt\n    registeredBy\n    settledAt\n    activeChildren\n    package { name title version }\n    progress { done total totalIsExact unit }\n    readiness { ready }\n    failure { code summary }\n  }\n": types.RunRowFragmentDoc,
    "\n  fragment HoldFields on Hold { code message remedy since subject }\n": types.HoldFieldsFragmentDoc,
    "\n  query Viewer {\n    viewer { subject permissions }\n  }\n": types.ViewerDocument,
    "\n  query Workspaces($first: Int, $after: String, $last: Int, $before: String) {\n    workspaces(first: $first, after: $after, last: $last, before: $before) {\n      edges {\n        node {\n          id\n          slug\n          name\n          createdAt\n          dataRuns(first: 1) { edges { node { id state registeredAt settledAt package { name version } } } }\n        }\n      }\n      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }\n    }\n  }\n": types.WorkspacesDocument,
    "\n  query WorkspaceRuns($slug: String!, $filter: DataRunFilter, $first: Int, $after: String, $last: Int, $before: String) {\n    workspace(slug: $slug) {\n      id\n      dataRuns(filter: $filter, first: $first, after: $after, last: $last, before: $before) {\n        edges { node { ...RunRow } }\n        pageInfo { hasNextPage hasPreviousPage startCursor endCursor }\n      }\n    }\n  }\n": types.WorkspaceRunsDocument,
    "\n  query WorkspaceExports($slug: String!, $filter: ExportExecutionFilter, $first: Int, $after: String, $last: Int, $before: String) {\n    workspace(slug: $slug) {\n      id\n      exportExecutions(filter: $filter, first: $first, after: $after, last: $last, before: $before) {\n        edges {\n          node {\n            id\n            state\n            phase\n            requestedAt\n            requestedBy\n            settledAt\n            cutoff\n            manifestDigest\n            progress { done total totalIsExact unit }\n            failure { code summary }\n            whyNotRunning { ...HoldFields }\n            exportPackage { id state bytes expiresAt }\n          }\n        }\n        pageInfo { hasNextPage hasPreviousPage startCursor endCursor }\n      }\n    }\n  }\n": types.WorkspaceExportsDocument,
    "\n  query WorkspaceDatasets($slug: String!, $first: Int, $after: String, $last: Int, $before: String) {\n    workspace(slug: $slug) {\n      id\n      datasets(first: $first, after: $after, last: $last, before: $before) {\n        edges { node { id name rowCount updatedAt } }\n        pageInfo { hasNextPage hasPreviousPage startCursor endCursor }\n      }\n    }\n  }\n": types.WorkspaceDatasetsDocument,
    "\n  query RunPage($id: ID!) {\n    dataRun(id: $id) {\n      ...RunFields\n      progress { done total totalIsExact unit }\n      previousRun { id }\n      grant { subject grantedAt expiresAt endedAt targets }\n      outstandingCancellations { id dataset state cancelAnswer }\n      steps {\n        id\n        position\n        dependsOn\n        progress { done total totalIsExact unit }\n        blockers { code dataset message count sampleKeys clearedBy }\n        whyNotRunning { ...HoldFields }\n        submittedAt\n        settledAt\n      }\n    }\n  }\n": types.RunPageDocument,
    "\n  mutation RenewDataRunGrant($input: RenewDataRunGrantInput!) {\n    renewDataRunGrant(input: $input) {\n      __typename\n      ... on DataRun { id grant { subject grantedAt expiresAt endedAt targets } }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission dataset }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n    }\n  }\n": types.RenewDataRunGrantDocument,
    "\n  query ExportPage($id: ID!) {\n    exportExecution(id: $id) {\n      ...ExportFields\n      settings { destinations { name url } }\n      exportPackage {\n        deliveries {\n          id\n          destination\n          state\n          attempts\n          nextAttemptAt\n          deliveredAt\n          attemptLog { number at status code message durationMs }\n        }\n      }\n    }\n  }\n": types.ExportPageDocument,
    "\n  mutation Redeliver($input: RedeliverInput!) {\n    redeliver(input: $input) {\n      __typename\n      ... on ExportDelivery { id state }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n    }\n  }\n": types.RedeliverDocument,
    "\n  query ExportSettings($slug: String!) {\n    workspace(slug: $slug) { id exportSettings { format datasets retentionDays destinations { name url } } }\n  }\n": types.ExportSettingsDocument,
    "\n  mutation UpdateExportSettings($input: UpdateExportSettingsInput!) {\n    updateExportSettings(input: $input) {\n      __typename\n      ... on Workspace { id exportSettings { format datasets retentionDays destinations { name url secret } } }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission }\n      ... on InvalidInputError { code message field }\n    }\n  }\n": types.UpdateExportSettingsDocument,
    "\n  query Lifecycles {\n    lifecycles {\n      name\n      states { name meaning terminal }\n      transitions { from to action guard sideEffects who }\n      refused { from to why }\n    }\n  }\n": types.LifecyclesDocument,
    "\n  query RunState($id: ID!) {\n    dataRun(id: $id) { id state package { name version } }\n  }\n": types.RunStateDocument,
    "\n  query ExportState($id: ID!) {\n    exportExecution(id: $id) { id state cutoff }\n  }\n": types.ExportStateDocument,
    "\n  query DatasetPage($id: ID!, $first: Int, $after: String, $last: Int, $before: String) {\n    node(id: $id) {\n      __typename\n      ... on Dataset {\n        id\n        name\n        schema\n        rowCount\n        updatedAt\n        rows(first: $first, after: $after, last: $last, before: $before) {\n          edges { cursor node { key values } }\n          pageInfo { hasNextPage hasPreviousPage startCursor endCursor }\n        }\n      }\n    }\n  }\n": types.DatasetPageDocument,
    "\n  query StepErrors($id: ID!) {\n    node(id: $id) {\n      __typename\n      ... on DataRunStep { id rowErrors { row field code message } }\n    }\n  }\n": types.StepErrorsDocument,
};

/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  fragment RunFields on DataRun {\n    id\n    state\n    driving\n    activeChildren\n    allowedActions\n    registeredAt\n    registeredBy\n    startedAt\n    settledAt\n    resetAt\n    cancelRequestedAt\n    lastEventCursor\n    notes\n    package { name title version digest }\n    workspace { id slug }\n    failure { code origin phase retryable summary }\n    failedStep { dataset }\n    readiness { ready blockers { code dataset message count sampleKeys clearedBy } }\n    whyNotRunning { code message remedy since subject }\n    steps {\n      id\n      dataset\n      target\n      state\n      attempt\n      finallyBlocked\n      skippedBecause\n      rows { source loaded updated unchanged rejected blocked unprocessed }\n      failure { code origin phase retryable summary }\n      rowErrorCount\n    }\n  }\n"): typeof import('./graphql.ts').RunFieldsFragmentDoc;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  fragment EventFields on LifecycleEvent {\n    __typename\n    id\n    cursor\n    sequence\n    at\n    action\n    from\n    to\n    actor\n    cause\n    reason\n    requestId\n    ... on DataRunEvent { dataset dataRun { id } }\n    ... on ExportExecutionEvent { destination exportExecution { id } }\n  }\n"): typeof import('./graphql.ts').EventFieldsFragmentDoc;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation CreateWorkspace($input: CreateWorkspaceInput!) {\n    createWorkspace(input: $input) {\n      __typename\n      ... on Workspace { id slug name lastEventCursor }\n      ... on ForbiddenError { code message permission }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').CreateWorkspaceDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query WorkspaceBySlug($slug: String!) {\n    workspace(slug: $slug) { id slug name lastEventCursor }\n  }\n"): typeof import('./graphql.ts').WorkspaceBySlugDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Datasets($slug: String!, $first: Int!, $after: String) {\n    workspace(slug: $slug) {\n      datasets(first: $first, after: $after) {\n        edges { node { id name rowCount updatedAt } }\n        pageInfo { hasNextPage endCursor }\n      }\n    }\n  }\n"): typeof import('./graphql.ts').DatasetsDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query DatasetRows($id: ID!, $first: Int!) {\n    node(id: $id) {\n      __typename\n      ... on Dataset { name rows(first: $first) { edges { node { key values } } } }\n    }\n  }\n"): typeof import('./graphql.ts').DatasetRowsDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation StagePackage($input: StagePackageInput!) {\n    stagePackage(input: $input) {\n      __typename\n      ... on StagedPackage { packageId uploadUrl expiresAt }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission }\n      ... on InvalidInputError { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').StagePackageDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation RegisterDataRun($input: RegisterDataRunInput!) {\n    registerDataRun(input: $input) {\n      __typename\n      ... on DataRun { ...RunFields }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission dataset }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n      ... on InvalidPackageError { code message problems { code pointer resource message } }\n    }\n  }\n"): typeof import('./graphql.ts').RegisterDataRunDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation StartDataRun($input: StartDataRunInput!) {\n    startDataRun(input: $input) {\n      __typename\n      ... on DataRun { ...RunFields }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission dataset }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n      ... on InvalidTransitionError { code message from action allowed }\n    }\n  }\n"): typeof import('./graphql.ts').StartDataRunDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation PauseDataRun($input: PauseDataRunInput!) {\n    pauseDataRun(input: $input) {\n      __typename\n      ... on DataRun { ...RunFields }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission dataset }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n      ... on InvalidTransitionError { code message from action allowed }\n    }\n  }\n"): typeof import('./graphql.ts').PauseDataRunDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation ResumeDataRun($input: ResumeDataRunInput!) {\n    resumeDataRun(input: $input) {\n      __typename\n      ... on DataRun { ...RunFields }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission dataset }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n      ... on InvalidTransitionError { code message from action allowed }\n    }\n  }\n"): typeof import('./graphql.ts').ResumeDataRunDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation CancelDataRun($input: CancelDataRunInput!) {\n    cancelDataRun(input: $input) {\n      __typename\n      ... on DataRun { ...RunFields }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission dataset }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n      ... on InvalidTransitionError { code message from action allowed }\n    }\n  }\n"): typeof import('./graphql.ts').CancelDataRunDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation ResetDataRun($input: ResetDataRunInput!) {\n    resetDataRun(input: $input) {\n      __typename\n      ... on DataRun { ...RunFields }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission dataset }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n      ... on InvalidTransitionError { code message from action allowed }\n    }\n  }\n"): typeof import('./graphql.ts').ResetDataRunDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation AdvanceDataRun($input: AdvanceDataRunInput!) {\n    advanceDataRun(input: $input) {\n      __typename\n      ... on DataRun { ...RunFields }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission dataset }\n      ... on InvalidInputError { code message field }\n      ... on InvalidTransitionError { code message from action allowed }\n    }\n  }\n"): typeof import('./graphql.ts').AdvanceDataRunDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query DataRun($id: ID!) {\n    dataRun(id: $id) { ...RunFields }\n  }\n"): typeof import('./graphql.ts').DataRunDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query RowErrors($id: ID!) {\n    dataRun(id: $id) {\n      failedStep { dataset rowErrorCount rowErrors { row field code message } }\n    }\n  }\n"): typeof import('./graphql.ts').RowErrorsDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query DataRuns($slug: String!, $first: Int!, $after: String, $filter: DataRunFilter) {\n    workspace(slug: $slug) {\n      dataRuns(first: $first, after: $after, filter: $filter) {\n        edges {\n          node { id state registeredAt registeredBy settledAt package { name version } failure { code summary } readiness { ready } }\n        }\n        pageInfo { hasNextPage endCursor }\n      }\n    }\n  }\n"): typeof import('./graphql.ts').DataRunsDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query PastEvents($id: ID!, $first: Int!, $after: String) {\n    dataRun(id: $id) {\n      events(first: $first, after: $after) {\n        edges { node { ...EventFields } }\n        pageInfo { hasNextPage endCursor }\n      }\n    }\n  }\n"): typeof import('./graphql.ts').PastEventsDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  subscription DataRunEvents($id: ID!, $after: String) {\n    dataRunEvents(id: $id, after: $after) { ...EventFields }\n  }\n"): typeof import('./graphql.ts').DataRunEventsDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  subscription WorkspaceEvents($workspace: ID!, $after: String) {\n    workspaceEvents(workspace: $workspace, after: $after) { ...EventFields }\n  }\n"): typeof import('./graphql.ts').WorkspaceEventsDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  subscription DataRunProgress($id: ID!) {\n    dataRunProgress(id: $id) {\n      at\n      state\n      progress { done total totalIsExact unit }\n      steps { dataset state progress { done total totalIsExact unit } }\n    }\n  }\n"): typeof import('./graphql.ts').DataRunProgressDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  fragment ExportFields on ExportExecution {\n    id\n    state\n    phase\n    cutoff\n    requestedAt\n    requestedBy\n    startedAt\n    settledAt\n    manifestDigest\n    allowedActions\n    lastEventCursor\n    workspace { id slug }\n    settings { format datasets retentionDays }\n    progress { done total totalIsExact unit }\n    counts { dataset rows bytes }\n    failure { code origin phase retryable summary }\n    whyNotRunning { code message remedy since subject }\n    exportPackage {\n      id\n      state\n      bytes\n      digest\n      publishedAt\n      expiresAt\n      failure { code origin phase retryable summary }\n      deliveries { destination state attempts nextAttemptAt failure { code summary } }\n    }\n  }\n"): typeof import('./graphql.ts').ExportFieldsFragmentDoc;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation RequestWorkspaceExport($input: RequestWorkspaceExportInput!) {\n    requestWorkspaceExport(input: $input) {\n      __typename\n      ... on ExportExecution { ...ExportFields }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').RequestWorkspaceExportDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation CancelExportExecution($input: CancelExportExecutionInput!) {\n    cancelExportExecution(input: $input) {\n      __typename\n      ... on ExportExecution { ...ExportFields }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n      ... on InvalidTransitionError { code message from action allowed }\n    }\n  }\n"): typeof import('./graphql.ts').CancelExportExecutionDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation IssueDownloadLink($input: IssueDownloadLinkInput!) {\n    issueDownloadLink(input: $input) {\n      __typename\n      ... on DownloadLink { url expiresAt }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').IssueDownloadLinkDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query ExportExecution($id: ID!) {\n    exportExecution(id: $id) { ...ExportFields }\n  }\n"): typeof import('./graphql.ts').ExportExecutionDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query RunOrExport($id: ID!) {\n    dataRun(id: $id) { ...RunFields }\n    exportExecution(id: $id) { ...ExportFields }\n  }\n"): typeof import('./graphql.ts').RunOrExportDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query ExportExecutions($slug: String!, $first: Int!, $after: String) {\n    workspace(slug: $slug) {\n      exportExecutions(first: $first, after: $after) {\n        edges {\n          node { id state requestedAt requestedBy settledAt cutoff manifestDigest failure { code summary } exportPackage { state bytes } }\n        }\n        pageInfo { hasNextPage endCursor }\n      }\n    }\n  }\n"): typeof import('./graphql.ts').ExportExecutionsDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query PastExportEvents($id: ID!, $first: Int!, $after: String) {\n    exportExecution(id: $id) {\n      events(first: $first, after: $after) {\n        edges { node { ...EventFields } }\n        pageInfo { hasNextPage endCursor }\n      }\n    }\n  }\n"): typeof import('./graphql.ts').PastExportEventsDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  subscription ExportExecutionEvents($id: ID!, $after: String) {\n    exportExecutionEvents(id: $id, after: $after) { ...EventFields }\n  }\n"): typeof import('./graphql.ts').ExportExecutionEventsDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  subscription ExportExecutionProgress($id: ID!) {\n    exportExecutionProgress(id: $id) {\n      at\n      state\n      phase\n      progress { done total totalIsExact unit }\n      datasets { dataset bytes progress { done total totalIsExact unit } }\n    }\n  }\n"): typeof import('./graphql.ts').ExportExecutionProgressDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  fragment RunRow on DataRun {\n    id\n    state\n    registeredAt\n    registeredBy\n    settledAt\n    activeChildren\n    package { name title version }\n    progress { done total totalIsExact unit }\n    readiness { ready }\n    failure { code summary }\n  }\n"): typeof import('./graphql.ts').RunRowFragmentDoc;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  fragment HoldFields on Hold { code message remedy since subject }\n"): typeof import('./graphql.ts').HoldFieldsFragmentDoc;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Viewer {\n    viewer { subject permissions }\n  }\n"): typeof import('./graphql.ts').ViewerDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Workspaces($first: Int, $after: String, $last: Int, $before: String) {\n    workspaces(first: $first, after: $after, last: $last, before: $before) {\n      edges {\n        node {\n          id\n          slug\n          name\n          createdAt\n          dataRuns(first: 1) { edges { node { id state registeredAt settledAt package { name version } } } }\n        }\n      }\n      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }\n    }\n  }\n"): typeof import('./graphql.ts').WorkspacesDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query WorkspaceRuns($slug: String!, $filter: DataRunFilter, $first: Int, $after: String, $last: Int, $before: String) {\n    workspace(slug: $slug) {\n      id\n      dataRuns(filter: $filter, first: $first, after: $after, last: $last, before: $before) {\n        edges { node { ...RunRow } }\n        pageInfo { hasNextPage hasPreviousPage startCursor endCursor }\n      }\n    }\n  }\n"): typeof import('./graphql.ts').WorkspaceRunsDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query WorkspaceExports($slug: String!, $filter: ExportExecutionFilter, $first: Int, $after: String, $last: Int, $before: String) {\n    workspace(slug: $slug) {\n      id\n      exportExecutions(filter: $filter, first: $first, after: $after, last: $last, before: $before) {\n        edges {\n          node {\n            id\n            state\n            phase\n            requestedAt\n            requestedBy\n            settledAt\n            cutoff\n            manifestDigest\n            progress { done total totalIsExact unit }\n            failure { code summary }\n            whyNotRunning { ...HoldFields }\n            exportPackage { id state bytes expiresAt }\n          }\n        }\n        pageInfo { hasNextPage hasPreviousPage startCursor endCursor }\n      }\n    }\n  }\n"): typeof import('./graphql.ts').WorkspaceExportsDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query WorkspaceDatasets($slug: String!, $first: Int, $after: String, $last: Int, $before: String) {\n    workspace(slug: $slug) {\n      id\n      datasets(first: $first, after: $after, last: $last, before: $before) {\n        edges { node { id name rowCount updatedAt } }\n        pageInfo { hasNextPage hasPreviousPage startCursor endCursor }\n      }\n    }\n  }\n"): typeof import('./graphql.ts').WorkspaceDatasetsDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query RunPage($id: ID!) {\n    dataRun(id: $id) {\n      ...RunFields\n      progress { done total totalIsExact unit }\n      previousRun { id }\n      grant { subject grantedAt expiresAt endedAt targets }\n      outstandingCancellations { id dataset state cancelAnswer }\n      steps {\n        id\n        position\n        dependsOn\n        progress { done total totalIsExact unit }\n        blockers { code dataset message count sampleKeys clearedBy }\n        whyNotRunning { ...HoldFields }\n        submittedAt\n        settledAt\n      }\n    }\n  }\n"): typeof import('./graphql.ts').RunPageDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation RenewDataRunGrant($input: RenewDataRunGrantInput!) {\n    renewDataRunGrant(input: $input) {\n      __typename\n      ... on DataRun { id grant { subject grantedAt expiresAt endedAt targets } }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission dataset }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').RenewDataRunGrantDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query ExportPage($id: ID!) {\n    exportExecution(id: $id) {\n      ...ExportFields\n      settings { destinations { name url } }\n      exportPackage {\n        deliveries {\n          id\n          destination\n          state\n          attempts\n          nextAttemptAt\n          deliveredAt\n          attemptLog { number at status code message durationMs }\n        }\n      }\n    }\n  }\n"): typeof import('./graphql.ts').ExportPageDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation Redeliver($input: RedeliverInput!) {\n    redeliver(input: $input) {\n      __typename\n      ... on ExportDelivery { id state }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission }\n      ... on ConflictError { code message conflictingId }\n      ... on InvalidInputError { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').RedeliverDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query ExportSettings($slug: String!) {\n    workspace(slug: $slug) { id exportSettings { format datasets retentionDays destinations { name url } } }\n  }\n"): typeof import('./graphql.ts').ExportSettingsDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  mutation UpdateExportSettings($input: UpdateExportSettingsInput!) {\n    updateExportSettings(input: $input) {\n      __typename\n      ... on Workspace { id exportSettings { format datasets retentionDays destinations { name url secret } } }\n      ... on NotFoundError { code message }\n      ... on ForbiddenError { code message permission }\n      ... on InvalidInputError { code message field }\n    }\n  }\n"): typeof import('./graphql.ts').UpdateExportSettingsDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query Lifecycles {\n    lifecycles {\n      name\n      states { name meaning terminal }\n      transitions { from to action guard sideEffects who }\n      refused { from to why }\n    }\n  }\n"): typeof import('./graphql.ts').LifecyclesDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query RunState($id: ID!) {\n    dataRun(id: $id) { id state package { name version } }\n  }\n"): typeof import('./graphql.ts').RunStateDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query ExportState($id: ID!) {\n    exportExecution(id: $id) { id state cutoff }\n  }\n"): typeof import('./graphql.ts').ExportStateDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query DatasetPage($id: ID!, $first: Int, $after: String, $last: Int, $before: String) {\n    node(id: $id) {\n      __typename\n      ... on Dataset {\n        id\n        name\n        schema\n        rowCount\n        updatedAt\n        rows(first: $first, after: $after, last: $last, before: $before) {\n          edges { cursor node { key values } }\n          pageInfo { hasNextPage hasPreviousPage startCursor endCursor }\n        }\n      }\n    }\n  }\n"): typeof import('./graphql.ts').DatasetPageDocument;
/**
 * The graphql function is used to parse GraphQL queries into a document that can be used by GraphQL clients.
 */
export function graphql(source: "\n  query StepErrors($id: ID!) {\n    node(id: $id) {\n      __typename\n      ... on DataRunStep { id rowErrors { row field code message } }\n    }\n  }\n"): typeof import('./graphql.ts').StepErrorsDocument;


export function graphql(source: string) {
  return (documents as any)[source] ?? {};
}
