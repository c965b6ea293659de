// The key that exports are signed with, and the public halves of all that ever were: what /.well-known/packhorse-keys.json serves.
import { sign } from 'node:crypto';
import { derivedKey } from '../auth/derived-key.ts';
import type { Db } from '../db.ts';
import { keyIdOf, type PublicJwk, type SigningKey } from './archive/signing.ts';

export function signingKey(secret: Uint8Array): SigningKey {
  const { privateKey, x } = derivedKey(secret, 'packhorse export signing v1');
  const publicJwk: PublicJwk = { kty: 'OKP', crv: 'Ed25519', x };
  return { keyId: keyIdOf(publicJwk), publicJwk, sign: (bytes) => sign(null, bytes, privateKey).toString('base64url') };
}

/** Kept before the first export is signed with it. Keys of secrets that were replaced stay, or their exports could not be verified. */
export async function ensureSigningKey(db: Db, { keyId, publicJwk }: SigningKey): Promise<void> {
  await db.prisma
    .$executeRaw`INSERT INTO signing_key (key_id, public_key) VALUES (${keyId}, ${publicJwk.x}) ON CONFLICT (key_id) DO NOTHING`;
}

export interface KeySet {
  readonly keys: readonly (PublicJwk & { readonly kid: string; readonly use: 'sig'; readonly alg: 'EdDSA' })[];
}

/** As a JWKS, newest first. */
export async function publicKeys(db: Db): Promise<KeySet> {
  const rows = await db.prisma.signingKey.findMany({ orderBy: { firstUsedAt: 'desc' }, take: 100 });
  return { keys: rows.map(({ keyId, publicKey }) => ({ kty: 'OKP', crv: 'Ed25519', x: publicKey, kid: keyId, use: 'sig', alg: 'EdDSA' })) };
}
