// An export checked against itself: its files, their rows, the digest that ties them, and the signature. No server, no database.
import { createHash } from 'node:crypto';
import { quote } from '../../packages/problems.ts';
import { parquetMetadataBytes, parquetRows, rowCounter, UncountableError } from './count-rows.ts';
import { descriptorPath, type ExportRecord, manifestDigest, recordPath } from './manifest.ts';
import { keyIdOf, type PublicJwk, verifySignature } from './signing.ts';
import { DamagedError, type ExportArchive, openExportArchive } from './verify-archive.ts';
import { readDescriptor, readRecord, type StatedDescriptor, type StatedResource, UnsoundError } from './verify-documents.ts';

export type FindingCode =
  | 'NOT_AN_EXPORT'
  | 'CHANGED'
  | 'MISSING'
  | 'EXTRA'
  | 'DUPLICATE'
  | 'COUNT'
  | 'DIGEST'
  | 'SIGNATURE'
  | 'UNKNOWN_KEY';

export interface Finding {
  readonly code: FindingCode;
  /** In the archive; null for the archive itself. */
  readonly path: string | null;
  /** One sentence for a person. */
  readonly message: string;
}

export interface VerifiedFile {
  readonly dataset: string;
  readonly path: string;
  /** As counted; null where they could not be. */
  readonly rows: bigint | null;
  /** As stated. */
  readonly bytes: number;
}

export interface Verification {
  /** Nothing was found. */
  readonly holds: boolean;
  readonly findings: readonly Finding[];
  /** In the order of the descriptor. */
  readonly files: readonly VerifiedFile[];
  /** `sha256:<hex>`, computed again; null where there is no sound descriptor. */
  readonly manifestDigest: string | null;
  readonly record: ExportRecord | null;
  /** null where no keys were given: whose key it is was not checked then. */
  readonly keyIsKnown: boolean | null;
}

type Report = (code: FindingCode, path: string | null, message: string) => void;

const documentBytesLimit = 64 * 1024 ** 2;
const metadataBytesLimit = 16 * 1024 ** 2;

/**
 * Whatever is wrong with the export is a finding; what is thrown is that the file cannot be read (Node's error). `keys` null: the
 * signature is checked with the key that is in the export, which says only that nothing changed since it was signed.
 */
export async function verifyExport(file: string, keys: readonly PublicJwk[] | null): Promise<Verification> {
  const findings: Finding[] = [];
  const report: Report = (code, path, message) => findings.push({ code, path, message });
  const found = await verifyArchive(file, keys, report);
  return { holds: findings.length === 0, findings, ...found };
}

async function verifyArchive(
  file: string,
  keys: readonly PublicJwk[] | null,
  report: Report,
): Promise<Omit<Verification, 'holds' | 'findings'>> {
  const nothing = { files: [], manifestDigest: null, record: null, keyIsKnown: null };
  let archive: ExportArchive;
  try {
    archive = await openExportArchive(file);
  } catch (error) {
    if (!(error instanceof DamagedError)) throw error;
    report('NOT_AN_EXPORT', null, `The file is not a sound zip archive: ${error.message.replace(/\.$/, '')}.`);
    return nothing;
  }
  try {
    for (const path of archive.duplicates) report('DUPLICATE', path, `${quote(path)} is in the archive more than once.`);
    const descriptor = await readDocument(archive, descriptorPath, readDescriptor, report);
    const record = await readDocument(archive, recordPath, readRecord, report);
    const digest = descriptor === null ? null : manifestDigest(descriptor.value);
    if (record !== null && digest !== null && record.manifestDigest !== digest) {
      report('DIGEST', descriptorPath, `The manifest's digest is ${digest}; ${record.manifestDigest} is stated.`);
    }
    const files = descriptor === null ? [] : await verifyFiles(archive, descriptor, report);
    if (descriptor !== null && record !== null) compareCounts(files, record, report);
    return { files, manifestDigest: digest, record, keyIsKnown: record === null ? null : verifyKey(record, keys, report) };
  } finally {
    await archive.close();
  }
}

async function readDocument<T>(archive: ExportArchive, path: string, read: (bytes: Buffer) => T, report: Report): Promise<T | null> {
  const entry = archive.entries.get(path);
  if (entry === undefined) {
    report('MISSING', path, `There is no ${path} in the archive.`);
    return null;
  }
  try {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of archive.expand(entry)) {
      bytes += chunk.length;
      if (bytes > documentBytesLimit) throw new UnsoundError(`has more than ${documentBytesLimit} bytes`);
      chunks.push(chunk);
    }
    return read(Buffer.concat(chunks));
  } catch (error) {
    if (error instanceof DamagedError) report('CHANGED', path, `${path} is damaged: ${error.message}.`);
    else if (error instanceof UnsoundError) report('NOT_AN_EXPORT', path, `${path} ${error.message}.`);
    else throw error;
    return null;
  }
}

async function verifyFiles(archive: ExportArchive, { resources }: StatedDescriptor, report: Report): Promise<VerifiedFile[]> {
  const expected = new Set([descriptorPath, recordPath]);
  const files: VerifiedFile[] = [];
  for (const resource of resources) {
    // Each file is read once, however often it is named.
    if (expected.has(resource.path)) report('NOT_AN_EXPORT', resource.path, `${quote(resource.path)} is named as the file of two things.`);
    else files.push(await verifyFile(archive, resource, report));
    expected.add(resource.path);
  }
  for (const path of archive.entries.keys()) {
    if (!expected.has(path)) report('EXTRA', path, `${quote(path)} is in the archive and not in its manifest.`);
  }
  return files;
}

async function verifyFile(archive: ExportArchive, stated: StatedResource, report: Report): Promise<VerifiedFile> {
  const { name: dataset, path, bytes } = stated;
  if (!archive.entries.has(path)) {
    report('MISSING', path, `There is no ${quote(path)} in the archive.`);
    return { dataset, path, bytes, rows: null };
  }
  try {
    const measured = await measure(archive, stated);
    if (measured.bytes !== bytes) report('CHANGED', path, `${quote(path)} has ${measured.bytes} bytes; ${bytes} are stated.`);
    else if (measured.hash !== stated.hash) report('CHANGED', path, `${quote(path)} is not what it was: its hash is ${measured.hash}.`);
    return { dataset, path, bytes, rows: await measured.rows() };
  } catch (error) {
    if (error instanceof DamagedError) report('CHANGED', path, `${quote(path)} is damaged: ${error.message}.`);
    else if (error instanceof UncountableError) report('COUNT', path, `The rows of ${quote(path)} cannot be counted: ${error.message}.`);
    else throw error;
    return { dataset, path, bytes, rows: null };
  }
}

interface Measured {
  readonly bytes: number;
  readonly hash: string;
  /** Throws UncountableError. */
  rows(): Promise<bigint>;
}

async function measure(archive: ExportArchive, { path, format }: StatedResource): Promise<Measured> {
  const hash = createHash('sha256');
  const counter = format === 'parquet' ? null : rowCounter(format);
  let tail: Buffer = Buffer.alloc(0);
  let bytes = 0;
  for await (const chunk of bytesOf(archive, path)) {
    hash.update(chunk);
    counter?.push(chunk);
    bytes += chunk.length;
    tail = Buffer.concat([tail, chunk.subarray(-8)]).subarray(-8);
  }
  const rows = async () => counter?.end() ?? parquetRows(await metadataOf(archive, path, bytes, tail));
  return { bytes, hash: `sha256:${hash.digest('hex')}`, rows };
}

/** The end of a Parquet file says where its metadata begin: it is expanded a second time up to there. */
async function metadataOf(archive: ExportArchive, path: string, fileBytes: number, tail: Buffer): Promise<Buffer> {
  const length = parquetMetadataBytes(tail);
  const start = fileBytes - tail.length - length;
  if (start < 0) throw new UncountableError('its metadata are longer than the file');
  const wanted = Math.min(length, metadataBytesLimit); // what is read of them stands at their beginning
  const pieces: Buffer[] = [];
  let at = 0;
  for await (const chunk of bytesOf(archive, path)) {
    if (at + chunk.length > start) pieces.push(chunk.subarray(Math.max(start - at, 0), start + wanted - at));
    at += chunk.length;
    if (at >= start + wanted) break;
  }
  return Buffer.concat(pieces);
}

async function* bytesOf(archive: ExportArchive, path: string): AsyncGenerator<Buffer> {
  const entry = archive.entries.get(path);
  if (entry !== undefined) yield* archive.expand(entry);
}

function compareCounts(files: readonly VerifiedFile[], { counts }: ExportRecord, report: Report): void {
  const stated = new Map(counts.map((count) => [count.dataset, count]));
  if (stated.size < counts.length) report('COUNT', recordPath, `${recordPath} counts a dataset twice.`);
  for (const { dataset, path, rows, bytes } of files) {
    const count = stated.get(dataset);
    stated.delete(dataset);
    if (count === undefined) report('COUNT', path, `${recordPath} has no count for ${quote(dataset)}.`);
    else if (rows !== null && count.rows !== String(rows)) {
      report('COUNT', path, `${quote(path)} has ${rows} rows; ${count.rows} are stated.`);
    } else if (count.bytes !== bytes) {
      report('COUNT', path, `${descriptorPath} states ${bytes} bytes for ${quote(dataset)}, ${recordPath} ${count.bytes}.`);
    }
  }
  for (const dataset of stated.keys()) report('COUNT', recordPath, `${recordPath} counts ${quote(dataset)}, which is not in the manifest.`);
}

/** Whether the key is one of those that were given. */
function verifyKey(record: ExportRecord, keys: readonly PublicJwk[] | null, report: Report): boolean | null {
  const { keyId, publicKey } = record.signature;
  const embedded: PublicJwk = { kty: 'OKP', crv: 'Ed25519', x: publicKey };
  if (keyIdOf(embedded) !== keyId) report('SIGNATURE', recordPath, `The key that is stated has another id than ${keyId}.`);
  const known = keys?.find((key) => keyIdOf(key) === keyId);
  if (keys !== null && known === undefined) {
    report('UNKNOWN_KEY', recordPath, `It is signed with the key ${keyId}, which is not among those that were given.`);
  }
  if (!verifySignature(record, known ?? embedded)) {
    report('SIGNATURE', recordPath, `The signature is not that of ${recordPath}: something in it was changed.`);
  }
  return keys === null ? null : known !== undefined;
}
