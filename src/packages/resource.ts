// One resource of a descriptor: where its rows are, how they are written, what they must be.
import { z } from 'zod';
import { readDialect, standardDialect } from './dialect.ts';
import { resolveFormat } from './file-format.ts';
import type { JsonText } from './json-text.ts';
import type { PackageLimits } from './limits.ts';
import { judgePath } from './paths.ts';
import type { DatasetPlan } from './plan.ts';
import { quote, type Report } from './problems.ts';
import { noteUnknownProfiles } from './profiles.ts';
import { isRecord, isText, listOf, readShape } from './shape.ts';
import { type ReadSchema, readTableSchema } from './table-schema.ts';

/** A dataset before the package as a whole is known: its file not measured, its references not resolved. */
export interface ResourceDraft extends Omit<DatasetPlan, 'source' | 'bytes' | 'hash' | 'dependsOn' | 'schema'> {
  /** null after reporting; the rest is still worth checking. */
  readonly source: DatasetPlan['source'] | null;
  /** null: none is stated. 'unreadable': one is, and that it cannot be read is reported. */
  readonly readSchema: ReadSchema | null | 'unreadable';
  /** As `packhorse:dependsOn` has it. */
  readonly statedDependencies: readonly string[];
  readonly statedBytes: number | null;
  readonly statedHash: string | null;
  readonly report: Report;
}

export interface ResourceSurroundings {
  readonly descriptor: JsonText;
  readonly targets: readonly string[];
  readonly limits: PackageLimits;
  /** Paths of the files in the package; null where only a descriptor was uploaded. */
  readonly files: ReadonlyMap<string, unknown> | null;
  /** Schemas and dialects that are files of the package: their content, or why there is none. */
  readonly referenced: ReadonlyMap<string, ReferencedJson>;
}

export type ReferencedJson = { readonly value: unknown } | { readonly why: string };

const resourceShape = z.object({
  format: z.string().nullish(),
  mediatype: z.string().nullish(),
  compression: z.string().nullish(),
  encoding: z.string().nullish(),
  bytes: z.number().int().min(0).nullish(),
  hash: z.string().nullish(),
  'packhorse:dependsOn': listOf(isText, 'a name').nullish(),
});

export function readResource(
  name: string,
  position: number,
  stated: Readonly<Record<string, unknown>>,
  around: ResourceSurroundings,
  report: Report,
): ResourceDraft {
  const shape = readShape(resourceShape, stated, 'INVALID_RESOURCE', `The resource ${quote(name)} is not valid`, report);
  noteUnknownProfiles(stated, report);
  for (const key of ['primaryKey', 'foreignKeys', 'uniqueKeys', 'missingValues']) {
    if (key in stated) report.note(`${quote(name)} has ${key} beside its schema, where the standard does not look; it is not used.`);
  }
  const source = readSource(name, stated, around, report);
  const file = {
    path: source?.kind === 'entry' ? source.path : null,
    format: shape?.format ?? null,
    mediatype: shape?.mediatype ?? null,
    compression: shape?.compression ?? null,
    encoding: shape?.encoding ?? null,
  };
  // An inline table is JSON whatever its format says, and a source that is refused has no ending to judge.
  const isFile = source?.kind === 'entry' || (source === null && file.format !== null);
  const { delimiter, ...format } = isFile ? resolveFormat(file, report) : { format: 'json' as const, gzip: false, delimiter: ',' };
  const dialect = dereference('dialect', stated, around, report);
  const schema = dereference('schema', stated, around, report);
  const hasSchema = (stated.schema ?? null) !== null;
  const draft: ResourceDraft = {
    name,
    position,
    target: readTarget(name, stated['packhorse:target'], around.targets, report),
    source,
    ...format,
    dialect: dialect ? readDialect(dialect.value, delimiter, dialect.report) : standardDialect(delimiter),
    statedSchema: schema?.value ?? null,
    readSchema: schema ? (readTableSchema(schema.value, around.limits, schema.report) ?? 'unreadable') : hasSchema ? 'unreadable' : null,
    statedDependencies: shape?.['packhorse:dependsOn'] ?? [],
    statedBytes: shape?.bytes ?? null,
    statedHash: shape?.hash || null,
    report,
  };
  if (!hasSchema) report.note(`${quote(name)} has no schema: every column is read as text.`);
  if (!hasSchema && !draft.dialect.header) {
    report.problem('INVALID_DIALECT', `${quote(name)} has neither a header row nor a schema, so its columns have no names.`, 'dialect');
  }
  return draft;
}

function readSource(
  name: string,
  stated: Readonly<Record<string, unknown>>,
  around: ResourceSurroundings,
  report: Report,
): DatasetPlan['source'] | null {
  const path = stated.path ?? null;
  const data = stated.data ?? null;
  const refuse = (message: string, ...at: string[]): null => {
    report.problem('INVALID_RESOURCE', `${quote(name)} ${message}`, ...at);
    return null;
  };
  if (path !== null && data !== null) return refuse('has both a path and data; it must have one of them.');
  if (data !== null) return readInline(name, data, around.descriptor, report);
  if (path === null) return refuse('has neither a path nor data.');
  const parts: readonly unknown[] = Array.isArray(path) ? path : [path];
  if (parts.length === 0) return refuse('has an empty list of paths.', 'path');

  let isRefused = false;
  const paths: string[] = [];
  for (const [index, part] of parts.entries()) {
    const place = Array.isArray(path) ? report.at('path', index) : report.at('path');
    if (typeof part !== 'string') {
      place.problem('INVALID_RESOURCE', `The path of ${quote(name)} must be a string or a list of strings.`);
      isRefused = true;
      continue;
    }
    const judged = judgePath(part);
    if (judged.kind === 'local') paths.push(judged.path);
    else isRefused = true;
    if (judged.kind === 'unsafe') place.problem('UNSAFE_PATH', `The path ${quote(part)} of ${quote(name)} is not safe: ${judged.why}.`);
    if (judged.kind === 'remote')
      place.problem('REMOTE_RESOURCE', `The data of ${quote(name)} are at ${quote(part)}; nothing is fetched yet.`);
  }
  const [first] = paths;
  if (isRefused || first === undefined) return null;
  if (parts.length > 1) {
    report.problem('MULTIPART_NOT_SUPPORTED', `${quote(name)} is in ${parts.length} files; only one is read yet.`, 'path');
    return null;
  }
  if (around.files === null) {
    report.problem('FILE_MISSING', `${quote(name)} needs the file ${quote(first)}, and only a descriptor was uploaded.`, 'path');
  } else if (!around.files.has(first)) {
    report.problem('FILE_MISSING', `${quote(name)} needs the file ${quote(first)}, which is not in the package.`, 'path');
  }
  return { kind: 'entry', path: first };
}

function readInline(name: string, data: unknown, descriptor: JsonText, report: Report): DatasetPlan['source'] | null {
  const rows: readonly unknown[] | null = Array.isArray(data) ? data : null;
  const areLists = rows?.every((row) => Array.isArray(row)) ?? false;
  const json = Array.isArray(data) ? descriptor.textOf(data) : null;
  if (rows === null || json === null || !(areLists || rows.every(isRecord))) {
    const words = `The inline data of ${quote(name)} must be a list of objects, or a list of lists with the header first.`;
    report.problem('INLINE_DATA_NOT_SUPPORTED', words, 'data');
    return null;
  }
  return { kind: 'inline', json };
}

/** What a `schema` or `dialect` says, wherever it stands; null where it is not stated, or after reporting that it cannot be had. */
function dereference(
  property: 'schema' | 'dialect',
  resource: Readonly<Record<string, unknown>>,
  around: ResourceSurroundings,
  report: Report,
): { readonly value: unknown; readonly report: Report } | null {
  const stated = resource[property];
  if (stated === undefined || stated === null) return null;
  const place = report.at(property);
  if (typeof stated !== 'string') return { value: stated, report: place };
  const judged = judgePath(stated);
  if (judged.kind === 'remote' || /^http:\/\//i.test(stated)) {
    const code = property === 'schema' ? 'REMOTE_SCHEMA' : 'REMOTE_DIALECT';
    place.problem(code, `The ${property} is at ${quote(stated)}; nothing is fetched, so put it into the package.`);
  } else if (judged.kind === 'unsafe') {
    place.problem('UNSAFE_PATH', `The ${property}'s path ${quote(stated)} is not safe: ${judged.why}.`);
  } else {
    const found = around.referenced.get(judged.path);
    if (found === undefined) place.problem('FILE_MISSING', `The ${property} ${quote(stated)} is not in the package.`);
    else if ('value' in found) return { value: found.value, report: place.inside(stated) };
    else place.problem(property === 'schema' ? 'INVALID_SCHEMA' : 'INVALID_DIALECT', `The ${property} ${quote(stated)} ${found.why}.`);
  }
  return null;
}

function readTarget(name: string, stated: unknown, targets: readonly string[], report: Report): string {
  const target = stated ?? 'store';
  if (typeof target === 'string' && targets.includes(target)) return target;
  const words = `${quote(name)} is for the target ${quote(typeof target === 'string' ? target : JSON.stringify(target))}; known are ${targets.map(quote).join(', ')}.`;
  report.problem('UNKNOWN_TARGET', words, 'packhorse:target');
  return 'store';
}
