// Looking into archives as somebody else's program would: with yauzl, and not with our own reader.
import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import yauzl from 'yauzl';

/** Every file in a zip, by its path, in the zip's order. */
export async function entriesOf(zip: Buffer): Promise<Map<string, Buffer>> {
  const file = await yauzl.fromBufferPromise(zip, { strictFileNames: true });
  const found = new Map<string, Buffer>();
  for await (const entry of file.eachEntry()) found.set(entry.fileName, await buffer(await file.openReadStreamPromise(entry)));
  return found;
}

export const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

export function jsonIn(files: ReadonlyMap<string, Buffer>, path: string): any {
  const bytes = files.get(path);
  if (bytes === undefined) throw new Error(`there is no ${path}`);
  return JSON.parse(bytes.toString('utf8'));
}
