// What is signed in our links: a text, by the secret that all processes share. Of the text, so that there is one way only to write a link.
import { createHmac, timingSafeEqual } from 'node:crypto';

export function signText(secret: Uint8Array, text: string): string {
  return createHmac('sha256', secret).update(text).digest('base64url');
}

export function isSignatureOf(secret: Uint8Array, text: string, given: string): boolean {
  const [a, b] = [Buffer.from(signText(secret, text)), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}
