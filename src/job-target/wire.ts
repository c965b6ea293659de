// What the job-target contract sends and answers, as JSON. docs/job-target.openapi.yaml says the same to other people; a test compares the two.
// Nothing here knows Packhorse: the conformance kit stands on it alone.
import { z } from 'zod';

/** Postgres stores neither NUL nor half a surrogate pair. */
export const text = (max: number) =>
  z
    .string()
    .max(max)
    .refine((value) => !value.includes('\0') && value.isWellFormed(), 'text that can be stored');
const count = z.int().min(0);

export const jobStates = ['queued', 'running', 'succeeded', 'failed', 'blocked', 'cancelled'] as const;

export const wireFailure = z.object({
  code: text(100).min(1),
  summary: text(10_000),
  retryable: z.boolean().optional(),
  phase: text(100).optional(),
});

export type WireFailure = z.output<typeof wireFailure>;

export const wireJob = z.object({
  id: text(500).min(1),
  state: z.enum(jobStates),
  idempotencyKey: text(200).optional(),
  progress: z.object({ done: count, total: count.nullable(), unit: text(50) }).optional(),
  rows: z
    .object({ source: count, loaded: count, updated: count, unchanged: count, rejected: count, blocked: count, unprocessed: count })
    .optional(),
  blockers: z
    .array(
      z.object({
        code: text(100).min(1),
        dataset: text(500),
        message: text(10_000),
        count,
        sampleKeys: z.array(text(10_000)).max(100),
        clearedBy: z.array(text(500)).max(5_000),
      }),
    )
    .max(5_000)
    .optional(),
  failure: wireFailure.optional(),
  errors: z
    .object({
      count,
      first: z.array(z.object({ row: count, field: text(1_000).nullable(), code: text(100), message: text(10_000) })).max(1_000),
    })
    .optional(),
});

export type WireJob = z.output<typeof wireJob>;

export const wireRefusal = z.object({ failure: wireFailure });

/** What a submission carries. Whoever receives one takes what it needs, and lets pass what it does not know. */
export const wireSubmission = z.object({
  contract: z.literal('1'),
  workspaceId: z.string(),
  runId: z.string(),
  stepId: z.string(),
  attempt: z.int().min(1),
  onInvalidRow: z.enum(['FAIL', 'REJECT']),
  onMissingReference: z.enum(['BLOCK', 'FAIL', 'REJECT']),
  dataset: z.object({
    name: z.string(),
    format: z.enum(['csv', 'json', 'ndjson']),
    gzip: z.boolean(),
    dialect: z.object({
      delimiter: z.string(),
      quoteChar: z.string().nullable(),
      doubleQuote: z.boolean(),
      escapeChar: z.string().nullable(),
      header: z.boolean(),
      skipInitialSpace: z.boolean(),
      commentChar: z.string().nullable(),
    }),
    schema: z.unknown(),
    bytes: count,
    hash: z.string(),
  }),
  data: z.object({ url: z.string(), expiresAt: z.iso.datetime() }),
  callbackUrl: z.string(),
});
export type WireSubmission = z.output<typeof wireSubmission>;
