// Uploads as a stranger, an impatient client and a hostile archive would make them: what is refused leaves nothing behind.
import { createHmac, randomUUID } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { PassThrough } from 'node:stream';
import { beforeAll, describe, expect, it } from 'vitest';
import { receivePackage } from '../../src/packages/operations.ts';
import { zipBytes } from '../packages/zip-bytes.ts';
import { startApp, storageRoot } from '../support/app.ts';
import { createWorkspace, depot, mutate, reach, readRun, register, zipOf } from '../support/story.ts';
import { send } from './raw.ts';

const limit = 300_000;
const app = await startApp({ env: { PACKHORSE_MAX_PACKAGE_BYTES: String(limit) } });
const port = Number(new URL(app.url).port);
let workspaceId: string;
let zip: Buffer;
beforeAll(async () => {
  workspaceId = await createWorkspace(app, 'uploads');
  zip = await zipOf('depot', depot);
});

async function staged(): Promise<{ packageId: string; url: string; id: string }> {
  const { data } = await app.graphql(
    'mutation ($input: StagePackageInput!) { stagePackage(input: $input) { ... on StagedPackage { packageId uploadUrl } } }',
    { input: { workspaceId } },
  );
  const { packageId, uploadUrl } = data.stagePackage;
  return { packageId, url: uploadUrl, id: new URL(uploadUrl).pathname.split('/')[2] ?? '' };
}

/** Every file of one package, and all that is half written. */
function kept(id: string): string[] {
  const root = storageRoot(app);
  const list = (folder: string) => (existsSync(folder) ? readdirSync(folder) : []);
  return [...list(`${root}/packages/${id}`), ...list(`${root}/.incoming`)];
}

const put = (url: string, body: Buffer | string, headers: Record<string, string> = {}) => send(url, { method: 'PUT', headers }, body);
const codeOf = ({ text }: { text: string }) => JSON.parse(text).code;

describe('the signature', () => {
  const signed = (id: string, expires: number | string, secret: string | Uint8Array = app.tokens.secret) => {
    const signature = createHmac('sha256', secret).update(`PUT /uploads/${id} ${expires}`).digest('base64url');
    return `${app.url}/uploads/${id}?expires=${expires}&signature=${signature}`;
  };

  it('must be ours, of this package, and not expired: anything else is not found, in the same words', async () => {
    const { url, id } = await staged();
    const another = await staged();
    const soon = Date.now() + 60_000;
    const tampered: Record<string, string> = {
      'one character changed': url.replace(/signature=(.)/, (_, first: string) => `signature=${first === 'A' ? 'B' : 'A'}`),
      'cut short': url.slice(0, -1),
      longer: `${url}A`,
      none: url.replace(/&signature=.*/, ''),
      'no expiry': url.replace(/expires=\d+&/, ''),
      'no query': url.replace(/\?.*/, ''),
      'a later expiry': url.replace(/expires=(\d+)/, (_, ms: string) => `expires=${Number(ms) + 1}`),
      'an expiry that is no number': url.replace(/expires=\d+/, 'expires=never'),
      'of another package': url.replace(id, another.id),
      'of a package that there is not, signed by us': signed(randomUUID(), soon),
      expired: signed(id, Date.now() - 1),
      'expired since 1970': signed(id, 0),
      'no number, signed by us': signed(id, 'NaN'),
      'without end, signed by us': signed(id, 'Infinity'),
      'of another secret': signed(id, soon, 'x'.repeat(32)),
      'id in capitals': url.replace(id, id.toUpperCase()),
      'id with a path': url.replace(id, `${id}/../${another.id}x`),
      'not ASCII': `${url.replace(/signature=.*/, 'signature=')}${'%C3%A9'.repeat(22)}`,
    };
    const answers = [];
    for (const [name, at] of Object.entries(tampered)) {
      const answer = await put(at, zip);
      expect([name, answer.status]).toEqual([name, 404]);
      answers.push(answer.text);
    }
    expect(new Set(answers).size).toBe(1);
    expect([...kept(id), ...kept(another.id)]).toEqual([]);
    expect((await put(url, zip)).status).toBe(201);
    expect((await put(signed(another.id, soon), zip)).status).toBe(201);
  });

  it('is for PUT alone', async () => {
    const { url, id } = await staged();
    for (const method of ['GET', 'HEAD', 'POST', 'DELETE', 'PATCH', 'OPTIONS'])
      expect([method, (await send(url, { method }, method === 'POST' ? zip : undefined)).status]).toEqual([method, 405]);
    expect(kept(id)).toEqual([]);
  });
});

describe('what is uploaded', () => {
  it('that is no package is refused with its problems, and nothing of it is kept', async () => {
    const hostile: Record<string, Buffer | string> = {
      'not a zip': 'PK but no zip',
      'text of a page': '<html></html>',
      random: Buffer.from(Array.from({ length: 5_000 }, (_, at) => (at * 7_919) % 251)),
      empty: '',
      'a zip cut in the middle': zip.subarray(0, zip.length / 2),
      'an end record alone': zip.subarray(-22),
      'a path upwards': zipBytes([
        { name: 'datapackage.json', content: '{}' },
        { name: '../../etc/passwd', content: 'x' },
      ]),
      'an absolute path': zipBytes([
        { name: 'datapackage.json', content: '{}' },
        { name: '/etc/passwd', content: 'x' },
      ]),
      'a path of another system': zipBytes([
        { name: 'datapackage.json', content: '{}' },
        { name: 'C:\\x', content: 'x' },
      ]),
      'a link': zipBytes([
        { name: 'datapackage.json', content: '{}' },
        { name: 'link', content: '/etc/passwd', mode: 0o120777 },
      ]),
      'the same name twice': zipBytes([
        { name: 'datapackage.json', content: '{}' },
        { name: 'datapackage.json', content: '{"a":1}' },
      ]),
      'a name with NUL': zipBytes([
        { name: 'datapackage.json', content: '{}' },
        { name: 'a\0b', content: 'x' },
      ]),
      'an entry that says it expands to 4 GB': zipBytes([
        { name: 'datapackage.json', content: 'x', deflate: true, statedBytes: 4_000_000_000 },
      ]),
      'more entries than allowed': zipBytes(Array.from({ length: 1_500 }, (_, at) => ({ name: `f${at}` }))),
      'entries that overlap': zipBytes([
        { name: 'datapackage.json', content: '{}' },
        { name: 'b', content: '{}', offset: 0 },
      ]),
      'an encrypted entry': zipBytes([{ name: 'datapackage.json', content: '{}', flags: 0x801 }]),
    };
    const { url, id } = await staged();
    for (const [name, bytes] of Object.entries(hostile)) {
      const answer = await put(url, bytes);
      expect([name, answer.status, codeOf(answer)]).toEqual([name, 422, 'INVALID_PACKAGE']);
      const { problems } = JSON.parse(answer.text);
      expect([name, problems.length > 0, problems.every((problem: { message: string }) => problem.message !== '')]).toEqual([
        name,
        true,
        true,
      ]);
      expect(answer.text, name).not.toMatch(/node_modules|\.ts:|yauzl|at /);
      expect([name, kept(id)]).toEqual([name, []]);
    }
    // Nothing was used up by it.
    expect((await put(url, zip)).status).toBe(201);
    expect(kept(id).length).toBe(1);
  });

  it('that is too large is 413 by what it says, and by what it turns out to be', async () => {
    const { url, id } = await staged();
    const stated = await put(url, Buffer.alloc(limit + 1));
    expect([stated.status, codeOf(stated)]).toEqual([413, 'PACKAGE_TOO_LARGE']);
    const chunked = await send(url, { method: 'PUT' }, async (write) => {
      for (let at = 0; at < 100; at++) await write(Buffer.alloc(65_536));
    });
    expect([chunked.status, codeOf(chunked)]).toEqual([413, 'INVALID_PACKAGE']);
    await expect.poll(() => kept(id)).toEqual([]);
    expect((await put(url, zip)).status).toBe(201);
  });

  it('of another length than it says is never taken', async () => {
    const { url, id } = await staged();
    const { pathname, search } = new URL(url);
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(`PUT ${pathname}${search} HTTP/1.1\r\nhost: x\r\ncontent-length: ${zip.length + 10}\r\n\r\n`);
    socket.write(zip);
    await expect.poll(() => kept(id).length).toBe(1);
    socket.end();
    await expect.poll(() => kept(id)).toEqual([]);
    expect((await put(url, zip)).status).toBe(201);
  });

  it('that breaks off keeps nothing, and may come again', async () => {
    const { url, id, packageId } = await staged();
    for (const headers of [{ 'content-length': String(zip.length) }, { 'transfer-encoding': 'chunked' }]) {
      const { pathname, search } = new URL(url);
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => {});
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.write(`PUT ${pathname}${search} HTTP/1.1\r\nhost: x\r\n${lines.join('')}\r\n`);
      const part = zip.subarray(0, 200);
      socket.write('transfer-encoding' in headers ? Buffer.concat([Buffer.from('c8\r\n'), part, Buffer.from('\r\n')]) : part);
      await expect.poll(() => kept(id).length).toBe(1);
      socket.destroy();
      await expect.poll(() => kept(id)).toEqual([]);
    }
    expect((await put(url, zip)).status).toBe(201);
    await register(app, workspaceId, packageId).then((run) => mutate(app, 'cancelDataRun', { dataRunId: run }));
  });

  it('that broke off before it was looked at ends as well', async () => {
    const { id } = await staged();
    const body = new PassThrough();
    body.write('half');
    const receiving = receivePackage(app.app.packages, id, body);
    body.destroy();
    await expect(receiving).rejects.toThrow('broke off');
    expect(kept(id)).toEqual([]);
  });

  it('again in the same bytes is 201, in others 409, also both at once', async () => {
    const { url, id } = await staged();
    const others = await zipOf('others', depot);
    const first = await put(url, zip);
    const again = await put(url, zip);
    expect([first.status, again.status, again.text]).toEqual([201, 201, first.text]);
    expect(JSON.parse(first.text)).toEqual({ digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/), bytes: zip.length });
    const second = await put(url, others);
    expect([second.status, codeOf(second), kept(id).length]).toEqual([409, 'ALREADY_UPLOADED', 1]);
    const race = await staged();
    const statuses = (await Promise.all([zip, others, zip, others].map((bytes) => put(race.url, bytes)))).map(({ status }) => status);
    expect(statuses.sort((a, b) => a - b)).toEqual([201, 201, 409, 409]);
    expect(kept(race.id).length).toBe(1);
  });
});

describe('registering', () => {
  it('for a package that was discarded meanwhile keeps nothing, or its bytes would never be deleted', async () => {
    const { url, id } = await staged();
    await app.app.db.pool.query('UPDATE data_package SET discarded_at = clock_timestamp() WHERE id = $1', [id]);
    expect((await put(url, zip)).status).toBe(409);
    expect(kept(id)).toEqual([]);
    const { rows } = await app.app.db.pool.query('SELECT storage_key, uploaded_at FROM data_package WHERE id = $1', [id]);
    expect(rows).toEqual([{ storage_key: null, uploaded_at: null }]);
  });

  it('what was not uploaded is a conflict', async () => {
    const { packageId } = await staged();
    expect(await mutate(app, 'registerDataRun', { workspaceId, packageId })).toMatchObject({
      __typename: 'ConflictError',
      code: 'PACKAGE_NOT_UPLOADED',
    });
    const { data } = await app.graphql('query ($id: ID!) { node(id: $id) { id } }', { id: packageId });
    expect(data.node).toBeNull();
  });

  const descriptor = (name: string, data: unknown) => ({
    name,
    resources: [
      {
        name: `${name}-rows`,
        data,
        schema: {
          fields: [
            { name: 'id', type: 'integer' },
            { name: 'word', type: 'string' },
          ],
          primaryKey: 'id',
        },
      },
    ],
  });

  it('a descriptor alone loads the data that stand in it', async () => {
    const { url, packageId } = await staged();
    const text = JSON.stringify(
      descriptor('inline', [
        { id: 1, word: 'one' },
        { id: 2, word: 'two' },
      ]),
    );
    expect((await put(url, `\ufeff\n ${text}`)).status).toBe(201);
    const id = await register(app, workspaceId, packageId);
    await mutate(app, 'startDataRun', { dataRunId: id });
    const run = await reach(app, id, 'SUCCEEDED');
    expect(run.steps).toMatchObject([{ dataset: 'inline-rows', rows: { loaded: '2' } }]);
  });

  it('a NUL character anywhere in a descriptor is answered with a problem or an error of the data, never with a crash', async () => {
    const { resources } = descriptor('nul', []);
    const nasty: Record<string, unknown> = {
      'in inline data': descriptor('nul-data', [{ id: 1, word: 'a\0b' }]),
      'in the package’s name': { ...descriptor('nul', []), name: 'a\0b' },
      'in the title': { ...descriptor('nul-title', [{ id: 1, word: 'x' }]), title: 'a\0b' },
      'in the version': { ...descriptor('nul-version', [{ id: 1, word: 'x' }]), version: '1\0' },
      'in a resource’s name': { name: 'nul-resource', resources: [{ ...resources[0], name: 'a\0b', data: [{ id: 1, word: 'x' }] }] },
      'in a field’s name': {
        name: 'nul-field',
        resources: [{ name: 'nf', data: [{ 'a\0b': 1 }], schema: { fields: [{ name: 'a\0b', type: 'integer' }] } }],
      },
      'in a path': { name: 'nul-path', resources: [{ name: 'np', path: 'a\0b.csv' }] },
      'in an unknown property': { ...descriptor('nul-unknown', [{ id: 1, word: 'x' }]), 'a\0b': 'c\0d' },
      'in an enum': {
        name: 'nul-enum',
        resources: [
          { name: 'ne', data: [{ a: 'x' }], schema: { fields: [{ name: 'a', type: 'string', constraints: { enum: ['a\0b'] } }] } },
        ],
      },
      'half a surrogate in the title': { ...descriptor('half-title', [{ id: 1, word: 'x' }]), title: 'a\ud800' },
      'half a surrogate in inline data': descriptor('half-data', [{ id: 1, word: 'a\ud800' }]),
      'half a surrogate in the name': { ...descriptor('half', []), name: 'a\ud800' },
    };
    const outcomes: Record<string, string> = {};
    for (const [name, value] of Object.entries(nasty)) {
      const { url, packageId } = await staged();
      const upload = await put(url, JSON.stringify(value));
      expect([name, upload.status === 201 || upload.status === 422]).toEqual([name, true]);
      if (upload.status !== 201) continue;
      const { data, errors } = await app.graphql(
        'mutation ($input: RegisterDataRunInput!) { registerDataRun(input: $input) { __typename ... on DataRun { id } ... on Error { code } } }',
        { input: { workspaceId, packageId } },
      );
      outcomes[name] = errors[0]?.extensions?.code ?? data.registerDataRun.__typename;
      expect(['DataRun', 'InvalidPackageError'], `${name}: ${JSON.stringify(errors)}`).toContain(outcomes[name]);
      if (outcomes[name] !== 'DataRun') continue;
      const dataRunId = data.registerDataRun.id;
      await mutate(app, 'startDataRun', { dataRunId });
      await expect.poll(async () => (await readRun(app, dataRunId)).state, { message: name }).toMatch(/SUCCEEDED|FAILED/);
      const run = await readRun(app, dataRunId);
      if (run.state === 'FAILED') expect([name, run.failure.code]).not.toEqual([name, 'INTERNAL_ERROR']);
    }
  });
});
