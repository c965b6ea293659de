// The log of what becomes of a package. Its own file, since publishing begins deliveries, and both tell.
import type { Tx } from '../db.ts';
import type { ExportExecution } from '../generated/prisma/client.ts';
import { change, exportExecutionSubject } from '../lifecycle/transition.ts';

/** A package's or a delivery's event is its execution's: numbered in its sequence, while the execution itself stays as it is. */
export async function appendPackageEvent(
  tx: Tx,
  execution: ExportExecution,
  event: { readonly action: string; readonly from: string; readonly to: string; readonly destination?: string; readonly cause?: string },
): Promise<void> {
  await change(tx, exportExecutionSubject, execution, { to: execution.state, events: [event] }, { actor: 'orchestrator' });
  tx.touched.add(`progress:${execution.id}`);
}
