import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { jwtSecret, localSecret } from '../../src/auth/secret.ts';

function newHome(): string {
  const home = mkdtempSync(path.join(tmpdir(), 'packhorse-home-'));
  afterAll(() => rmSync(home, { recursive: true }));
  return home;
}

describe('the secret of a home', () => {
  it('is made once, is 32 random bytes in text and only its owner reads it', () => {
    const home = path.join(newHome(), 'new');
    const secret = localSecret(home, false);
    expect(Buffer.from(new TextDecoder().decode(secret), 'base64url')).toHaveLength(32);
    expect(localSecret(home, false)).toEqual(secret);
    expect(statSync(path.join(home, 'secret')).mode & 0o777).toBe(0o600);
    expect(readdirSync(home)).toEqual(['secret']);
  });

  it('is the same for processes that make it at the same time', async () => {
    const home = newHome();
    const script = path.resolve(import.meta.dirname, '../../src/auth/secret.ts');
    const code = `import(${JSON.stringify(script)}).then(({ localSecret }) => console.log(new TextDecoder().decode(localSecret(${JSON.stringify(home)}, false))))`;
    const run = promisify(execFile);
    const printed = await Promise.all(Array.from({ length: 4 }, () => run(process.execPath, ['--import', 'tsx', '-e', code])));
    expect(new Set(printed.map(({ stdout }) => stdout.trim()))).toEqual(new Set([readFileSync(path.join(home, 'secret'), 'utf8').trim()]));
  });

  it('is refused in production, and where the file is damaged', () => {
    const home = newHome();
    expect(() => localSecret(home, true)).toThrow('PACKHORSE_JWT_SECRET: the generated secret is refused where NODE_ENV is production');
    writeFileSync(path.join(home, 'secret'), 'short');
    expect(() => localSecret(home, false)).toThrow(/expected a secret of at least 32 bytes, found 5: delete it/);
  });

  it('gives way to one that is configured', () => {
    const secret = new Uint8Array(32);
    expect(jwtSecret({ home: '/nowhere', production: true, jwt: { secret, keysUrl: null, audience: '', issuer: '' } })).toBe(secret);
  });
});
