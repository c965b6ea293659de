-- AlterTable
ALTER TABLE "workspace_log" ADD COLUMN     "horizon" BIGINT NOT NULL DEFAULT 0;

ALTER TABLE workspace_log
  ADD CONSTRAINT workspace_log_horizon_check CHECK (horizon BETWEEN 0 AND "position");

-- Still append-only, but for what retention has taken: a deletion is let pass row by row, where the horizon was raised over it before.
DROP TRIGGER lifecycle_event_append_only ON lifecycle_event;

CREATE TRIGGER lifecycle_event_append_only BEFORE UPDATE OR TRUNCATE ON lifecycle_event
  FOR EACH STATEMENT EXECUTE FUNCTION lifecycle_event_append_only();

CREATE FUNCTION lifecycle_event_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM workspace_log l WHERE l.workspace_id = OLD.workspace_id AND l.horizon >= OLD."position") THEN
    RAISE EXCEPTION 'event % is not yet pruned: only events up to the horizon may be deleted', OLD."position" USING ERRCODE = 'PH002';
  END IF;
  RETURN OLD;
END $$;

CREATE TRIGGER lifecycle_event_kept BEFORE DELETE ON lifecycle_event FOR EACH ROW EXECUTE FUNCTION lifecycle_event_kept();
