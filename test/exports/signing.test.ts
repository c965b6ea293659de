// The key that exports are signed with, and what a signature covers.
import { createPublicKey, verify } from 'node:crypto';
import { calculateJwkThumbprint } from 'jose';
import { describe, expect, it } from 'vitest';
import { canonicalJson, type ExportRecord, type UnsignedRecord } from '../../src/exports/archive/manifest.ts';
import { keyIdOf, signRecord, verifySignature } from '../../src/exports/archive/signing.ts';
import { signingKey } from '../../src/exports/keys.ts';

const secret = Buffer.from('0123456789abcdef0123456789abcdef');
const key = signingKey(secret);
const record: UnsignedRecord = {
  version: 1,
  executionId: '0198b4a1-0000-7000-8000-000000000001',
  workspace: 'depot',
  cutoff: '2026-11-30T12:00:00.123456Z',
  settings: { format: 'csv', datasets: null, retentionDays: 30, destinations: ['finance'] },
  counts: [{ dataset: 'depots', rows: '2', bytes: 20 }],
  manifestDigest: `sha256:${'ab'.repeat(32)}`,
  leftOut: [{ dataset: 'routes', foreignKey: '`depot` refers to `depots`, which was not selected.' }],
};

describe('the signing key', () => {
  it('is the same for every process that has the secret, and another for another secret', () => {
    expect(signingKey(secret).publicJwk).toEqual(key.publicJwk);
    expect(signingKey(secret).sign(secret)).toBe(key.sign(secret));
    expect(signingKey(Buffer.from(`${secret.toString()}x`)).keyId).not.toBe(key.keyId);
  });

  it('stays what it is from one version to the next, so that old exports can be verified', () => {
    expect(key.publicJwk.x).toBe('D9dqLrcQiimuMXkQS3w5Y4jyBt6QH3wC-aAc1wWNkWY');
  });

  it('is named by its RFC 7638 thumbprint', async () => {
    expect(key.keyId).toBe(await calculateJwkThumbprint({ ...key.publicJwk }));
    // RFC 8037, appendix A.3.
    const example = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' } as const;
    expect(keyIdOf(example)).toBe('kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k');
  });
});

describe('a signed record', () => {
  const signed = signRecord(record, key);

  it('verifies with the public key alone, over the canonical form of all but the signature', () => {
    expect(signed.signature).toMatchObject({ algorithm: 'Ed25519', keyId: key.keyId, publicKey: key.publicJwk.x });
    expect(verifySignature(signed, key.publicJwk)).toBe(true);
    const publicKey = createPublicKey({ key: { ...key.publicJwk }, format: 'jwk' });
    expect(verify(null, Buffer.from(canonicalJson(record)), publicKey, Buffer.from(signed.signature.value, 'base64url'))).toBe(true);
  });

  it('does not verify once anything in it is another', () => {
    const changes: Partial<ExportRecord>[] = [
      { workspace: 'other' },
      { cutoff: '2026-11-30T12:00:00.123457Z' },
      { manifestDigest: `sha256:${'ac'.repeat(32)}` },
      { counts: [{ dataset: 'depots', rows: '3', bytes: 20 }] },
      { counts: [] },
      { leftOut: [] },
      { settings: { ...record.settings, retentionDays: 31 } },
      { signature: { ...signed.signature, value: signed.signature.value.replace(/^./, (char) => (char === 'A' ? 'B' : 'A')) } },
      { signature: { ...signed.signature, value: '' } },
    ];
    for (const change of changes) expect(verifySignature({ ...signed, ...change }, key.publicJwk), JSON.stringify(change)).toBe(false);
  });

  it('does not verify with another key, or with what is no key', () => {
    expect(verifySignature(signed, signingKey(Buffer.alloc(32)).publicJwk)).toBe(false);
    for (const x of ['', 'AAAA', '!'.repeat(43), 'A'.repeat(43), 'A'.repeat(500)]) {
      expect(verifySignature(signed, { ...key.publicJwk, x }), x).toBe(false);
    }
  });
});
