// The exports' background tasks by name: what whoever enqueues needs. What they do stands in tasks.ts.
import { z } from 'zod';
import type { Tx } from '../db.ts';
import { defineTask, enqueue } from '../tasks/task.ts';

/** Give a free slot to whoever is next, and generate. An alarm clock only: the reaper finds the same work without it. */
export const dispatchExports = defineTask({ name: 'dispatch-exports', payload: z.object({}) });

/** Take a succeeded execution's archive to storage. */
export const publishExport = defineTask({ name: 'publish-export', payload: z.object({ executionId: z.uuid() }) });

/** Tell a destination. */
export const deliverExport = defineTask({ name: 'deliver-export', payload: z.object({ deliveryId: z.uuid() }) });

export function wakeDispatcher(tx: Tx): Promise<void> {
  return enqueue(tx.sql, dispatchExports, {}, { jobKey: dispatchExports.name });
}
