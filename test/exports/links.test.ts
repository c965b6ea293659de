// Links as holders, thieves and impatient people use them: what is not ours, not valid any more or not whole gives nothing.
import { createHmac, createPublicKey, randomUUID, verify } from 'node:crypto';
import { Agent } from 'node:http';
import fc from 'fast-check';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { expirePackages } from '../../src/exports/retention.ts';
import { startPackhorse } from '../../src/main.ts';
import { send } from '../server/raw.ts';
import { launch, startApp } from '../support/app.ts';
import { uuidOf } from '../support/states.ts';
import { replaceArchive, type StoredPackage, storedPackage } from './stored.ts';
import { linkOf, mutateExport } from './story.ts';

const app = await startApp();
const { db, exports } = app.app;
let stored: StoredPackage;
let other: StoredPackage;
// Once, but within a test: polls are for tests only.
beforeEach(async () => {
  stored ??= await storedPackage(app, 'links');
  other ??= await storedPackage(app, 'others');
});
afterEach(() => vi.useRealTimers());

const agent = new Agent({ keepAlive: true });
const at = (target: string) => send(app.url, { path: target, agent });
const targetOf = (url: string) => url.slice(app.url.length);
const codeOf = ({ text }: { text: string }) => JSON.parse(text).code;
const expiresOf = (url: string) => Number(new URL(url).searchParams.get('expires'));
const issue = (packageId: string, expiresInSeconds = 60, token?: string) =>
  mutateExport(app, 'issueDownloadLink', { exportPackageId: packageId, expiresInSeconds }, token);
const change = (id: string, data: Parameters<typeof db.prisma.exportPackage.update>[0]['data']) =>
  db.prisma.exportPackage.update({ where: { id }, data });

/** The clock of the server alone. */
function setClock(ms: number): void {
  vi.useFakeTimers({ toFake: ['Date'], now: ms });
}

describe('a link', () => {
  it('gives the archive, until the moment that was told', async () => {
    const before = Date.now();
    const { url, expiresAt } = await issue(stored.packageId, 600);
    const until = Date.parse(expiresAt);
    expect(until).toBe(expiresOf(url) * 1_000);
    expect(until).toBeGreaterThan(before + 599_000 - 1);
    expect(until).toBeLessThanOrEqual(Date.now() + 600_000);
    const answer = await fetch(url);
    expect([answer.status, Buffer.from(await answer.arrayBuffer()).equals(stored.bytes)]).toEqual([200, true]);
  });

  it('holds to the last millisecond, and not one longer', async () => {
    const { url } = await issue(stored.packageId, 600);
    setClock(expiresOf(url) * 1_000 - 1);
    expect((await at(targetOf(url))).status).toBe(200);
    setClock(expiresOf(url) * 1_000);
    const late = await at(targetOf(url));
    expect([late.status, codeOf(late), late.headers['content-type']]).toEqual([410, 'LINK_EXPIRED', 'application/json']);
  });

  it('is never longer than its package is kept', async () => {
    const { expiresAt: before } = await db.prisma.exportPackage.findUniqueOrThrow({ where: { id: stored.id } });
    const { expiresAt: kept } = await change(stored.id, { expiresAt: new Date(Date.now() + 90_500) });
    const link = await issue(stored.packageId, 604_800);
    expect(Date.parse(link.expiresAt)).toBeLessThanOrEqual(kept?.getTime() ?? 0);
    expect(Date.parse(link.expiresAt)).toBeGreaterThan((kept?.getTime() ?? 0) - 1_000);
    expect(expiresOf(link.url) * 1_000).toBe(Date.parse(link.expiresAt));
    await change(stored.id, { expiresAt: before });
  });

  it('is for those who may export, of workspaces that are theirs, for a second to a week', async () => {
    const reader = await app.token({ permissions: ['workspace:read'] });
    const stranger = await app.token({ workspaces: ['others'] });
    expect((await issue(stored.packageId, 60, reader)).__typename).toBe('ForbiddenError');
    expect((await issue(stored.packageId, 60, stranger)).__typename).toBe('NotFoundError');
    for (const seconds of [0, -1, 604_801])
      expect(await issue(stored.packageId, seconds)).toMatchObject({ __typename: 'InvalidInputError', field: 'expiresInSeconds' });
    for (const seconds of [1, 604_800]) expect((await issue(stored.packageId, seconds)).__typename).toBe('DownloadLink');
  });

  it('is for GET and HEAD alone', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const answer = await send(stored.url, { method }, method === 'POST' ? 'x' : undefined);
      expect([method, answer.status, answer.headers['allow']]).toEqual([method, 405, 'GET, HEAD']);
    }
    expect((await fetch(stored.url)).status).toBe(200);
  });
});

describe('what is no link of ours', () => {
  const signed = (stolen: StoredPackage, workspaceId: string, secret: string | Uint8Array, method = 'GET') => {
    const unsigned = `/exports/${stolen.id}/links.zip?expires=${Math.floor(Date.now() / 1_000) + 60}&epoch=0`;
    return `${unsigned}&signature=${createHmac('sha256', secret).update(`${method} ${unsigned} ${workspaceId}`).digest('base64url')}`;
  };

  it('is not found, whatever is wrong with it, in the same words as what was never there', async () => {
    const target = targetOf(stored.url);
    const { secret } = app.tokens;
    const own = uuidOf(stored.workspaceId);
    expect((await at(signed(stored, own, secret))).status).toBe(200);
    const tampered: Record<string, string> = {
      'nothing there': '/exports/nothing',
      'of no package, signed by us': signed({ ...stored, id: randomUUID() }, own, secret),
      'of another secret': signed(stored, own, 'x'.repeat(32)),
      'for another workspace': signed(stored, uuidOf(other.workspaceId), secret),
      'for another method': signed(stored, own, secret, 'PUT'),
      'id of another package': target.replace(stored.id, other.id),
      'id in capitals': target.replace(stored.id, stored.id.toUpperCase()),
      'id that is none': target.replace(stored.id, '-'.repeat(36)),
      'slug of another workspace': target.replace('links.zip', 'others.zip'),
      'signature of another package': target.replace(/signature=.*/, /signature=.*/.exec(other.url)?.[0] ?? ''),
      'a later expiry': target.replace(/expires=(\d+)/, (_, s: string) => `expires=${Number(s) + 1}`),
      'an earlier expiry': target.replace(/expires=(\d+)/, (_, s: string) => `expires=${Number(s) - 1}`),
      'an expiry with a zero before it': target.replace('expires=', 'expires=0'),
      'an expiry with a point': target.replace(/expires=(\d+)/, 'expires=$1.0'),
      'no expiry': target.replace(/expires=\d+&/, ''),
      'two expiries': target.replace('?', '?expires=9999999999&'),
      'another epoch': target.replace('epoch=0', 'epoch=1'),
      'one character of the signature changed': target.replace(/signature=(.)/, (_, c: string) => `signature=${c === 'A' ? 'B' : 'A'}`),
      'cut short': target.slice(0, -1),
      longer: `${target}A`,
      padded: `${target}=`,
      'no signature': target.replace(/&signature=.*/, ''),
      'no query': target.replace(/\?.*/, ''),
      'more in the query': `${target}&download=1`,
      'another name': target.replace('.zip', '.csv'),
      'below it': target.replace('.zip', '.zip/x'),
      'not ASCII': target.replace(/signature=.*/, `signature=${'%C3%A9'.repeat(22)}`),
    };
    const answers = new Set<string>();
    for (const [name, given] of Object.entries(tampered)) {
      const answer = await at(given);
      expect([name, answer.status]).toEqual([name, 404]);
      answers.add(JSON.stringify({ ...answer, headers: { ...answer.headers, date: '' } }));
    }
    expect([...answers]).toHaveLength(1);
  });

  it('is none of 500 mutations of a good one', async () => {
    const target = targetOf(await linkOf(app, stored.packageId));
    const pathOf = (path: string) => {
      const { pathname, search } = new URL(path, app.url);
      return pathname + search;
    };
    const position = fc.nat(target.length - 1);
    const character = fc.integer({ min: 33, max: 126 }).map((code) => String.fromCharCode(code));
    const mutation = fc
      .oneof(
        fc.tuple(position, character).map(([from, to]) => target.slice(0, from) + to + target.slice(from + 1)),
        fc.tuple(position, character).map(([from, to]) => target.slice(0, from) + to + target.slice(from)),
        fc.tuple(position, fc.integer({ min: 1, max: 8 })).map(([from, count]) => target.slice(0, from) + target.slice(from + count)),
        fc.tuple(position, position).map(([from, to]) => target.slice(0, from) + target.slice(to)),
        fc.tuple(position, fc.constantFrom(0x20, 0x01, 0x02, 0x04, 0x08)).map(([from, bit]) => {
          const bytes = Buffer.from(target);
          bytes[from] = (bytes[from] ?? 0) ^ bit;
          return bytes.toString('latin1');
        }),
      )
      // Of characters that can be sent, still among the downloads, and not merely another spelling of the same address.
      .filter((given) => /^\/[!-~]*$/.test(given) && URL.canParse(given, app.url))
      .filter((given) => pathOf(given).startsWith('/exports/') && pathOf(given) !== pathOf(target));
    const accepted: string[] = [];
    await fc.assert(
      fc.asyncProperty(mutation, async (given) => {
        const { status } = await at(given);
        if (status !== 404) accepted.push(`${status} ${given}`);
      }),
      { numRuns: 500 },
    );
    expect(accepted).toEqual([]);
    expect((await at(target)).status).toBe(200);
  });

  it('is one whose package was moved to another workspace behind our back', async () => {
    const { executionId, workspaceId } = await db.prisma.exportPackage.findUniqueOrThrow({ where: { id: other.id } });
    expect((await at(targetOf(other.url))).status).toBe(200);
    await change(other.id, { workspaceId: uuidOf(stored.workspaceId) });
    expect((await at(targetOf(other.url))).status).toBe(404);
    expect((await at(targetOf((await issue(other.packageId)).url))).status).toBe(404);
    await change(other.id, { workspaceId });
    const { execution } = await db.prisma.exportPackage.findUniqueOrThrow({ where: { id: other.id }, include: { execution: true } });
    await db.prisma.exportExecution.update({ where: { id: execution.id }, data: { workspaceId: uuidOf(stored.workspaceId) } });
    expect((await at(targetOf(other.url))).status).toBe(404);
    await db.prisma.exportExecution.update({ where: { id: executionId }, data: { workspaceId } });
    expect((await at(targetOf(other.url))).status).toBe(200);
  });
});

describe('the end of a link', () => {
  it('comes when it is revoked, and new ones hold', async () => {
    const first = await storedPackage(app, 'revoked');
    const revoke = (token?: string) => mutateExport(app, 'revokeDownloadLinks', { exportPackageId: first.packageId }, token);
    expect((await revoke(await app.token({ permissions: ['workspace:read'] }))).__typename).toBe('ForbiddenError');
    expect((await revoke(await app.token({ workspaces: ['others'] }))).__typename).toBe('NotFoundError');
    expect((await fetch(first.url)).status).toBe(200);
    expect(await revoke()).toMatchObject({ __typename: 'ExportPackage', state: 'PUBLISHED' });
    const second = await linkOf(app, first.packageId);
    await revoke();
    const third = await linkOf(app, first.packageId);
    for (const url of [first.url, second]) {
      const answer = await send(url, {});
      expect([answer.status, codeOf(answer)]).toEqual([410, 'LINK_REVOKED']);
    }
    expect((await fetch(third)).status).toBe(200);
    expect((await at(targetOf(third).replace('epoch=2', 'epoch=1'))).status).toBe(404);
  });

  it('comes when its package is no longer kept, whether it was swept or not', async () => {
    const { packageId, id, url } = await storedPackage(app, 'expiring');
    const gone = async () => {
      const answer = await send(url, {});
      expect([answer.status, codeOf(answer)]).toEqual([410, 'PACKAGE_EXPIRED']);
      expect(await issue(packageId)).toMatchObject({ __typename: 'ConflictError', code: 'PACKAGE_EXPIRED' });
    };
    await change(id, { expiresAt: new Date(Date.now() - 1) });
    await gone();
    await expirePackages(db, exports.storage);
    expect((await db.prisma.exportPackage.findUniqueOrThrow({ where: { id } })).state).toBe('EXPIRED');
    await gone();
    expect((await at(targetOf(url).slice(0, -1))).status).toBe(404);
  });
});

describe('a link and the log', () => {
  it('meet in no line, whatever becomes of the download', async () => {
    const lines: string[] = [];
    // Not our own log, which would clean the lines: they are to be clean before.
    const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
    const config = readConfig({
      PORT: '0',
      PACKHORSE_HOME: app.config.home,
      DATABASE_URL: app.config.databaseUrl ?? '',
      PACKHORSE_ROLE: 'api',
    });
    const another = await startPackhorse(config, log);
    try {
      const { url } = await issue(stored.packageId, 600);
      const target = targetOf(url);
      const ask = (path: string, method = 'GET') => send(another.url, { path, method });
      expect((await ask(target)).status).toBe(200);
      expect((await ask(target, 'DELETE')).status).toBe(405);
      expect((await ask(`${target}A`)).status).toBe(404);
      const altered = await storedPackage(app, 'altered');
      await replaceArchive(app, altered, Buffer.alloc(3_000_000, 1));
      await db.prisma.exportPackage.update({ where: { id: altered.id }, data: { blocks: new Uint8Array(96) } });
      expect((await ask(targetOf(altered.url))).status).toBe(500);
      await change(altered.id, { storageKey: 'exports/gone' });
      expect((await ask(targetOf(altered.url))).status).toBe(410);
      setClock(expiresOf(url) * 1_000);
      expect((await ask(target)).status).toBe(410);
      vi.useRealTimers();
      expect(lines.join('')).toContain(altered.id); // it does log
      for (const link of [url, altered.url]) expect(lines.join('')).not.toContain(new URL(link).searchParams.get('signature'));
      expect(lines.join('')).not.toMatch(/signature=|expires=/);
    } finally {
      await another.stop();
    }
  });
});

describe('the public keys', () => {
  it('verify what was signed, also after the secret was replaced', async () => {
    const keysOf = async (url: string) => ((await (await fetch(`${url}/.well-known/packhorse-keys.json`)).json()) as { keys: any[] }).keys;
    const [own] = await keysOf(app.url);
    const signing = app.tasks.exports.runner.generator.key;
    expect(own).toEqual({ kty: 'OKP', crv: 'Ed25519', x: expect.any(String), kid: signing.keyId, use: 'sig', alg: 'EdDSA' });
    const message = Buffer.from('what was exported');
    const key = createPublicKey({ key: own, format: 'jwk' });
    expect(verify(null, message, key, Buffer.from(signing.sign(message), 'base64url'))).toBe(true);
    const replaced = await launch({
      PACKHORSE_HOME: app.config.home,
      DATABASE_URL: app.config.databaseUrl ?? '',
      PACKHORSE_ROLE: 'api',
      PACKHORSE_JWT_SECRET: 'another secret of more than 32 bytes',
    });
    try {
      const keys = await keysOf(replaced.url);
      expect(keys.map(({ kid }) => kid)).toEqual([replaced.tasks.exports.runner.generator.key.keyId, signing.keyId]);
      expect(await keysOf(app.url)).toEqual(keys);
      // A link is of the secret that signed it.
      expect((await send(replaced.url, { path: targetOf(stored.url) })).status).toBe(404);
    } finally {
      await replaced.stop();
    }
    expect((await fetch(`${app.url}/.well-known/packhorse-keys.json`, { method: 'POST' })).status).toBe(405);
    const head = await fetch(`${app.url}/.well-known/packhorse-keys.json`, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-type'), await head.text()]).toEqual([200, 'application/json', '']);
  });
});
