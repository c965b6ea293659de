// One package in, its plan or its problems out.
import { createHash } from 'node:crypto';
import { InvalidPackageError, type PackageProblem } from '../../src/errors.ts';
import type { DescriptorSettings } from '../../src/packages/descriptor.ts';
import { inspectPackage } from '../../src/packages/inspect.ts';
import { defaultPackageLimits } from '../../src/packages/limits.ts';
import type { PackagePlan } from '../../src/packages/plan.ts';
import { memoryStorage } from '../support/memory-storage.ts';
import { packageZip } from './zip-bytes.ts';

export const settings: DescriptorSettings = { onHashMismatch: 'FAIL', targets: ['store', 'warehouse'], limits: defaultPackageLimits };

export type Files = Readonly<Record<string, string | Buffer>>;
const someFiles: Files = { 'a.csv': 'id\n1\n' };

export async function planOf(descriptor: unknown, files: Files = someFiles, more: Partial<DescriptorSettings> = {}): Promise<PackagePlan> {
  const zip = packageZip(descriptor, files);
  const digest = `sha256:${createHash('sha256').update(zip).digest('hex')}`;
  return inspectPackage(memoryStorage({ zip }), { key: 'zip', kind: 'ZIP', digest }, { ...settings, ...more });
}

export async function problemsOf(
  descriptor: unknown,
  files: Files = someFiles,
  more: Partial<DescriptorSettings> = {},
): Promise<readonly PackageProblem[]> {
  try {
    await planOf(descriptor, files, more);
    return [];
  } catch (error) {
    if (error instanceof InvalidPackageError) return error.problems;
    throw error;
  }
}

/** `CODE pointer` of each problem. */
export async function refusals(descriptor: unknown, files: Files = someFiles, more: Partial<DescriptorSettings> = {}): Promise<string[]> {
  return (await problemsOf(descriptor, files, more)).map(({ code, pointer }) => `${code} ${pointer}`);
}

/** A package with one good dataset, changed. */
export function withResource(changes: object): object {
  return { name: 'p', resources: [{ name: 'a', path: 'a.csv', schema: { fields: [{ name: 'id', type: 'integer' }] }, ...changes }] };
}

export function withSchema(changes: object): object {
  return withResource({ schema: { fields: [{ name: 'id', type: 'integer' }], ...changes } });
}

export function withField(field: object): object {
  return withSchema({ fields: [{ name: 'id', ...field }] });
}
