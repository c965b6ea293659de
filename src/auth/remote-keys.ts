// The keys of who issues tokens elsewhere, as a JWKS that is fetched, kept, and fetched again when a token names one that is not among them.
import { createRemoteJWKSet, errors, type JWTVerifyGetKey } from 'jose';

/** Whether a token is good cannot be said now: that is no refusal of it. */
export class KeysUnavailableError extends Error {
  override readonly name = 'KeysUnavailableError';
  readonly code = 'UNAVAILABLE';
  constructor(options?: ErrorOptions) {
    super('The keys that tokens are checked with cannot be fetched now. Try again in a moment.', options);
  }
}

const fetchMs = 3_000;
const keptMs = 600_000;
// Between two fetches for unknown keys: or tokens that name keys of their own invention would have us fetch without end.
const usualCooldownMs = 10_000;

export function remoteKeys(url: string, cooldownMs = usualCooldownMs): JWTVerifyGetKey {
  const keys = createRemoteJWKSet(new URL(url), { timeoutDuration: fetchMs, cacheMaxAge: keptMs, cooldownDuration: cooldownMs });
  return async (header, token) => {
    try {
      return await keys(header, token);
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) throw error;
      if (error instanceof errors.JOSENotSupported) throw error;
      throw new KeysUnavailableError({ cause: error });
    }
  };
}
