// A whole descriptor made into a plan, or into everything that is wrong with it.
import { Readable } from 'node:stream';
import { InvalidPackageError } from '../errors.ts';
import type { PackageFiles } from './archive.ts';
import { type MeasuredFile, measureFile, parseStatedHash } from './file-hash.ts';
import type { JsonText } from './json-text.ts';
import { type ReferenceTarget, resolveForeignKey } from './keys.ts';
import type { PackageLimits } from './limits.ts';
import { findCycles } from './order.ts';
import type { DatasetPlan, ForeignKey, PackagePlan, TableSchema } from './plan.ts';
import { type Findings, isStorableText, quote, type Report, reportInto, whyInvalidName } from './problems.ts';
import { noteUnknownProfiles } from './profiles.ts';
import { readReferencedJson } from './referenced-json.ts';
import { type ReferencedJson, type ResourceDraft, readResource } from './resource.ts';
import { isRecord } from './shape.ts';

export interface DescriptorSettings {
  readonly onHashMismatch: 'FAIL' | 'WARN';
  readonly targets: readonly string[];
  readonly limits: PackageLimits;
}

/** `files` is null where a descriptor came alone. Throws InvalidPackageError with all problems. */
export async function planPackage(
  descriptor: JsonText,
  files: PackageFiles | null,
  digest: string,
  settings: DescriptorSettings,
): Promise<PackagePlan> {
  const findings: Findings = { problems: [], notes: [] };
  const root = reportInto(findings, null);
  const stated = descriptor.value;
  if (!isRecord(stated)) throw refusal('NOT_A_PACKAGE', 'datapackage.json must hold an object.', '');
  const resources = resourcesOf(stated, settings.limits);
  const referenced = files === null ? new Map<string, ReferencedJson>() : await readReferencedJson(resources, files, settings.limits);

  noteUnknownProfiles(stated, root);
  const head = readHead(stated, digest, root);
  const around = { descriptor, referenced, files: files?.entries ?? null, targets: settings.targets, limits: settings.limits };
  const drafts = resources.map((resource, position) => readOne(resource, position, findings, around)).filter((draft) => draft !== null);
  judgeNames(drafts);
  const linked = link(drafts);
  judgeOrder(linked);

  const measures = await measureFiles(drafts, files, settings);
  const datasets: DatasetPlan[] = [];
  for (const { draft, dependsOn, schema } of linked) {
    const measured = measures.get(draft);
    if (draft.source === null || measured === undefined) continue;
    const { name, position, target, source, format, gzip, dialect, statedSchema } = draft;
    const file = { bytes: measured.bytes, hash: `sha256:${measured.digests.get('sha256') ?? ''}` };
    datasets.push({ name, position, target, dependsOn, source, format, gzip, dialect, schema, statedSchema, ...file });
  }
  if (findings.problems.length > 0) throw new InvalidPackageError(findings.problems);
  return { ...head, digest, notes: findings.notes, datasets };
}

function resourcesOf(stated: Readonly<Record<string, unknown>>, limits: PackageLimits): readonly unknown[] {
  const resources = stated.resources ?? [];
  if (!Array.isArray(resources)) throw refusal('NOT_A_PACKAGE', 'The `resources` of a package must be a list.', '/resources');
  if (resources.length === 0) throw refusal('NO_RESOURCES', 'The package has no resources.', '/resources');
  if (resources.length > limits.resources) {
    const words = `The package has ${resources.length} resources; ${limits.resources} are allowed.`;
    throw refusal('TOO_MANY_RESOURCES', words, '/resources');
  }
  return resources;
}

function readHead(
  stated: Readonly<Record<string, unknown>>,
  digest: string,
  report: Report,
): Pick<PackagePlan, 'name' | 'version' | 'title'> {
  const statedName = stated.name ?? '';
  const why = statedName === '' ? null : whyInvalidName(statedName);
  if (why !== null) report.problem('INVALID_NAME', `The package's name ${why}.`, 'name');
  const text = (property: string): string | null => {
    const value = stated[property];
    // Versions are written as numbers now and then; anything else that is not text is a title nobody can show.
    if (typeof value === 'number') return String(value);
    if (typeof value !== 'string' || value === '') return null;
    if (!isStorableText(value) || value.length > 2_000) {
      const words = `The package's ${property} holds a NUL or half a surrogate pair, or is longer than 2,000 characters.`;
      report.problem('INVALID_NAME', words, property);
    }
    return value;
  };
  const name = typeof statedName === 'string' && statedName !== '' ? statedName : `package-${digest.replace(/^sha256:/, '').slice(0, 12)}`;
  return { name, version: text('version'), title: text('title') };
}

function readOne(stated: unknown, position: number, findings: Findings, around: Parameters<typeof readResource>[3]): ResourceDraft | null {
  const statedName = isRecord(stated) ? stated.name : null;
  const why = whyInvalidName(statedName);
  const name = why === null && typeof statedName === 'string' ? statedName : null;
  const report = reportInto(findings, name, ['resources', position]);
  if (!isRecord(stated)) {
    report.problem('INVALID_RESOURCE', `Resource ${position + 1} must be an object.`);
    return null;
  }
  if (name === null) report.problem('INVALID_NAME', `The name of resource ${position + 1} ${why}.`, 'name');
  return readResource(name ?? `resource ${position + 1}`, position, stated, around, report);
}

function judgeNames(drafts: readonly ResourceDraft[]): void {
  const seen = new Map<string, number>();
  for (const { name, position, report } of drafts) {
    const twin = seen.get(name);
    if (twin === undefined) seen.set(name, position);
    else report.problem('DUPLICATE_NAME', `Resources ${twin + 1} and ${position + 1} have the same name ${quote(name)}.`, 'name');
  }
}

interface LinkedDraft {
  readonly draft: ResourceDraft;
  readonly dependsOn: readonly string[];
  readonly schema: TableSchema | null;
}

function link(drafts: readonly ResourceDraft[]): LinkedDraft[] {
  const targets = new Map<string, ReferenceTarget>();
  for (const { name, readSchema } of drafts) {
    const fieldNames = readSchema === null || readSchema === 'unreadable' ? readSchema : readSchema.fieldNames;
    if (!targets.has(name)) targets.set(name, { fieldNames });
  }
  const order = new Map(drafts.map(({ name, position }) => [name, position]));
  return drafts.map((draft) => {
    const { readSchema, name, report } = draft;
    const read = readSchema === null || readSchema === 'unreadable' ? null : readSchema;
    const foreignKeys: ForeignKey[] = (read?.foreignKeys ?? [])
      .map((key) => resolveForeignKey(key, name, targets))
      .filter((key) => key !== null);
    const names = new Set(foreignKeys.map((key) => key.reference.resource).filter((other) => other !== name));
    for (const [index, other] of draft.statedDependencies.entries()) {
      if (targets.has(other)) names.add(other);
      else {
        const words = `${quote(name)} depends on ${quote(other)}, which is not in the package.`;
        report.problem('UNKNOWN_DEPENDENCY', words, 'packhorse:dependsOn', index);
      }
    }
    const dependsOn = [...names].sort((a, b) => (order.get(a) ?? 0) - (order.get(b) ?? 0));
    return { draft, dependsOn, schema: read ? { ...read.schema, foreignKeys } : null };
  });
}

function judgeOrder(linked: readonly LinkedDraft[]): void {
  const byName = new Map(linked.map((one) => [one.draft.name, one]));
  for (const cycle of findCycles(new Map(linked.map(({ draft, dependsOn }) => [draft.name, dependsOn])))) {
    const path = cycle.length > 50 ? [...cycle.slice(0, 25), '…', ...cycle.slice(-25)] : cycle;
    byName.get(cycle[0] ?? '')?.draft.report.problem('DEPENDENCY_CYCLE', `The datasets wait for each other: ${path.join(' → ')}.`);
  }
}

/** Each file is read once, however many resources are of it, with all the algorithms they state. */
async function measureFiles(
  drafts: readonly ResourceDraft[],
  files: PackageFiles | null,
  settings: DescriptorSettings,
): Promise<Map<ResourceDraft, MeasuredFile>> {
  const measures = new Map<ResourceDraft, MeasuredFile>();
  const byPath = new Map<string, ResourceDraft[]>();
  for (const draft of drafts) {
    if (draft.source?.kind !== 'entry') continue;
    byPath.set(draft.source.path, [...(byPath.get(draft.source.path) ?? []), draft]);
  }
  for (const [path, users] of byPath) {
    if (!files?.entries.has(path)) continue;
    const algorithms = users.map((draft) => parseStatedHash(draft.statedHash ?? '')?.algorithm ?? 'sha256');
    try {
      const measured = await measureFile(await files.read(path), algorithms);
      for (const draft of users) {
        measures.set(draft, measured);
        judgeMeasure(draft, measured, settings);
      }
    } catch (error) {
      if (!(error instanceof InvalidPackageError)) throw error;
      for (const { report } of users) {
        for (const { message } of error.problems) report.problem('ENTRY_DAMAGED', message, 'path');
      }
    }
  }
  for (const draft of drafts) {
    if (draft.source?.kind === 'inline') measures.set(draft, await measureFile(Readable.from([Buffer.from(draft.source.json)]), []));
  }
  return measures;
}

function judgeMeasure(draft: ResourceDraft, measured: MeasuredFile, settings: DescriptorSettings): void {
  const { name, statedBytes, statedHash, report } = draft;
  const mismatch = (code: 'BYTES_MISMATCH' | 'HASH_MISMATCH', words: string, property: string): void =>
    settings.onHashMismatch === 'WARN' ? report.note(words) : report.problem(code, words, property);
  if (statedBytes !== null && statedBytes !== measured.bytes) {
    const words = `${quote(name)} states ${statedBytes} bytes; its file has ${measured.bytes}.`;
    mismatch('BYTES_MISMATCH', words, 'bytes');
  }
  if (statedHash === null) return;
  const stated = parseStatedHash(statedHash);
  if (stated === null) report.note(`The hash ${quote(statedHash)} of ${quote(name)} has an algorithm that is not checked here.`);
  else if (measured.digests.get(stated.algorithm) !== stated.digits) {
    const words = `${quote(name)} states the hash ${quote(statedHash)}; the ${stated.algorithm} of its file is another.`;
    mismatch('HASH_MISMATCH', words, 'hash');
  }
}

function refusal(code: 'NOT_A_PACKAGE' | 'NO_RESOURCES' | 'TOO_MANY_RESOURCES', message: string, pointer: string): InvalidPackageError {
  return new InvalidPackageError([{ code, pointer, resource: null, message }]);
}
