// Signing keys that every process derives from the secret they share: none has to be made, kept or handed round.
import { createPrivateKey, createPublicKey, hkdfSync, type KeyObject } from 'node:crypto';

/** An Ed25519 key. */
export interface DerivedKey {
  readonly privateKey: KeyObject;
  /** The public half: 32 bytes, base64url. */
  readonly x: string;
}

// RFC 8410: everything of a PKCS #8 Ed25519 key but the 32 bytes that differ.
const pkcs8Head = Buffer.from('302e020100300506032b657004220420', 'hex');

/** `info` says what the key is for: HKDF keeps the keys of one secret apart by it. */
export function derivedKey(secret: Uint8Array, info: string): DerivedKey {
  const seed = Buffer.from(hkdfSync('sha256', secret, '', info, 32));
  const privateKey = createPrivateKey({ key: Buffer.concat([pkcs8Head, seed]), format: 'der', type: 'pkcs8' });
  const { x } = createPublicKey(privateKey).export({ format: 'jwk' });
  if (x === undefined) throw new Error('expected an Ed25519 key to have an x');
  return { privateKey, x };
}
