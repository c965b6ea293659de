// Packages that lie beside the project as folders: zipped as they are, faults and all.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import yazl from 'yazl';

/** Inputs beside the project; tests that use them are skipped where they are not. */
export const shared = (...parts: string[]): string => path.resolve(import.meta.dirname, '../../../shared', ...parts);

/** Every file of the folder, the descriptor as `change` leaves it. */
export async function zipFolder(folder: string, change: (descriptor: any) => any = (descriptor) => descriptor): Promise<Buffer> {
  const zip = new yazl.ZipFile();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath, entry.name);
    const name = path.relative(folder, file);
    const bytes = readFileSync(file);
    zip.addBuffer(name === 'datapackage.json' ? Buffer.from(JSON.stringify(change(JSON.parse(bytes.toString())))) : bytes, name);
  }
  zip.end();
  return buffer(zip.outputStream);
}
