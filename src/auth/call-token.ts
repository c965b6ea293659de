// The tokens that job targets are called with: made for one call, in the name of a person, and never kept. They are signed with a key of
// their own, whose public half is served, so that no service needs a secret with which it could make tokens for us, or for another service.
import { createHash } from 'node:crypto';
import { SignJWT } from 'jose';
import { derivedKey } from './derived-key.ts';

export interface CallTokens {
  /** `id` becomes `jti`: the idempotency key where the call is about one. */
  readonly mint: (call: { readonly subject: string; readonly audience: string; readonly id: string }) => Promise<string>;
  /** A JWKS. */
  readonly publicKeys: { readonly keys: readonly object[] };
}

const driver = 'packhorse-driver';
const validSeconds = 300;

export function callTokens(secret: Uint8Array, issuer: string): CallTokens {
  const { privateKey: key, x } = derivedKey(secret, 'packhorse call tokens v1');
  const kid = createHash('sha256').update(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`).digest('base64url'); // RFC 7638
  return {
    publicKeys: { keys: [{ kty: 'OKP', crv: 'Ed25519', x, kid, use: 'sig', alg: 'EdDSA' }] },
    mint({ subject, audience, id }) {
      const now = Math.floor(Date.now() / 1_000);
      return new SignJWT({ act: { sub: driver } })
        .setProtectedHeader({ alg: 'EdDSA', typ: 'JWT', kid })
        .setSubject(subject)
        .setAudience(audience)
        .setIssuer(issuer)
        .setJti(id)
        .setIssuedAt(now)
        .setExpirationTime(now + validSeconds)
        .sign(key);
    },
  };
}
