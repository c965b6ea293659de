-- CreateTable
CREATE TABLE "access_revocation" (
    "id" UUID NOT NULL,
    "workspace_id" UUID NOT NULL,
    "subject" TEXT NOT NULL,
    "reason" TEXT,
    "revoked_by" TEXT NOT NULL,
    "revoked_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "restored_by" TEXT,
    "restored_at" TIMESTAMPTZ(3),

    CONSTRAINT "access_revocation_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "access_revocation_subject_idx" ON "access_revocation"("subject") WHERE (restored_at IS NULL);

-- CreateIndex
CREATE UNIQUE INDEX "access_revocation_in_force_key" ON "access_revocation"("workspace_id", "subject") WHERE (restored_at IS NULL);

-- CreateIndex
CREATE INDEX "grant_subject_idx" ON "run_grant"("workspace_id", "subject") WHERE (ended_at IS NULL);

-- AddForeignKey
ALTER TABLE "access_revocation" ADD CONSTRAINT "access_revocation_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

ALTER TABLE access_revocation
  ADD CONSTRAINT access_revocation_restored_check CHECK ((restored_at IS NULL) = (restored_by IS NULL));
