// Where packages are kept: a folder, or a bucket of S3 or of a server that speaks as it does.
import path from 'node:path';
import { z } from 'zod';
import { webUrl } from './config-values.ts';

export interface S3Place {
  readonly kind: 's3';
  readonly bucket: string;
  /** Without a slash at its end; empty for the whole bucket. */
  readonly prefix: string;
  /** null: that of AWS. */
  readonly endpoint: string | null;
  /** null: whatever the SDK finds. */
  readonly region: string | null;
}

export type Place = { readonly kind: 'folder'; readonly root: string } | S3Place;

const inFolder = /^file:(?:\/\/)?(\/.*)?$/;
const inBucket = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/[A-Za-z0-9_][A-Za-z0-9._=-]*)*)\/?$/;
const storagePlace = z
  .string()
  .refine((value) => inFolder.test(value) || inBucket.test(value), 'file:, file:/path (the path absolute) or s3://bucket/prefix')
  .default('file:');
const endpoint = webUrl('a URL that begins with http:// or https://, without a name, a password or a query');

export const placeSettings = {
  PACKHORSE_STORAGE: storagePlace,
  AWS_REGION: z.string().optional(),
  AWS_DEFAULT_REGION: z.string().optional(),
  AWS_ENDPOINT_URL: endpoint.optional(),
  AWS_ENDPOINT_URL_S3: endpoint.optional(),
};

type PlaceValues = z.output<z.ZodObject<typeof placeSettings>>;

/** `home`: where the folder is if no other is named. */
export function placeOf(value: PlaceValues, home: string): Place {
  const [, bucket, prefix = ''] = inBucket.exec(value.PACKHORSE_STORAGE) ?? [];
  if (bucket === undefined) return { kind: 'folder', root: inFolder.exec(value.PACKHORSE_STORAGE)?.[1] ?? path.join(home, 'storage') };
  const endpointUrl = value.AWS_ENDPOINT_URL_S3 ?? value.AWS_ENDPOINT_URL ?? null;
  // Signatures name a region; servers other than AWS's seldom have one.
  const region = value.AWS_REGION ?? value.AWS_DEFAULT_REGION ?? (endpointUrl === null ? null : 'us-east-1');
  return { kind: 's3', bucket, prefix: prefix.slice(1), endpoint: endpointUrl, region };
}
