/* eslint-disable */
/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import type { DocumentTypeDecoration } from '@graphql-typed-document-node/core';
/** Which run to advance. */
export type AdvanceDataRunInput = {
  /** The run’s global id. */
  dataRunId: string;
};

/** Which run to cancel. */
export type CancelDataRunInput = {
  /** The run’s global id. */
  dataRunId: string;
  /** Cancel although a child refuses. Needs `data-run:force`. */
  force?: boolean | null | undefined;
  /** The same key gives the first result again, for 24 hours. */
  idempotencyKey?: string | null | undefined;
  /** Why: kept with the event. At most 1,000 characters. */
  reason?: string | null | undefined;
};

/** Which export to cancel. */
export type CancelExportExecutionInput = {
  /** The export’s global id. */
  exportExecutionId: string;
  /** The same key gives the first result again, for 24 hours. */
  idempotencyKey?: string | null | undefined;
  /** Why: kept with the event. At most 1,000 characters. */
  reason?: string | null | undefined;
};

/** What makes a workspace. */
export type CreateWorkspaceInput = {
  /** A name for people, at most 200 characters. */
  name: string;
  /** Lower-case letters, digits and hyphens; 1 to 63 of them. Cannot be changed. */
  slug: string;
};

/** What a person can ask of a run. */
export type DataRunAction =
  /** Carry out one pass now, under your own authority; it may settle the run. */
  | 'ADVANCE'
  /** End the run after asking its active children to stop. */
  | 'CANCEL'
  /** Hold further submissions; active children go on. */
  | 'PAUSE'
  /** Take back what a settled run wrote, and put back what it replaced; once. */
  | 'RESET'
  /** Go on with a paused run, one pass at once. */
  | 'RESUME'
  /** Begin a registered run, or take up a paused one. */
  | 'START';

/** Which runs. What is given must all hold. */
export type DataRunFilter = {
  /** Of the package with this name. */
  packageName?: string | null | undefined;
  /** Registered after this instant. */
  registeredAfter?: string | null | undefined;
  /** Registered before this instant. */
  registeredBefore?: string | null | undefined;
  /** Registered by this subject. */
  registeredBy?: string | null | undefined;
  /** In one of these states. */
  states?: Array<DataRunState> | null | undefined;
};

/** Where a run is in its lifecycle. */
export type DataRunState =
  /** Ended by a person after asking children to stop; pending datasets are skipped, completed writes stay. */
  | 'CANCELLED'
  /** A dataset failed: the run names it, pending datasets are skipped, what was loaded stays. */
  | 'FAILED'
  /** Nothing more is submitted; children that are active go on. */
  | 'PAUSED'
  /** Package and ordered datasets are saved; nothing has been submitted. */
  | 'REGISTERED'
  /** Passes poll active children and submit eligible datasets. */
  | 'RUNNING'
  /** Every dataset succeeded or is finally blocked; readiness may still report blockers. */
  | 'SUCCEEDED';

/** Where a step is in its lifecycle. */
export type DataRunStepState =
  /** The target accepted it; its child job has not ended. */
  | 'ACTIVE'
  /** Something is missing: named in its blockers. Submitted again if a dataset of this run can still clear it. */
  | 'BLOCKED'
  /** The child confirmed that it stopped. */
  | 'CANCELLED'
  /** The run was cancelled; the child is not yet confirmed stopped. */
  | 'CANCELLING'
  /** The child failed or the target refused it; nothing of the dataset was written by this attempt. */
  | 'FAILED'
  /** Waits for its dependencies, or for the run to be driven. */
  | 'PENDING'
  /** Never submitted: the run ended first. */
  | 'SKIPPED'
  /** The intent to submit is saved; the target’s answer is not known yet. */
  | 'SUBMITTING'
  /** The child wrote the dataset. */
  | 'SUCCEEDED';

/** Where a delivery is in its lifecycle. */
export type DeliveryState =
  /** The destination took it. */
  | 'DELIVERED'
  /** Every attempt failed, or the destination is gone. */
  | 'FAILED'
  /** To be sent, or sent again. */
  | 'PENDING';

/** Who drives a run once it is started. */
export type Driving =
  /** The server drives it, under the grant that start or resume left. */
  | 'BACKGROUND'
  /** Only start, resume and advance drive it. */
  | 'ON_REQUEST';

/** A destination. One that keeps its name and URL keeps its secret, unless another is given. */
export type ExportDestinationInput = {
  /** Its name in the workspace, at most 100 characters. */
  name: string;
  /** The signing secret, `whsec_` and base64. One is made, and shown once, where none is given. */
  secret?: string | null | undefined;
  /** The webhook’s URL, on a host that PACKHORSE_FETCH_HOSTS names. */
  url: string;
};

/** What a person can ask of an export. Events carry transitions. */
export type ExportExecutionAction =
  /** End it; generation stops and its partial files are removed. */
  | 'CANCEL';

/** Which exports. What is given must all hold. */
export type ExportExecutionFilter = {
  /** Requested after this instant. */
  requestedAfter?: string | null | undefined;
  /** Requested before this instant. */
  requestedBefore?: string | null | undefined;
  /** Requested by this subject. */
  requestedBy?: string | null | undefined;
  /** In one of these states. */
  states?: Array<ExportExecutionState> | null | undefined;
};

/** Where an export is in its lifecycle. */
export type ExportExecutionState =
  /** Settled before it finished, by an administrator. */
  | 'CANCELLED'
  /** Failure code, summary and phase, and the settled time, are recorded. */
  | 'FAILED'
  /** Admitted: the workspace’s export settings and the cutoff are copied. */
  | 'QUEUED'
  /** A dispatcher gave it a cluster slot; generation is writing. */
  | 'RUNNING'
  /** Final counts and the manifest digest are recorded. */
  | 'SUCCEEDED';

/** How an export writes its datasets. */
export type ExportFormat =
  /** Comma-separated values, with a header. */
  | 'CSV'
  /** One JSON object a line. */
  | 'NDJSON'
  /** Apache Parquet. It cannot be loaded again. */
  | 'PARQUET';

/** A link to which package, and for how long. */
export type IssueDownloadLinkInput = {
  /** How long it holds: 1 to 604,800 s, and never longer than the package is kept. */
  expiresInSeconds?: number | null | undefined;
  /** The package’s global id. */
  exportPackageId: string;
};

/** A link to the rows of which run, and for how long. */
export type IssueRejectedRowsLinkInput = {
  /** The run’s global id. */
  dataRunId: string;
  /** How long it holds: 1 to 86,400 s. */
  expiresInSeconds?: number | null | undefined;
};

/** What becomes of a package whose stated sizes or hashes are wrong. */
export type OnHashMismatch =
  /** It is refused. */
  | 'FAIL'
  /** It is let pass, and the run’s notes say so. */
  | 'WARN';

/** What becomes of a row that is not valid. */
export type OnInvalidRow =
  /** The dataset fails, and nothing of it is written. */
  | 'FAIL'
  /** The row is left out, the rest is written. What was left out is kept for a while: see `issueRejectedRowsLink`. */
  | 'REJECT';

/** What becomes of a valid row whose foreign key points at nothing. */
export type OnMissingReference =
  /** The row is held back, the rest is written, and the step ends blocked. */
  | 'BLOCK'
  /** As an invalid row: the dataset fails. */
  | 'FAIL'
  /** As a row that is not valid: it is left out, with the rows of its file that point at it, and the rest is written. */
  | 'REJECT';

/** Which run to pause. */
export type PauseDataRunInput = {
  /** The run’s global id. */
  dataRunId: string;
  /** The same key gives the first result again, for 24 hours. */
  idempotencyKey?: string | null | undefined;
  /** Why: kept with the event. At most 1,000 characters. */
  reason?: string | null | undefined;
};

/** Which destination to test. */
export type PingDestinationInput = {
  /** The destination’s name in the workspace’s export settings. */
  name: string;
  /** The workspace’s global id. */
  workspaceId: string;
};

/** Which run to plan. */
export type PlanDataRunInput = {
  /** The run’s global id. */
  dataRunId: string;
};

/** Where a package is in its lifecycle. */
export type PublicationState =
  /** Its retention is over; the archive is deleted. */
  | 'EXPIRED'
  /** It could not be stored, however often it was tried. */
  | 'FAILED'
  /** On its way to storage. */
  | 'PENDING'
  /** In storage, whole, re-read and equal; links can be issued. */
  | 'PUBLISHED';

/** What to deliver again. */
export type RedeliverInput = {
  /** The delivery’s global id. */
  exportDeliveryId: string;
};

/** What makes a run. */
export type RegisterDataRunInput = {
  /** Who drives it once it is started. */
  driving?: Driving | null | undefined;
  /** The same key gives the first result again, for 24 hours. */
  idempotencyKey?: string | null | undefined;
  /** What becomes of wrong sizes and hashes. */
  onHashMismatch?: OnHashMismatch | null | undefined;
  /** What becomes of rows that are not valid. */
  onInvalidRow?: OnInvalidRow | null | undefined;
  /** What becomes of rows that point at nothing. */
  onMissingReference?: OnMissingReference | null | undefined;
  /** What to load: the id that stagePackage gave. */
  packageId: string;
  /** The run that this is another attempt of. */
  previousRunId?: string | null | undefined;
  /** Where to load: the workspace’s global id. */
  workspaceId: string;
};

/** Which run to give your authority to. */
export type RenewDataRunGrantInput = {
  /** The run’s global id. */
  dataRunId: string;
  /** The same key gives the first result again, for 24 hours. */
  idempotencyKey?: string | null | undefined;
};

/** Which export to store again. */
export type RepublishExportInput = {
  /** The export’s global id. */
  exportExecutionId: string;
  /** The same key gives the first result again, for 24 hours. */
  idempotencyKey?: string | null | undefined;
};

/** What to export. */
export type RequestWorkspaceExportInput = {
  /** The same key gives the first result again, for 24 hours. */
  idempotencyKey?: string | null | undefined;
  /** The workspace’s global id. */
  workspaceId: string;
};

/** Which run to take back. */
export type ResetDataRunInput = {
  /** The run’s global id. */
  dataRunId: string;
  /** The same key gives the first result again, for 24 hours. */
  idempotencyKey?: string | null | undefined;
  /** Why: kept with the event. At most 1,000 characters. */
  reason?: string | null | undefined;
};

/** Whose access to give again. */
export type RestoreAccessInput = {
  /** Whose: the `sub` of their tokens. */
  subject: string;
  /** The workspace’s global id. */
  workspaceId: string;
};

/** Which run to resume. */
export type ResumeDataRunInput = {
  /** The run’s global id. */
  dataRunId: string;
  /** The same key gives the first result again, for 24 hours. */
  idempotencyKey?: string | null | undefined;
  /** Why: kept with the event. At most 1,000 characters. */
  reason?: string | null | undefined;
};

/** Whose access to take back. */
export type RevokeAccessInput = {
  /** Why, for whoever looks later. At most 1,000 characters. */
  reason?: string | null | undefined;
  /** Whose: the `sub` of their tokens. */
  subject: string;
  /** The workspace’s global id. */
  workspaceId: string;
};

/** What a person found at a target that cannot be asked by key. */
export type SettleSubmissionInput = {
  /** With CREATED: the target’s id of the job. At most 500 characters. */
  childJobId?: string | null | undefined;
  /** The dataset’s global id. */
  dataRunStepId: string;
  /** The same key gives the first result again, for 24 hours. */
  idempotencyKey?: string | null | undefined;
  /** What became of the submission. */
  outcome: SubmissionOutcome;
  /** Why: kept with the event. At most 1,000 characters. */
  reason?: string | null | undefined;
};

/** Where a package is to be staged. */
export type StagePackageInput = {
  /** The workspace’s global id. */
  workspaceId: string;
};

/** Which run to start. */
export type StartDataRunInput = {
  /** The run’s global id. */
  dataRunId: string;
  /** The same key gives the first result again, for 24 hours. */
  idempotencyKey?: string | null | undefined;
  /** The digest of the plan that was looked at. Where what the plan was made of has changed since, the start is refused with the ConflictError PLAN_STALE. */
  planDigest?: string | null | undefined;
};

/** What became of a submission whose answer was lost. */
export type SubmissionOutcome =
  /** The target has a job for it: the dataset is ACTIVE with that job. */
  | 'CREATED'
  /** The target has none: it is submitted again, the same attempt with the same key. */
  | 'NEVER_CREATED';

/** What to change. What is left out stays as it is. */
export type UpdateExportSettingsInput = {
  /** The datasets to export, by name; null for all. */
  datasets?: Array<string> | null | undefined;
  /** All destinations: those that are left out are forgotten. */
  destinations?: Array<ExportDestinationInput> | null | undefined;
  /** The format of the data files. */
  format?: ExportFormat | null | undefined;
  /** How many days a published export is kept: 1 to 3,650. */
  retentionDays?: number | null | undefined;
  /** The workspace’s global id. */
  workspaceId: string;
};

export type RevokedAccessQueryVariables = Exact<{
  slug: string;
}>;


export type RevokedAccessQuery = { workspace: { id: string, revokedAccess: Array<{ subject: string, reason: string | null, revokedBy: string, revokedAt: string }> | null } | null };

export type RevokeAccessMutationVariables = Exact<{
  input: RevokeAccessInput;
}>;


export type RevokeAccessMutation = { revokeAccess:
    | { __typename: 'ForbiddenError', code: string, message: string, permission: string }
    | { __typename: 'InvalidInputError', code: string, message: string, field: string }
    | { __typename: 'NotFoundError', code: string, message: string }
    | { __typename: 'Workspace', id: string }
   };

export type RestoreAccessMutationVariables = Exact<{
  input: RestoreAccessInput;
}>;


export type RestoreAccessMutation = { restoreAccess:
    | { __typename: 'ForbiddenError', code: string, message: string, permission: string }
    | { __typename: 'InvalidInputError', code: string, message: string, field: string }
    | { __typename: 'NotFoundError', code: string, message: string }
    | { __typename: 'Workspace', id: string }
   };

export type RunFieldsFragment = { id: string, state: DataRunState, driving: Driving, activeChildren: number, allowedActions: Array<DataRunAction>, registeredAt: string, registeredBy: string, startedAt: string | null, settledAt: string | null, resetAt: string | null, cancelRequestedAt: string | null, lastEventCursor: string, notes: Array<string>, package: { name: string, title: string | null, version: string | null, digest: string }, workspace: { id: string, slug: string }, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null, failedStep: { dataset: string } | null, readiness: { ready: boolean, blockers: Array<{ code: string, dataset: string, message: string, count: string, sampleKeys: Array<string>, clearedBy: Array<string> }> }, whyNotRunning: Array<{ code: string, message: string, remedy: string, since: string, subject: string }>, steps: Array<{ id: string, dataset: string, target: string, state: DataRunStepState, attempt: number, finallyBlocked: boolean, skippedBecause: string | null, rowErrorCount: string, rows: { source: string, loaded: string, updated: string, unchanged: string, rejected: string, blocked: string, unprocessed: string }, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null }> };

type EventFields_DataRunEvent_Fragment = { __typename: 'DataRunEvent', dataset: string | null, id: string, cursor: string, sequence: number, at: string, action: string, from: string | null, to: string, actor: string, cause: string | null, reason: string | null, requestId: string | null, dataRun: { id: string } };

type EventFields_ExportExecutionEvent_Fragment = { __typename: 'ExportExecutionEvent', destination: string | null, id: string, cursor: string, sequence: number, at: string, action: string, from: string | null, to: string, actor: string, cause: string | null, reason: string | null, requestId: string | null, exportExecution: { id: string } };

export type EventFieldsFragment =
  | EventFields_DataRunEvent_Fragment
  | EventFields_ExportExecutionEvent_Fragment
;

export type CreateWorkspaceMutationVariables = Exact<{
  input: CreateWorkspaceInput;
}>;


export type CreateWorkspaceMutation = { createWorkspace:
    | { __typename: 'ConflictError', code: string, message: string, conflictingId: string | null }
    | { __typename: 'ForbiddenError', code: string, message: string, permission: string }
    | { __typename: 'InvalidInputError', code: string, message: string, field: string }
    | { __typename: 'Workspace', id: string, slug: string, name: string, lastEventCursor: string }
   };

export type WorkspaceBySlugQueryVariables = Exact<{
  slug: string;
}>;


export type WorkspaceBySlugQuery = { workspace: { id: string, slug: string, name: string, lastEventCursor: string } | null };

export type DatasetsQueryVariables = Exact<{
  slug: string;
  first: number;
  after?: string | null | undefined;
}>;


export type DatasetsQuery = { workspace: { datasets: { edges: Array<{ node: { id: string, name: string, rowCount: string, updatedAt: string } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } } | null };

export type DatasetRowsQueryVariables = Exact<{
  id: string;
  first: number;
}>;


export type DatasetRowsQuery = { node:
    | { __typename: 'DataPackage' }
    | { __typename: 'DataRun' }
    | { __typename: 'DataRunStep' }
    | { __typename: 'Dataset', name: string, rows: { edges: Array<{ node: { key: string, values: unknown } }> } }
    | { __typename: 'ExportDelivery' }
    | { __typename: 'ExportExecution' }
    | { __typename: 'ExportPackage' }
    | { __typename: 'Workspace' }
   | null };

export type StagePackageMutationVariables = Exact<{
  input: StagePackageInput;
}>;


export type StagePackageMutation = { stagePackage:
    | { __typename: 'ForbiddenError', code: string, message: string, permission: string }
    | { __typename: 'InvalidInputError', code: string, message: string, field: string }
    | { __typename: 'NotFoundError', code: string, message: string }
    | { __typename: 'StagedPackage', packageId: string, uploadUrl: string, expiresAt: string }
   };

export type RegisterDataRunMutationVariables = Exact<{
  input: RegisterDataRunInput;
}>;


export type RegisterDataRunMutation = { registerDataRun:
    | { __typename: 'ConflictError', code: string, message: string, conflictingId: string | null }
    | { __typename: 'DataRun', id: string, state: DataRunState, driving: Driving, activeChildren: number, allowedActions: Array<DataRunAction>, registeredAt: string, registeredBy: string, startedAt: string | null, settledAt: string | null, resetAt: string | null, cancelRequestedAt: string | null, lastEventCursor: string, notes: Array<string>, package: { name: string, title: string | null, version: string | null, digest: string }, workspace: { id: string, slug: string }, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null, failedStep: { dataset: string } | null, readiness: { ready: boolean, blockers: Array<{ code: string, dataset: string, message: string, count: string, sampleKeys: Array<string>, clearedBy: Array<string> }> }, whyNotRunning: Array<{ code: string, message: string, remedy: string, since: string, subject: string }>, steps: Array<{ id: string, dataset: string, target: string, state: DataRunStepState, attempt: number, finallyBlocked: boolean, skippedBecause: string | null, rowErrorCount: string, rows: { source: string, loaded: string, updated: string, unchanged: string, rejected: string, blocked: string, unprocessed: string }, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null }> }
    | { __typename: 'ForbiddenError', code: string, message: string, permission: string, dataset: string | null }
    | { __typename: 'InvalidInputError', code: string, message: string, field: string }
    | { __typename: 'InvalidPackageError', code: string, message: string, problems: Array<{ code: string, pointer: string, resource: string | null, message: string }> }
    | { __typename: 'NotFoundError', code: string, message: string }
   };

export type PlanDataRunMutationVariables = Exact<{
  input: PlanDataRunInput;
}>;


export type PlanDataRunMutation = { planDataRun:
    | { __typename: 'DataRunPlan', digest: string, order: Array<Array<string>>, blockers: Array<{ code: string, dataset: string, message: string, count: string, sampleKeys: Array<string>, clearedBy: Array<string> }>, datasets: Array<{ dataset: string, rows: string, invalidRows: string, target: string, authorised: boolean, state: DataRunStepState | null, removed: string, rowErrorCount: string, account: { source: string, loaded: string, updated: string, unchanged: string, rejected: string, blocked: string, unprocessed: string } | null, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null, rowErrors: Array<{ row: string, field: string | null, code: string, message: string }> }> }
    | { __typename: 'ForbiddenError', code: string, message: string, permission: string, dataset: string | null }
    | { __typename: 'InvalidInputError', code: string, message: string, field: string }
    | { __typename: 'InvalidTransitionError', code: string, message: string, from: string, action: string, allowed: Array<string> }
    | { __typename: 'NotFoundError', code: string, message: string }
   };

export type StartDataRunMutationVariables = Exact<{
  input: StartDataRunInput;
}>;


export type StartDataRunMutation = { startDataRun:
    | { __typename: 'ConflictError', code: string, message: string, conflictingId: string | null }
    | { __typename: 'DataRun', id: string, state: DataRunState, driving: Driving, activeChildren: number, allowedActions: Array<DataRunAction>, registeredAt: string, registeredBy: string, startedAt: string | null, settledAt: string | null, resetAt: string | null, cancelRequestedAt: string | null, lastEventCursor: string, notes: Array<string>, package: { name: string, title: string | null, version: string | null, digest: string }, workspace: { id: string, slug: string }, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null, failedStep: { dataset: string } | null, readiness: { ready: boolean, blockers: Array<{ code: string, dataset: string, message: string, count: string, sampleKeys: Array<string>, clearedBy: Array<string> }> }, whyNotRunning: Array<{ code: string, message: string, remedy: string, since: string, subject: string }>, steps: Array<{ id: string, dataset: string, target: string, state: DataRunStepState, attempt: number, finallyBlocked: boolean, skippedBecause: string | null, rowErrorCount: string, rows: { source: string, loaded: string, updated: string, unchanged: string, rejected: string, blocked: string, unprocessed: string }, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null }> }
    | { __typename: 'ForbiddenError', code: string, message: string, permission: string, dataset: string | null }
    | { __typename: 'InvalidInputError', code: string, message: string, field: string }
    | { __typename: 'InvalidTransitionError', code: string, message: string, from: string, action: string, allowed: Array<string> }
    | { __typename: 'NotFoundError', code: string, message: string }
   };

export type PauseDataRunMutationVariables = Exact<{
  input: PauseDataRunInput;
}>;


export type PauseDataRunMutation = { pauseDataRun:
    | { __typename: 'ConflictError', code: string, message: string, conflictingId: string | null }
    | { __typename: 'DataRun', id: string, state: DataRunState, driving: Driving, activeChildren: number, allowedActions: Array<DataRunAction>, registeredAt: string, registeredBy: string, startedAt: string | null, settledAt: string | null, resetAt: string | null, cancelRequestedAt: string | null, lastEventCursor: string, notes: Array<string>, package: { name: string, title: string | null, version: string | null, digest: string }, workspace: { id: string, slug: string }, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null, failedStep: { dataset: string } | null, readiness: { ready: boolean, blockers: Array<{ code: string, dataset: string, message: string, count: string, sampleKeys: Array<string>, clearedBy: Array<string> }> }, whyNotRunning: Array<{ code: string, message: string, remedy: string, since: string, subject: string }>, steps: Array<{ id: string, dataset: string, target: string, state: DataRunStepState, attempt: number, finallyBlocked: boolean, skippedBecause: string | null, rowErrorCount: string, rows: { source: string, loaded: string, updated: string, unchanged: string, rejected: string, blocked: string, unprocessed: string }, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null }> }
    | { __typename: 'ForbiddenError', code: string, message: string, permission: string, dataset: string | null }
    | { __typename: 'InvalidInputError', code: string, message: string, field: string }
    | { __typename: 'InvalidTransitionError', code: string, message: string, from: string, action: string, allowed: Array<string> }
    | { __typename: 'NotFoundError', code: string, message: string }
   };

export type ResumeDataRunMutationVariables = Exact<{
  input: ResumeDataRunInput;
}>;


export type ResumeDataRunMutation = { resumeDataRun:
    | { __typename: 'ConflictError', code: string, message: string, conflictingId: string | null }
    | { __typename: 'DataRun', id: string, state: DataRunState, driving: Driving, activeChildren: number, allowedActions: Array<DataRunAction>, registeredAt: string, registeredBy: string, startedAt: string | null, settledAt: string | null, resetAt: string | null, cancelRequestedAt: string | null, lastEventCursor: string, notes: Array<string>, package: { name: string, title: string | null, version: string | null, digest: string }, workspace: { id: string, slug: string }, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null, failedStep: { dataset: string } | null, readiness: { ready: boolean, blockers: Array<{ code: string, dataset: string, message: string, count: string, sampleKeys: Array<string>, clearedBy: Array<string> }> }, whyNotRunning: Array<{ code: string, message: string, remedy: string, since: string, subject: string }>, steps: Array<{ id: string, dataset: string, target: string, state: DataRunStepState, attempt: number, finallyBlocked: boolean, skippedBecause: string | null, rowErrorCount: string, rows: { source: string, loaded: string, updated: string, unchanged: string, rejected: string, blocked: string, unprocessed: string }, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null }> }
    | { __typename: 'ForbiddenError', code: string, message: string, permission: string, dataset: string | null }
    | { __typename: 'InvalidInputError', code: string, message: string, field: string }
    | { __typename: 'InvalidTransitionError', code: string, message: string, from: string, action: string, allowed: Array<string> }
    | { __typename: 'NotFoundError', code: string, message: string }
   };

export type CancelDataRunMutationVariables = Exact<{
  input: CancelDataRunInput;
}>;


export type CancelDataRunMutation = { cancelDataRun:
    | { __typename: 'ConflictError', code: string, message: string, conflictingId: string | null }
    | { __typename: 'DataRun', id: string, state: DataRunState, driving: Driving, activeChildren: number, allowedActions: Array<DataRunAction>, registeredAt: string, registeredBy: string, startedAt: string | null, settledAt: string | null, resetAt: string | null, cancelRequestedAt: string | null, lastEventCursor: string, notes: Array<string>, package: { name: string, title: string | null, version: string | null, digest: string }, workspace: { id: string, slug: string }, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null, failedStep: { dataset: string } | null, readiness: { ready: boolean, blockers: Array<{ code: string, dataset: string, message: string, count: string, sampleKeys: Array<string>, clearedBy: Array<string> }> }, whyNotRunning: Array<{ code: string, message: string, remedy: string, since: string, subject: string }>, steps: Array<{ id: string, dataset: string, target: string, state: DataRunStepState, attempt: number, finallyBlocked: boolean, skippedBecause: string | null, rowErrorCount: string, rows: { source: string, loaded: string, updated: string, unchanged: string, rejected: string, blocked: string, unprocessed: string }, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null }> }
    | { __typename: 'ForbiddenError', code: string, message: string, permission: string, dataset: string | null }
    | { __typename: 'InvalidInputError', code: string, message: string, field: string }
    | { __typename: 'InvalidTransitionError', code: string, message: string, from: string, action: string, allowed: Array<string> }
    | { __typename: 'NotFoundError', code: string, message: string }
   };

export type ResetDataRunMutationVariables = Exact<{
  input: ResetDataRunInput;
}>;


export type ResetDataRunMutation = { resetDataRun:
    | { __typename: 'ConflictError', code: string, message: string, conflictingId: string | null }
    | { __typename: 'DataRun', id: string, state: DataRunState, driving: Driving, activeChildren: number, allowedActions: Array<DataRunAction>, registeredAt: string, registeredBy: string, startedAt: string | null, settledAt: string | null, resetAt: string | null, cancelRequestedAt: string | null, lastEventCursor: string, notes: Array<string>, package: { name: string, title: string | null, version: string | null, digest: string }, workspace: { id: string, slug: string }, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null, failedStep: { dataset: string } | null, readiness: { ready: boolean, blockers: Array<{ code: string, dataset: string, message: string, count: string, sampleKeys: Array<string>, clearedBy: Array<string> }> }, whyNotRunning: Array<{ code: string, message: string, remedy: string, since: string, subject: string }>, steps: Array<{ id: string, dataset: string, target: string, state: DataRunStepState, attempt: number, finallyBlocked: boolean, skippedBecause: string | null, rowErrorCount: string, rows: { source: string, loaded: string, updated: string, unchanged: string, rejected: string, blocked: string, unprocessed: string }, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null }> }
    | { __typename: 'ForbiddenError', code: string, message: string, permission: string, dataset: string | null }
    | { __typename: 'InvalidInputError', code: string, message: string, field: string }
    | { __typename: 'InvalidTransitionError', code: string, message: string, from: string, action: string, allowed: Array<string> }
    | { __typename: 'NotFoundError', code: string, message: string }
   };

export type AdvanceDataRunMutationVariables = Exact<{
  input: AdvanceDataRunInput;
}>;


export type AdvanceDataRunMutation = { advanceDataRun:
    | { __typename: 'DataRun', id: string, state: DataRunState, driving: Driving, activeChildren: number, allowedActions: Array<DataRunAction>, registeredAt: string, registeredBy: string, startedAt: string | null, settledAt: string | null, resetAt: string | null, cancelRequestedAt: string | null, lastEventCursor: string, notes: Array<string>, package: { name: string, title: string | null, version: string | null, digest: string }, workspace: { id: string, slug: string }, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null, failedStep: { dataset: string } | null, readiness: { ready: boolean, blockers: Array<{ code: string, dataset: string, message: string, count: string, sampleKeys: Array<string>, clearedBy: Array<string> }> }, whyNotRunning: Array<{ code: string, message: string, remedy: string, since: string, subject: string }>, steps: Array<{ id: string, dataset: string, target: string, state: DataRunStepState, attempt: number, finallyBlocked: boolean, skippedBecause: string | null, rowErrorCount: string, rows: { source: string, loaded: string, updated: string, unchanged: string, rejected: string, blocked: string, unprocessed: string }, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null }> }
    | { __typename: 'ForbiddenError', code: string, message: string, permission: string, dataset: string | null }
    | { __typename: 'InvalidInputError', code: string, message: string, field: string }
    | { __typename: 'InvalidTransitionError', code: string, message: string, from: string, action: string, allowed: Array<string> }
    | { __typename: 'NotFoundError', code: string, message: string }
   };

export type DataRunQueryVariables = Exact<{
  id: string;
}>;


export type DataRunQuery = { dataRun: { id: string, state: DataRunState, driving: Driving, activeChildren: number, allowedActions: Array<DataRunAction>, registeredAt: string, registeredBy: string, startedAt: string | null, settledAt: string | null, resetAt: string | null, cancelRequestedAt: string | null, lastEventCursor: string, notes: Array<string>, package: { name: string, title: string | null, version: string | null, digest: string }, workspace: { id: string, slug: string }, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null, failedStep: { dataset: string } | null, readiness: { ready: boolean, blockers: Array<{ code: string, dataset: string, message: string, count: string, sampleKeys: Array<string>, clearedBy: Array<string> }> }, whyNotRunning: Array<{ code: string, message: string, remedy: string, since: string, subject: string }>, steps: Array<{ id: string, dataset: string, target: string, state: DataRunStepState, attempt: number, finallyBlocked: boolean, skippedBecause: string | null, rowErrorCount: string, rows: { source: string, loaded: string, updated: string, unchanged: string, rejected: string, blocked: string, unprocessed: string }, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null }> } | null };

export type RowErrorsQueryVariables = Exact<{
  id: string;
}>;


export type RowErrorsQuery = { dataRun: { failedStep: { dataset: string, rowErrorCount: string, rowErrors: Array<{ row: string, field: string | null, code: string, message: string }> } | null } | null };

export type DataRunsQueryVariables = Exact<{
  slug: string;
  first: number;
  after?: string | null | undefined;
  filter?: DataRunFilter | null | undefined;
}>;


export type DataRunsQuery = { workspace: { dataRuns: { edges: Array<{ node: { id: string, state: DataRunState, registeredAt: string, registeredBy: string, settledAt: string | null, package: { name: string, version: string | null }, failure: { code: string, summary: string } | null, readiness: { ready: boolean } } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } } | null };

export type PastEventsQueryVariables = Exact<{
  id: string;
  first: number;
  after?: string | null | undefined;
}>;


export type PastEventsQuery = { dataRun: { events: { edges: Array<{ node: { __typename: 'DataRunEvent', dataset: string | null, id: string, cursor: string, sequence: number, at: string, action: string, from: string | null, to: string, actor: string, cause: string | null, reason: string | null, requestId: string | null, dataRun: { id: string } } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } } | null };

export type DataRunEventsSubscriptionVariables = Exact<{
  id: string;
  after?: string | null | undefined;
}>;


export type DataRunEventsSubscription = { dataRunEvents: { __typename: 'DataRunEvent', dataset: string | null, id: string, cursor: string, sequence: number, at: string, action: string, from: string | null, to: string, actor: string, cause: string | null, reason: string | null, requestId: string | null, dataRun: { id: string } } };

export type WorkspaceEventsSubscriptionVariables = Exact<{
  workspace: string;
  after?: string | null | undefined;
}>;


export type WorkspaceEventsSubscription = { workspaceEvents:
    | { __typename: 'DataRunEvent', dataset: string | null, id: string, cursor: string, sequence: number, at: string, action: string, from: string | null, to: string, actor: string, cause: string | null, reason: string | null, requestId: string | null, dataRun: { id: string } }
    | { __typename: 'ExportExecutionEvent', destination: string | null, id: string, cursor: string, sequence: number, at: string, action: string, from: string | null, to: string, actor: string, cause: string | null, reason: string | null, requestId: string | null, exportExecution: { id: string } }
   };

export type DataRunProgressSubscriptionVariables = Exact<{
  id: string;
}>;


export type DataRunProgressSubscription = { dataRunProgress: { at: string, state: DataRunState, progress: { done: string, total: string | null, totalIsExact: boolean, unit: string }, steps: Array<{ dataset: string, state: DataRunStepState, progress: { done: string, total: string | null, totalIsExact: boolean, unit: string } }> } };

export type ExportFieldsFragment = { id: string, state: ExportExecutionState, phase: string, cutoff: string, requestedAt: string, requestedBy: string, startedAt: string | null, settledAt: string | null, manifestDigest: string | null, allowedActions: Array<ExportExecutionAction>, lastEventCursor: string, workspace: { id: string, slug: string }, settings: { format: ExportFormat, datasets: Array<string> | null, retentionDays: number }, progress: { done: string, total: string | null, totalIsExact: boolean, unit: string }, counts: Array<{ dataset: string, rows: string, bytes: string }>, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null, whyNotRunning: Array<{ code: string, message: string, remedy: string, since: string, subject: string }>, exportPackage: { id: string, state: PublicationState, bytes: string | null, digest: string | null, publishedAt: string | null, expiresAt: string | null, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null, deliveries: Array<{ destination: string, state: DeliveryState, attempts: number, nextAttemptAt: string | null, failure: { code: string, summary: string } | null }> } | null };

export type RequestWorkspaceExportMutationVariables = Exact<{
  input: RequestWorkspaceExportInput;
}>;


export type RequestWorkspaceExportMutation = { requestWorkspaceExport:
    | { __typename: 'ConflictError', code: string, message: string, conflictingId: string | null }
    | { __typename: 'ExportExecution', id: string, state: ExportExecutionState, phase: string, cutoff: string, requestedAt: string, requestedBy: string, startedAt: string | null, settledAt: string | null, manifestDigest: string | null, allowedActions: Array<ExportExecutionAction>, lastEventCursor: string, workspace: { id: string, slug: string }, settings: { format: ExportFormat, datasets: Array<string> | null, retentionDays: number }, progress: { done: string, total: string | null, totalIsExact: boolean, unit: string }, counts: Array<{ dataset: string, rows: string, bytes: string }>, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null, whyNotRunning: Array<{ code: string, message: string, remedy: string, since: string, subject: string }>, exportPackage: { id: string, state: PublicationState, bytes: string | null, digest: string | null, publishedAt: string | null, expiresAt: string | null, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null, deliveries: Array<{ destination: string, state: DeliveryState, attempts: number, nextAttemptAt: string | null, failure: { code: string, summary: string } | null }> } | null }
    | { __typename: 'ForbiddenError', code: string, message: string, permission: string }
    | { __typename: 'InvalidInputError', code: string, message: string, field: string }
    | { __typename: 'NotFoundError', code: string, message: string }
   };

export type CancelExportExecutionMutationVariables = Exact<{
  input: CancelExportExecutionInput;
}>;


export type CancelExportExecutionMutation = { cancelExportExecution:
    | { __typename: 'ConflictError', code: string, message: string, conflictingId: string | null }
    | { __typename: 'ExportExecution', id: string, state: ExportExecutionState, phase: string, cutoff: string, requestedAt: string, requestedBy: string, startedAt: string | null, settledAt: string | null, manifestDigest: string | null, allowedActions: Array<ExportExecutionAction>, lastEventCursor: string, workspace: { id: string, slug: string }, settings: { format: ExportFormat, datasets: Array<string> | null, retentionDays: number }, progress: { done: string, total: string | null, totalIsExact: boolean, unit: string }, counts: Array<{ dataset: string, rows: string, bytes: string }>, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null, whyNotRunning: Array<{ code: string, message: string, remedy: string, since: string, subject: string }>, exportPackage: { id: string, state: PublicationState, bytes: string | null, digest: string | null, publishedAt: string | null, expiresAt: string | null, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null, deliveries: Array<{ destination: string, state: DeliveryState, attempts: number, nextAttemptAt: string | null, failure: { code: string, summary: string } | null }> } | null }
    | { __typename: 'ForbiddenError', code: string, message: string, permission: string }
    | { __typename: 'InvalidInputError', code: string, message: string, field: string }
    | { __typename: 'InvalidTransitionError', code: string, message: string, from: string, action: string, allowed: Array<string> }
    | { __typename: 'NotFoundError', code: string, message: string }
   };

export type IssueDownloadLinkMutationVariables = Exact<{
  input: IssueDownloadLinkInput;
}>;


export type IssueDownloadLinkMutation = { issueDownloadLink:
    | { __typename: 'ConflictError', code: string, message: string, conflictingId: string | null }
    | { __typename: 'DownloadLink', url: string, expiresAt: string }
    | { __typename: 'ForbiddenError', code: string, message: string, permission: string }
    | { __typename: 'InvalidInputError', code: string, message: string, field: string }
    | { __typename: 'NotFoundError', code: string, message: string }
   };

export type ExportExecutionQueryVariables = Exact<{
  id: string;
}>;


export type ExportExecutionQuery = { exportExecution: { id: string, state: ExportExecutionState, phase: string, cutoff: string, requestedAt: string, requestedBy: string, startedAt: string | null, settledAt: string | null, manifestDigest: string | null, allowedActions: Array<ExportExecutionAction>, lastEventCursor: string, workspace: { id: string, slug: string }, settings: { format: ExportFormat, datasets: Array<string> | null, retentionDays: number }, progress: { done: string, total: string | null, totalIsExact: boolean, unit: string }, counts: Array<{ dataset: string, rows: string, bytes: string }>, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null, whyNotRunning: Array<{ code: string, message: string, remedy: string, since: string, subject: string }>, exportPackage: { id: string, state: PublicationState, bytes: string | null, digest: string | null, publishedAt: string | null, expiresAt: string | null, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null, deliveries: Array<{ destination: string, state: DeliveryState, attempts: number, nextAttemptAt: string | null, failure: { code: string, summary: string } | null }> } | null } | null };

export type RunOrExportQueryVariables = Exact<{
  id: string;
}>;


export type RunOrExportQuery = { dataRun: { id: string, state: DataRunState, driving: Driving, activeChildren: number, allowedActions: Array<DataRunAction>, registeredAt: string, registeredBy: string, startedAt: string | null, settledAt: string | null, resetAt: string | null, cancelRequestedAt: string | null, lastEventCursor: string, notes: Array<string>, package: { name: string, title: string | null, version: string | null, digest: string }, workspace: { id: string, slug: string }, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null, failedStep: { dataset: string } | null, readiness: { ready: boolean, blockers: Array<{ code: string, dataset: string, message: string, count: string, sampleKeys: Array<string>, clearedBy: Array<string> }> }, whyNotRunning: Array<{ code: string, message: string, remedy: string, since: string, subject: string }>, steps: Array<{ id: string, dataset: string, target: string, state: DataRunStepState, attempt: number, finallyBlocked: boolean, skippedBecause: string | null, rowErrorCount: string, rows: { source: string, loaded: string, updated: string, unchanged: string, rejected: string, blocked: string, unprocessed: string }, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null }> } | null, exportExecution: { id: string, state: ExportExecutionState, phase: string, cutoff: string, requestedAt: string, requestedBy: string, startedAt: string | null, settledAt: string | null, manifestDigest: string | null, allowedActions: Array<ExportExecutionAction>, lastEventCursor: string, workspace: { id: string, slug: string }, settings: { format: ExportFormat, datasets: Array<string> | null, retentionDays: number }, progress: { done: string, total: string | null, totalIsExact: boolean, unit: string }, counts: Array<{ dataset: string, rows: string, bytes: string }>, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null, whyNotRunning: Array<{ code: string, message: string, remedy: string, since: string, subject: string }>, exportPackage: { id: string, state: PublicationState, bytes: string | null, digest: string | null, publishedAt: string | null, expiresAt: string | null, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null, deliveries: Array<{ destination: string, state: DeliveryState, attempts: number, nextAttemptAt: string | null, failure: { code: string, summary: string } | null }> } | null } | null };

export type ExportExecutionsQueryVariables = Exact<{
  slug: string;
  first: number;
  after?: string | null | undefined;
}>;


export type ExportExecutionsQuery = { workspace: { exportExecutions: { edges: Array<{ node: { id: string, state: ExportExecutionState, requestedAt: string, requestedBy: string, settledAt: string | null, cutoff: string, manifestDigest: string | null, failure: { code: string, summary: string } | null, exportPackage: { state: PublicationState, bytes: string | null } | null } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } } | null };

export type PastExportEventsQueryVariables = Exact<{
  id: string;
  first: number;
  after?: string | null | undefined;
}>;


export type PastExportEventsQuery = { exportExecution: { events: { edges: Array<{ node: { __typename: 'ExportExecutionEvent', destination: string | null, id: string, cursor: string, sequence: number, at: string, action: string, from: string | null, to: string, actor: string, cause: string | null, reason: string | null, requestId: string | null, exportExecution: { id: string } } }>, pageInfo: { hasNextPage: boolean, endCursor: string | null } } } | null };

export type ExportExecutionEventsSubscriptionVariables = Exact<{
  id: string;
  after?: string | null | undefined;
}>;


export type ExportExecutionEventsSubscription = { exportExecutionEvents: { __typename: 'ExportExecutionEvent', destination: string | null, id: string, cursor: string, sequence: number, at: string, action: string, from: string | null, to: string, actor: string, cause: string | null, reason: string | null, requestId: string | null, exportExecution: { id: string } } };

export type ExportExecutionProgressSubscriptionVariables = Exact<{
  id: string;
}>;


export type ExportExecutionProgressSubscription = { exportExecutionProgress: { at: string, state: ExportExecutionState, phase: string, progress: { done: string, total: string | null, totalIsExact: boolean, unit: string }, datasets: Array<{ dataset: string, bytes: string, progress: { done: string, total: string | null, totalIsExact: boolean, unit: string } }> } };

export type RunRowFragment = { id: string, state: DataRunState, registeredAt: string, registeredBy: string, settledAt: string | null, activeChildren: number, package: { name: string, title: string | null, version: string | null }, progress: { done: string, total: string | null, totalIsExact: boolean, unit: string }, readiness: { ready: boolean }, failure: { code: string, summary: string } | null };

export type HoldFieldsFragment = { code: string, message: string, remedy: string, since: string, subject: string };

export type ViewerQueryVariables = Exact<{ [key: string]: never; }>;


export type ViewerQuery = { viewer: { subject: string, permissions: Array<string> } };

export type WorkspacesQueryVariables = Exact<{
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type WorkspacesQuery = { workspaces: { edges: Array<{ node: { id: string, slug: string, name: string, createdAt: string, dataRuns: { edges: Array<{ node: { id: string, state: DataRunState, registeredAt: string, settledAt: string | null, package: { name: string, version: string | null } } }> } } }>, pageInfo: { hasNextPage: boolean, hasPreviousPage: boolean, startCursor: string | null, endCursor: string | null } } };

export type WorkspaceRunsQueryVariables = Exact<{
  slug: string;
  filter?: DataRunFilter | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type WorkspaceRunsQuery = { workspace: { id: string, dataRuns: { edges: Array<{ node: { id: string, state: DataRunState, registeredAt: string, registeredBy: string, settledAt: string | null, activeChildren: number, package: { name: string, title: string | null, version: string | null }, progress: { done: string, total: string | null, totalIsExact: boolean, unit: string }, readiness: { ready: boolean }, failure: { code: string, summary: string } | null } }>, pageInfo: { hasNextPage: boolean, hasPreviousPage: boolean, startCursor: string | null, endCursor: string | null } } } | null };

export type WorkspacePastEventsQueryVariables = Exact<{
  slug: string;
  forward: boolean;
  after?: string | null | undefined;
  before?: string | null | undefined;
}>;


export type WorkspacePastEventsQuery = { workspace: { id: string, events?: { edges: Array<{ node:
          | { __typename: 'DataRunEvent', dataset: string | null, id: string, cursor: string, sequence: number, at: string, action: string, from: string | null, to: string, actor: string, cause: string | null, reason: string | null, requestId: string | null, dataRun: { id: string } }
          | { __typename: 'ExportExecutionEvent', destination: string | null, id: string, cursor: string, sequence: number, at: string, action: string, from: string | null, to: string, actor: string, cause: string | null, reason: string | null, requestId: string | null, exportExecution: { id: string } }
         }>, pageInfo: { hasNextPage: boolean, hasPreviousPage: boolean, startCursor: string | null, endCursor: string | null } }, pastEvents?: { edges: Array<{ node:
          | { __typename: 'DataRunEvent', dataset: string | null, id: string, cursor: string, sequence: number, at: string, action: string, from: string | null, to: string, actor: string, cause: string | null, reason: string | null, requestId: string | null, dataRun: { id: string } }
          | { __typename: 'ExportExecutionEvent', destination: string | null, id: string, cursor: string, sequence: number, at: string, action: string, from: string | null, to: string, actor: string, cause: string | null, reason: string | null, requestId: string | null, exportExecution: { id: string } }
         }>, pageInfo: { hasNextPage: boolean, hasPreviousPage: boolean, startCursor: string | null, endCursor: string | null } } } | null };

export type EventPageFragment = { edges: Array<{ node:
      | { __typename: 'DataRunEvent', dataset: string | null, id: string, cursor: string, sequence: number, at: string, action: string, from: string | null, to: string, actor: string, cause: string | null, reason: string | null, requestId: string | null, dataRun: { id: string } }
      | { __typename: 'ExportExecutionEvent', destination: string | null, id: string, cursor: string, sequence: number, at: string, action: string, from: string | null, to: string, actor: string, cause: string | null, reason: string | null, requestId: string | null, exportExecution: { id: string } }
     }>, pageInfo: { hasNextPage: boolean, hasPreviousPage: boolean, startCursor: string | null, endCursor: string | null } };

export type WorkspaceExportsQueryVariables = Exact<{
  slug: string;
  filter?: ExportExecutionFilter | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type WorkspaceExportsQuery = { workspace: { id: string, exportExecutions: { edges: Array<{ node: { id: string, state: ExportExecutionState, phase: string, requestedAt: string, requestedBy: string, settledAt: string | null, cutoff: string, manifestDigest: string | null, progress: { done: string, total: string | null, totalIsExact: boolean, unit: string }, failure: { code: string, summary: string } | null, whyNotRunning: Array<{ code: string, message: string, remedy: string, since: string, subject: string }>, exportPackage: { id: string, state: PublicationState, bytes: string | null, expiresAt: string | null } | null } }>, pageInfo: { hasNextPage: boolean, hasPreviousPage: boolean, startCursor: string | null, endCursor: string | null } } } | null };

export type WorkspaceDatasetsQueryVariables = Exact<{
  slug: string;
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type WorkspaceDatasetsQuery = { workspace: { id: string, datasets: { edges: Array<{ node: { id: string, name: string, rowCount: string, updatedAt: string } }>, pageInfo: { hasNextPage: boolean, hasPreviousPage: boolean, startCursor: string | null, endCursor: string | null } } } | null };

export type RunPageQueryVariables = Exact<{
  id: string;
}>;


export type RunPageQuery = { dataRun: { id: string, state: DataRunState, driving: Driving, activeChildren: number, allowedActions: Array<DataRunAction>, registeredAt: string, registeredBy: string, startedAt: string | null, settledAt: string | null, resetAt: string | null, cancelRequestedAt: string | null, lastEventCursor: string, notes: Array<string>, onInvalidRow: OnInvalidRow, onMissingReference: OnMissingReference, onHashMismatch: OnHashMismatch, progress: { done: string, total: string | null, totalIsExact: boolean, unit: string }, previousRun: { id: string } | null, grant: { subject: string, grantedAt: string, expiresAt: string, endedAt: string | null, targets: Array<string> } | null, outstandingCancellations: Array<{ id: string, dataset: string, state: DataRunStepState, cancelAnswer: string | null }>, steps: Array<{ id: string, position: number, dependsOn: Array<string>, submittedAt: string | null, settledAt: string | null, dataset: string, target: string, state: DataRunStepState, attempt: number, finallyBlocked: boolean, skippedBecause: string | null, rowErrorCount: string, progress: { done: string, total: string | null, totalIsExact: boolean, unit: string }, blockers: Array<{ code: string, dataset: string, message: string, count: string, sampleKeys: Array<string>, clearedBy: Array<string> }>, whyNotRunning: Array<{ code: string, message: string, remedy: string, since: string, subject: string }>, rows: { source: string, loaded: string, updated: string, unchanged: string, rejected: string, blocked: string, unprocessed: string }, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null }>, package: { name: string, title: string | null, version: string | null, digest: string, id: string }, workspace: { id: string, slug: string }, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null, failedStep: { dataset: string } | null, readiness: { ready: boolean, blockers: Array<{ code: string, dataset: string, message: string, count: string, sampleKeys: Array<string>, clearedBy: Array<string> }> }, whyNotRunning: Array<{ code: string, message: string, remedy: string, since: string, subject: string }> } | null };

export type RenewDataRunGrantMutationVariables = Exact<{
  input: RenewDataRunGrantInput;
}>;


export type RenewDataRunGrantMutation = { renewDataRunGrant:
    | { __typename: 'ConflictError', code: string, message: string, conflictingId: string | null }
    | { __typename: 'DataRun', id: string, grant: { subject: string, grantedAt: string, expiresAt: string, endedAt: string | null, targets: Array<string> } | null }
    | { __typename: 'ForbiddenError', code: string, message: string, permission: string, dataset: string | null }
    | { __typename: 'InvalidInputError', code: string, message: string, field: string }
    | { __typename: 'NotFoundError', code: string, message: string }
   };

export type ExportPageQueryVariables = Exact<{
  id: string;
}>;


export type ExportPageQuery = { exportExecution: { id: string, state: ExportExecutionState, phase: string, cutoff: string, requestedAt: string, requestedBy: string, startedAt: string | null, settledAt: string | null, manifestDigest: string | null, allowedActions: Array<ExportExecutionAction>, lastEventCursor: string, settings: { format: ExportFormat, datasets: Array<string> | null, retentionDays: number, destinations: Array<{ name: string, url: string }> }, exportPackage: { id: string, state: PublicationState, bytes: string | null, digest: string | null, publishedAt: string | null, expiresAt: string | null, deliveries: Array<{ id: string, destination: string, state: DeliveryState, attempts: number, nextAttemptAt: string | null, deliveredAt: string | null, attemptLog: Array<{ number: number, at: string, status: number | null, code: string, message: string, durationMs: number }>, failure: { code: string, summary: string } | null }>, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null } | null, workspace: { id: string, slug: string }, progress: { done: string, total: string | null, totalIsExact: boolean, unit: string }, counts: Array<{ dataset: string, rows: string, bytes: string }>, failure: { code: string, origin: string, phase: string, retryable: boolean, summary: string } | null, whyNotRunning: Array<{ code: string, message: string, remedy: string, since: string, subject: string }> } | null };

export type RepublishExportMutationVariables = Exact<{
  input: RepublishExportInput;
}>;


export type RepublishExportMutation = { republishExport:
    | { __typename: 'ConflictError', code: string, message: string, conflictingId: string | null }
    | { __typename: 'ExportExecution', id: string, exportPackage: { id: string, state: PublicationState } | null }
    | { __typename: 'ForbiddenError', code: string, message: string, permission: string }
    | { __typename: 'InvalidInputError', code: string, message: string, field: string }
    | { __typename: 'NotFoundError', code: string, message: string }
   };

export type RedeliverMutationVariables = Exact<{
  input: RedeliverInput;
}>;


export type RedeliverMutation = { redeliver:
    | { __typename: 'ConflictError', code: string, message: string, conflictingId: string | null }
    | { __typename: 'ExportDelivery', id: string, state: DeliveryState }
    | { __typename: 'ForbiddenError', code: string, message: string, permission: string }
    | { __typename: 'InvalidInputError', code: string, message: string, field: string }
    | { __typename: 'NotFoundError', code: string, message: string }
   };

export type ExportSettingsQueryVariables = Exact<{
  slug: string;
}>;


export type ExportSettingsQuery = { workspace: { id: string, exportSettings: { format: ExportFormat, datasets: Array<string> | null, retentionDays: number, destinations: Array<{ name: string, url: string }> } } | null };

export type UpdateExportSettingsMutationVariables = Exact<{
  input: UpdateExportSettingsInput;
}>;


export type UpdateExportSettingsMutation = { updateExportSettings:
    | { __typename: 'ForbiddenError', code: string, message: string, permission: string }
    | { __typename: 'InvalidInputError', code: string, message: string, field: string }
    | { __typename: 'NotFoundError', code: string, message: string }
    | { __typename: 'Workspace', id: string, exportSettings: { format: ExportFormat, datasets: Array<string> | null, retentionDays: number, destinations: Array<{ name: string, url: string, secret: string | null }> } }
   };

export type LifecyclesQueryVariables = Exact<{ [key: string]: never; }>;


export type LifecyclesQuery = { lifecycles: Array<{ name: string, states: Array<{ name: string, meaning: string, terminal: boolean }>, transitions: Array<{ from: string | null, to: string, action: string, guard: string, sideEffects: Array<string>, who: string }>, refused: Array<{ from: string, to: string, why: string }> }> };

export type RunStateQueryVariables = Exact<{
  id: string;
}>;


export type RunStateQuery = { dataRun: { id: string, state: DataRunState, package: { name: string, version: string | null }, workspace: { slug: string } } | null };

export type ExportStateQueryVariables = Exact<{
  id: string;
}>;


export type ExportStateQuery = { exportExecution: { id: string, state: ExportExecutionState, cutoff: string, workspace: { slug: string } } | null };

export type DatasetPageQueryVariables = Exact<{
  id: string;
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type DatasetPageQuery = { node:
    | { __typename: 'DataPackage' }
    | { __typename: 'DataRun' }
    | { __typename: 'DataRunStep' }
    | { __typename: 'Dataset', id: string, name: string, schema: unknown, rowCount: string, updatedAt: string, rows: { edges: Array<{ cursor: string, node: { key: string, values: unknown, writtenBy: { id: string, registeredAt: string, package: { name: string, version: string | null } } | null } }>, pageInfo: { hasNextPage: boolean, hasPreviousPage: boolean, startCursor: string | null, endCursor: string | null } } }
    | { __typename: 'ExportDelivery' }
    | { __typename: 'ExportExecution' }
    | { __typename: 'ExportPackage' }
    | { __typename: 'Workspace' }
   | null };

export type StepErrorsQueryVariables = Exact<{
  id: string;
}>;


export type StepErrorsQuery = { node:
    | { __typename: 'DataPackage' }
    | { __typename: 'DataRun' }
    | { __typename: 'DataRunStep', id: string, rowErrors: Array<{ row: string, field: string | null, code: string, message: string }> }
    | { __typename: 'Dataset' }
    | { __typename: 'ExportDelivery' }
    | { __typename: 'ExportExecution' }
    | { __typename: 'ExportPackage' }
    | { __typename: 'Workspace' }
   | null };

export type PingDestinationMutationVariables = Exact<{
  input: PingDestinationInput;
}>;


export type PingDestinationMutation = { pingDestination:
    | { __typename: 'ConflictError', code: string, message: string }
    | { __typename: 'DestinationPing', status: number | null, code: string, message: string, ms: number, at: string }
    | { __typename: 'ForbiddenError', code: string, message: string, permission: string }
    | { __typename: 'InvalidInputError', code: string, message: string, field: string }
    | { __typename: 'NotFoundError', code: string, message: string }
   };

export type IssueRejectedRowsLinkMutationVariables = Exact<{
  input: IssueRejectedRowsLinkInput;
}>;


export type IssueRejectedRowsLinkMutation = { issueRejectedRowsLink:
    | { __typename: 'ConflictError', code: string, message: string }
    | { __typename: 'DownloadLink', url: string, expiresAt: string }
    | { __typename: 'ForbiddenError', code: string, message: string, permission: string }
    | { __typename: 'InvalidInputError', code: string, message: string, field: string }
    | { __typename: 'NotFoundError', code: string, message: string }
   };

export type RetryFieldsFragment = { id: string, driving: Driving, onInvalidRow: OnInvalidRow, onMissingReference: OnMissingReference, onHashMismatch: OnHashMismatch, package: { id: string }, workspace: { id: string } };

export type RetriedRunQueryVariables = Exact<{
  id: string;
}>;


export type RetriedRunQuery = { dataRun: { id: string, driving: Driving, onInvalidRow: OnInvalidRow, onMissingReference: OnMissingReference, onHashMismatch: OnHashMismatch, package: { id: string }, workspace: { id: string } } | null };

export type RunHoldsQueryVariables = Exact<{
  id: string;
}>;


export type RunHoldsQuery = { dataRun: { id: string, steps: Array<{ id: string, dataset: string, whyNotRunning: Array<{ code: string }> }> } | null };

export type SettleSubmissionMutationVariables = Exact<{
  input: SettleSubmissionInput;
}>;


export type SettleSubmissionMutation = { settleSubmission:
    | { __typename: 'ConflictError', code: string, message: string, conflictingId: string | null }
    | { __typename: 'DataRunStep', id: string, dataset: string, state: DataRunStepState }
    | { __typename: 'ForbiddenError', code: string, message: string, permission: string }
    | { __typename: 'InvalidInputError', code: string, message: string, field: string }
    | { __typename: 'NotFoundError', code: string, message: string }
   };

export class TypedDocumentString<TResult, TVariables>
  extends String
  implements DocumentTypeDecoration<TResult, TVariables>
{
  __apiType?: NonNullable<DocumentTypeDecoration<TResult, TVariables>['__apiType']>;
  private value: string;
  public __meta__?: Record<string, any> | undefined;

  constructor(value: string, __meta__?: Record<string, any> | undefined) {
    super(value);
    this.value = value;
    this.__meta__ = __meta__;
  }

  override toString(): string & DocumentTypeDecoration<TResult, TVariables> {
    return this.value;
  }
}
export const RunFieldsFragmentDoc = new TypedDocumentString(`
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
  package {
    name
    title
    version
    digest
  }
  workspace {
    id
    slug
  }
  failure {
    code
    origin
    phase
    retryable
    summary
  }
  failedStep {
    dataset
  }
  readiness {
    ready
    blockers {
      code
      dataset
      message
      count
      sampleKeys
      clearedBy
    }
  }
  whyNotRunning {
    code
    message
    remedy
    since
    subject
  }
  steps {
    id
    dataset
    target
    state
    attempt
    finallyBlocked
    skippedBecause
    rows {
      source
      loaded
      updated
      unchanged
      rejected
      blocked
      unprocessed
    }
    failure {
      code
      origin
      phase
      retryable
      summary
    }
    rowErrorCount
  }
}
    `, {"fragmentName":"RunFields"}) as unknown as TypedDocumentString<RunFieldsFragment, unknown>;
export const ExportFieldsFragmentDoc = new TypedDocumentString(`
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
  workspace {
    id
    slug
  }
  settings {
    format
    datasets
    retentionDays
  }
  progress {
    done
    total
    totalIsExact
    unit
  }
  counts {
    dataset
    rows
    bytes
  }
  failure {
    code
    origin
    phase
    retryable
    summary
  }
  whyNotRunning {
    code
    message
    remedy
    since
    subject
  }
  exportPackage {
    id
    state
    bytes
    digest
    publishedAt
    expiresAt
    failure {
      code
      origin
      phase
      retryable
      summary
    }
    deliveries {
      destination
      state
      attempts
      nextAttemptAt
      failure {
        code
        summary
      }
    }
  }
}
    `, {"fragmentName":"ExportFields"}) as unknown as TypedDocumentString<ExportFieldsFragment, unknown>;
export const RunRowFragmentDoc = new TypedDocumentString(`
    fragment RunRow on DataRun {
  id
  state
  registeredAt
  registeredBy
  settledAt
  activeChildren
  package {
    name
    title
    version
  }
  progress {
    done
    total
    totalIsExact
    unit
  }
  readiness {
    ready
  }
  failure {
    code
    summary
  }
}
    `, {"fragmentName":"RunRow"}) as unknown as TypedDocumentString<RunRowFragment, unknown>;
export const HoldFieldsFragmentDoc = new TypedDocumentString(`
    fragment HoldFields on Hold {
  code
  message
  remedy
  since
  subject
}
    `, {"fragmentName":"HoldFields"}) as unknown as TypedDocumentString<HoldFieldsFragment, unknown>;
export const EventFieldsFragmentDoc = new TypedDocumentString(`
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
  ... on DataRunEvent {
    dataset
    dataRun {
      id
    }
  }
  ... on ExportExecutionEvent {
    destination
    exportExecution {
      id
    }
  }
}
    `, {"fragmentName":"EventFields"}) as unknown as TypedDocumentString<EventFieldsFragment, unknown>;
export const EventPageFragmentDoc = new TypedDocumentString(`
    fragment EventPage on WorkspaceEventsConnection {
  edges {
    node {
      ...EventFields
    }
  }
  pageInfo {
    hasNextPage
    hasPreviousPage
    startCursor
    endCursor
  }
}
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
  ... on DataRunEvent {
    dataset
    dataRun {
      id
    }
  }
  ... on ExportExecutionEvent {
    destination
    exportExecution {
      id
    }
  }
}`, {"fragmentName":"EventPage"}) as unknown as TypedDocumentString<EventPageFragment, unknown>;
export const RetryFieldsFragmentDoc = new TypedDocumentString(`
    fragment RetryFields on DataRun {
  id
  driving
  onInvalidRow
  onMissingReference
  onHashMismatch
  package {
    id
  }
  workspace {
    id
  }
}
    `, {"fragmentName":"RetryFields"}) as unknown as TypedDocumentString<RetryFieldsFragment, unknown>;
export const RevokedAccessDocument = new TypedDocumentString(`
    query RevokedAccess($slug: String!) {
  workspace(slug: $slug) {
    id
    revokedAccess {
      subject
      reason
      revokedBy
      revokedAt
    }
  }
}
    `) as unknown as TypedDocumentString<RevokedAccessQuery, RevokedAccessQueryVariables>;
export const RevokeAccessDocument = new TypedDocumentString(`
    mutation RevokeAccess($input: RevokeAccessInput!) {
  revokeAccess(input: $input) {
    __typename
    ... on Workspace {
      id
    }
    ... on NotFoundError {
      code
      message
    }
    ... on ForbiddenError {
      code
      message
      permission
    }
    ... on InvalidInputError {
      code
      message
      field
    }
  }
}
    `) as unknown as TypedDocumentString<RevokeAccessMutation, RevokeAccessMutationVariables>;
export const RestoreAccessDocument = new TypedDocumentString(`
    mutation RestoreAccess($input: RestoreAccessInput!) {
  restoreAccess(input: $input) {
    __typename
    ... on Workspace {
      id
    }
    ... on NotFoundError {
      code
      message
    }
    ... on ForbiddenError {
      code
      message
      permission
    }
    ... on InvalidInputError {
      code
      message
      field
    }
  }
}
    `) as unknown as TypedDocumentString<RestoreAccessMutation, RestoreAccessMutationVariables>;
export const CreateWorkspaceDocument = new TypedDocumentString(`
    mutation CreateWorkspace($input: CreateWorkspaceInput!) {
  createWorkspace(input: $input) {
    __typename
    ... on Workspace {
      id
      slug
      name
      lastEventCursor
    }
    ... on ForbiddenError {
      code
      message
      permission
    }
    ... on ConflictError {
      code
      message
      conflictingId
    }
    ... on InvalidInputError {
      code
      message
      field
    }
  }
}
    `) as unknown as TypedDocumentString<CreateWorkspaceMutation, CreateWorkspaceMutationVariables>;
export const WorkspaceBySlugDocument = new TypedDocumentString(`
    query WorkspaceBySlug($slug: String!) {
  workspace(slug: $slug) {
    id
    slug
    name
    lastEventCursor
  }
}
    `) as unknown as TypedDocumentString<WorkspaceBySlugQuery, WorkspaceBySlugQueryVariables>;
export const DatasetsDocument = new TypedDocumentString(`
    query Datasets($slug: String!, $first: Int!, $after: String) {
  workspace(slug: $slug) {
    datasets(first: $first, after: $after) {
      edges {
        node {
          id
          name
          rowCount
          updatedAt
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
}
    `) as unknown as TypedDocumentString<DatasetsQuery, DatasetsQueryVariables>;
export const DatasetRowsDocument = new TypedDocumentString(`
    query DatasetRows($id: ID!, $first: Int!) {
  node(id: $id) {
    __typename
    ... on Dataset {
      name
      rows(first: $first) {
        edges {
          node {
            key
            values
          }
        }
      }
    }
  }
}
    `) as unknown as TypedDocumentString<DatasetRowsQuery, DatasetRowsQueryVariables>;
export const StagePackageDocument = new TypedDocumentString(`
    mutation StagePackage($input: StagePackageInput!) {
  stagePackage(input: $input) {
    __typename
    ... on StagedPackage {
      packageId
      uploadUrl
      expiresAt
    }
    ... on NotFoundError {
      code
      message
    }
    ... on ForbiddenError {
      code
      message
      permission
    }
    ... on InvalidInputError {
      code
      message
      field
    }
  }
}
    `) as unknown as TypedDocumentString<StagePackageMutation, StagePackageMutationVariables>;
export const RegisterDataRunDocument = new TypedDocumentString(`
    mutation RegisterDataRun($input: RegisterDataRunInput!) {
  registerDataRun(input: $input) {
    __typename
    ... on DataRun {
      ...RunFields
    }
    ... on NotFoundError {
      code
      message
    }
    ... on ForbiddenError {
      code
      message
      permission
      dataset
    }
    ... on ConflictError {
      code
      message
      conflictingId
    }
    ... on InvalidInputError {
      code
      message
      field
    }
    ... on InvalidPackageError {
      code
      message
      problems {
        code
        pointer
        resource
        message
      }
    }
  }
}
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
  package {
    name
    title
    version
    digest
  }
  workspace {
    id
    slug
  }
  failure {
    code
    origin
    phase
    retryable
    summary
  }
  failedStep {
    dataset
  }
  readiness {
    ready
    blockers {
      code
      dataset
      message
      count
      sampleKeys
      clearedBy
    }
  }
  whyNotRunning {
    code
    message
    remedy
    since
    subject
  }
  steps {
    id
    dataset
    target
    state
    attempt
    finallyBlocked
    skippedBecause
    rows {
      source
      loaded
      updated
      unchanged
      rejected
      blocked
      unprocessed
    }
    failure {
      code
      origin
      phase
      retryable
      summary
    }
    rowErrorCount
  }
}`) as unknown as TypedDocumentString<RegisterDataRunMutation, RegisterDataRunMutationVariables>;
export const PlanDataRunDocument = new TypedDocumentString(`
    mutation PlanDataRun($input: PlanDataRunInput!) {
  planDataRun(input: $input) {
    __typename
    ... on DataRunPlan {
      digest
      order
      blockers {
        code
        dataset
        message
        count
        sampleKeys
        clearedBy
      }
      datasets {
        dataset
        rows
        invalidRows
        target
        authorised
        state
        removed
        account {
          source
          loaded
          updated
          unchanged
          rejected
          blocked
          unprocessed
        }
        failure {
          code
          origin
          phase
          retryable
          summary
        }
        rowErrorCount
        rowErrors {
          row
          field
          code
          message
        }
      }
    }
    ... on NotFoundError {
      code
      message
    }
    ... on ForbiddenError {
      code
      message
      permission
      dataset
    }
    ... on InvalidInputError {
      code
      message
      field
    }
    ... on InvalidTransitionError {
      code
      message
      from
      action
      allowed
    }
  }
}
    `) as unknown as TypedDocumentString<PlanDataRunMutation, PlanDataRunMutationVariables>;
export const StartDataRunDocument = new TypedDocumentString(`
    mutation StartDataRun($input: StartDataRunInput!) {
  startDataRun(input: $input) {
    __typename
    ... on DataRun {
      ...RunFields
    }
    ... on NotFoundError {
      code
      message
    }
    ... on ForbiddenError {
      code
      message
      permission
      dataset
    }
    ... on ConflictError {
      code
      message
      conflictingId
    }
    ... on InvalidInputError {
      code
      message
      field
    }
    ... on InvalidTransitionError {
      code
      message
      from
      action
      allowed
    }
  }
}
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
  package {
    name
    title
    version
    digest
  }
  workspace {
    id
    slug
  }
  failure {
    code
    origin
    phase
    retryable
    summary
  }
  failedStep {
    dataset
  }
  readiness {
    ready
    blockers {
      code
      dataset
      message
      count
      sampleKeys
      clearedBy
    }
  }
  whyNotRunning {
    code
    message
    remedy
    since
    subject
  }
  steps {
    id
    dataset
    target
    state
    attempt
    finallyBlocked
    skippedBecause
    rows {
      source
      loaded
      updated
      unchanged
      rejected
      blocked
      unprocessed
    }
    failure {
      code
      origin
      phase
      retryable
      summary
    }
    rowErrorCount
  }
}`) as unknown as TypedDocumentString<StartDataRunMutation, StartDataRunMutationVariables>;
export const PauseDataRunDocument = new TypedDocumentString(`
    mutation PauseDataRun($input: PauseDataRunInput!) {
  pauseDataRun(input: $input) {
    __typename
    ... on DataRun {
      ...RunFields
    }
    ... on NotFoundError {
      code
      message
    }
    ... on ForbiddenError {
      code
      message
      permission
      dataset
    }
    ... on ConflictError {
      code
      message
      conflictingId
    }
    ... on InvalidInputError {
      code
      message
      field
    }
    ... on InvalidTransitionError {
      code
      message
      from
      action
      allowed
    }
  }
}
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
  package {
    name
    title
    version
    digest
  }
  workspace {
    id
    slug
  }
  failure {
    code
    origin
    phase
    retryable
    summary
  }
  failedStep {
    dataset
  }
  readiness {
    ready
    blockers {
      code
      dataset
      message
      count
      sampleKeys
      clearedBy
    }
  }
  whyNotRunning {
    code
    message
    remedy
    since
    subject
  }
  steps {
    id
    dataset
    target
    state
    attempt
    finallyBlocked
    skippedBecause
    rows {
      source
      loaded
      updated
      unchanged
      rejected
      blocked
      unprocessed
    }
    failure {
      code
      origin
      phase
      retryable
      summary
    }
    rowErrorCount
  }
}`) as unknown as TypedDocumentString<PauseDataRunMutation, PauseDataRunMutationVariables>;
export const ResumeDataRunDocument = new TypedDocumentString(`
    mutation ResumeDataRun($input: ResumeDataRunInput!) {
  resumeDataRun(input: $input) {
    __typename
    ... on DataRun {
      ...RunFields
    }
    ... on NotFoundError {
      code
      message
    }
    ... on ForbiddenError {
      code
      message
      permission
      dataset
    }
    ... on ConflictError {
      code
      message
      conflictingId
    }
    ... on InvalidInputError {
      code
      message
      field
    }
    ... on InvalidTransitionError {
      code
      message
      from
      action
      allowed
    }
  }
}
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
  package {
    name
    title
    version
    digest
  }
  workspace {
    id
    slug
  }
  failure {
    code
    origin
    phase
    retryable
    summary
  }
  failedStep {
    dataset
  }
  readiness {
    ready
    blockers {
      code
      dataset
      message
      count
      sampleKeys
      clearedBy
    }
  }
  whyNotRunning {
    code
    message
    remedy
    since
    subject
  }
  steps {
    id
    dataset
    target
    state
    attempt
    finallyBlocked
    skippedBecause
    rows {
      source
      loaded
      updated
      unchanged
      rejected
      blocked
      unprocessed
    }
    failure {
      code
      origin
      phase
      retryable
      summary
    }
    rowErrorCount
  }
}`) as unknown as TypedDocumentString<ResumeDataRunMutation, ResumeDataRunMutationVariables>;
export const CancelDataRunDocument = new TypedDocumentString(`
    mutation CancelDataRun($input: CancelDataRunInput!) {
  cancelDataRun(input: $input) {
    __typename
    ... on DataRun {
      ...RunFields
    }
    ... on NotFoundError {
      code
      message
    }
    ... on ForbiddenError {
      code
      message
      permission
      dataset
    }
    ... on ConflictError {
      code
      message
      conflictingId
    }
    ... on InvalidInputError {
      code
      message
      field
    }
    ... on InvalidTransitionError {
      code
      message
      from
      action
      allowed
    }
  }
}
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
  package {
    name
    title
    version
    digest
  }
  workspace {
    id
    slug
  }
  failure {
    code
    origin
    phase
    retryable
    summary
  }
  failedStep {
    dataset
  }
  readiness {
    ready
    blockers {
      code
      dataset
      message
      count
      sampleKeys
      clearedBy
    }
  }
  whyNotRunning {
    code
    message
    remedy
    since
    subject
  }
  steps {
    id
    dataset
    target
    state
    attempt
    finallyBlocked
    skippedBecause
    rows {
      source
      loaded
      updated
      unchanged
      rejected
      blocked
      unprocessed
    }
    failure {
      code
      origin
      phase
      retryable
      summary
    }
    rowErrorCount
  }
}`) as unknown as TypedDocumentString<CancelDataRunMutation, CancelDataRunMutationVariables>;
export const ResetDataRunDocument = new TypedDocumentString(`
    mutation ResetDataRun($input: ResetDataRunInput!) {
  resetDataRun(input: $input) {
    __typename
    ... on DataRun {
      ...RunFields
    }
    ... on NotFoundError {
      code
      message
    }
    ... on ForbiddenError {
      code
      message
      permission
      dataset
    }
    ... on ConflictError {
      code
      message
      conflictingId
    }
    ... on InvalidInputError {
      code
      message
      field
    }
    ... on InvalidTransitionError {
      code
      message
      from
      action
      allowed
    }
  }
}
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
  package {
    name
    title
    version
    digest
  }
  workspace {
    id
    slug
  }
  failure {
    code
    origin
    phase
    retryable
    summary
  }
  failedStep {
    dataset
  }
  readiness {
    ready
    blockers {
      code
      dataset
      message
      count
      sampleKeys
      clearedBy
    }
  }
  whyNotRunning {
    code
    message
    remedy
    since
    subject
  }
  steps {
    id
    dataset
    target
    state
    attempt
    finallyBlocked
    skippedBecause
    rows {
      source
      loaded
      updated
      unchanged
      rejected
      blocked
      unprocessed
    }
    failure {
      code
      origin
      phase
      retryable
      summary
    }
    rowErrorCount
  }
}`) as unknown as TypedDocumentString<ResetDataRunMutation, ResetDataRunMutationVariables>;
export const AdvanceDataRunDocument = new TypedDocumentString(`
    mutation AdvanceDataRun($input: AdvanceDataRunInput!) {
  advanceDataRun(input: $input) {
    __typename
    ... on DataRun {
      ...RunFields
    }
    ... on NotFoundError {
      code
      message
    }
    ... on ForbiddenError {
      code
      message
      permission
      dataset
    }
    ... on InvalidInputError {
      code
      message
      field
    }
    ... on InvalidTransitionError {
      code
      message
      from
      action
      allowed
    }
  }
}
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
  package {
    name
    title
    version
    digest
  }
  workspace {
    id
    slug
  }
  failure {
    code
    origin
    phase
    retryable
    summary
  }
  failedStep {
    dataset
  }
  readiness {
    ready
    blockers {
      code
      dataset
      message
      count
      sampleKeys
      clearedBy
    }
  }
  whyNotRunning {
    code
    message
    remedy
    since
    subject
  }
  steps {
    id
    dataset
    target
    state
    attempt
    finallyBlocked
    skippedBecause
    rows {
      source
      loaded
      updated
      unchanged
      rejected
      blocked
      unprocessed
    }
    failure {
      code
      origin
      phase
      retryable
      summary
    }
    rowErrorCount
  }
}`) as unknown as TypedDocumentString<AdvanceDataRunMutation, AdvanceDataRunMutationVariables>;
export const DataRunDocument = new TypedDocumentString(`
    query DataRun($id: ID!) {
  dataRun(id: $id) {
    ...RunFields
  }
}
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
  package {
    name
    title
    version
    digest
  }
  workspace {
    id
    slug
  }
  failure {
    code
    origin
    phase
    retryable
    summary
  }
  failedStep {
    dataset
  }
  readiness {
    ready
    blockers {
      code
      dataset
      message
      count
      sampleKeys
      clearedBy
    }
  }
  whyNotRunning {
    code
    message
    remedy
    since
    subject
  }
  steps {
    id
    dataset
    target
    state
    attempt
    finallyBlocked
    skippedBecause
    rows {
      source
      loaded
      updated
      unchanged
      rejected
      blocked
      unprocessed
    }
    failure {
      code
      origin
      phase
      retryable
      summary
    }
    rowErrorCount
  }
}`) as unknown as TypedDocumentString<DataRunQuery, DataRunQueryVariables>;
export const RowErrorsDocument = new TypedDocumentString(`
    query RowErrors($id: ID!) {
  dataRun(id: $id) {
    failedStep {
      dataset
      rowErrorCount
      rowErrors {
        row
        field
        code
        message
      }
    }
  }
}
    `) as unknown as TypedDocumentString<RowErrorsQuery, RowErrorsQueryVariables>;
export const DataRunsDocument = new TypedDocumentString(`
    query DataRuns($slug: String!, $first: Int!, $after: String, $filter: DataRunFilter) {
  workspace(slug: $slug) {
    dataRuns(first: $first, after: $after, filter: $filter) {
      edges {
        node {
          id
          state
          registeredAt
          registeredBy
          settledAt
          package {
            name
            version
          }
          failure {
            code
            summary
          }
          readiness {
            ready
          }
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
}
    `) as unknown as TypedDocumentString<DataRunsQuery, DataRunsQueryVariables>;
export const PastEventsDocument = new TypedDocumentString(`
    query PastEvents($id: ID!, $first: Int!, $after: String) {
  dataRun(id: $id) {
    events(first: $first, after: $after) {
      edges {
        node {
          ...EventFields
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
}
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
  ... on DataRunEvent {
    dataset
    dataRun {
      id
    }
  }
  ... on ExportExecutionEvent {
    destination
    exportExecution {
      id
    }
  }
}`) as unknown as TypedDocumentString<PastEventsQuery, PastEventsQueryVariables>;
export const DataRunEventsDocument = new TypedDocumentString(`
    subscription DataRunEvents($id: ID!, $after: String) {
  dataRunEvents(id: $id, after: $after) {
    ...EventFields
  }
}
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
  ... on DataRunEvent {
    dataset
    dataRun {
      id
    }
  }
  ... on ExportExecutionEvent {
    destination
    exportExecution {
      id
    }
  }
}`) as unknown as TypedDocumentString<DataRunEventsSubscription, DataRunEventsSubscriptionVariables>;
export const WorkspaceEventsDocument = new TypedDocumentString(`
    subscription WorkspaceEvents($workspace: ID!, $after: String) {
  workspaceEvents(workspace: $workspace, after: $after) {
    ...EventFields
  }
}
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
  ... on DataRunEvent {
    dataset
    dataRun {
      id
    }
  }
  ... on ExportExecutionEvent {
    destination
    exportExecution {
      id
    }
  }
}`) as unknown as TypedDocumentString<WorkspaceEventsSubscription, WorkspaceEventsSubscriptionVariables>;
export const DataRunProgressDocument = new TypedDocumentString(`
    subscription DataRunProgress($id: ID!) {
  dataRunProgress(id: $id) {
    at
    state
    progress {
      done
      total
      totalIsExact
      unit
    }
    steps {
      dataset
      state
      progress {
        done
        total
        totalIsExact
        unit
      }
    }
  }
}
    `) as unknown as TypedDocumentString<DataRunProgressSubscription, DataRunProgressSubscriptionVariables>;
export const RequestWorkspaceExportDocument = new TypedDocumentString(`
    mutation RequestWorkspaceExport($input: RequestWorkspaceExportInput!) {
  requestWorkspaceExport(input: $input) {
    __typename
    ... on ExportExecution {
      ...ExportFields
    }
    ... on NotFoundError {
      code
      message
    }
    ... on ForbiddenError {
      code
      message
      permission
    }
    ... on ConflictError {
      code
      message
      conflictingId
    }
    ... on InvalidInputError {
      code
      message
      field
    }
  }
}
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
  workspace {
    id
    slug
  }
  settings {
    format
    datasets
    retentionDays
  }
  progress {
    done
    total
    totalIsExact
    unit
  }
  counts {
    dataset
    rows
    bytes
  }
  failure {
    code
    origin
    phase
    retryable
    summary
  }
  whyNotRunning {
    code
    message
    remedy
    since
    subject
  }
  exportPackage {
    id
    state
    bytes
    digest
    publishedAt
    expiresAt
    failure {
      code
      origin
      phase
      retryable
      summary
    }
    deliveries {
      destination
      state
      attempts
      nextAttemptAt
      failure {
        code
        summary
      }
    }
  }
}`) as unknown as TypedDocumentString<RequestWorkspaceExportMutation, RequestWorkspaceExportMutationVariables>;
export const CancelExportExecutionDocument = new TypedDocumentString(`
    mutation CancelExportExecution($input: CancelExportExecutionInput!) {
  cancelExportExecution(input: $input) {
    __typename
    ... on ExportExecution {
      ...ExportFields
    }
    ... on NotFoundError {
      code
      message
    }
    ... on ForbiddenError {
      code
      message
      permission
    }
    ... on ConflictError {
      code
      message
      conflictingId
    }
    ... on InvalidInputError {
      code
      message
      field
    }
    ... on InvalidTransitionError {
      code
      message
      from
      action
      allowed
    }
  }
}
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
  workspace {
    id
    slug
  }
  settings {
    format
    datasets
    retentionDays
  }
  progress {
    done
    total
    totalIsExact
    unit
  }
  counts {
    dataset
    rows
    bytes
  }
  failure {
    code
    origin
    phase
    retryable
    summary
  }
  whyNotRunning {
    code
    message
    remedy
    since
    subject
  }
  exportPackage {
    id
    state
    bytes
    digest
    publishedAt
    expiresAt
    failure {
      code
      origin
      phase
      retryable
      summary
    }
    deliveries {
      destination
      state
      attempts
      nextAttemptAt
      failure {
        code
        summary
      }
    }
  }
}`) as unknown as TypedDocumentString<CancelExportExecutionMutation, CancelExportExecutionMutationVariables>;
export const IssueDownloadLinkDocument = new TypedDocumentString(`
    mutation IssueDownloadLink($input: IssueDownloadLinkInput!) {
  issueDownloadLink(input: $input) {
    __typename
    ... on DownloadLink {
      url
      expiresAt
    }
    ... on NotFoundError {
      code
      message
    }
    ... on ForbiddenError {
      code
      message
      permission
    }
    ... on ConflictError {
      code
      message
      conflictingId
    }
    ... on InvalidInputError {
      code
      message
      field
    }
  }
}
    `) as unknown as TypedDocumentString<IssueDownloadLinkMutation, IssueDownloadLinkMutationVariables>;
export const ExportExecutionDocument = new TypedDocumentString(`
    query ExportExecution($id: ID!) {
  exportExecution(id: $id) {
    ...ExportFields
  }
}
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
  workspace {
    id
    slug
  }
  settings {
    format
    datasets
    retentionDays
  }
  progress {
    done
    total
    totalIsExact
    unit
  }
  counts {
    dataset
    rows
    bytes
  }
  failure {
    code
    origin
    phase
    retryable
    summary
  }
  whyNotRunning {
    code
    message
    remedy
    since
    subject
  }
  exportPackage {
    id
    state
    bytes
    digest
    publishedAt
    expiresAt
    failure {
      code
      origin
      phase
      retryable
      summary
    }
    deliveries {
      destination
      state
      attempts
      nextAttemptAt
      failure {
        code
        summary
      }
    }
  }
}`) as unknown as TypedDocumentString<ExportExecutionQuery, ExportExecutionQueryVariables>;
export const RunOrExportDocument = new TypedDocumentString(`
    query RunOrExport($id: ID!) {
  dataRun(id: $id) {
    ...RunFields
  }
  exportExecution(id: $id) {
    ...ExportFields
  }
}
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
  package {
    name
    title
    version
    digest
  }
  workspace {
    id
    slug
  }
  failure {
    code
    origin
    phase
    retryable
    summary
  }
  failedStep {
    dataset
  }
  readiness {
    ready
    blockers {
      code
      dataset
      message
      count
      sampleKeys
      clearedBy
    }
  }
  whyNotRunning {
    code
    message
    remedy
    since
    subject
  }
  steps {
    id
    dataset
    target
    state
    attempt
    finallyBlocked
    skippedBecause
    rows {
      source
      loaded
      updated
      unchanged
      rejected
      blocked
      unprocessed
    }
    failure {
      code
      origin
      phase
      retryable
      summary
    }
    rowErrorCount
  }
}
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
  workspace {
    id
    slug
  }
  settings {
    format
    datasets
    retentionDays
  }
  progress {
    done
    total
    totalIsExact
    unit
  }
  counts {
    dataset
    rows
    bytes
  }
  failure {
    code
    origin
    phase
    retryable
    summary
  }
  whyNotRunning {
    code
    message
    remedy
    since
    subject
  }
  exportPackage {
    id
    state
    bytes
    digest
    publishedAt
    expiresAt
    failure {
      code
      origin
      phase
      retryable
      summary
    }
    deliveries {
      destination
      state
      attempts
      nextAttemptAt
      failure {
        code
        summary
      }
    }
  }
}`) as unknown as TypedDocumentString<RunOrExportQuery, RunOrExportQueryVariables>;
export const ExportExecutionsDocument = new TypedDocumentString(`
    query ExportExecutions($slug: String!, $first: Int!, $after: String) {
  workspace(slug: $slug) {
    exportExecutions(first: $first, after: $after) {
      edges {
        node {
          id
          state
          requestedAt
          requestedBy
          settledAt
          cutoff
          manifestDigest
          failure {
            code
            summary
          }
          exportPackage {
            state
            bytes
          }
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
}
    `) as unknown as TypedDocumentString<ExportExecutionsQuery, ExportExecutionsQueryVariables>;
export const PastExportEventsDocument = new TypedDocumentString(`
    query PastExportEvents($id: ID!, $first: Int!, $after: String) {
  exportExecution(id: $id) {
    events(first: $first, after: $after) {
      edges {
        node {
          ...EventFields
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
}
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
  ... on DataRunEvent {
    dataset
    dataRun {
      id
    }
  }
  ... on ExportExecutionEvent {
    destination
    exportExecution {
      id
    }
  }
}`) as unknown as TypedDocumentString<PastExportEventsQuery, PastExportEventsQueryVariables>;
export const ExportExecutionEventsDocument = new TypedDocumentString(`
    subscription ExportExecutionEvents($id: ID!, $after: String) {
  exportExecutionEvents(id: $id, after: $after) {
    ...EventFields
  }
}
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
  ... on DataRunEvent {
    dataset
    dataRun {
      id
    }
  }
  ... on ExportExecutionEvent {
    destination
    exportExecution {
      id
    }
  }
}`) as unknown as TypedDocumentString<ExportExecutionEventsSubscription, ExportExecutionEventsSubscriptionVariables>;
export const ExportExecutionProgressDocument = new TypedDocumentString(`
    subscription ExportExecutionProgress($id: ID!) {
  exportExecutionProgress(id: $id) {
    at
    state
    phase
    progress {
      done
      total
      totalIsExact
      unit
    }
    datasets {
      dataset
      bytes
      progress {
        done
        total
        totalIsExact
        unit
      }
    }
  }
}
    `) as unknown as TypedDocumentString<ExportExecutionProgressSubscription, ExportExecutionProgressSubscriptionVariables>;
export const ViewerDocument = new TypedDocumentString(`
    query Viewer {
  viewer {
    subject
    permissions
  }
}
    `) as unknown as TypedDocumentString<ViewerQuery, ViewerQueryVariables>;
export const WorkspacesDocument = new TypedDocumentString(`
    query Workspaces($first: Int, $after: String, $last: Int, $before: String) {
  workspaces(first: $first, after: $after, last: $last, before: $before) {
    edges {
      node {
        id
        slug
        name
        createdAt
        dataRuns(first: 1) {
          edges {
            node {
              id
              state
              registeredAt
              settledAt
              package {
                name
                version
              }
            }
          }
        }
      }
    }
    pageInfo {
      hasNextPage
      hasPreviousPage
      startCursor
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<WorkspacesQuery, WorkspacesQueryVariables>;
export const WorkspaceRunsDocument = new TypedDocumentString(`
    query WorkspaceRuns($slug: String!, $filter: DataRunFilter, $first: Int, $after: String, $last: Int, $before: String) {
  workspace(slug: $slug) {
    id
    dataRuns(
      filter: $filter
      first: $first
      after: $after
      last: $last
      before: $before
    ) {
      edges {
        node {
          ...RunRow
        }
      }
      pageInfo {
        hasNextPage
        hasPreviousPage
        startCursor
        endCursor
      }
    }
  }
}
    fragment RunRow on DataRun {
  id
  state
  registeredAt
  registeredBy
  settledAt
  activeChildren
  package {
    name
    title
    version
  }
  progress {
    done
    total
    totalIsExact
    unit
  }
  readiness {
    ready
  }
  failure {
    code
    summary
  }
}`) as unknown as TypedDocumentString<WorkspaceRunsQuery, WorkspaceRunsQueryVariables>;
export const WorkspacePastEventsDocument = new TypedDocumentString(`
    query WorkspacePastEvents($slug: String!, $forward: Boolean!, $after: String, $before: String) {
  workspace(slug: $slug) {
    id
    events(first: 50, after: $after) @include(if: $forward) {
      ...EventPage
    }
    pastEvents(last: 50, before: $before) @skip(if: $forward) {
      ...EventPage
    }
  }
}
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
  ... on DataRunEvent {
    dataset
    dataRun {
      id
    }
  }
  ... on ExportExecutionEvent {
    destination
    exportExecution {
      id
    }
  }
}
fragment EventPage on WorkspaceEventsConnection {
  edges {
    node {
      ...EventFields
    }
  }
  pageInfo {
    hasNextPage
    hasPreviousPage
    startCursor
    endCursor
  }
}`) as unknown as TypedDocumentString<WorkspacePastEventsQuery, WorkspacePastEventsQueryVariables>;
export const WorkspaceExportsDocument = new TypedDocumentString(`
    query WorkspaceExports($slug: String!, $filter: ExportExecutionFilter, $first: Int, $after: String, $last: Int, $before: String) {
  workspace(slug: $slug) {
    id
    exportExecutions(
      filter: $filter
      first: $first
      after: $after
      last: $last
      before: $before
    ) {
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
          progress {
            done
            total
            totalIsExact
            unit
          }
          failure {
            code
            summary
          }
          whyNotRunning {
            ...HoldFields
          }
          exportPackage {
            id
            state
            bytes
            expiresAt
          }
        }
      }
      pageInfo {
        hasNextPage
        hasPreviousPage
        startCursor
        endCursor
      }
    }
  }
}
    fragment HoldFields on Hold {
  code
  message
  remedy
  since
  subject
}`) as unknown as TypedDocumentString<WorkspaceExportsQuery, WorkspaceExportsQueryVariables>;
export const WorkspaceDatasetsDocument = new TypedDocumentString(`
    query WorkspaceDatasets($slug: String!, $first: Int, $after: String, $last: Int, $before: String) {
  workspace(slug: $slug) {
    id
    datasets(first: $first, after: $after, last: $last, before: $before) {
      edges {
        node {
          id
          name
          rowCount
          updatedAt
        }
      }
      pageInfo {
        hasNextPage
        hasPreviousPage
        startCursor
        endCursor
      }
    }
  }
}
    `) as unknown as TypedDocumentString<WorkspaceDatasetsQuery, WorkspaceDatasetsQueryVariables>;
export const RunPageDocument = new TypedDocumentString(`
    query RunPage($id: ID!) {
  dataRun(id: $id) {
    ...RunFields
    ...RetryFields
    progress {
      done
      total
      totalIsExact
      unit
    }
    previousRun {
      id
    }
    grant {
      subject
      grantedAt
      expiresAt
      endedAt
      targets
    }
    outstandingCancellations {
      id
      dataset
      state
      cancelAnswer
    }
    steps {
      id
      position
      dependsOn
      progress {
        done
        total
        totalIsExact
        unit
      }
      blockers {
        code
        dataset
        message
        count
        sampleKeys
        clearedBy
      }
      whyNotRunning {
        ...HoldFields
      }
      submittedAt
      settledAt
    }
  }
}
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
  package {
    name
    title
    version
    digest
  }
  workspace {
    id
    slug
  }
  failure {
    code
    origin
    phase
    retryable
    summary
  }
  failedStep {
    dataset
  }
  readiness {
    ready
    blockers {
      code
      dataset
      message
      count
      sampleKeys
      clearedBy
    }
  }
  whyNotRunning {
    code
    message
    remedy
    since
    subject
  }
  steps {
    id
    dataset
    target
    state
    attempt
    finallyBlocked
    skippedBecause
    rows {
      source
      loaded
      updated
      unchanged
      rejected
      blocked
      unprocessed
    }
    failure {
      code
      origin
      phase
      retryable
      summary
    }
    rowErrorCount
  }
}
fragment HoldFields on Hold {
  code
  message
  remedy
  since
  subject
}
fragment RetryFields on DataRun {
  id
  driving
  onInvalidRow
  onMissingReference
  onHashMismatch
  package {
    id
  }
  workspace {
    id
  }
}`) as unknown as TypedDocumentString<RunPageQuery, RunPageQueryVariables>;
export const RenewDataRunGrantDocument = new TypedDocumentString(`
    mutation RenewDataRunGrant($input: RenewDataRunGrantInput!) {
  renewDataRunGrant(input: $input) {
    __typename
    ... on DataRun {
      id
      grant {
        subject
        grantedAt
        expiresAt
        endedAt
        targets
      }
    }
    ... on NotFoundError {
      code
      message
    }
    ... on ForbiddenError {
      code
      message
      permission
      dataset
    }
    ... on ConflictError {
      code
      message
      conflictingId
    }
    ... on InvalidInputError {
      code
      message
      field
    }
  }
}
    `) as unknown as TypedDocumentString<RenewDataRunGrantMutation, RenewDataRunGrantMutationVariables>;
export const ExportPageDocument = new TypedDocumentString(`
    query ExportPage($id: ID!) {
  exportExecution(id: $id) {
    ...ExportFields
    settings {
      destinations {
        name
        url
      }
    }
    exportPackage {
      deliveries {
        id
        destination
        state
        attempts
        nextAttemptAt
        deliveredAt
        attemptLog {
          number
          at
          status
          code
          message
          durationMs
        }
      }
    }
  }
}
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
  workspace {
    id
    slug
  }
  settings {
    format
    datasets
    retentionDays
  }
  progress {
    done
    total
    totalIsExact
    unit
  }
  counts {
    dataset
    rows
    bytes
  }
  failure {
    code
    origin
    phase
    retryable
    summary
  }
  whyNotRunning {
    code
    message
    remedy
    since
    subject
  }
  exportPackage {
    id
    state
    bytes
    digest
    publishedAt
    expiresAt
    failure {
      code
      origin
      phase
      retryable
      summary
    }
    deliveries {
      destination
      state
      attempts
      nextAttemptAt
      failure {
        code
        summary
      }
    }
  }
}`) as unknown as TypedDocumentString<ExportPageQuery, ExportPageQueryVariables>;
export const RepublishExportDocument = new TypedDocumentString(`
    mutation RepublishExport($input: RepublishExportInput!) {
  republishExport(input: $input) {
    __typename
    ... on ExportExecution {
      id
      exportPackage {
        id
        state
      }
    }
    ... on NotFoundError {
      code
      message
    }
    ... on ForbiddenError {
      code
      message
      permission
    }
    ... on ConflictError {
      code
      message
      conflictingId
    }
    ... on InvalidInputError {
      code
      message
      field
    }
  }
}
    `) as unknown as TypedDocumentString<RepublishExportMutation, RepublishExportMutationVariables>;
export const RedeliverDocument = new TypedDocumentString(`
    mutation Redeliver($input: RedeliverInput!) {
  redeliver(input: $input) {
    __typename
    ... on ExportDelivery {
      id
      state
    }
    ... on NotFoundError {
      code
      message
    }
    ... on ForbiddenError {
      code
      message
      permission
    }
    ... on ConflictError {
      code
      message
      conflictingId
    }
    ... on InvalidInputError {
      code
      message
      field
    }
  }
}
    `) as unknown as TypedDocumentString<RedeliverMutation, RedeliverMutationVariables>;
export const ExportSettingsDocument = new TypedDocumentString(`
    query ExportSettings($slug: String!) {
  workspace(slug: $slug) {
    id
    exportSettings {
      format
      datasets
      retentionDays
      destinations {
        name
        url
      }
    }
  }
}
    `) as unknown as TypedDocumentString<ExportSettingsQuery, ExportSettingsQueryVariables>;
export const UpdateExportSettingsDocument = new TypedDocumentString(`
    mutation UpdateExportSettings($input: UpdateExportSettingsInput!) {
  updateExportSettings(input: $input) {
    __typename
    ... on Workspace {
      id
      exportSettings {
        format
        datasets
        retentionDays
        destinations {
          name
          url
          secret
        }
      }
    }
    ... on NotFoundError {
      code
      message
    }
    ... on ForbiddenError {
      code
      message
      permission
    }
    ... on InvalidInputError {
      code
      message
      field
    }
  }
}
    `) as unknown as TypedDocumentString<UpdateExportSettingsMutation, UpdateExportSettingsMutationVariables>;
export const LifecyclesDocument = new TypedDocumentString(`
    query Lifecycles {
  lifecycles {
    name
    states {
      name
      meaning
      terminal
    }
    transitions {
      from
      to
      action
      guard
      sideEffects
      who
    }
    refused {
      from
      to
      why
    }
  }
}
    `) as unknown as TypedDocumentString<LifecyclesQuery, LifecyclesQueryVariables>;
export const RunStateDocument = new TypedDocumentString(`
    query RunState($id: ID!) {
  dataRun(id: $id) {
    id
    state
    package {
      name
      version
    }
    workspace {
      slug
    }
  }
}
    `) as unknown as TypedDocumentString<RunStateQuery, RunStateQueryVariables>;
export const ExportStateDocument = new TypedDocumentString(`
    query ExportState($id: ID!) {
  exportExecution(id: $id) {
    id
    state
    cutoff
    workspace {
      slug
    }
  }
}
    `) as unknown as TypedDocumentString<ExportStateQuery, ExportStateQueryVariables>;
export const DatasetPageDocument = new TypedDocumentString(`
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
        edges {
          cursor
          node {
            key
            values
            writtenBy {
              id
              registeredAt
              package {
                name
                version
              }
            }
          }
        }
        pageInfo {
          hasNextPage
          hasPreviousPage
          startCursor
          endCursor
        }
      }
    }
  }
}
    `) as unknown as TypedDocumentString<DatasetPageQuery, DatasetPageQueryVariables>;
export const StepErrorsDocument = new TypedDocumentString(`
    query StepErrors($id: ID!) {
  node(id: $id) {
    __typename
    ... on DataRunStep {
      id
      rowErrors {
        row
        field
        code
        message
      }
    }
  }
}
    `) as unknown as TypedDocumentString<StepErrorsQuery, StepErrorsQueryVariables>;
export const PingDestinationDocument = new TypedDocumentString(`
    mutation PingDestination($input: PingDestinationInput!) {
  pingDestination(input: $input) {
    __typename
    ... on DestinationPing {
      status
      code
      message
      ms
      at
    }
    ... on NotFoundError {
      code
      message
    }
    ... on ForbiddenError {
      code
      message
      permission
    }
    ... on ConflictError {
      code
      message
    }
    ... on InvalidInputError {
      code
      message
      field
    }
  }
}
    `) as unknown as TypedDocumentString<PingDestinationMutation, PingDestinationMutationVariables>;
export const IssueRejectedRowsLinkDocument = new TypedDocumentString(`
    mutation IssueRejectedRowsLink($input: IssueRejectedRowsLinkInput!) {
  issueRejectedRowsLink(input: $input) {
    __typename
    ... on DownloadLink {
      url
      expiresAt
    }
    ... on NotFoundError {
      code
      message
    }
    ... on ForbiddenError {
      code
      message
      permission
    }
    ... on ConflictError {
      code
      message
    }
    ... on InvalidInputError {
      code
      message
      field
    }
  }
}
    `) as unknown as TypedDocumentString<IssueRejectedRowsLinkMutation, IssueRejectedRowsLinkMutationVariables>;
export const RetriedRunDocument = new TypedDocumentString(`
    query RetriedRun($id: ID!) {
  dataRun(id: $id) {
    ...RetryFields
  }
}
    fragment RetryFields on DataRun {
  id
  driving
  onInvalidRow
  onMissingReference
  onHashMismatch
  package {
    id
  }
  workspace {
    id
  }
}`) as unknown as TypedDocumentString<RetriedRunQuery, RetriedRunQueryVariables>;
export const RunHoldsDocument = new TypedDocumentString(`
    query RunHolds($id: ID!) {
  dataRun(id: $id) {
    id
    steps {
      id
      dataset
      whyNotRunning {
        code
      }
    }
  }
}
    `) as unknown as TypedDocumentString<RunHoldsQuery, RunHoldsQueryVariables>;
export const SettleSubmissionDocument = new TypedDocumentString(`
    mutation SettleSubmission($input: SettleSubmissionInput!) {
  settleSubmission(input: $input) {
    __typename
    ... on DataRunStep {
      id
      dataset
      state
    }
    ... on NotFoundError {
      code
      message
    }
    ... on ForbiddenError {
      code
      message
      permission
    }
    ... on ConflictError {
      code
      message
      conflictingId
    }
    ... on InvalidInputError {
      code
      message
      field
    }
  }
}
    `) as unknown as TypedDocumentString<SettleSubmissionMutation, SettleSubmissionMutationVariables>;