// A folder made into the zip that is uploaded: the same folder, the same bytes.
import { readFile, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { PassThrough, type Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import { InvalidPackageError } from '../errors.ts';
import { namedFiles } from './named-files.ts';
import { type Findings, quote, type Report } from './problems.ts';

/** Everything is checked before the first byte; InvalidPackageError names the files that are missing or not safe. */
export async function packFolder(folder: string): Promise<Readable> {
  const root = await realpath(folder);
  const findings: Findings = { problems: [], notes: [] };
  /** From the name in the zip to the file on disk, which may spell its accents otherwise. */
  const files = new Map([['datapackage.json', join(root, 'datapackage.json')]]);
  for (const { stated, path, report } of namedFiles(await readDescriptor(root), findings)) {
    await judgeFile(root, stated, report);
    files.set(path, join(root, stated));
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

async function readDescriptor(root: string): Promise<Uint8Array> {
  return readFile(join(root, 'datapackage.json')).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
    const message = `There is no datapackage.json in ${quote(root)} (descriptors are read as JSON only).`;
    throw new InvalidPackageError([{ code: 'NO_DESCRIPTOR', pointer: '', resource: null, message }]);
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
