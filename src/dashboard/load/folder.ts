// A folder as a browser gives it, dropped or chosen, and the package in it. Only what lies on the way to a file that is asked for is
// read. Chromium leaves links out of both, so that none leads elsewhere.
import { LoadRefused } from './upload.ts';

export interface Folder {
  readonly name: string;
  /** By name, accents composed: macOS may have them decomposed. */
  list(): Promise<ReadonlyMap<string, Folder | FoundFile>>;
}

export interface FoundFile {
  open(): Promise<File>;
}

export function isFolder(found: Folder | FoundFile | undefined): found is Folder {
  return found !== undefined && 'list' in found;
}

/** To be called while the drop is handled: its items are gone after that. */
export function droppedPackage({ items }: DataTransfer): File | Folder {
  const [item, ...others] = [...items].filter(({ kind }) => kind === 'file');
  if (item === undefined) throw new LoadRefused('What was dropped is neither a folder nor a file.');
  if (others.length > 0) {
    throw new LoadRefused(
      `${others.length + 1} things were dropped at once. Drop one folder, with datapackage.json and its files in it, or one zip.`,
    );
  }
  const entry = item.webkitGetAsEntry();
  if (entry?.isDirectory) return droppedFolder(entry as FileSystemDirectoryEntry); // what isDirectory says of it
  const file = item.getAsFile();
  if (file === null) throw new LoadRefused('What was dropped cannot be read.');
  return file;
}

function droppedFolder(directory: FileSystemDirectoryEntry): Folder {
  let listed: ReturnType<Folder['list']> | undefined;
  return { name: directory.name, list: () => (listed ??= listOf(directory)) };
}

async function listOf(directory: FileSystemDirectoryEntry): Promise<ReadonlyMap<string, Folder | FoundFile>> {
  const found = new Map<string, Folder | FoundFile>();
  const reader = directory.createReader();
  for (;;) {
    // Chromium gives at most 100 at a time, and none at the end.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject)).catch((error: unknown) => {
      throw unreadable(`The folder ${JSON.stringify(directory.fullPath.slice(1))}`, error);
    });
    if (some.length === 0) return found;
    for (const entry of some) {
      found.set(
        entry.name.normalize('NFC'),
        entry.isDirectory
          ? droppedFolder(entry as FileSystemDirectoryEntry) // what isDirectory says of it
          : { open: () => new Promise((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject)) }, // what is not the one is the other
      );
    }
  }
}

/** Of an `<input webkitdirectory>`, which gives all files at once, each with its path from the folder’s own name on. */
export function chosenFolder(files: readonly File[]): Folder {
  const above = branch('');
  for (const file of files) {
    const names = file.webkitRelativePath.split('/').map((name) => name.normalize('NFC'));
    let at = above;
    for (const name of names.slice(0, -1)) {
      const next = at.found.get(name) ?? branch(name);
      at.found.set(name, next);
      at = next as Branch; // a name on the way to a file is a folder’s
    }
    at.found.set(names.at(-1) ?? '', { open: async () => file });
  }
  const [folder] = above.found.values();
  if (!isFolder(folder)) throw new LoadRefused('There is no file in the folder.');
  return folder;
}

interface Branch extends Folder {
  readonly found: Map<string, Folder | FoundFile>;
}

function branch(name: string): Branch {
  const found: Branch['found'] = new Map();
  return { name, found, list: async () => found };
}

/** The folder of datapackage.json: the one that was given, or the only one directly in it that has one. */
export async function packageFolder(given: Folder): Promise<Folder> {
  const listed = await given.list();
  if (listed.has('datapackage.json')) return given;
  const packages: Folder[] = [];
  for (const [name, found] of listed) {
    // .git, __MACOSX: not what people mean by a folder in it, and as large as they please.
    if (isFolder(found) && !/^(\.|__MACOSX$)/.test(name) && (await found.list()).has('datapackage.json')) packages.push(found);
  }
  const [only, ...others] = packages;
  const name = JSON.stringify(given.name);
  if (only === undefined) {
    throw new LoadRefused(`There is no datapackage.json in ${name}, nor in a folder directly in it (descriptors are read as JSON only).`);
  }
  if (others.length > 0) {
    const names = packages.map((folder) => JSON.stringify(folder.name)).sort();
    throw new LoadRefused(
      `There are ${names.length} packages in ${name}: ${names.slice(0, 10).join(', ')}${names.length > 10 ? ', …' : ''}. Choose one of them.`,
    );
  }
  return only;
}

/** By a normal path, from the folder on; undefined where nothing is. */
export async function findIn(folder: Folder, path: string): Promise<Folder | FoundFile | undefined> {
  let found: Folder | FoundFile | undefined = folder;
  for (const name of path.split('/')) found = isFolder(found) ? (await found.list()).get(name) : undefined;
  return found;
}

/** What a browser says of a file that it may not read, or that has changed since it was chosen, is no sentence for people. */
export function unreadable(what: string, error: unknown): unknown {
  if (!(error instanceof DOMException)) return error;
  return new LoadRefused(`${what} cannot be read: it is not yours to read, or has changed since it was chosen.`);
}
