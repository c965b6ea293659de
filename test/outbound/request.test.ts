import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer, isIP } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { OutboundError } from '../../src/outbound/failure.ts';
import { allowedHosts } from '../../src/outbound/hosts.ts';
import { createOutbound, type OutboundAnswer, type OutboundRequest } from '../../src/outbound/request.ts';
import { receiver, socketReceiver } from './receiver.ts';

const openssl = 'openssl';

type Options = Omit<Parameters<typeof createOutbound>[0], 'hosts'>;

/** Posts to the URL with these hosts listed. */
function caller(list: readonly string[], options: Options = {}) {
  const outbound = createOutbound({ hosts: allowedHosts(list), ...options });
  onTestFinished(() => outbound.close());
  return (url: string, request: Partial<OutboundRequest> = {}): Promise<OutboundAnswer> =>
    outbound.request(url, { method: 'POST', headers: {}, body: '{}', signal: new AbortController().signal, ...request });
}

function failure(call: Promise<unknown>): Promise<OutboundError> {
  return call.then(
    (answer) => {
      throw new Error(`expected a failure, found ${JSON.stringify(answer)}`);
    },
    (error: unknown) => {
      if (error instanceof OutboundError) return error;
      throw error;
    },
  );
}

describe('a call', () => {
  it('brings method, headers and body, and returns status and body', async () => {
    const server = await receiver((response) => response.writeHead(201).end('made: ü'));
    const call = caller([server.host], { userAgent: 'packhorse/9' });
    expect(await call(`${server.url}/a?b=c`, { headers: { 'x-one': '1' }, body: '{"ü":1}' })).toEqual({
      status: 201,
      body: 'made: ü',
      retryAfterSeconds: null,
    });
    expect(server.calls).toMatchObject([
      { method: 'POST', path: '/a?b=c', body: '{"ü":1}', headers: { 'x-one': '1', 'user-agent': 'packhorse/9', 'content-length': '8' } },
    ]);
  });

  it('can be without a body, and uses a connection again', async () => {
    const server = await receiver((response) => response.writeHead(200).end('x'));
    const outbound = createOutbound({ hosts: allowedHosts([server.host]) });
    onTestFinished(() => outbound.close());
    for (let n = 0; n < 5; n++) {
      await outbound.request(server.url, { method: 'GET', headers: {}, signal: new AbortController().signal });
    }
    expect(server.calls.map(({ method, body }) => [method, body])).toEqual(Array.from({ length: 5 }, () => ['GET', '']));
    expect(server.connections()).toBeLessThan(5); // a fresh one where the last is not yet free
  });

  it.each([200, 204, 301, 302, 303, 307, 308, 400, 401, 404, 410, 429, 500, 503])(
    'returns the status %i after one request',
    async (status) => {
      const elsewhere = await receiver((response) => response.end());
      const server = await receiver((response) => response.writeHead(status, { location: elsewhere.url }).end());
      expect(await caller([server.host, elsewhere.host])(server.url)).toMatchObject({ status, body: '' });
      expect(server.calls).toHaveLength(1);
      expect(elsewhere.connections()).toBe(0);
    },
  );

  it('can have a connection to itself', async () => {
    const server = await receiver((response) => response.writeHead(200).end('x'));
    const call = caller([server.host], { keepAlive: false });
    for (let n = 0; n < 3; n++) await call(server.url);
    expect(server.connections()).toBe(3);
  });

  it('is given up where the answer stops for too long, however much time is left', async () => {
    const server = await receiver((response) => response.writeHead(200).write('x'));
    const call = caller([server.host], { limits: { idleMs: 100, totalMs: 60_000 } });
    expect(await failure(call(server.url))).toMatchObject({ code: 'TIMEOUT', message: expect.stringContaining('further part') });
  });

  it('is made once more where the server says that it was not the one to ask', async () => {
    const server = await receiver((response) => response.writeHead(421).end());
    expect((await caller([server.host])(server.url)).status).toBe(421);
    expect(server.calls).toHaveLength(2);
  });

  it.each([
    ['120', 120],
    ['0', 0],
    ['-1', null],
    ['1.5', null],
    ['soon', null],
    ['9999999999999999999', null],
    ['Wed, 21 Oct 2015 07:28:00 GMT', 0],
    ['2999-01-01', null],
  ])('reads Retry-After: %s as %j', async (value, seconds) => {
    const server = await receiver((response) => response.writeHead(429, { 'retry-after': value }).end());
    expect((await caller([server.host])(server.url)).retryAfterSeconds).toBe(seconds);
  });

  it('reads a date in Retry-After as the seconds until then', async () => {
    const server = await receiver((response) =>
      response.writeHead(503, { 'retry-after': new Date(Date.now() + 3_600_000).toUTCString() }).end(),
    );
    const { retryAfterSeconds } = await caller([server.host])(server.url);
    expect(retryAfterSeconds).toBeGreaterThan(3_580);
    expect(retryAfterSeconds).toBeLessThanOrEqual(3_600);
  });
});

describe('an answer that is too large', () => {
  it('is read up to the limit, and the connection ends', async () => {
    const server = await receiver((response) => {
      const pour = () => {
        while (response.write('a'.repeat(10_000)));
      };
      response.on('drain', pour);
      pour();
    });
    const call = caller([server.host]);
    const { status, body } = await call(server.url);
    expect([status, body]).toEqual([200, 'a'.repeat(65_536)]);
    await expect.poll(() => server.open()).toBe(0);
    expect((await call(server.url, { limits: { bodyBytes: 10 } })).body).toBe('a'.repeat(10));
  });

  it('is not cut in the middle of a character', async () => {
    const server = await receiver((response) => response.end('äöü'));
    expect((await caller([server.host])(server.url, { limits: { bodyBytes: 3 } })).body).toBe('ä');
  });

  it.each([
    ['gzip', gzipSync(Buffer.alloc(100_000_000))],
    ['deflate', deflateSync(Buffer.alloc(100_000_000))],
    ['br', brotliCompressSync(Buffer.alloc(100_000_000))],
    ['gzip, gzip', gzipSync(gzipSync(Buffer.alloc(100_000_000)))],
  ])('is counted after it was inflated: %s', async (encoding, bomb) => {
    const server = await receiver((response) => response.writeHead(200, { 'content-encoding': encoding }).end(bomb));
    const before = process.memoryUsage().rss;
    const { body } = await caller([server.host])(server.url);
    expect(body).toBe('\0'.repeat(65_536));
    expect(process.memoryUsage().rss - before).toBeLessThan(50_000_000);
  });
});

describe('a server that does not behave', () => {
  it.each<[what: string, serve: Parameters<typeof socketReceiver>[0]]>([
    ['resets the connection', (socket) => socket.once('data', () => socket.resetAndDestroy())],
    ['reads and hangs up', (socket) => socket.once('data', () => socket.end())],
    ['breaks off in the head', (socket) => socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nX-Half: '))],
    ['breaks off in the body', (socket) => socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc'))],
    [
      'breaks off in a chunk',
      (socket) => socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab')),
    ],
    ['speaks another protocol', (socket) => socket.once('data', () => socket.end('220 mail.example.org ESMTP\r\n'))],
    ['sends a head without end', (socket) => void socket.write(`HTTP/1.1 200 OK\r\n${'x-a: b\r\n'.repeat(10_000)}`)],
    ['says gzip and is not', (socket) => socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\nabc'))],
  ])('is a BROKEN_ANSWER where it %s', async (_, serve) => {
    const server = await socketReceiver(serve);
    const { code, message } = await failure(caller([server.host])(`${server.url}/SECRET?token=SECRET`));
    expect([code, message]).toEqual(['BROKEN_ANSWER', expect.stringContaining(server.host)]);
    expect(message).not.toContain('SECRET');
    await expect.poll(() => server.open()).toBe(0);
  });

  it('is a TIMEOUT where it never answers', async () => {
    const server = await receiver(() => {});
    const call = caller([server.host], { limits: { headersMs: 50 } });
    expect(await failure(call(server.url))).toMatchObject({ code: 'TIMEOUT', message: `${server.host} gave no answer within 0.05 s.` });
    await expect.poll(() => server.open()).toBe(0);
  });

  it('is a TIMEOUT where it sends interim answers and no other', async () => {
    const server = await receiver((response) => response.writeProcessing());
    const call = caller([server.host], { limits: { headersMs: 50 } });
    expect((await failure(call(server.url))).code).toBe('TIMEOUT');
  });

  it('is a TIMEOUT where its answer drips without end', async () => {
    const server = await receiver((response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write('.'), 5);
      response.on('close', () => clearInterval(drip));
    });
    const call = caller([server.host], { limits: { headersMs: 10_000 } });
    expect(await failure(call(server.url, { limits: { totalMs: 1_000 } }))).toMatchObject({
      code: 'TIMEOUT',
      message: `${server.host} gave no whole answer within 1 s.`,
    });
    await expect.poll(() => server.open()).toBe(0);
  });

  it('may take longer for the body than for the head', async () => {
    const server = await receiver((response) => {
      response.flushHeaders();
      setTimeout(() => response.end('late'), 2_500);
    });
    expect((await caller([server.host], { limits: { headersMs: 2_000 } })(server.url)).body).toBe('late');
  });
});

describe('a connection that cannot be made', () => {
  it('is CONNECT_FAILED where nobody listens', async () => {
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
    const host = `127.0.0.1:${(closed.address() as AddressInfo).port}`;
    await new Promise((resolve) => closed.close(resolve));
    expect(await failure(caller([host])(`http://${host}/SECRET`))).toMatchObject({
      code: 'CONNECT_FAILED',
      message: `${host} cannot be reached (ECONNREFUSED).`,
    });
    const both = async () => ['127.0.0.1', '::1'].map((address) => ({ address, family: isIP(address) }));
    const name = host.replace('127.0.0.1', 'localhost');
    expect((await failure(caller([name], { resolve: both })(`http://${name}/`))).message).toBe(`${name} cannot be reached (ECONNREFUSED).`);
  });

  it('is CONNECT_FAILED where there is no such name', async () => {
    const resolve = () => Promise.reject(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }));
    expect(await failure(caller(['example.org'], { resolve })('https://example.org/'))).toMatchObject({
      code: 'CONNECT_FAILED',
      message: 'example.org:443 cannot be reached (ENOTFOUND).',
    });
  });

  it('is CONNECT_FAILED where the name or the handshake takes too long', async () => {
    const server = await socketReceiver((socket) => void socket.resume());
    const limits = { connectMs: 100, headersMs: 10_000 };
    const unanswered = caller(['example.org'], { limits, resolve: () => new Promise(() => {}) });
    expect(await failure(unanswered('https://example.org/'))).toMatchObject({
      code: 'CONNECT_FAILED',
      message: expect.stringContaining('CONNECT_TIMEOUT'),
    });
    expect((await failure(caller([server.host], { limits })(`https://${server.host}/`))).code).toBe('CONNECT_FAILED');
    await expect.poll(() => server.open()).toBe(0);
  });

  it.skipIf(!hasOpenssl())('is CONNECT_FAILED where nobody vouches for the certificate, and nothing is sent', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'packhorse-tls-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const [key, cert] = [path.join(folder, 'key'), path.join(folder, 'cert')];
    const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
    const how = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', ...subject];
    execFileSync(openssl, [...how, '-keyout', key, '-out', cert], { stdio: 'ignore' });
    let calls = 0;
    const server = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }, (_, response) => {
      calls++;
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    expect(await failure(caller([host])(`https://${host}/`))).toMatchObject({
      code: 'CONNECT_FAILED',
      message: `${host} cannot be reached (DEPTH_ZERO_SELF_SIGNED_CERT).`,
    });
    expect(calls).toBe(0);
  });
});

describe('an address that must not be called', () => {
  it('is not connected to where it is not listed, though it was when it was saved', async () => {
    const canary = await receiver((response) => response.end());
    const urls = [canary.url, `http://localhost:${new URL(canary.url).port}`, `https://user@${canary.host}`, 'http://[::1]:9/', 'nonsense'];
    for (const url of urls) {
      expect((await failure(caller(['127.0.0.1:9', 'example.org'])(url))).code).toBe('ADDRESS_NOT_ALLOWED');
    }
    expect(canary.connections()).toBe(0);
  });

  it('is not connected to where a listed name leads there, whatever it said before', async () => {
    const canary = await receiver((response) => response.end());
    const { port } = new URL(canary.url);
    const addresses = [
      '127.0.0.1 127.1.2.3 0.0.0.0 10.0.0.1 172.16.0.1 192.168.0.1 169.254.169.254 ::1 :: fd00::1 fe80::1',
      '::ffff:127.0.0.1 ::ffff:7f00:1 ::7f00:1 64:ff9b::7f00:1 2002:7f00:1::',
    ].flatMap((line) => line.split(' '));
    const answers = addresses.map((address) => [{ address, family: isIP(address) }]);
    // With a public one before it, which is not called either.
    answers.push([
      { address: '8.8.8.8', family: 4 },
      { address: '127.0.0.1', family: 4 },
    ]);
    for (const answer of answers) {
      const call = caller(['rebinding.example'], { resolve: async () => answer });
      expect(await failure(call(`https://rebinding.example:${port}/`))).toMatchObject({
        code: 'ADDRESS_NOT_ALLOWED',
        message: `rebinding.example:${port} leads to an address that is neither public nor listed in PACKHORSE_FETCH_HOSTS.`,
      });
    }
    expect(canary.connections()).toBe(0);
  });

  it('is not asked for twice: the address that was checked is called', async () => {
    const server = await receiver((response) => response.end('here'));
    const { port } = new URL(server.url);
    const asked: string[] = [];
    const resolve = async (name: string) => {
      asked.push(name);
      return [{ address: asked.length === 1 ? '127.0.0.1' : '10.0.0.1', family: 4 }];
    };
    expect((await caller([`localhost:${port}`], { resolve })(`http://localhost:${port}/`)).body).toBe('here');
    expect(asked).toEqual(['localhost']);
  });

  it('is looked at anew for each connection', async () => {
    const server = await receiver((response) => response.writeHead(200, { connection: 'close' }).end());
    const { port } = new URL(server.url);
    let asked = 0;
    const resolve = async () => [{ address: asked++ === 0 ? '127.0.0.1' : '10.0.0.1', family: 4 }];
    const call = caller([`localhost:${port}`], { resolve });
    expect((await call(`http://localhost:${port}/`)).status).toBe(200);
    expect((await failure(call(`http://localhost:${port}/`))).code).toBe('ADDRESS_NOT_ALLOWED');
    expect(server.connections()).toBe(1);
  });

  it('is any with the port of another protocol', async () => {
    expect(await failure(caller(['127.0.0.1'])('http://127.0.0.1:25/'))).toMatchObject({ code: 'ADDRESS_NOT_ALLOWED' });
  });

  it('is found by the system: localhost', async () => {
    const server = await receiver((response) => response.end('here'));
    const { port } = new URL(server.url);
    expect((await caller([`localhost:${port}`])(`http://localhost:${port}/`)).body).toBe('here');
  });
});

describe('the signal of the caller', () => {
  it('may be one for many calls', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error) => warnings.push(warning);
    process.on('warning', note);
    onTestFinished(() => void process.off('warning', note));
    const server = await receiver((response) => response.end());
    const call = caller([server.host]);
    const { signal } = new AbortController();
    await Promise.all(Array.from({ length: 20 }, () => call(server.url, { signal })));
    expect(warnings).toEqual([]);
  });

  it('ends a call with its reason, before, in the head and in the body', async () => {
    let ends = 0;
    const server = await receiver((response, { url }) => {
      response.on('close', () => ends++);
      if (url === '/body') response.write('a');
    });
    const call = caller([server.host]);
    const reason = new Error('stopping');
    await expect(call(server.url, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(server.connections()).toBe(0);
    for (const place of ['head', 'body']) {
      const controller = new AbortController();
      const ended = expect(call(`${server.url}/${place}`, { signal: controller.signal })).rejects.toBe(reason);
      await expect.poll(() => server.calls.at(-1)?.path).toBe(`/${place}`);
      controller.abort(reason);
      await ended;
    }
    await expect.poll(() => ends).toBe(2);
  });
});

describe('closing', () => {
  it('waits for what is under way and ends idle connections', async () => {
    let finish = () => {};
    const server = await receiver((response) => {
      finish = () => response.end('done');
    });
    const outbound = createOutbound({ hosts: allowedHosts([server.host]) });
    const answer = outbound.request(server.url, { method: 'GET', headers: {}, signal: new AbortController().signal });
    await expect.poll(() => server.calls.length).toBe(1);
    const closed = outbound.close();
    finish();
    expect((await answer).body).toBe('done');
    await closed;
    await expect.poll(() => server.open()).toBe(0);
  });
});

function hasOpenssl(): boolean {
  try {
    execFileSync(openssl, ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
