-- CreateEnum
CREATE TYPE "publication_state" AS ENUM ('PENDING', 'PUBLISHED', 'EXPIRED', 'FAILED');

-- CreateEnum
CREATE TYPE "delivery_state" AS ENUM ('PENDING', 'DELIVERED', 'FAILED');

-- AlterTable
ALTER TABLE "export_execution" ADD COLUMN     "cutoff" TEXT NOT NULL,
ADD COLUMN     "cutoff_snapshot" TEXT NOT NULL,
ADD COLUMN     "phase" TEXT NOT NULL DEFAULT 'queued',
ADD COLUMN     "plan" JSONB NOT NULL,
ADD COLUMN     "progress" JSONB NOT NULL DEFAULT '[]',
ADD COLUMN     "settings" JSONB NOT NULL,
ADD COLUMN     "takeovers" INTEGER NOT NULL DEFAULT 0;

-- AlterTable
ALTER TABLE "export_settings" ADD COLUMN     "destinations" JSONB NOT NULL DEFAULT '[]',
ADD COLUMN     "revision" INTEGER NOT NULL DEFAULT 0;

-- AlterTable
ALTER TABLE "lifecycle_event" ADD COLUMN     "destination" TEXT;

-- CreateTable
CREATE TABLE "export_slot" (
    "n" INTEGER NOT NULL,
    "execution_id" UUID,
    "fence" INTEGER NOT NULL DEFAULT 0,
    "lease_owner" TEXT,
    "lease_until" TIMESTAMPTZ(3),

    CONSTRAINT "export_slot_pkey" PRIMARY KEY ("n")
);

-- CreateTable
CREATE TABLE "export_package" (
    "id" UUID NOT NULL,
    "execution_id" UUID NOT NULL,
    "workspace_id" UUID NOT NULL,
    "state" "publication_state" NOT NULL DEFAULT 'PENDING',
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "next_attempt_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "fence" INTEGER NOT NULL DEFAULT 0,
    "lease_until" TIMESTAMPTZ(3),
    "storage_key" TEXT,
    "bytes" BIGINT,
    "digest" TEXT,
    "blocks" BYTEA,
    "block_bytes" INTEGER,
    "published_at" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3),
    "failure" JSONB,
    "link_epoch" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "export_package_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "export_delivery" (
    "id" UUID NOT NULL,
    "package_id" UUID NOT NULL,
    "destination" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "secret" TEXT NOT NULL,
    "webhook_id" TEXT NOT NULL,
    "state" "delivery_state" NOT NULL DEFAULT 'PENDING',
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "next_attempt_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "fence" INTEGER NOT NULL DEFAULT 0,
    "lease_until" TIMESTAMPTZ(3),
    "delivered_at" TIMESTAMPTZ(3),
    "failure" JSONB,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "export_delivery_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "export_delivery_attempt" (
    "delivery_id" UUID NOT NULL,
    "number" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "status" INTEGER,
    "code" TEXT NOT NULL,
    "message" TEXT NOT NULL,
    "duration_ms" INTEGER NOT NULL,

    CONSTRAINT "export_delivery_attempt_pkey" PRIMARY KEY ("delivery_id","number")
);

-- CreateTable
CREATE TABLE "signing_key" (
    "key_id" TEXT NOT NULL,
    "public_key" TEXT NOT NULL,
    "first_used_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "signing_key_pkey" PRIMARY KEY ("key_id")
);

-- CreateIndex
CREATE UNIQUE INDEX "export_slot_execution_key" ON "export_slot"("execution_id");

-- CreateIndex
CREATE INDEX "export_package_execution_idx" ON "export_package"("execution_id", "id");

-- CreateIndex
CREATE INDEX "export_package_work_idx" ON "export_package"("next_attempt_at") WHERE (state = 'PENDING'::publication_state);

-- CreateIndex
CREATE INDEX "export_package_expiry_idx" ON "export_package"("expires_at") WHERE (state = 'PUBLISHED'::publication_state);

-- CreateIndex
CREATE UNIQUE INDEX "export_package_current_key" ON "export_package"("execution_id") WHERE (state = ANY (ARRAY['PENDING'::publication_state, 'PUBLISHED'::publication_state]));

-- CreateIndex
CREATE INDEX "export_delivery_package_idx" ON "export_delivery"("package_id", "id");

-- CreateIndex
CREATE INDEX "export_delivery_work_idx" ON "export_delivery"("next_attempt_at") WHERE (state = 'PENDING'::delivery_state);

-- CreateIndex
CREATE UNIQUE INDEX "export_delivery_pending_key" ON "export_delivery"("package_id", "destination") WHERE (state = 'PENDING'::delivery_state);

-- CreateIndex
CREATE INDEX "export_execution_queue_idx" ON "export_execution"("requested_at", "id") WHERE (state = 'QUEUED'::export_execution_state);

-- AddForeignKey
ALTER TABLE "export_slot" ADD CONSTRAINT "export_slot_execution_id_fkey" FOREIGN KEY ("execution_id") REFERENCES "export_execution"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "export_package" ADD CONSTRAINT "export_package_execution_id_fkey" FOREIGN KEY ("execution_id") REFERENCES "export_execution"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "export_delivery" ADD CONSTRAINT "export_delivery_package_id_fkey" FOREIGN KEY ("package_id") REFERENCES "export_package"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "export_delivery_attempt" ADD CONSTRAINT "export_delivery_attempt_delivery_id_fkey" FOREIGN KEY ("delivery_id") REFERENCES "export_delivery"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What Prisma cannot say. The guard functions are printed from the lifecycle tables by scripts/print-triggers.ts; a test compares them.

ALTER TABLE export_execution
  ADD CONSTRAINT export_execution_failure_check CHECK ((state = 'FAILED') = (failure IS NOT NULL)),
  ADD CONSTRAINT export_execution_succeeded_check CHECK (state <> 'SUCCEEDED' OR (counts IS NOT NULL AND manifest_digest IS NOT NULL)),
  ADD CONSTRAINT export_execution_cutoff_check CHECK (cutoff ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$' AND cutoff_snapshot::pg_snapshot IS NOT NULL);

ALTER TABLE export_slot
  ADD CONSTRAINT export_slot_lease_check CHECK ((execution_id IS NULL) = (lease_until IS NULL));

ALTER TABLE export_package
  ADD CONSTRAINT export_package_published_check CHECK
    (state NOT IN ('PUBLISHED', 'EXPIRED') OR (bytes IS NOT NULL AND digest IS NOT NULL AND published_at IS NOT NULL AND expires_at IS NOT NULL)),
  ADD CONSTRAINT export_package_stored_check CHECK (state <> 'PUBLISHED' OR (storage_key IS NOT NULL AND blocks IS NOT NULL AND block_bytes > 0)),
  ADD CONSTRAINT export_package_failure_check CHECK ((state = 'FAILED') = (failure IS NOT NULL));

ALTER TABLE export_delivery
  ADD CONSTRAINT export_delivery_delivered_check CHECK ((state = 'DELIVERED') = (delivered_at IS NOT NULL)),
  ADD CONSTRAINT export_delivery_failure_check CHECK ((state = 'FAILED') = (failure IS NOT NULL));

CREATE OR REPLACE FUNCTION export_execution_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.state::text NOT IN ('QUEUED') THEN
      RAISE EXCEPTION 'ExportExecution cannot begin as %', NEW.state USING ERRCODE = 'PH001';
    END IF;
    RETURN NEW;
  END IF;
  IF NEW.state IS DISTINCT FROM OLD.state AND (OLD.state::text, NEW.state::text) NOT IN (('QUEUED', 'RUNNING'), ('RUNNING', 'RUNNING'), ('RUNNING', 'SUCCEEDED'), ('QUEUED', 'FAILED'), ('RUNNING', 'FAILED'), ('QUEUED', 'CANCELLED'), ('RUNNING', 'CANCELLED')) THEN
    RAISE EXCEPTION 'ExportExecution cannot go from % to %', OLD.state, NEW.state USING ERRCODE = 'PH001';
  END IF;
  IF OLD.state::text IN ('SUCCEEDED', 'FAILED', 'CANCELLED') AND (NEW.settled_at, NEW.failure, NEW.counts, NEW.manifest_digest) IS DISTINCT FROM (OLD.settled_at, OLD.failure, OLD.counts, OLD.manifest_digest) THEN
    RAISE EXCEPTION 'ExportExecution is % and how it settled does not change', OLD.state USING ERRCODE = 'PH001';
  END IF;
  RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION export_package_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.state::text NOT IN ('PENDING') THEN
      RAISE EXCEPTION 'ExportPackage cannot begin as %', NEW.state USING ERRCODE = 'PH001';
    END IF;
    RETURN NEW;
  END IF;
  IF NEW.state IS DISTINCT FROM OLD.state AND (OLD.state::text, NEW.state::text) NOT IN (('PENDING', 'PUBLISHED'), ('PENDING', 'FAILED'), ('PUBLISHED', 'EXPIRED')) THEN
    RAISE EXCEPTION 'ExportPackage cannot go from % to %', OLD.state, NEW.state USING ERRCODE = 'PH001';
  END IF;
  IF OLD.state::text IN ('EXPIRED', 'FAILED') AND (NEW.published_at, NEW.failure, NEW.digest) IS DISTINCT FROM (OLD.published_at, OLD.failure, OLD.digest) THEN
    RAISE EXCEPTION 'ExportPackage is % and how it settled does not change', OLD.state USING ERRCODE = 'PH001';
  END IF;
  RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION export_delivery_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.state::text NOT IN ('PENDING') THEN
      RAISE EXCEPTION 'ExportDelivery cannot begin as %', NEW.state USING ERRCODE = 'PH001';
    END IF;
    RETURN NEW;
  END IF;
  IF NEW.state IS DISTINCT FROM OLD.state AND (OLD.state::text, NEW.state::text) NOT IN (('PENDING', 'DELIVERED'), ('PENDING', 'FAILED')) THEN
    RAISE EXCEPTION 'ExportDelivery cannot go from % to %', OLD.state, NEW.state USING ERRCODE = 'PH001';
  END IF;
  IF OLD.state::text IN ('DELIVERED', 'FAILED') AND (NEW.delivered_at, NEW.failure) IS DISTINCT FROM (OLD.delivered_at, OLD.failure) THEN
    RAISE EXCEPTION 'ExportDelivery is % and how it settled does not change', OLD.state USING ERRCODE = 'PH001';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER export_package_guard BEFORE INSERT OR UPDATE ON export_package FOR EACH ROW EXECUTE FUNCTION export_package_guard();
CREATE TRIGGER export_delivery_guard BEFORE INSERT OR UPDATE ON export_delivery FOR EACH ROW EXECUTE FUNCTION export_delivery_guard();

-- Tables of datasets that are there already get the index that src/records/table.ts gives to new ones.
DO $migration$
DECLARE
  own text;
BEGIN
  FOR own IN SELECT table_name FROM dataset LOOP
    EXECUTE format('CREATE INDEX %I ON records.%I (replaced_xid) WHERE replaced_xid IS NOT NULL', own || '_replaced', own);
  END LOOP;
END
$migration$;
