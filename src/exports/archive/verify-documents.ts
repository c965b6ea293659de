// The two documents of an export, read without trusting them.
import { z } from 'zod';
import { listOf } from '../../packages/shape.ts';
import { canonicalJson, descriptorBytes, type ExportRecord } from './manifest.ts';

const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);
const whole = z.int().nonnegative();
const format = z.enum(['csv', 'ndjson', 'parquet']);
const base64url = (bytes: number) => z.string().refine((text) => isBase64url(text, bytes), `expected ${bytes} bytes as base64url`);
const listOfShape = <T>(shape: z.ZodType<T>, expected: string) => listOf((item): item is T => shape.safeParse(item).success, expected);
const texts = listOfShape(z.string(), 'text');

const resourceShape = z.object({ name: z.string(), path: z.string(), format, bytes: whole, hash: digest });
const descriptorShape = z.object({ resources: listOfShape(resourceShape, 'a resource with name, path, format, bytes and a SHA-256') });

const recordShape = z.strictObject({
  version: z.literal(1),
  executionId: z.string(),
  workspace: z.string(),
  cutoff: z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
  settings: z.strictObject({ format, datasets: texts.nullable(), retentionDays: whole, destinations: texts }),
  counts: listOfShape(
    z.strictObject({ dataset: z.string(), rows: z.string().regex(/^(0|[1-9]\d{0,18})$/), bytes: whole }),
    'a dataset with its rows and bytes',
  ),
  manifestDigest: digest,
  leftOut: listOfShape(z.strictObject({ dataset: z.string(), foreignKey: z.string() }), 'a dataset and its foreign key'),
  signature: z.strictObject({
    algorithm: z.literal('Ed25519'),
    keyId: base64url(32),
    publicKey: base64url(32),
    value: base64url(64),
  }),
});

export type StatedResource = z.infer<typeof resourceShape>;

export interface StatedDescriptor {
  /** The whole document. */
  readonly value: object;
  readonly resources: readonly StatedResource[];
}

/** Not what an export has there. The message goes on from the document's name. */
export class UnsoundError extends Error {
  override readonly name = 'UnsoundError';
}

export function readDescriptor(bytes: Buffer): StatedDescriptor {
  const value = readObject(bytes);
  return { value, ...parse(descriptorShape, value) };
}

export function readRecord(bytes: Buffer): ExportRecord {
  return parse(recordShape, readObject(bytes));
}

function readObject(bytes: Buffer): object {
  const value = parseJson(bytes);
  if (typeof value !== 'object' || value === null) throw new UnsoundError('does not hold an object');
  let written: Buffer;
  try {
    canonicalJson(value);
    written = descriptorBytes(value);
  } catch {
    throw new UnsoundError('is nested too deep or holds what is not Unicode'); // the stack, or half a surrogate pair
  }
  // Two programs may read one text as two objects: a property twice, bytes that are not UTF-8, digits beyond a double's.
  if (!written.equals(bytes)) throw new UnsoundError('is not written as Packhorse writes it');
  return value;
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    throw new UnsoundError('is not valid JSON');
  }
}

function parse<T>(shape: z.ZodType<T>, value: object): T {
  const result = shape.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const place = issue === undefined || issue.path.length === 0 ? '' : `, at \`${issue.path.join('.')}\``;
  throw new UnsoundError(`is not an export’s${place}: ${issue?.message ?? 'it has another shape'}`);
}

function isBase64url(text: string, bytes: number): boolean {
  const decoded = Buffer.from(text, 'base64url');
  return decoded.length === bytes && decoded.toString('base64url') === text;
}
