// An export's archive brought to this machine: through as many connections as it takes, and only kept if it is what was published.
import { setTimeout as sleep } from 'node:timers/promises';
import { issueDownloadLinkDocument } from '../client/export-documents.ts';
import type { ExportFieldsFragment } from '../client/gql/graphql.ts';
import { ClientError, type Connection, causeOf, execute, reach } from '../client/request.ts';
import { granted } from './outcome.ts';
import type { Surroundings } from './surroundings.ts';
import { refusalOf, writeTo } from './to-file.ts';

export interface DownloadOptions {
  readonly note: Surroundings['note'];
  readonly signal?: AbortSignal;
}

interface Archive {
  readonly id: string;
  readonly bytes: number;
  /** `sha256:<hex>` */
  readonly digest: string;
}

const fruitlessAttempts = 6;
const firstWaitMs = 200;
const longestWaitMs = 10_000;

/** The file is there only once its size and its hash are the package's. */
export function download(
  connection: Connection,
  exportPackage: NonNullable<ExportFieldsFragment['exportPackage']>,
  file: string,
  options: DownloadOptions,
): Promise<void> {
  const { id, bytes, digest } = exportPackage;
  const archive = { id, bytes: Number(bytes), digest: digest ?? '' };
  return writeTo(file, piecesOf(connection, archive, options), (found) => {
    if (found !== archive.digest)
      throw new ClientError('BAD_ANSWER', `What was downloaded has the digest ${found}; ${digest} was published. It is not kept.`);
  });
}

/** The archive's bytes in order, each once. Where a connection breaks, the next one goes on from there, through a link of its own. */
async function* piecesOf(connection: Connection, archive: Archive, { note, signal }: DownloadOptions): AsyncGenerator<Uint8Array> {
  let at = 0;
  let failures = 0;
  while (at < archive.bytes) {
    const began = at;
    let reason = 'the connection was cut';
    try {
      for await (const piece of piecesFrom(connection, archive, at, signal)) {
        at += piece.length;
        yield piece;
      }
    } catch (error) {
      if (signal?.aborted === true || !mayPass(error)) throw error;
      reason = error instanceof ClientError ? error.message : causeOf(error);
    }
    if (at >= archive.bytes) return;
    failures = at > began ? 1 : failures + 1;
    if (failures >= fruitlessAttempts) {
      throw new ClientError('UNREACHABLE', `The download broke off after ${at} of ${archive.bytes} bytes, again and again: ${reason}.`);
    }
    const waitMs = Math.min(longestWaitMs, firstWaitMs * 2 ** (failures - 1));
    note(`the download broke off after ${at} of ${archive.bytes} bytes (${reason}); going on in ${(waitMs / 1_000).toFixed(1)} s`);
    await sleep(waitMs, undefined, signal === undefined ? {} : { signal });
  }
}

async function* piecesFrom(connection: Connection, archive: Archive, from: number, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
  const { url } = await issueLink(connection, archive.id);
  const headers = from === 0 ? {} : { range: `bytes=${from}-`, 'if-range': `"${archive.digest}"` };
  const response = await reach(connection, url, { headers, ...(signal === undefined ? {} : { signal }) });
  if (!response.ok || response.body === null) throw await refusalOf(response);
  // Whatever stands between may not know ranges, and begins again.
  let unwanted = response.status === 206 ? 0 : from;
  for await (const piece of response.body) {
    const rest = piece.subarray(unwanted);
    unwanted -= piece.length - rest.length;
    if (rest.length > 0) yield rest;
  }
}

export async function issueLink(connection: Connection, exportPackageId: string): Promise<{ url: string; expiresAt: string }> {
  const { issueDownloadLink } = await execute(connection, issueDownloadLinkDocument, { input: { exportPackageId } });
  return granted(issueDownloadLink, 'DownloadLink');
}

/** A server that restarts, a network that is back in a moment. What breaks within an answer is fetch's own error. */
function mayPass(error: unknown): boolean {
  if (error instanceof ClientError) return ['UNREACHABLE', 'UNAVAILABLE', 'BUSY'].includes(error.code);
  return error instanceof TypeError;
}
