// The signature of an export: made with a key that is given, and whether it holds.
import { createHash, createPublicKey, verify } from 'node:crypto';
import { canonicalJson, type ExportRecord, type RecordSignature, signedBytes, type UnsignedRecord } from './manifest.ts';

/** As it stands in a JWKS. */
export interface PublicJwk {
  readonly kty: 'OKP';
  readonly crv: 'Ed25519';
  /** 32 bytes, base64url. */
  readonly x: string;
}

export interface SigningKey {
  readonly keyId: string;
  readonly publicJwk: PublicJwk;
  /** The signature, base64url. */
  sign(bytes: Uint8Array): string;
}

export function signRecord(record: UnsignedRecord, key: SigningKey): ExportRecord {
  const signature: RecordSignature = {
    algorithm: 'Ed25519',
    keyId: key.keyId,
    publicKey: key.publicJwk.x,
    value: key.sign(signedBytes(record)),
  };
  return { ...record, signature };
}

/** False also for a key that is none. */
export function verifySignature({ signature, ...record }: ExportRecord, { kty, crv, x }: PublicJwk): boolean {
  try {
    const publicKey = createPublicKey({ key: { kty, crv, x }, format: 'jwk' });
    return verify(null, signedBytes(record), publicKey, Buffer.from(signature.value, 'base64url'));
  } catch (error) {
    if (error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_CRYPTO_')) return false;
    throw error;
  }
}

/** The RFC 7638 thumbprint, which is the SHA-256 of the canonical form of just these members. */
export function keyIdOf({ kty, crv, x }: PublicJwk): string {
  return createHash('sha256').update(canonicalJson({ kty, crv, x })).digest('base64url');
}
