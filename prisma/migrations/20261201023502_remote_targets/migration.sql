-- AlterTable
ALTER TABLE "data_run_step" ADD COLUMN     "overdue_since" TIMESTAMPTZ(3),
ADD COLUMN     "parked_at" TIMESTAMPTZ(3),
ADD COLUMN     "sent_at" TIMESTAMPTZ(3);

-- Of submissions that were under way it is not known that none went out.
UPDATE data_run_step SET sent_at = submitted_at WHERE state = 'SUBMITTING';

ALTER TABLE data_run_step
  ADD CONSTRAINT data_run_step_parked_check CHECK (parked_at IS NULL OR (state IN ('SUBMITTING', 'CANCELLING') AND child_job_id IS NULL)),
  ADD CONSTRAINT data_run_step_overdue_check CHECK (overdue_since IS NULL OR state = 'FAILED');
