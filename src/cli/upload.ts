// A package brought to the server: packed if it is a folder, staged, uploaded.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { stagePackageDocument } from '../client/documents.ts';
import { type Connection, execute, reach } from '../client/request.ts';
import { granted, problemLines, Refusal } from './outcome.ts';
import type { Surroundings } from './surroundings.ts';

interface UploadAnswer {
  readonly code?: string;
  readonly message?: string;
  readonly problems?: Parameters<typeof problemLines>[0];
}

/** The id to register. */
export async function upload(connection: Connection, workspaceId: string, place: string, { pack }: Surroundings): Promise<string> {
  const bytes = await open(place, pack); // first: what is wrong here needs no server
  const { stagePackage } = await execute(connection, stagePackageDocument, { input: { workspaceId } });
  const { packageId, uploadUrl } = granted(stagePackage, 'StagedPackage');
  const init: RequestInit & { duplex: 'half' } = { method: 'PUT', body: Readable.toWeb(bytes) as ReadableStream, duplex: 'half' }; // Node's and the DOM's are one class
  const response = await reach(connection, uploadUrl, init);
  if (response.ok) {
    await response.body?.cancel();
    return packageId;
  }
  const { code, message, problems } = await answerOf(response);
  throw new Refusal(code ?? 'UPLOAD_REFUSED', message ?? `The upload was answered with ${response.status}.`, problemLines(problems ?? []));
}

async function open(place: string, pack: Surroundings['pack']): Promise<Readable> {
  const found = await stat(place).catch((error: unknown) => {
    throw new Refusal(
      'NO_PACKAGE',
      `${place} cannot be read: ${error instanceof Error ? error.message.replace(/, stat .*$/, '') : String(error)}.`,
    );
  });
  if (found.isDirectory()) return pack(place);
  // A descriptor beside its files: they travel together.
  if (path.basename(place) === 'datapackage.json') return pack(path.dirname(place));
  return createReadStream(place);
}

async function answerOf(response: Response): Promise<UploadAnswer> {
  const answer: unknown = await response.json().catch(() => ({}));
  return typeof answer === 'object' && answer !== null ? answer : {};
}
