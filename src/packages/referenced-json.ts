// Schemas and dialects that a descriptor names as files of the package.
import { buffer } from 'node:stream/consumers';
import { InvalidPackageError } from '../errors.ts';
import type { PackageFiles } from './archive.ts';
import { JsonTextError, parseJsonBytes } from './json-text.ts';
import type { PackageLimits } from './limits.ts';
import { judgePath } from './paths.ts';
import type { ReferencedJson } from './resource.ts';
import { isRecord } from './shape.ts';

/** By path; a file that is not there is not in it. All of them together may be a few times as large as a descriptor. */
export async function readReferencedJson(
  resources: readonly unknown[],
  files: PackageFiles,
  limits: PackageLimits,
): Promise<Map<string, ReferencedJson>> {
  const found = new Map<string, ReferencedJson>();
  let bytesLeft = 4 * limits.descriptorBytes;
  for (const path of referencedPaths(resources)) {
    const bytes = files.entries.get(path)?.bytes;
    if (bytes === undefined || found.has(path)) continue;
    bytesLeft -= bytes;
    found.set(path, bytes > limits.descriptorBytes || bytesLeft < 0 ? { why: 'is too large' } : await readJson(path, files, limits));
  }
  return found;
}

/** The safe local ones; what is wrong with the others is said where they are used. */
export function referencedPaths(resources: readonly unknown[]): string[] {
  const stated = resources.filter(isRecord).flatMap((resource) => [resource.schema, resource.dialect]);
  return stated
    .filter((path) => typeof path === 'string')
    .map(judgePath)
    .flatMap((judged) => (judged.kind === 'local' ? [judged.path] : []));
}

async function readJson(path: string, files: PackageFiles, limits: PackageLimits): Promise<ReferencedJson> {
  try {
    return { value: parseJsonBytes(await buffer(await files.read(path)), limits.descriptorDepth).value };
  } catch (error) {
    if (error instanceof JsonTextError) return { why: `is not valid JSON: ${error.message}` };
    if (error instanceof InvalidPackageError) return { why: `cannot be read: ${error.message.replace(/\.$/, '')}` };
    throw error;
  }
}
