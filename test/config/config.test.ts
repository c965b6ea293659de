import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ConfigError, ensureHome, readConfig, urlOf } from '../../src/config.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'packhorse-config-'));
afterAll(() => rmSync(folder, { recursive: true }));

function targetsFile(content: string): string {
  const file = path.join(folder, 'targets.json');
  writeFileSync(file, content);
  return file;
}

function refusal(env: NodeJS.ProcessEnv): string {
  try {
    readConfig(env);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as Error).message;
  }
  throw new Error('it was not refused');
}

describe('the configuration', () => {
  it('has a default for everything', () => {
    expect(readConfig({})).toMatchObject({
      production: false,
      home: path.resolve('.packhorse'),
      databaseUrl: null,
      host: '127.0.0.1',
      port: 4_000,
      publicUrl: null,
      role: 'all',
      storage: { kind: 'folder', root: path.resolve('.packhorse/storage') },
      jwt: { secret: null, audience: 'packhorse' },
      targets: [],
      fetchHosts: [],
      leaseMs: 30_000,
      limits: { bodyBytes: 262_144, tokens: 1_500 },
    });
  });

  it('takes an empty variable for one that is not set', () => {
    expect(readConfig({ PORT: '', DATABASE_URL: '', PACKHORSE_JWT_SECRET: '' })).toEqual(readConfig({}));
  });

  it('reads what is given', () => {
    const config = readConfig({
      DATABASE_URL: 'postgresql:///db?host=/run/postgresql',
      PORT: '0',
      PACKHORSE_PUBLIC_URL: 'https://example.org/packhorse/',
      PACKHORSE_STORAGE: 'file:///var/lib/packhorse',
      PACKHORSE_JWT_SECRET: 'é'.repeat(16),
      PACKHORSE_FETCH_HOSTS: 'Example.org, 127.0.0.1:9000,[::1]',
      NODE_ENV: 'production',
    });
    expect(config).toMatchObject({
      databaseUrl: 'postgresql:///db?host=/run/postgresql',
      port: 0,
      publicUrl: 'https://example.org/packhorse',
      storage: { root: '/var/lib/packhorse' },
      fetchHosts: ['example.org', '127.0.0.1:9000', '[::1]'],
      production: true,
    });
    expect(config.jwt.secret).toHaveLength(32);
  });

  it.each([
    [{ PORT: 'many' }, 'PORT: expected a whole number from 0 to 65535, found "many"'],
    [{ PORT: '65536' }, 'PORT: expected a whole number from 0 to 65535, found "65536"'],
    [{ PACKHORSE_EXPORT_SLOTS: '0' }, 'PACKHORSE_EXPORT_SLOTS: expected a whole number from 1 to 1000, found "0"'],
    [{ PACKHORSE_ROLE: 'boss' }, 'PACKHORSE_ROLE: expected one of all, api, worker, found "boss"'],
    [
      { PACKHORSE_PUBLIC_URL: 'example.org' },
      'PACKHORSE_PUBLIC_URL: expected a URL that begins with http:// or https://, without a query, found "example.org"',
    ],
    ...['file:here', 's3:', 's3://', 's3://B', 's3://bucket/../up', 's3://bucket//x', 's3://bucket?x', 's3://key:word@bucket'].map(
      (place): [NodeJS.ProcessEnv, string] => [
        { PACKHORSE_STORAGE: place },
        `PACKHORSE_STORAGE: expected file:, file:/path (the path absolute) or s3://bucket/prefix, found "${place}"`,
      ],
    ),
    [
      { PACKHORSE_JWKS_URL: 'http://example.org/keys' },
      'PACKHORSE_JWKS_URL: expected a URL that begins with https://, or with http:// and localhost or 127.0.0.1, found "http://example.org/keys"',
    ],
    [
      { PACKHORSE_OIDC_CLIENT_ID: 'x' },
      'PACKHORSE_JWT_ISSUER: expected the URL of the provider where PACKHORSE_OIDC_CLIENT_ID is set (https://, or http:// on this machine), found "packhorse"',
    ],
    [
      { PACKHORSE_OIDC_CLIENT_ID: 'x', PACKHORSE_JWT_ISSUER: 'http://example.org' },
      'PACKHORSE_JWT_ISSUER: expected the URL of the provider where PACKHORSE_OIDC_CLIENT_ID is set (https://, or http:// on this machine), found "http://example.org"',
    ],
    [
      { PACKHORSE_OIDC_CLIENT_ID: 'x', PACKHORSE_JWT_ISSUER: 'https://example.org' },
      'PACKHORSE_JWKS_URL: expected the keys of the provider where PACKHORSE_OIDC_CLIENT_ID is set, found ""',
    ],
    [
      {
        PACKHORSE_OIDC_CLIENT_ID: 'x',
        PACKHORSE_JWT_ISSUER: 'https://example.org',
        PACKHORSE_JWKS_URL: 'https://example.org/keys',
        PACKHORSE_OIDC_PARAMETERS: 'audience=x&state=fixed',
      },
      'PACKHORSE_OIDC_PARAMETERS: expected no parameter of the sign-in itself, found "state"',
    ],
    [{ PACKHORSE_LEASE_MS: '5000' }, 'PACKHORSE_HEARTBEAT_MS: expected less than PACKHORSE_LEASE_MS (5000), found "10000"'],
    [
      { PACKHORSE_FETCH_HOSTS: 'https://x' },
      'PACKHORSE_FETCH_HOSTS: expected host names or addresses, with or without a port, separated by commas, found "https://x"',
    ],
    [{ NODE_ENV: 'production' }, 'PACKHORSE_JWT_SECRET: expected at least 32 bytes where NODE_ENV is production, found nothing'],
  ])('refuses %j in one line', (env, message) => {
    expect(refusal(env)).toBe(message);
  });

  it.each([
    ['file:', { kind: 'folder', root: path.resolve('.packhorse/storage') }],
    ['file:///var/lib', { kind: 'folder', root: '/var/lib' }],
    ['file:/var/lib', { kind: 'folder', root: '/var/lib' }],
    ['s3://bucket', { kind: 's3', bucket: 'bucket', prefix: '' }],
    ['s3://bucket/', { kind: 's3', bucket: 'bucket', prefix: '' }],
    ['s3://my.bucket-1/some/where_else/', { kind: 's3', bucket: 'my.bucket-1', prefix: 'some/where_else' }],
  ])('reads %s as a place for storage', (place, expected) => {
    expect(readConfig({ PACKHORSE_STORAGE: place }).storage).toMatchObject(expected);
  });

  it.each([
    [{}, { endpoint: null, region: null }],
    [
      { AWS_REGION: 'eu-west-1', AWS_DEFAULT_REGION: 'eu-west-2' },
      { endpoint: null, region: 'eu-west-1' },
    ],
    [{ AWS_DEFAULT_REGION: 'eu-west-2' }, { region: 'eu-west-2' }],
    [{ AWS_ENDPOINT_URL: 'http://127.0.0.1:9000/' }, { endpoint: 'http://127.0.0.1:9000', region: 'us-east-1' }],
    [
      { AWS_ENDPOINT_URL: 'http://a', AWS_ENDPOINT_URL_S3: 'http://b', AWS_REGION: 'x' },
      { endpoint: 'http://b', region: 'x' },
    ],
  ])('finds the S3 server of %j', (env, expected) => {
    expect(readConfig({ PACKHORSE_STORAGE: 's3://bucket', ...env }).storage).toMatchObject(expected);
  });

  it('never shows a secret', () => {
    expect(refusal({ PACKHORSE_JWT_SECRET: 'too short' })).toBe(
      'PACKHORSE_JWT_SECRET: expected at least 32 bytes, found one of 9 bytes, not shown',
    );
    expect(refusal({ DATABASE_URL: 'mysql://me:hush@host/db' })).not.toContain('hush');
    expect(refusal({ AWS_ENDPOINT_URL: 'http://me:hush@host' })).not.toContain('hush');
    expect(refusal({ AWS_ENDPOINT_URL_S3: 'http://me:hush@host' })).not.toContain('hush');
  });

  it('reads the list of targets', () => {
    const file = targetsFile('[{"name": "crm", "baseUrl": "http://127.0.0.1:9000/", "idempotency": "key", "audience": "crm"}]');
    expect(readConfig({ PACKHORSE_TARGETS: file }).targets).toEqual([
      { name: 'crm', baseUrl: 'http://127.0.0.1:9000', idempotency: 'key', audience: 'crm', maxConcurrent: 4, timeoutMs: 10_000 },
    ]);
  });

  it.each([
    ['not json', /expected JSON/],
    ['{}', /the whole: expected /],
    ['[{"name": "crm", "baseUrl": "http://x", "idempotency": "foo"}]', /0\.idempotency: expected one of key, lookup, none$/],
    ['[{"name": "store", "baseUrl": "http://x", "idempotency": "key"}]', /0\.name: expected small letters/],
    ['[{"name": "crm", "baseUrl": "http://x", "idempotency": "key", "speed": 1}]', /speed/],
    [
      '[{"name": "a", "baseUrl": "http://x", "idempotency": "key"}, {"name": "a", "baseUrl": "http://y", "idempotency": "key"}]',
      /found "a" again$/,
    ],
  ])('refuses %s as the list of targets', (content, message) => {
    const line = refusal({ PACKHORSE_TARGETS: targetsFile(content) });
    expect(line).toMatch(/^PACKHORSE_TARGETS: .*targets\.json: .+$/);
    expect(line).toMatch(message);
  });

  it('refuses a list of targets that is not there', () => {
    expect(refusal({ PACKHORSE_TARGETS: '/nowhere.json' })).toBe(
      'PACKHORSE_TARGETS: /nowhere.json: expected a file that can be read (ENOENT)',
    );
  });

  it('makes the home, and refuses one that cannot be made', () => {
    ensureHome(path.join(folder, 'deep/home'));
    ensureHome(path.join(folder, 'deep/home'));
    mkdirSync(path.join(folder, 'other'));
    writeFileSync(path.join(folder, 'other/file'), '');
    const home = path.join(folder, 'other/file/home');
    expect(() => ensureHome(home)).toThrow(`PACKHORSE_HOME: expected a folder that can be made and written, found ${home} (ENOTDIR)`);
  });

  it('brackets an IPv6 address', () => {
    expect(urlOf('::1', 80)).toBe('http://[::1]:80');
    expect(urlOf('127.0.0.1', 4_000)).toBe('http://127.0.0.1:4000');
  });
});
