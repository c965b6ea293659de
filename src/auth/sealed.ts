// Secrets that must be read again, such as those of webhooks, as they stand in the database: encrypted, and bound to where they stand.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

export interface Sealer {
  /** The context says what the secret is of, such as `destination <id>`; it is not kept in the text. */
  readonly seal: (plain: string, context: string) => string;
  /** Null where it cannot be opened: sealed with another secret or for another context, or changed. */
  readonly open: (sealed: string, context: string) => string | null;
}

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

/** With a key made from the secret that all processes share: another one there, and nothing that was sealed can be opened. */
export function sealer(secret: Uint8Array): Sealer {
  const key = Buffer.from(hkdfSync('sha256', secret, new Uint8Array(), 'packhorse sealed secrets v1', 32));

  return {
    seal(plain, context) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(context));
      const text = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      return `v1.${Buffer.concat([nonce, text, cipher.getAuthTag()]).toString('base64url')}`;
    },

    open(sealed, context) {
      const [, encoded = ''] = /^v1\.([\w-]+)$/.exec(sealed) ?? [];
      const bytes = Buffer.from(encoded, 'base64url');
      if (bytes.length < nonceBytes + tagBytes || bytes.toString('base64url') !== encoded) return null;
      const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes });
      decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(-tagBytes));
      try {
        return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()]).toString('utf8');
      } catch {
        return null;
      }
    },
  };
}
