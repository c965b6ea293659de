-- CreateEnum
CREATE TYPE "data_run_state" AS ENUM ('REGISTERED', 'RUNNING', 'PAUSED', 'SUCCEEDED', 'FAILED', 'CANCELLED');

-- CreateEnum
CREATE TYPE "data_run_step_state" AS ENUM ('PENDING', 'SUBMITTING', 'ACTIVE', 'CANCELLING', 'SUCCEEDED', 'FAILED', 'BLOCKED', 'SKIPPED', 'CANCELLED');

-- CreateEnum
CREATE TYPE "export_execution_state" AS ENUM ('QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELLED');

-- CreateEnum
CREATE TYPE "driving" AS ENUM ('BACKGROUND', 'ON_REQUEST');

-- CreateEnum
CREATE TYPE "on_invalid_row" AS ENUM ('FAIL', 'REJECT');

-- CreateEnum
CREATE TYPE "on_missing_reference" AS ENUM ('BLOCK', 'FAIL', 'REJECT');

-- CreateEnum
CREATE TYPE "on_hash_mismatch" AS ENUM ('FAIL', 'WARN');

-- CreateEnum
CREATE TYPE "export_format" AS ENUM ('CSV', 'NDJSON', 'PARQUET');

-- CreateTable
CREATE TABLE "workspace" (
    "id" UUID NOT NULL,
    "slug" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "workspace_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "workspace_log" (
    "workspace_id" UUID NOT NULL,
    "position" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "workspace_log_pkey" PRIMARY KEY ("workspace_id")
);

-- CreateTable
CREATE TABLE "export_settings" (
    "workspace_id" UUID NOT NULL,
    "format" "export_format" NOT NULL DEFAULT 'CSV',
    "datasets" JSONB,
    "retention_days" INTEGER NOT NULL DEFAULT 30,

    CONSTRAINT "export_settings_pkey" PRIMARY KEY ("workspace_id")
);

-- CreateTable
CREATE TABLE "data_package" (
    "id" UUID NOT NULL,
    "workspace_id" UUID NOT NULL,
    "staged_by" TEXT NOT NULL,
    "staged_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "storage_key" TEXT,
    "kind" TEXT,
    "bytes" BIGINT,
    "digest" TEXT,
    "uploaded_at" TIMESTAMPTZ(3),
    "discarded_at" TIMESTAMPTZ(3),
    "name" TEXT,
    "version" TEXT,
    "title" TEXT,
    "plan" JSONB,

    CONSTRAINT "data_package_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "package_resource" (
    "package_id" UUID NOT NULL,
    "position" INTEGER NOT NULL,
    "name" TEXT NOT NULL,
    "bytes" BIGINT NOT NULL,
    "hash" TEXT NOT NULL,
    "rows" BIGINT,
    "depends_on" TEXT[],

    CONSTRAINT "package_resource_pkey" PRIMARY KEY ("package_id","position")
);

-- CreateTable
CREATE TABLE "data_run" (
    "id" UUID NOT NULL,
    "workspace_id" UUID NOT NULL,
    "package_id" UUID NOT NULL,
    "package_name" TEXT NOT NULL,
    "state" "data_run_state" NOT NULL DEFAULT 'REGISTERED',
    "driving" "driving" NOT NULL DEFAULT 'BACKGROUND',
    "on_invalid_row" "on_invalid_row" NOT NULL DEFAULT 'FAIL',
    "on_missing_reference" "on_missing_reference" NOT NULL DEFAULT 'BLOCK',
    "on_hash_mismatch" "on_hash_mismatch" NOT NULL DEFAULT 'FAIL',
    "previous_run_id" UUID,
    "registered_by" TEXT NOT NULL,
    "registered_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "started_at" TIMESTAMPTZ(3),
    "settled_at" TIMESTAMPTZ(3),
    "reset_at" TIMESTAMPTZ(3),
    "paused_at" TIMESTAMPTZ(3),
    "failed_dataset" TEXT,
    "failure" JSONB,
    "open_steps" INTEGER NOT NULL DEFAULT 0,
    "active_children" INTEGER NOT NULL DEFAULT 0,
    "failed_steps" INTEGER NOT NULL DEFAULT 0,
    "cancelling_steps" INTEGER NOT NULL DEFAULT 0,
    "open_targets" TEXT[],
    "active_targets" TEXT[],
    "notes" TEXT[],
    "cancel_requested_at" TIMESTAMPTZ(3),
    "cancel_requested_by" TEXT,
    "cancel_reason" TEXT,
    "cancel_force" BOOLEAN NOT NULL DEFAULT false,
    "cancel_key" JSONB,
    "revision" INTEGER NOT NULL DEFAULT 0,
    "last_sequence" INTEGER NOT NULL DEFAULT 0,
    "last_position" BIGINT NOT NULL DEFAULT 0,
    "fence" INTEGER NOT NULL DEFAULT 0,
    "lease_owner" TEXT,
    "lease_until" TIMESTAMPTZ(3),
    "pass_wanted" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "data_run_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "data_run_step" (
    "id" UUID NOT NULL,
    "run_id" UUID NOT NULL,
    "position" INTEGER NOT NULL,
    "dataset" TEXT NOT NULL,
    "depends_on" TEXT[],
    "target" TEXT NOT NULL,
    "state" "data_run_step_state" NOT NULL DEFAULT 'PENDING',
    "attempt" INTEGER NOT NULL DEFAULT 0,
    "idempotency_key" TEXT,
    "child_job_id" TEXT,
    "submitted_by" TEXT,
    "missing_since" TIMESTAMPTZ(3),
    "progress_done" BIGINT NOT NULL DEFAULT 0,
    "progress_total" BIGINT,
    "progress_unit" TEXT NOT NULL DEFAULT 'bytes',
    "rows_source" BIGINT NOT NULL DEFAULT 0,
    "rows_loaded" BIGINT NOT NULL DEFAULT 0,
    "rows_updated" BIGINT NOT NULL DEFAULT 0,
    "rows_unchanged" BIGINT NOT NULL DEFAULT 0,
    "rows_rejected" BIGINT NOT NULL DEFAULT 0,
    "rows_blocked" BIGINT NOT NULL DEFAULT 0,
    "rows_unprocessed" BIGINT NOT NULL DEFAULT 0,
    "blockers" JSONB NOT NULL DEFAULT '[]',
    "row_errors" JSONB NOT NULL DEFAULT '[]',
    "row_error_count" BIGINT NOT NULL DEFAULT 0,
    "finally_blocked" BOOLEAN NOT NULL DEFAULT false,
    "skipped_because" TEXT,
    "failure" JSONB,
    "late_result" TEXT,
    "cancel_requested_at" TIMESTAMPTZ(3),
    "cancel_answer" TEXT,
    "submitted_at" TIMESTAMPTZ(3),
    "settled_at" TIMESTAMPTZ(3),

    CONSTRAINT "data_run_step_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "run_grant" (
    "id" UUID NOT NULL,
    "run_id" UUID NOT NULL,
    "workspace_id" UUID NOT NULL,
    "purpose" TEXT NOT NULL DEFAULT 'DRIVE',
    "subject" TEXT NOT NULL,
    "targets" TEXT[],
    "granted_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "run_grant_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "store_job" (
    "id" UUID NOT NULL,
    "idempotency_key" TEXT NOT NULL,
    "workspace_id" UUID,
    "run_id" UUID,
    "dataset" TEXT,
    "state" TEXT NOT NULL DEFAULT 'queued',
    "request" JSONB,
    "progress_done" BIGINT NOT NULL DEFAULT 0,
    "progress_total" BIGINT,
    "rows" JSONB,
    "blockers" JSONB,
    "failure" JSONB,
    "errors" JSONB,
    "cancel_requested_at" TIMESTAMPTZ(3),
    "fence" INTEGER NOT NULL DEFAULT 0,
    "lease_until" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "settled_at" TIMESTAMPTZ(3),

    CONSTRAINT "store_job_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "export_execution" (
    "id" UUID NOT NULL,
    "workspace_id" UUID NOT NULL,
    "state" "export_execution_state" NOT NULL DEFAULT 'QUEUED',
    "requested_by" TEXT NOT NULL,
    "requested_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "started_at" TIMESTAMPTZ(3),
    "settled_at" TIMESTAMPTZ(3),
    "failure" JSONB,
    "counts" JSONB,
    "manifest_digest" TEXT,
    "revision" INTEGER NOT NULL DEFAULT 0,
    "last_sequence" INTEGER NOT NULL DEFAULT 0,
    "last_position" BIGINT NOT NULL DEFAULT 0,
    "fence" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "export_execution_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "lifecycle_event" (
    "workspace_id" UUID NOT NULL,
    "position" BIGINT NOT NULL,
    "data_run_id" UUID,
    "export_execution_id" UUID,
    "sequence" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "action" TEXT NOT NULL,
    "from_state" TEXT,
    "to_state" TEXT NOT NULL,
    "actor" TEXT NOT NULL,
    "reason" TEXT,
    "request_id" TEXT,
    "cause" TEXT,
    "dataset" TEXT,

    CONSTRAINT "lifecycle_event_pkey" PRIMARY KEY ("workspace_id","position")
);

-- CreateTable
CREATE TABLE "idempotency_key" (
    "workspace_id" UUID NOT NULL,
    "subject" TEXT NOT NULL,
    "mutation" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "input_hash" TEXT NOT NULL,
    "result_id" UUID,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "idempotency_key_pkey" PRIMARY KEY ("workspace_id","subject","mutation","key")
);

-- CreateTable
CREATE TABLE "dataset" (
    "id" UUID NOT NULL,
    "workspace_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "schema" JSONB NOT NULL,
    "table_name" TEXT NOT NULL,
    "columns" JSONB NOT NULL,
    "row_count" BIGINT NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "dataset_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "dataset_load" (
    "id" BIGSERIAL NOT NULL,
    "dataset_id" UUID NOT NULL,
    "run_id" UUID NOT NULL,
    "store_job_id" UUID NOT NULL,
    "schema" JSONB NOT NULL,
    "loaded_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "dataset_load_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "workspace_slug_key" ON "workspace"("slug");

-- CreateIndex
CREATE INDEX "data_package_workspace_idx" ON "data_package"("workspace_id", "id");

-- CreateIndex
CREATE INDEX "data_run_workspace_idx" ON "data_run"("workspace_id", "id");

-- CreateIndex
CREATE INDEX "data_run_work_idx" ON "data_run"("lease_until") WHERE ((state = ANY (ARRAY['RUNNING'::data_run_state, 'PAUSED'::data_run_state])) OR (cancelling_steps > 0) OR (active_children > 0));

-- CreateIndex
CREATE UNIQUE INDEX "data_run_unfinished_key" ON "data_run"("workspace_id", "package_name") WHERE (state = ANY (ARRAY['REGISTERED'::data_run_state, 'RUNNING'::data_run_state, 'PAUSED'::data_run_state]));

-- CreateIndex
CREATE UNIQUE INDEX "data_run_step_position_key" ON "data_run_step"("run_id", "position");

-- CreateIndex
CREATE UNIQUE INDEX "data_run_step_dataset_key" ON "data_run_step"("run_id", "dataset");

-- CreateIndex
CREATE UNIQUE INDEX "data_run_step_idempotency_key" ON "data_run_step"("idempotency_key");

-- CreateIndex
CREATE INDEX "grant_run_idx" ON "run_grant"("run_id", "granted_at");

-- CreateIndex
CREATE UNIQUE INDEX "store_job_idempotency_key" ON "store_job"("idempotency_key");

-- CreateIndex
CREATE INDEX "store_job_work_idx" ON "store_job"("lease_until") WHERE (state = ANY (ARRAY['queued'::text, 'running'::text]));

-- CreateIndex
CREATE INDEX "export_execution_workspace_idx" ON "export_execution"("workspace_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "export_execution_active_key" ON "export_execution"("workspace_id") WHERE (state = ANY (ARRAY['QUEUED'::export_execution_state, 'RUNNING'::export_execution_state]));

-- CreateIndex
CREATE UNIQUE INDEX "lifecycle_event_data_run_key" ON "lifecycle_event"("data_run_id", "sequence");

-- CreateIndex
CREATE UNIQUE INDEX "lifecycle_event_export_execution_key" ON "lifecycle_event"("export_execution_id", "sequence");

-- CreateIndex
CREATE UNIQUE INDEX "dataset_name_key" ON "dataset"("workspace_id", "name");

-- CreateIndex
CREATE UNIQUE INDEX "dataset_load_store_job_key" ON "dataset_load"("store_job_id");

-- CreateIndex
CREATE INDEX "dataset_load_dataset_idx" ON "dataset_load"("dataset_id", "id");

-- CreateIndex
CREATE INDEX "dataset_load_run_idx" ON "dataset_load"("run_id");

-- AddForeignKey
ALTER TABLE "workspace_log" ADD CONSTRAINT "workspace_log_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "export_settings" ADD CONSTRAINT "export_settings_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "data_package" ADD CONSTRAINT "data_package_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "package_resource" ADD CONSTRAINT "package_resource_package_id_fkey" FOREIGN KEY ("package_id") REFERENCES "data_package"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "data_run" ADD CONSTRAINT "data_run_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "data_run" ADD CONSTRAINT "data_run_package_id_fkey" FOREIGN KEY ("package_id") REFERENCES "data_package"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "data_run" ADD CONSTRAINT "data_run_previous_run_id_fkey" FOREIGN KEY ("previous_run_id") REFERENCES "data_run"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "data_run_step" ADD CONSTRAINT "data_run_step_run_id_fkey" FOREIGN KEY ("run_id") REFERENCES "data_run"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "run_grant" ADD CONSTRAINT "run_grant_run_id_fkey" FOREIGN KEY ("run_id") REFERENCES "data_run"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "export_execution" ADD CONSTRAINT "export_execution_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "lifecycle_event" ADD CONSTRAINT "lifecycle_event_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "lifecycle_event" ADD CONSTRAINT "lifecycle_event_data_run_id_fkey" FOREIGN KEY ("data_run_id") REFERENCES "data_run"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "lifecycle_event" ADD CONSTRAINT "lifecycle_event_export_execution_id_fkey" FOREIGN KEY ("export_execution_id") REFERENCES "export_execution"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "dataset" ADD CONSTRAINT "dataset_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "dataset_load" ADD CONSTRAINT "dataset_load_dataset_id_fkey" FOREIGN KEY ("dataset_id") REFERENCES "dataset"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
