-- AlterTable
ALTER TABLE "data_run" ADD COLUMN     "attempted_targets" TEXT[] DEFAULT ARRAY[]::TEXT[];

-- AlterTable
ALTER TABLE "dataset" ADD COLUMN     "removed_at" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "dataset_load" ADD COLUMN     "undone_by" BIGINT,
ALTER COLUMN "store_job_id" DROP NOT NULL;

UPDATE data_run r SET attempted_targets = s.targets
FROM (SELECT run_id, array_agg(DISTINCT target) AS targets FROM data_run_step WHERE attempt > 0 GROUP BY run_id) AS s WHERE s.run_id = r.id;

ALTER TABLE data_run
  ADD CONSTRAINT data_run_reset_check CHECK (reset_at IS NULL OR settled_at IS NOT NULL);

-- What took something back is never taken back itself.
ALTER TABLE dataset_load
  ADD CONSTRAINT dataset_load_undone_check CHECK (undone_by IS NULL OR (undone_by > id AND store_job_id IS NOT NULL));
