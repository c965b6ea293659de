import { Webhook } from 'standardwebhooks';
import { describe, expect, it, onTestFinished } from 'vitest';
import { newWebhookSecret, sendWebhook, type WebhookMessage, whySecretIsUnusable } from '../../src/exports/webhook.ts';
import { allowedHosts } from '../../src/outbound/hosts.ts';
import { createOutbound } from '../../src/outbound/request.ts';
import { receiver, socketReceiver } from '../outbound/receiver.ts';

const secret = newWebhookSecret();

/** Sends to the URL with these hosts listed. */
function send(list: readonly string[], url: string, message: Partial<WebhookMessage> = {}, headersMs = 10_000) {
  const outbound = createOutbound({ hosts: allowedHosts(list), limits: { headersMs } });
  onTestFinished(() => outbound.close());
  const signal = new AbortController().signal;
  return sendWebhook(outbound, { id: 'msg_1', url, secret, body: '{"type":"export.published"}', now: new Date(), signal, ...message });
}

function whsec(bytes: number): string {
  return `whsec_${Buffer.alloc(bytes, 7).toString('base64')}`;
}

describe('a webhook', () => {
  it('is signed so that the receiver can verify it, and only with its secret, text, id and time', async () => {
    const server = await receiver((response) => response.end());
    const body = '{"type":"export.published","name":"Größe \u{1f40e}"}';
    expect(await send([server.host], `${server.url}/hook?x=1`, { body })).toEqual({ is: 'delivered', status: 200 });
    const [call] = server.calls;
    expect(call).toMatchObject({ method: 'POST', path: '/hook?x=1', body });
    const headers = call?.headers as Record<string, string>;
    expect(headers).toMatchObject({ 'content-type': 'application/json', 'webhook-id': 'msg_1', 'user-agent': 'packhorse' });
    expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body));
    const forged: [string, string, Record<string, string>][] = [
      [newWebhookSecret(), body, headers],
      [secret, `${body} `, headers],
      [secret, body, { ...headers, 'webhook-id': 'msg_2' }],
      [secret, body, { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) + 1) }],
    ];
    for (const [key, text, others] of forged) expect(() => new Webhook(key).verify(text, others)).toThrow('No matching signature');
  });

  it('has the same id and a signature of its own time when it is sent again', async () => {
    const server = await receiver((response) => response.writeHead(204).end());
    const first = new Date('2030-01-01T00:00:00.999Z');
    await send([server.host], server.url, { now: first });
    await send([server.host], server.url, { now: new Date(first.getTime() + 60_000) });
    const sent = server.calls.map(({ headers }) => [headers['webhook-id'], headers['webhook-timestamp'], headers['webhook-signature']]);
    expect(sent).toEqual([
      ['msg_1', '1893456000', new Webhook(secret).sign('msg_1', first, '{"type":"export.published"}')],
      ['msg_1', '1893456060', expect.not.stringMatching(String(sent[0]?.[2]))],
    ]);
  });

  it.each([200, 201, 202, 204, 299])('is delivered by %i', async (status) => {
    const server = await receiver((response) => response.writeHead(status).end());
    expect(await send([server.host], server.url)).toEqual({ is: 'delivered', status });
  });

  it('is not wanted any more by 410', async () => {
    const server = await receiver((response) => response.writeHead(410).end());
    expect(await send([server.host], server.url)).toEqual({ is: 'gone', status: 410 });
  });

  it.each([301, 302, 303, 307, 308, 304])('fails by %i and does not go where it says', async (status) => {
    const canary = await receiver((response) => response.end());
    const server = await receiver((response) => response.writeHead(status, { location: canary.url }).end());
    expect(await send([server.host, canary.host], server.url)).toEqual({
      is: 'failed',
      code: 'REDIRECT_REFUSED',
      status,
      message: `The receiver answered ${status}: redirects are not followed.`,
      retryAfterSeconds: null,
    });
    expect(canary.connections()).toBe(0);
  });

  it.each([400, 401, 404, 429, 500, 503])('fails by %i, with the wish when to try again', async (status) => {
    const server = await receiver((response) => response.writeHead(status, { 'retry-after': '30' }).end('SECRET'));
    expect(await send([server.host], server.url)).toEqual({
      is: 'failed',
      code: `HTTP_${status}`,
      status,
      message: `The receiver answered ${status}.`,
      retryAfterSeconds: 30,
    });
  });

  it('fails with the code of the call where there is no answer', async () => {
    const silent = await receiver(() => {});
    const broken = await socketReceiver((socket) => socket.once('data', () => socket.destroy()));
    const failed = { is: 'failed', status: null, retryAfterSeconds: null };
    expect(await send([silent.host], silent.url, {}, 50)).toMatchObject({ ...failed, code: 'TIMEOUT' });
    expect(await send([broken.host], broken.url)).toMatchObject({ ...failed, code: 'BROKEN_ANSWER' });
    expect(await send(['example.org'], silent.url)).toMatchObject({ ...failed, code: 'ADDRESS_NOT_ALLOWED' });
  });

  it('rejects with the reason of the signal', async () => {
    const reason = new Error('stopping');
    await expect(send(['127.0.0.1'], 'http://127.0.0.1:1/', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  it('is not sent with a secret that cannot be used, which is not repeated', async () => {
    const server = await receiver((response) => response.end());
    const outcome = await send([server.host], server.url, { secret: 'whsec_hunter2' });
    expect(outcome).toMatchObject({ is: 'failed', code: 'SECRET_UNUSABLE', status: null });
    expect(JSON.stringify(outcome)).not.toContain('hunter2');
    expect(server.connections()).toBe(0);
  });
});

describe('the secret of a webhook', () => {
  it('is 32 random bytes when it is made here', () => {
    expect(Buffer.from(secret.replace('whsec_', ''), 'base64')).toHaveLength(32);
    expect(whySecretIsUnusable(secret)).toBeNull();
    expect(newWebhookSecret()).not.toBe(secret);
  });

  it('can be 24 to 64 bytes', () => {
    expect([24, 25, 26, 64].map((bytes) => whySecretIsUnusable(whsec(bytes)))).toEqual([null, null, null, null]);
  });

  it.each([
    '',
    'whsec_',
    whsec(23),
    whsec(65),
    whsec(32).replace('whsec_', ''),
    whsec(32).replace('whsec_', 'WHSEC_'),
    whsec(32).replace(/=$/, ''),
    `${whsec(32)}=`,
    `${whsec(32)}\n`,
    ` ${whsec(32)}`,
    whsec(32).replace('whsec_B', 'whsec_-'),
    whsec(32).replace(/.=$/, 'd='), // the same bytes with bits that nobody reads
    `whsec_${'ü'.repeat(40)}`,
  ])('cannot be %j', (unusable) => {
    expect(whySecretIsUnusable(unusable)).toBe('The secret must be whsec_ and then 24 to 64 bytes in base64.');
  });
});
