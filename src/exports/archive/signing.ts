// Exports are signed with a key that every process derives from the secret they share: none has to be made, kept or handed round.
import { createHash, createPrivateKey, createPublicKey, hkdfSync, sign, verify } from 'node:crypto';
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

// RFC 8410: everything of a PKCS #8 Ed25519 key but the 32 bytes that differ.
const pkcs8Head = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Tokens are signed with the same secret: HKDF's `info` keeps the keys apart. */
export function signingKey(secret: Uint8Array): SigningKey {
  const seed = Buffer.from(hkdfSync('sha256', secret, '', 'packhorse export signing v1', 32));
  const privateKey = createPrivateKey({ key: Buffer.concat([pkcs8Head, seed]), format: 'der', type: 'pkcs8' });
  const { x } = createPublicKey(privateKey).export({ format: 'jwk' });
  if (x === undefined) throw new Error('expected an Ed25519 key to have an x');
  const publicJwk: PublicJwk = { kty: 'OKP', crv: 'Ed25519', x };
  return { keyId: keyIdOf(publicJwk), publicJwk, sign: (bytes) => sign(null, bytes, privateKey).toString('base64url') };
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
