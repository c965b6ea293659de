// `packhorse verify` as a person runs it: no server, no database, no home.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import { descriptorBytes } from '../../src/exports/archive/manifest.ts';
import { signRecord } from '../../src/exports/archive/signing.ts';
import { draft, filesOf, otherKey, ourKey, writeExport } from '../exports/exported.ts';
import { expectOneLine, packhorse } from '../support/command-line.ts';

vi.setConfig({ testTimeout: 300_000 }); // processes start slowly where much else runs

const folder = mkdtempSync(path.join(tmpdir(), 'packhorse-cli-verify-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const jwks = (...keys: readonly object[]) => JSON.stringify({ keys });
const stated = (key: typeof ourKey) => ({ ...key.publicJwk, kid: key.keyId, use: 'sig', alg: 'EdDSA' });
const keys = path.join(folder, 'keys.json');
writeFileSync(keys, jwks({ kty: 'RSA', n: 'AQAB', e: 'AQAB' }, stated(ourKey)));
const good = await writeExport(path.join(folder, 'good.zip'), filesOf(draft()));

async function run(content: Iterable<readonly [string, Buffer]>, ...args: readonly string[]) {
  const file = await writeExport(path.join(folder, `${Math.random()}.zip`), content);
  return packhorse(['verify', file, ...args]);
}

it('tells a person what it counted and checked, and exits with 0', async () => {
  const { code, stdout, stderr } = await packhorse(['verify', good, '--keys', keys]);
  expect(code, stderr).toBe(0);
  expect(stderr).toBe('');
  expect(stdout).toMatch(/^FILE +ROWS +BYTES +STATE\ndata\/depots\.csv +2 +\d+ +ok\ndata\/routes\.csv +0 +8 +ok\n/);
  expect(stdout).toContain(`\ndigest     ${draft().record.manifestDigest}\n`);
  expect(stdout).toContain(`\nsignature  valid, by the key ${ourKey.keyId}, which was given\n`);
  expect(stdout).toContain('\nexport     0198b4a1-0000-7000-8000-000000000001 of depot, as of 2026-11-30T12:00:00.123456Z\n');
  expect(stdout).toContain('\nleft out   routes: ');
  expect(stdout).toMatch(/\nIt holds\.\n$/);
});

it('says that it was not checked whose key it is, where no keys are given', async () => {
  const { code, stdout } = await run(filesOf(draft(), otherKey));
  expect(code).toBe(0);
  expect(stdout).toContain(`by the key ${otherKey.keyId}; not checked whose key it is`);
});

it('answers with one JSON object, of what holds and of what does not', async () => {
  const whole = await packhorse(['verify', good, '--json', '--keys', keys]);
  expect([whole.code, whole.stderr]).toEqual([0, '']);
  expect(JSON.parse(whole.stdout)).toMatchObject({
    holds: true,
    manifestDigest: draft().record.manifestDigest,
    keyIsKnown: true,
    findings: [],
    files: [
      { dataset: 'depots', path: 'data/depots.csv', rows: '2' },
      { dataset: 'routes', rows: '0' },
    ],
    record: { workspace: 'depot', signature: { keyId: ourKey.keyId } },
  });
  const none = await packhorse(['verify', keys, '--json']);
  expect([none.code, none.stderr]).toEqual([2, '']);
  expect(JSON.parse(none.stdout)).toMatchObject({ holds: false, manifestDigest: null, files: [], findings: [{ code: 'NOT_AN_EXPORT' }] });
});

it('exits with 2 for each kind of tampering, and names it', async () => {
  const record = signRecord(draft().record, ourKey);
  const changed = draft();
  changed.data.set('data/depots.csv', Buffer.from('id,city\n1,Bern\n2,Oslo\n'));
  const without = filesOf(draft());
  without.delete('data/routes.csv');
  const miscounted = draft();
  miscounted.record = { ...miscounted.record, counts: miscounted.record.counts.map((count) => ({ ...count, rows: '7' })) };
  const described = draft();
  described.descriptor.resources[0]!['hash'] = `sha256:${'0'.repeat(64)}`;
  const cases = [
    [filesOf(changed), 'CHANGED'],
    [without, 'MISSING'],
    [filesOf(draft()).set('data/more.csv', Buffer.from('a\n')), 'EXTRA'],
    [filesOf(miscounted), 'COUNT'],
    [filesOf(described), 'DIGEST'],
    [filesOf(draft()).set('packhorse-export.json', descriptorBytes({ ...record, workspace: 'other' })), 'SIGNATURE'],
    [filesOf(draft(), otherKey), 'UNKNOWN_KEY'],
  ] as const;
  const answers = await Promise.all(cases.map(([content]) => run(content, '--keys', keys)));
  for (const [index, { code, stdout, stderr }] of answers.entries()) {
    const finding = cases[index]![1];
    expect(code, finding).toBe(2);
    expect(stderr).toMatch(new RegExp(`^.+\\. \\[${finding}\\]$`, 'm'));
    expect(stdout).toMatch(/\nIt does not hold: \d faults?\.\n$/);
    expect(stdout.includes('FAULT'), stdout).toBe(['CHANGED', 'MISSING', 'COUNT', 'DIGEST'].includes(finding));
  }
});

it('fetches the keys that a server has', async () => {
  const server = createServer(({ url }, response) => {
    if (url === '/gone') response.writeHead(404).end();
    else response.end(jwks(stated(url === '/ours' ? ourKey : otherKey)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const base = `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`;
  expect(await packhorse(['verify', good, '--keys', `${base}/ours`])).toMatchObject({ code: 0 });
  expect(await packhorse(['verify', good, '--keys', `${base}/others`])).toMatchObject({ code: 2 });
  const gone = await packhorse(['verify', good, '--keys', `${base}/gone`]);
  await new Promise((resolve) => server.close(resolve));
  const closed = await packhorse(['verify', good, '--keys', `${base}/ours`]);
  for (const [answer, code] of [
    [gone, 'BAD_ANSWER'],
    [closed, 'UNREACHABLE'],
  ] as const) {
    expect([answer.code, answer.stdout]).toEqual([1, '']);
    expectOneLine(answer.stderr, code);
  }
});

it('refuses in one line what it cannot read', async () => {
  const empty = path.join(folder, 'empty.json');
  writeFileSync(empty, jwks());
  const cases = [
    [[path.join(folder, 'none.zip')], /none\.zip cannot be read: ENOENT: no such file or directory\. \[NO_EXPORT\]/],
    [[folder], /EISDIR.*NO_EXPORT/],
    [[good, '--keys', path.join(folder, 'none.json')], /none\.json cannot be read: ENOENT.*NO_KEYS/],
    [[good, '--keys', good], /good\.zip is no JWKS/],
    [[good, '--keys', empty], /empty\.json has no Ed25519 key/],
  ] as const;
  const answers = await Promise.all(cases.map(([args]) => packhorse(['verify', ...args])));
  for (const [index, { code, stdout, stderr }] of answers.entries()) {
    expect([code, stdout], stderr).toEqual([2, '']);
    expectOneLine(stderr, cases[index]![1]);
  }
});

it('prints nothing that a terminal would obey', async () => {
  const made = draft();
  made.descriptor.resources[0]!['path'] = 'data/\u001b[2J\u202e.csv';
  made.record = { ...made.record, workspace: '\u001b]0;x\u0007', leftOut: [{ dataset: '\u001bc', foreignKey: '\u009b' }] };
  const { code, stdout, stderr } = await run([...filesOf(made), ['\u001b[31m', Buffer.from('')]]);
  expect(code).toBe(2);
  expect((stdout + stderr).replaceAll('\n', '')).not.toMatch(/\p{C}/u);
  expect(stdout).toContain('data/\\u{1b}[2J\\u{202e}.csv');
});
