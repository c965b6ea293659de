// Events of a run, committed as the driver commits them, and told to the server's process.
import { inTransaction, openDb } from '../src/db.ts';
import { startBell } from '../src/events/listen.ts';
import { change, dataRunSubject } from '../src/lifecycle/transition.ts';

/** What each is, beside its dataset and its reason. */
export const written = { action: 'SUBMIT', from: 'PENDING', to: 'SUBMITTING' };

export interface EventWriter {
  /** Resolves when it is committed. */
  write(dataset: string, reason?: string): Promise<void>;
  close(): Promise<void>;
}

export function openEventWriter(url: string, run: string): EventWriter {
  const bell = startBell(url, 1_000, () => {});
  const quiet = openDb(url, { poolSize: 4, statementTimeoutMs: 10_000 });
  const db = { ...quiet, announce: (topic: Parameters<typeof bell.ring>[0]) => bell.ring(topic) };
  return {
    write: (dataset, reason) =>
      inTransaction(db, async (tx) => {
        const row = await tx.sql.dataRun.findUniqueOrThrow({ where: { id: run } });
        const by = { actor: 'bench', reason: reason ?? null };
        await change(tx, dataRunSubject, row, { to: row.state, events: [{ ...written, dataset }] }, by);
      }),
    async close() {
      await bell.close();
      await quiet.close();
    },
  };
}
