// Looking into archives as somebody else's program would: with yauzl, and not with our own reader.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { Ajv } from 'ajv';
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

const profile = new URL('../../../shared/data/_profiles/2.0/datapackage.json', import.meta.url);
const validate = existsSync(profile)
  ? new Ajv({ strict: false, logger: false, validateFormats: false }).compile(JSON.parse(readFileSync(profile, 'utf8')))
  : null;

/** What the official profile of version 2 has against a descriptor; null where there is nothing, or the profile is not at hand. */
export function faultsUnderProfile(descriptor: object): string | null {
  return validate === null || validate(descriptor) ? null : JSON.stringify(validate.errors?.slice(0, 5));
}
