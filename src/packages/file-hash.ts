// What a file of the package is, measured, against what the descriptor says of it.
import { createHash, getHashes } from 'node:crypto';
import type { Readable } from 'node:stream';

export interface MeasuredFile {
  readonly bytes: number;
  /** Hex digits by algorithm. `sha256` is always there. */
  readonly digests: ReadonlyMap<string, string>;
}

export interface StatedHash {
  readonly algorithm: string;
  readonly digits: string;
}

const algorithms = ['md5', 'sha1', 'sha256', 'sha512'];

/** The standard's default, where no algorithm is named, is MD5. null for an algorithm that is not checked. */
export function parseStatedHash(stated: string): StatedHash | null {
  const [, name = 'md5', digits = ''] = /^(?:([^:]*):)?(.*)$/s.exec(stated) ?? [];
  const algorithm = name.toLowerCase().replace(/^sha-/, 'sha');
  // A machine that runs in FIPS mode has no MD5.
  return algorithms.includes(algorithm) && getHashes().includes(algorithm) ? { algorithm, digits: digits.trim().toLowerCase() } : null;
}

export async function measureFile(stream: Readable, extraAlgorithms: Iterable<string>): Promise<MeasuredFile> {
  const hashes = [...new Set(['sha256', ...extraAlgorithms])].map((algorithm) => ({ algorithm, hash: createHash(algorithm) }));
  let bytes = 0;
  // A stream of bytes yields buffers; the typings of Readable know only `any`.
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    for (const { hash } of hashes) hash.update(chunk);
  }
  return { bytes, digests: new Map(hashes.map(({ algorithm, hash }) => [algorithm, hash.digest('hex')])) };
}
