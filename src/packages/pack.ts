// A folder made into the zip that is uploaded: the same folder, the same bytes. Only what the descriptor names goes in, so that
// nothing else that lies in the folder (keys, drafts, a .git) leaves the machine.
import { readFile, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { PassThrough, type Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import { InvalidPackageError, type PackageProblem } from '../errors.ts';
import { JsonTextError, parseJsonBytes } from './json-text.ts';
import { defaultPackageLimits } from './limits.ts';
import { judgePath } from './paths.ts';
import { type Findings, quote, type Report, reportInto } from './problems.ts';
import { isRecord } from './shape.ts';

/** Everything is checked before the first byte; InvalidPackageError names the files that are missing or not safe. */
export async function packFolder(folder: string): Promise<Readable> {
  const root = await realpath(folder);
  const findings: Findings = { problems: [], notes: [] };
  /** From the name in the zip to the file on disk, which may spell its accents otherwise. */
  const files = new Map([['datapackage.json', join(root, 'datapackage.json')]]);
  for (const { path, report } of statedPaths(await readDescriptor(root), findings)) {
    const judged = judgePath(path);
    if (judged.kind === 'unsafe') report.problem('UNSAFE_PATH', `The path ${quote(path)} is not safe: ${judged.why}.`);
    if (judged.kind !== 'local') continue;
    await judgeFile(root, path, report);
    files.set(judged.path, join(root, path));
  }
  if (findings.problems.length > 0) throw new InvalidPackageError(findings.problems);

  const zip = new ZipFile();
  const output = new PassThrough();
  // Not in the typings: yazl reports a file that cannot be read as an event of the archive.
  zip.on('error', (error: Error) => output.destroy(error));
  zip.outputStream.pipe(output);
  for (const name of [...files.keys()].sort()) {
    // The DOS time has no zone, and is taken from the local clock: a local date is the same bytes everywhere.
    const fixed = { mtime: new Date(2000, 0, 1), mode: 0o100644, forceDosTimestamp: true };
    zip.addFile(files.get(name) ?? '', name, { ...fixed, compress: !name.endsWith('.gz') });
  }
  zip.end();
  return output;
}

async function readDescriptor(root: string): Promise<unknown> {
  const content = await readFile(join(root, 'datapackage.json')).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
    throw refusal({
      code: 'NO_DESCRIPTOR',
      message: `There is no datapackage.json in ${quote(root)} (descriptors are read as JSON only).`,
    });
  });
  try {
    return parseJsonBytes(content, defaultPackageLimits.descriptorDepth).value;
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error;
    throw refusal({ code: 'DESCRIPTOR_NOT_JSON', message: `datapackage.json is not valid JSON: ${error.message}.` });
  }
}

/** Data, schemas and dialects that are files. Whatever else is wrong is for the server to say, in full. */
function statedPaths(descriptor: unknown, findings: Findings): { path: string; report: Report }[] {
  const resources: readonly unknown[] = isRecord(descriptor) && Array.isArray(descriptor.resources) ? descriptor.resources : [];
  return resources.flatMap((resource, index) => {
    if (!isRecord(resource)) return [];
    const name = typeof resource.name === 'string' ? resource.name : null;
    return (['path', 'schema', 'dialect'] as const).flatMap((property) => {
      const report = reportInto(findings, name, ['resources', index, property]);
      const stated: unknown = resource[property];
      const parts: readonly unknown[] = property === 'path' && Array.isArray(stated) ? stated : [stated];
      // A remote schema travels as the address it is.
      return parts.filter((path) => typeof path === 'string' && !/^https?:/i.test(path)).map((path) => ({ path: String(path), report }));
    });
  });
}

async function judgeFile(root: string, stated: string, report: Report): Promise<void> {
  try {
    const real = await realpath(join(root, stated));
    if (!real.startsWith(root + sep)) report.problem('UNSAFE_PATH', `The file ${quote(stated)} is a link that leaves the folder.`);
    else if (!(await stat(real)).isFile()) report.problem('FILE_MISSING', `${quote(stated)} is not a file.`);
  } catch (error) {
    if (!isMissing(error)) throw error;
    report.problem('FILE_MISSING', `The file ${quote(stated)} is not in the folder.`);
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
}

function refusal({ code, message }: Pick<PackageProblem, 'code' | 'message'>): InvalidPackageError {
  return new InvalidPackageError([{ code, pointer: '', resource: null, message }]);
}
