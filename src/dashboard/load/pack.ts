// A folder made into the zip that is sent, in the browser: of the same files as on the command line. Loaded when there is a folder to pack.
import { BlobReader, BlobWriter, configure, ZipWriter } from '@zip.js/zip.js/lib/zip-core-custom.js';
import { InvalidPackageError } from '../../errors.ts';
import { namedFiles } from '../../packages/named-files.ts';
import { type Findings, quote } from '../../packages/problems.ts';
import { type Folder, type FoundFile, findIn, isFolder, packageFolder, unreadable } from './folder.ts';
import { LoadRefused } from './upload.ts';

// The policy of the page lets neither a worker nor WebAssembly in. The browser’s own deflate needs neither, and is off the page’s thread.
configure({ useWebWorkers: false });

/** Everything is looked for before the first byte is packed. `onBytes` is told of what was read, of how much. */
export async function pack(given: Folder, onBytes: (read: number, total: number) => void, signal: AbortSignal): Promise<File> {
  try {
    const folder = await packageFolder(given);
    return await zipped(folder.name, await filesOf(folder, signal), onBytes, signal);
  } catch (error) {
    if (signal.aborted) throw new LoadRefused('The packing was stopped. Nothing was sent.');
    if (error instanceof InvalidPackageError) throw new LoadRefused(error.message, error.problems);
    throw error;
  }
}

/** From the name in the zip. */
async function filesOf(folder: Folder, signal: AbortSignal): Promise<ReadonlyMap<string, File>> {
  const findings: Findings = { problems: [], notes: [] };
  const files = new Map<string, File>();
  const add = async (path: string, found: FoundFile) => {
    signal.throwIfAborted();
    const file = await reading(path, found.open());
    files.set(path, file);
    return file;
  };
  const found = await findIn(folder, 'datapackage.json');
  if (found === undefined || isFolder(found)) throw new LoadRefused('"datapackage.json" is not a file.');
  const descriptor = await add('datapackage.json', found);
  const bytes = new Uint8Array(await reading('datapackage.json', descriptor.arrayBuffer()));
  for (const { stated, path, report } of namedFiles(bytes, findings)) {
    const named = await findIn(folder, path);
    if (named === undefined) report.problem('FILE_MISSING', `The file ${quote(stated)} is not in the folder.`);
    else if (isFolder(named)) report.problem('FILE_MISSING', `${quote(stated)} is not a file.`);
    else if (!files.has(path)) await add(path, named);
  }
  if (findings.problems.length > 0) throw new InvalidPackageError(findings.problems);
  return files;
}

async function zipped(
  name: string,
  files: ReadonlyMap<string, File>,
  onBytes: (read: number, total: number) => void,
  signal: AbortSignal,
): Promise<File> {
  const total = [...files.values()].reduce((sum, { size }) => sum + size, 0);
  let read = 0;
  let told = 0;
  const tell = (bytes: number) => {
    if (bytes > 0 && bytes - told < total / 200) return; // each is drawn, and they come every 64 KiB
    told = bytes;
    onBytes(bytes, total);
  };
  tell(0);
  const zip = new ZipWriter(new BlobWriter('application/zip'), {
    // As the command line has it: the same folder, the same names in the same order, and no times.
    lastModDate: new Date(2000, 0, 1),
    extendedTimestamp: false,
    signal,
  });
  // One after the other: side by side, the later ones would be held beside the zip.
  for (const path of [...files.keys()].sort()) {
    const file = files.get(path) ?? new Blob();
    const options = { level: path.endsWith('.gz') ? 0 : 6, onprogress: (bytes: number) => tell(read + bytes) };
    await reading(
      path,
      zip.add(path, new BlobReader(file), options).catch((error: unknown) => reasonOf(file, error)),
    );
    read += file.size;
    tell(read);
  }
  return new File([await zip.close()], `${name}.zip`);
}

function reading<T>(path: string, work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    throw unreadable(`The file ${quote(path)}`, error);
  });
}

/** A stream that breaks off says "network error", a TypeError as of any fault; to be read once more, the file says what is wrong with it. */
async function reasonOf(file: Blob, error: unknown): Promise<never> {
  await (file.size === 0 ? file : file.slice(0, 1)).arrayBuffer(); // one that is gone has no size, and a part of nothing can be read
  throw error;
}
