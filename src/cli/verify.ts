// `packhorse verify FILE`: whether an export is what was exported, without a server.
import { readFile } from 'node:fs/promises';
import type { Command } from '@commander-js/extra-typings';
import { ClientError, causeOf } from '../client/request.ts';
import type { PublicJwk } from '../exports/archive/signing.ts';
import type { Finding, Verification } from '../exports/archive/verify.ts';
import { jsonFlag } from './connection.ts';
import { exitCode, Refusal } from './outcome.ts';
import { count, table } from './print.ts';
import type { Surroundings } from './surroundings.ts';

const longestFetchMs = 10_000;

export function addVerify(program: Command, surroundings: Surroundings): void {
  program
    .command('verify')
    .description('check an export offline: its files, their rows, its digest, its signature')
    .argument('<file>', 'the zip')
    .option(
      '--keys <file-or-url>',
      'the keys that may have signed it, as a JWKS: a file, or where a server has them: https://<host>/.well-known/packhorse-keys.json',
    )
    .option(...jsonFlag)
    .action(async (file, { keys, json }) => {
      const trusted = keys === undefined ? null : await readKeys(keys);
      const { verifyExport } = await import('../exports/archive/verify.ts');
      const verification = await verifyExport(file, trusted).catch((error: unknown) => {
        throw unreadable('NO_EXPORT', file, error);
      });
      if (json) surroundings.out(JSON.stringify(asJson(verification)));
      else tell(verification, surroundings);
      surroundings.finish(verification.holds ? exitCode.succeeded : exitCode.refused);
    });
}

function tell({ files, findings, record, manifestDigest, keyIsKnown, holds }: Verification, { out, note }: Surroundings): void {
  const faulty = new Set(findings.map(({ path }) => path));
  const rows = files.map(({ path, rows: found, bytes }) => [
    printable(path),
    found === null ? '?' : count(String(found)),
    count(String(bytes)),
    faulty.has(path) ? 'FAULT' : 'ok',
  ]);
  for (const line of rows.length === 0 ? [] : table(['FILE', 'ROWS#', 'BYTES#', 'STATE'], rows)) out(line);
  if (record !== null) {
    out(`export     ${printable(record.executionId)} of ${printable(record.workspace)}, as of ${record.cutoff}`);
    for (const { dataset, foreignKey } of record.leftOut) out(`left out   ${printable(dataset)}: ${printable(foreignKey)}`);
  }
  if (manifestDigest !== null) out(`digest     ${manifestDigest}`);
  if (record !== null) out(`signature  ${signatureWords(record.signature.keyId, findings, keyIsKnown)}`);
  for (const { code, message } of findings) note(`${printable(message)} [${code}]`);
  out(holds ? 'It holds.' : `It does not hold: ${findings.length} fault${findings.length === 1 ? '' : 's'}.`);
}

function signatureWords(keyId: string, findings: readonly Finding[], keyIsKnown: boolean | null): string {
  if (findings.some(({ code }) => code === 'SIGNATURE')) return `not valid, by the key ${keyId}`;
  if (keyIsKnown === false) return `by the key ${keyId}, which is not among those that were given`;
  return `valid, by the key ${keyId}${keyIsKnown === null ? '; not checked whose key it is: --keys' : ', which was given'}`;
}

/** A count is a string of digits, as in the API. */
function asJson({ holds, findings, files, manifestDigest, record, keyIsKnown }: Verification): object {
  const counted = files.map(({ rows, ...file }) => ({ ...file, rows: rows === null ? null : String(rows) }));
  return { holds, manifestDigest, keyIsKnown, findings, files: counted, record };
}

async function readKeys(place: string): Promise<PublicJwk[]> {
  const text = await (/^https?:\/\//i.test(place) ? fetchText(place) : readText(place));
  const keys = keysOf(text);
  if (keys === null) throw new Refusal('NO_KEYS', `${place} is no JWKS: expected JSON with a list of \`keys\`.`);
  if (keys.length === 0) throw new Refusal('NO_KEYS', `${place} has no Ed25519 key.`);
  return keys;
}

async function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw unreadable('NO_KEYS', file, error);
  });
}

async function fetchText(url: string): Promise<string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(longestFetchMs) });
    if (response.ok) return await response.text();
    throw new ClientError('BAD_ANSWER', `${url} answered ${response.status} and not with keys.`);
  } catch (error) {
    if (error instanceof ClientError) throw error;
    throw new ClientError('UNREACHABLE', `The keys at ${url} cannot be had: ${causeOf(error)}.`, { cause: error });
  }
}

/** null where it is no JWKS. Keys of other kinds are none of ours. */
function keysOf(text: string): PublicJwk[] | null {
  let stated: unknown;
  try {
    stated = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof stated !== 'object' || stated === null || !('keys' in stated) || !Array.isArray(stated.keys)) return null;
  return stated.keys.filter(isEd25519).map(({ kty, crv, x }) => ({ kty, crv, x }));
}

function isEd25519(key: unknown): key is PublicJwk {
  if (typeof key !== 'object' || key === null || !('kty' in key) || !('crv' in key) || !('x' in key)) return false;
  return key.kty === 'OKP' && key.crv === 'Ed25519' && typeof key.x === 'string';
}

/** What the file system says. Anything without a code is a bug of ours. */
function unreadable(code: string, file: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  return new Refusal(code, `${file} cannot be read: ${error.message.replace(/, \w+( '.*')?$/s, '')}.`);
}

/** Somebody else's text on a terminal. */
function printable(text: string): string {
  return text.replace(/\p{C}/gu, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);
}
