// The tokens that job targets are called with: made for one call, in the name of a person, and never kept. They are signed with a key of
// their own, whose public half is served, so that no service needs a secret with which it could make tokens for us, or for another service.
import { createHash, createPrivateKey, createPublicKey, hkdfSync } from 'node:crypto';
import { SignJWT } from 'jose';

export interface CallTokens {
  /** `id` becomes `jti`: the idempotency key where the call is about one. */
  readonly mint: (call: { readonly subject: string; readonly audience: string; readonly id: string }) => Promise<string>;
  /** A JWKS. */
  readonly publicKeys: { readonly keys: readonly object[] };
}

const driver = 'packhorse-driver';
const validSeconds = 300;
// RFC 8410: everything of a PKCS #8 Ed25519 key but the 32 bytes that differ.
const pkcs8Head = Buffer.from('302e020100300506032b657004220420', 'hex');

/** HKDF's `info` keeps this key apart from the others that are made of the same secret. */
export function callTokens(secret: Uint8Array, issuer: string): CallTokens {
  const seed = Buffer.from(hkdfSync('sha256', secret, '', 'packhorse call tokens v1', 32));
  const key = createPrivateKey({ key: Buffer.concat([pkcs8Head, seed]), format: 'der', type: 'pkcs8' });
  const { x } = createPublicKey(key).export({ format: 'jwk' });
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
