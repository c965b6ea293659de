// What was uploaded, made into a plan at registration; and the bytes of one dataset, for whoever loads it later.
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { InvalidPackageError } from '../errors.ts';
import { type Storage, StorageError } from '../storage/storage.ts';
import { openArchive, type PackageFiles } from './archive.ts';
import { type DescriptorSettings, planPackage } from './descriptor.ts';
import { type JsonText, JsonTextError, parseJsonBytes } from './json-text.ts';
import type { PackageLimits } from './limits.ts';
import type { DatasetPlan, PackagePlan } from './plan.ts';
import { type PackageProblemCode, quote } from './problems.ts';

export interface StoredPackage {
  readonly key: string;
  /** DESCRIPTOR: a datapackage.json alone. */
  readonly kind: 'ZIP' | 'DESCRIPTOR';
}

/** Throws InvalidPackageError with everything that is wrong, not only the first. */
export async function inspectPackage(
  storage: Storage,
  stored: StoredPackage & { readonly digest: string },
  settings: DescriptorSettings,
): Promise<PackagePlan> {
  const { limits } = settings;
  if (stored.kind === 'DESCRIPTOR') {
    const bytes = await storage.size(stored.key);
    if (bytes === null) throw new StorageError('NO_SUCH_OBJECT', `There is no ${quote(stored.key)} in the storage.`);
    const descriptor = await readDescriptor(bytes, () => storage.get(stored.key), limits);
    return planPackage(descriptor, null, stored.digest, settings);
  }
  const archive = await openArchive(storage, stored.key, limits);
  try {
    const entry = archive.entries.get('datapackage.json');
    if (entry === undefined) throw refusal('NO_DESCRIPTOR', whyNoDescriptor(archive));
    const descriptor = await readDescriptor(entry.bytes, () => archive.read('datapackage.json'), limits);
    return await planPackage(descriptor, archive, stored.digest, settings);
  } finally {
    archive.close();
  }
}

/** The file's bytes as they are in the package, still gzipped if they are; inline data as the JSON that stands in the descriptor. */
export async function openDatasetSource(
  storage: Storage,
  stored: StoredPackage,
  dataset: Pick<DatasetPlan, 'source'>,
  limits: PackageLimits,
): Promise<Readable> {
  if (dataset.source.kind === 'inline') return Readable.from([Buffer.from(dataset.source.json)]);
  if (stored.kind === 'DESCRIPTOR')
    throw refusal('FILE_MISSING', `There is no ${quote(dataset.source.path)}: only a descriptor was uploaded.`);
  const archive = await openArchive(storage, stored.key, limits);
  try {
    const stream = await archive.read(dataset.source.path);
    return stream.once('close', () => archive.close());
  } catch (error) {
    archive.close();
    throw error;
  }
}

async function readDescriptor(bytes: number, open: () => Promise<Readable>, limits: PackageLimits): Promise<JsonText> {
  if (bytes > limits.descriptorBytes) {
    throw refusal('DESCRIPTOR_TOO_LARGE', `datapackage.json has ${bytes} bytes; ${limits.descriptorBytes} are allowed.`);
  }
  const content = await buffer(await open());
  try {
    return parseJsonBytes(content, limits.descriptorDepth);
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error;
    throw refusal('DESCRIPTOR_NOT_JSON', `datapackage.json is not valid JSON: ${error.message}.`);
  }
}

function whyNoDescriptor(files: PackageFiles): string {
  const yaml = ['datapackage.yaml', 'datapackage.yml'].find((name) => files.entries.has(name));
  const words = 'There is no datapackage.json in the package';
  return yaml === undefined ? `${words}.` : `${words}, only a ${yaml}; descriptors are read as JSON only.`;
}

function refusal(code: PackageProblemCode, message: string): InvalidPackageError {
  return new InvalidPackageError([{ code, pointer: '', resource: null, message }]);
}
