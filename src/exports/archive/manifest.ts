// What stands in an export beside the data: datapackage.json, packhorse-export.json, and the digest that both are tied by.
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';

export const descriptorPath = 'datapackage.json';
export const recordPath = 'packhorse-export.json';

export type DataFormat = 'csv' | 'ndjson' | 'parquet';

export interface ManifestResource {
  readonly name: string;
  /** From `dataPath`. */
  readonly path: string;
  readonly format: DataFormat;
  readonly bytes: number;
  /** Hex digits. */
  readonly sha256: string;
  readonly schema: object;
}

/** What packhorse-export.json says, before it is signed. */
export interface UnsignedRecord {
  readonly version: 1;
  readonly executionId: string;
  /** The slug. */
  readonly workspace: string;
  /** RFC 3339 in UTC with microseconds. */
  readonly cutoff: string;
  readonly settings: {
    readonly format: DataFormat;
    /** null for all. */
    readonly datasets: readonly string[] | null;
    readonly retentionDays: number;
    /** Names only. */
    readonly destinations: readonly string[];
  };
  readonly counts: readonly {
    readonly dataset: string;
    /** Digits, since JSON has no integers beyond 2^53. */
    readonly rows: string;
    readonly bytes: number;
  }[];
  /** `sha256:<hex>`, from `manifestDigest`. */
  readonly manifestDigest: string;
  /** Foreign keys to datasets that were not selected, each a sentence. */
  readonly leftOut: readonly { readonly dataset: string; readonly foreignKey: string }[];
}

export interface RecordSignature {
  readonly algorithm: 'Ed25519';
  /** The RFC 7638 thumbprint of the public key. */
  readonly keyId: string;
  /** The raw key, base64url: `x` of its JWK. */
  readonly publicKey: string;
  /** base64url. */
  readonly value: string;
}

export interface ExportRecord extends UnsignedRecord {
  readonly signature: RecordSignature;
}

const mediatypes: Readonly<Record<DataFormat, string>> = {
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
  parquet: 'application/vnd.apache.parquet',
};

/** A Data Package, version 2. Nothing volatile is in it: the same data give the same descriptor. */
export function packageDescriptor(resources: readonly ManifestResource[]): object {
  return {
    $schema: 'https://datapackage.org/profiles/2.0/datapackage.json',
    name: 'workspace-export',
    resources: resources.toSorted((a, b) => byCodePoint(a.name, b.name)).map(describe),
  };
}

function describe({ name, path, format, bytes, sha256, schema }: ManifestResource): object {
  return {
    name,
    type: 'table',
    path,
    format,
    mediatype: mediatypes[format],
    ...(format === 'parquet' ? {} : { encoding: 'utf-8' }),
    bytes,
    hash: `sha256:${sha256}`,
    ...(format === 'csv' ? { dialect: { lineTerminator: '\n' } } : {}),
    schema,
  };
}

/** As Postgres sorts with collation C. JavaScript compares UTF-16, which puts what is beyond U+FFFF before U+E000. */
export function byCodePoint(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** RFC 8785. Throws for what JSON cannot hold: half a surrogate pair, a number that is not finite. */
export function canonicalJson(value: object): string {
  const text = canonicalize(value);
  if (text === undefined) throw new Error('expected a value that JSON can hold');
  return text;
}

/** `sha256:<hex>`. The zip's own bytes depend on the zlib that made it; this does not. */
export function manifestDigest(descriptor: object): string {
  return `sha256:${createHash('sha256').update(canonicalJson(descriptor)).digest('hex')}`;
}

/** What stands in the zip, of the descriptor and of the record alike. */
export function descriptorBytes(document: object): Buffer {
  return Buffer.from(`${JSON.stringify(document, null, 2)}\n`);
}

export function signedBytes(record: UnsignedRecord): Buffer {
  return Buffer.from(canonicalJson(record));
}

// What a later `/-<digits>$/` stands for is told apart from a name that ends so by itself, which gets digits of its own.
const hashed = /-(?:[0-9a-f]{8}|[0-9a-f]{64})$/i;
const longestStem = 100;

/**
 * Where each dataset stands in the export, by name: `data/<name>.<format>`. A name that no file system takes as it is, or that another
 * one equals there, is made harmless and gets digits of its SHA-256. The order of the names does not matter.
 */
export function dataPath(names: readonly string[], format: DataFormat): ReadonlyMap<string, string> {
  const plain = new Map(names.map((name) => [name, harmless(name)]));
  const plainTwins = twinsOf(plain.values());
  const keeps = (name: string, stem: string) => stem === name && !plainTwins.has(folded(stem)) && !hashed.test(stem);
  const short = new Map([...plain].map(([name, stem]) => [name, keeps(name, stem) ? stem : withDigits(name, stem, 8)]));
  // Eight digits keep the curious apart, not somebody who searches for two names with the same ones.
  const shortTwins = twinsOf(short.values());
  return new Map(
    [...short].map(([name, stem]) => {
      const last = shortTwins.has(folded(stem)) ? withDigits(name, harmless(name), 64) : stem;
      return [name, `data/${last}.${format}`];
    }),
  );
}

function harmless(name: string): string {
  const clean = name
    .normalize('NFC')
    .replace(/[^\p{L}\p{M}\p{Nd}_\-. ]/gu, '_')
    .replace(/^[. ]|[. ]$/g, '_')
    // Devices on Windows, with any ending.
    .replace(/^(?=(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$))/i, '_');
  return cut(clean, longestStem);
}

function withDigits(name: string, stem: string, digits: 8 | 64): string {
  const hash = createHash('sha256').update(name).digest('hex').slice(0, digits);
  return `${cut(stem, longestStem - digits - 1)}-${hash}`;
}

/** Whole code points, so many bytes of UTF-8 at most. */
function cut(text: string, bytes: number): string {
  let kept = '';
  for (const char of text) {
    if (Buffer.byteLength(kept + char) > bytes) break;
    kept += char;
  }
  return kept;
}

function twinsOf(stems: Iterable<string>): ReadonlySet<string> {
  const seen = new Set<string>();
  const twins = new Set<string>();
  for (const key of Array.from(stems, folded)) (seen.has(key) ? twins : seen).add(key);
  return twins;
}

/** Equal where a file system that keeps no case may see one file. Through upper case, for ß and ſ. */
function folded(stem: string): string {
  return stem.toLowerCase().toUpperCase().toLowerCase().normalize('NFC');
}
