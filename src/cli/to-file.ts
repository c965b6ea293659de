// What a server sends, made a file on this machine: it is there only once it is whole, and until then it is `<file>.part`.
import { createHash } from 'node:crypto';
import { access, constants, open, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { ClientError } from '../client/request.ts';
import { Refusal } from './outcome.ts';

/** What would be wrong with the file at the end, said before anything is asked for. */
export async function refuseUnlessWritable(file: string): Promise<void> {
  if ((await stat(file).catch(() => null))?.isDirectory()) throw new Refusal('NO_FILE', `${file} is a folder: name a file in it.`);
  await access(path.dirname(file), constants.W_OK).catch((error: unknown) => {
    throw unwritable(file, error);
  });
}

/** `check` is given the digest, `sha256:<hex>`; where it throws, nothing is kept. */
export async function writeTo(file: string, pieces: AsyncIterable<Uint8Array>, check: (digest: string) => void): Promise<void> {
  const part = `${file}.part`;
  try {
    check(await writePart(part, pieces));
    await rename(part, file).catch((error: unknown) => {
      throw unwritable(file, error);
    });
  } finally {
    await rm(part, { force: true });
  }
}

async function writePart(part: string, pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const refuse = (error: unknown): never => {
    throw unwritable(part, error);
  };
  const hash = createHash('sha256');
  const handle = await open(part, 'w').catch(refuse);
  try {
    for await (const piece of pieces) {
      hash.update(piece);
      await handle.appendFile(piece).catch(refuse);
    }
    await handle.sync().catch(refuse);
  } finally {
    await handle.close();
  }
  return `sha256:${hash.digest('hex')}`;
}

/** Why a link gave nothing. */
export async function refusalOf(response: Response): Promise<Error> {
  const answer: unknown = await response.json().catch(() => null);
  const told = typeof answer === 'object' && answer !== null && 'code' in answer && 'message' in answer ? answer : null;
  const message = told === null ? `The download was answered with ${response.status}.` : String(told.message);
  if (response.status >= 500) return new ClientError('UNAVAILABLE', message);
  return told === null ? new ClientError('BAD_ANSWER', message) : new Refusal(String(told.code), message);
}

/** What the file system says. Anything without a code is a bug of ours. */
function unwritable(file: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  return new Refusal('NO_FILE', `${file} cannot be written: ${error.message.replace(/, \w+( '.*')?$/s, '')}.`);
}
