import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sealer } from '../../src/auth/sealed.ts';

const secret = randomBytes(32);
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_= '.split('');

describe('a sealed secret', () => {
  it('opens to what was sealed, in another process with the same secret too', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (plain, context) => {
        expect(sealer(Uint8Array.from(secret)).open(sealer(secret).seal(plain, context), context)).toBe(plain);
      }),
    );
  });

  it('shows nothing of what was sealed, and differs each time', () => {
    const sealed = Array.from({ length: 100 }, () => sealer(secret).seal('whsec_hunter2', 'destination 1'));
    expect(new Set(sealed.map((text) => text.slice(0, 19))).size).toBe(100); // the nonces
    for (const text of sealed) {
      expect(text).toMatch(/^v1\.[\w-]+$/);
      expect(Buffer.from(text.slice(3), 'base64url').toString('latin1')).not.toContain('hunter2');
    }
  });

  it('does not open with another secret or for another context', () => {
    const sealed = sealer(secret).seal('plain', 'destination 1');
    expect(sealer(randomBytes(32)).open(sealed, 'destination 1')).toBeNull();
    expect(sealer(secret).open(sealed, 'destination 2')).toBeNull();
    expect(sealer(secret).open(sealed, '')).toBeNull();
  });

  it('does not open when any bit or character of it is changed', () => {
    const { seal, open } = sealer(secret);
    const sealed = seal('plaintext?', 'c'); // so long that the last character has bits that are no byte's
    const bytes = Buffer.from(sealed.slice(3), 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(open(`v1.${changed.toString('base64url')}`, 'c')).toBeNull();
    }
    for (let at = 0; at < sealed.length; at++) {
      for (const other of ['', ...alphabet]) {
        const changed = sealed.slice(0, at) + other + sealed.slice(at + 1);
        if (changed !== sealed) expect(open(changed, 'c')).toBeNull();
      }
    }
  });

  it('is not any other text', () => {
    const { seal, open } = sealer(secret);
    const sealed = seal('', 'c');
    const others = [
      '',
      'v1.',
      'v1.AAAA',
      'whsec_AAAA',
      sealed.replace('v1', 'v2'),
      `${sealed}\n`,
      `${sealed}=`,
      ` ${sealed}`,
      sealed.slice(0, -2),
    ];
    expect(others.map((text) => open(text, 'c'))).toEqual(others.map(() => null));
    expect(open(sealed, 'c')).toBe('');
  });
});
