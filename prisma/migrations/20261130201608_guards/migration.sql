-- What Prisma cannot say. The guard functions are printed from the lifecycle tables by scripts/print-triggers.ts; a test compares them.

ALTER TABLE lifecycle_event
  ADD CONSTRAINT lifecycle_event_one_subject CHECK (num_nonnulls(data_run_id, export_execution_id) = 1),
  ADD CONSTRAINT lifecycle_event_sequence_positive CHECK (sequence > 0);

ALTER TABLE data_run
  ADD CONSTRAINT data_run_settled_check CHECK ((state IN ('SUCCEEDED', 'FAILED', 'CANCELLED')) = (settled_at IS NOT NULL)),
  ADD CONSTRAINT data_run_failure_check CHECK ((state = 'FAILED') = (failure IS NOT NULL)),
  ADD CONSTRAINT data_run_succeeded_check CHECK (state <> 'SUCCEEDED' OR (open_steps = 0 AND failed_steps = 0)),
  ADD CONSTRAINT data_run_failed_check CHECK (state <> 'FAILED' OR failed_steps > 0),
  ADD CONSTRAINT data_run_counters_check CHECK (open_steps >= 0 AND active_children >= 0 AND failed_steps >= 0 AND cancelling_steps >= 0);

ALTER TABLE export_execution
  ADD CONSTRAINT export_execution_settled_check CHECK ((state IN ('SUCCEEDED', 'FAILED', 'CANCELLED')) = (settled_at IS NOT NULL));

ALTER TABLE run_grant
  ADD CONSTRAINT run_grant_purpose_check CHECK (purpose IN ('DRIVE', 'CANCEL'));

ALTER TABLE store_job
  ADD CONSTRAINT store_job_state_check CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'blocked', 'cancelled'));

CREATE OR REPLACE FUNCTION data_run_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.state::text NOT IN ('REGISTERED') THEN
      RAISE EXCEPTION 'DataRun cannot begin as %', NEW.state USING ERRCODE = 'PH001';
    END IF;
    RETURN NEW;
  END IF;
  IF NEW.state IS DISTINCT FROM OLD.state AND (OLD.state::text, NEW.state::text) NOT IN (('REGISTERED', 'RUNNING'), ('RUNNING', 'PAUSED'), ('PAUSED', 'RUNNING'), ('RUNNING', 'SUCCEEDED'), ('RUNNING', 'FAILED'), ('REGISTERED', 'CANCELLED'), ('RUNNING', 'CANCELLED'), ('PAUSED', 'CANCELLED')) THEN
    RAISE EXCEPTION 'DataRun cannot go from % to %', OLD.state, NEW.state USING ERRCODE = 'PH001';
  END IF;
  IF OLD.state::text IN ('SUCCEEDED', 'FAILED', 'CANCELLED') AND (NEW.settled_at, NEW.failure, NEW.failed_dataset) IS DISTINCT FROM (OLD.settled_at, OLD.failure, OLD.failed_dataset) THEN
    RAISE EXCEPTION 'DataRun is % and how it settled does not change', OLD.state USING ERRCODE = 'PH001';
  END IF;
  RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION data_run_step_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.state::text NOT IN ('PENDING') THEN
      RAISE EXCEPTION 'DataRunStep cannot begin as %', NEW.state USING ERRCODE = 'PH001';
    END IF;
    RETURN NEW;
  END IF;
  IF NEW.state IS DISTINCT FROM OLD.state AND (OLD.state::text, NEW.state::text) NOT IN (('PENDING', 'SUBMITTING'), ('BLOCKED', 'SUBMITTING'), ('SUBMITTING', 'ACTIVE'), ('ACTIVE', 'SUCCEEDED'), ('SUBMITTING', 'FAILED'), ('ACTIVE', 'FAILED'), ('PENDING', 'BLOCKED'), ('ACTIVE', 'BLOCKED'), ('PENDING', 'SKIPPED'), ('SUBMITTING', 'CANCELLING'), ('ACTIVE', 'CANCELLING'), ('CANCELLING', 'CANCELLED'), ('CANCELLING', 'SUCCEEDED'), ('CANCELLING', 'FAILED'), ('CANCELLING', 'BLOCKED')) THEN
    RAISE EXCEPTION 'DataRunStep cannot go from % to %', OLD.state, NEW.state USING ERRCODE = 'PH001';
  END IF;
  IF OLD.state::text IN ('SUCCEEDED', 'FAILED', 'SKIPPED', 'CANCELLED') AND (NEW.settled_at, NEW.failure) IS DISTINCT FROM (OLD.settled_at, OLD.failure) THEN
    RAISE EXCEPTION 'DataRunStep is % and how it settled does not change', OLD.state USING ERRCODE = 'PH001';
  END IF;
  RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION export_execution_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.state::text NOT IN ('QUEUED') THEN
      RAISE EXCEPTION 'ExportExecution cannot begin as %', NEW.state USING ERRCODE = 'PH001';
    END IF;
    RETURN NEW;
  END IF;
  IF NEW.state IS DISTINCT FROM OLD.state AND (OLD.state::text, NEW.state::text) NOT IN (('QUEUED', 'RUNNING'), ('RUNNING', 'SUCCEEDED'), ('QUEUED', 'FAILED'), ('RUNNING', 'FAILED'), ('QUEUED', 'CANCELLED'), ('RUNNING', 'CANCELLED')) THEN
    RAISE EXCEPTION 'ExportExecution cannot go from % to %', OLD.state, NEW.state USING ERRCODE = 'PH001';
  END IF;
  IF OLD.state::text IN ('SUCCEEDED', 'FAILED', 'CANCELLED') AND (NEW.settled_at, NEW.failure, NEW.counts, NEW.manifest_digest) IS DISTINCT FROM (OLD.settled_at, OLD.failure, OLD.counts, OLD.manifest_digest) THEN
    RAISE EXCEPTION 'ExportExecution is % and how it settled does not change', OLD.state USING ERRCODE = 'PH001';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER data_run_guard BEFORE INSERT OR UPDATE ON data_run FOR EACH ROW EXECUTE FUNCTION data_run_guard();
CREATE TRIGGER data_run_step_guard BEFORE INSERT OR UPDATE ON data_run_step FOR EACH ROW EXECUTE FUNCTION data_run_step_guard();
CREATE TRIGGER export_execution_guard BEFORE INSERT OR UPDATE ON export_execution FOR EACH ROW EXECUTE FUNCTION export_execution_guard();

CREATE FUNCTION lifecycle_event_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'events are append-only' USING ERRCODE = 'PH002';
END $$;

CREATE TRIGGER lifecycle_event_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON lifecycle_event
  FOR EACH STATEMENT EXECUTE FUNCTION lifecycle_event_append_only();
