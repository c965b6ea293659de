// What an execution copies when it is admitted, as its row keeps it.
import { z } from 'zod';
import type { ExportExecution } from '../generated/prisma/client.ts';
import { fieldTypes } from '../packages/plan.ts';

const column = z.object({ name: z.string(), column: z.string(), type: z.enum(fieldTypes), since: z.string() });

const plannedDataset = z.object({
  name: z.string(),
  table: z.string(),
  /** Of its schema at the cutoff, in the schema's order. */
  columns: z.array(column),
  /** The Table Schema it was last loaded with before the cutoff. */
  schema: z.unknown(),
  /** How many rows it had at the cutoff: digits. */
  rows: z.string(),
});

const copiedDestination = z.object({
  name: z.string(),
  url: z.string(),
  /** Sealed. */
  secret: z.string(),
});

const copiedSettings = z.object({
  revision: z.int(),
  format: z.enum(['CSV', 'NDJSON', 'PARQUET']),
  /** null: all datasets. */
  datasets: z.array(z.string()).nullable(),
  retentionDays: z.int(),
  destinations: z.array(copiedDestination),
});

const datasetProgress = z.object({ dataset: z.string(), rows: z.number(), bytes: z.number() });
const datasetCount = z.object({ dataset: z.string(), rows: z.string(), bytes: z.string() });

export type PlannedDataset = z.output<typeof plannedDataset>;
export type CopiedDestination = z.output<typeof copiedDestination>;
export type CopiedSettings = z.output<typeof copiedSettings>;
export type DatasetProgress = z.output<typeof datasetProgress>;
/** Digits, since a count can be beyond 2^53. */
export type DatasetCount = z.output<typeof datasetCount>;

const plan = z.array(plannedDataset);
const progress = z.array(datasetProgress);
const counts = z.array(datasetCount);
const destinations = z.array(copiedDestination);

export const planOf = (execution: Pick<ExportExecution, 'plan'>): PlannedDataset[] => plan.parse(execution.plan);
export const settingsOf = (execution: Pick<ExportExecution, 'settings'>): CopiedSettings => copiedSettings.parse(execution.settings);
export const progressOf = (execution: Pick<ExportExecution, 'progress'>): DatasetProgress[] => progress.parse(execution.progress);
export const countsOf = (execution: Pick<ExportExecution, 'counts'>): DatasetCount[] => counts.parse(execution.counts ?? []);
export const destinationsOf = (settings: { readonly destinations: unknown }): CopiedDestination[] =>
  destinations.parse(settings.destinations);
