// The runs' background tasks by name: what whoever enqueues needs. What they do stands in tasks.ts.
import { z } from 'zod';
import { defineTask } from '../tasks/task.ts';

/** One pass of a run. An alarm clock only: the reaper finds the same work without it. */
export const driveRun = defineTask({ name: 'drive-run', payload: z.object({ runId: z.uuid() }) });

/** The built-in loader at work on one of its jobs. */
export const loadStoreJob = defineTask({ name: 'load-store-job', payload: z.object({ storeJobId: z.uuid() }) });

/** One waiting job a run, however often it is woken. */
export const driveKey = (runId: string) => `drive:${runId}`;
