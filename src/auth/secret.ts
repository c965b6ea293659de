// The key that tokens are signed with where none is configured. Kept in the home, made on first use.
import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Config, ConfigError, ensureHome } from '../config.ts';

const smallestSecret = 32;

/** What tokens are verified with: the configured secret, or the home's own. */
export function jwtSecret(config: Pick<Config, 'home' | 'jwt' | 'production'>): Uint8Array {
  return config.jwt.secret ?? localSecret(config.home, config.production);
}

/** The secret of this home. Its text can be given to another machine as PACKHORSE_JWT_SECRET. */
export function localSecret(home: string, production: boolean): Uint8Array {
  if (production) throw new ConfigError('PACKHORSE_JWT_SECRET: the generated secret is refused where NODE_ENV is production: set one');
  ensureHome(home);
  const file = path.join(home, 'secret');
  const secret = read(file) ?? create(file);
  if (secret.length < smallestSecret) {
    throw new ConfigError(
      `${file}: expected a secret of at least ${smallestSecret} bytes, found ${secret.length}: delete it to have a new one made`,
    );
  }
  return secret;
}

function read(file: string): Uint8Array | null {
  try {
    return new TextEncoder().encode(readFileSync(file, 'utf8').trim());
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw new ConfigError(`${file}: expected a file that can be read (${codeOf(error)})`, { cause: error });
  }
}

/** Of any number of processes that create it at once, all return the one that was first. */
function create(file: string): Uint8Array {
  const own = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`;
  try {
    writeFileSync(own, `${randomBytes(smallestSecret).toString('base64url')}\n`, { mode: 0o600, flag: 'wx', flush: true });
    linkSync(own, file); // exclusive like O_EXCL, and nobody sees it half written
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw new ConfigError(`${file}: expected to be able to make it (${codeOf(error)})`, { cause: error });
  } finally {
    rmSync(own, { force: true });
  }
  return read(file) ?? new Uint8Array();
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
