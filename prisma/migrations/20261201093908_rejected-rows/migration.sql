-- CreateTable
CREATE TABLE "rejected_dataset" (
    "id" UUID NOT NULL,
    "run_id" UUID NOT NULL,
    "dataset" TEXT NOT NULL,
    "fields" TEXT[],
    "row_count" BIGINT NOT NULL,
    "written_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),

    CONSTRAINT "rejected_dataset_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "rejected_row" (
    "rejected_id" UUID NOT NULL,
    "n" BIGINT NOT NULL,
    "reason" TEXT NOT NULL,
    "record" TEXT,
    "cells" TEXT[],

    CONSTRAINT "rejected_row_pkey" PRIMARY KEY ("rejected_id","n")
);

-- CreateIndex
CREATE INDEX "rejected_dataset_written_idx" ON "rejected_dataset"("written_at");

-- CreateIndex
CREATE UNIQUE INDEX "rejected_dataset_run_key" ON "rejected_dataset"("run_id", "dataset");
