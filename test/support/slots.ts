// Watches the slots for exports while a test runs: a look at the rows every few milliseconds, and a log of every change to them.
import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { onTestFinished } from 'vitest';

export interface SlotChange {
  readonly slot: number;
  readonly execution: string | null;
}

export interface SlotWatch {
  /** Most executions that were RUNNING at once, most slots that were taken at once, and how many looks there were. */
  readonly most: { running: number; taken: number; looks: number };
  /** Looks that found an execution RUNNING without a slot, or a slot taken by one that is not RUNNING. */
  readonly disagreements: string[];
  /** In the order they were committed in. */
  changes(): Promise<SlotChange[]>;
  stop(): Promise<void>;
}

export async function watchSlots(pool: pg.Pool): Promise<SlotWatch> {
  await pool.query(`
    DROP TABLE IF EXISTS slot_log;
    CREATE TABLE slot_log (id bigint GENERATED ALWAYS AS IDENTITY, slot int, execution uuid);
    CREATE OR REPLACE FUNCTION log_slot() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO slot_log (slot, execution) VALUES (NEW.n, NEW.execution_id);
      RETURN NEW;
    END $$;
    CREATE OR REPLACE TRIGGER log_slot AFTER UPDATE OF execution_id ON export_slot FOR EACH ROW EXECUTE FUNCTION log_slot()`);
  const most = { running: 0, taken: 0, looks: 0 };
  const disagreements: string[] = [];
  let stopped = false;
  const looking = (async () => {
    while (!stopped) {
      const { rows } = await pool.query<{ running: string[]; taken: string[] }>(`
        SELECT (SELECT coalesce(array_agg(id::text ORDER BY id), '{}') FROM export_execution WHERE state = 'RUNNING') AS running,
          (SELECT coalesce(array_agg(execution_id::text ORDER BY execution_id), '{}') FROM export_slot WHERE execution_id IS NOT NULL) AS taken`);
      const { running = [], taken = [] } = rows[0] ?? {};
      most.running = Math.max(most.running, running.length);
      most.taken = Math.max(most.taken, taken.length);
      most.looks++;
      if (running.join() !== taken.join()) disagreements.push(`running: ${running.join()}; taken: ${taken.join()}`);
      await pause(5);
    }
  })();
  const stop = async () => {
    stopped = true;
    await looking;
  };
  onTestFinished(stop);
  return {
    most,
    disagreements,
    async changes() {
      return (await pool.query<SlotChange>('SELECT slot, execution::text FROM slot_log ORDER BY id')).rows;
    },
    stop,
  };
}
