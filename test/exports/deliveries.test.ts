import { createHash } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { beforeAll, describe, expect, it } from 'vitest';
import { deliver, dueDeliveries } from '../../src/exports/deliveries.ts';
import { publish } from '../../src/exports/publish.ts';
import { allowedHosts } from '../../src/outbound/hosts.ts';
import { createOutbound } from '../../src/outbound/request.ts';
import { receiver } from '../outbound/receiver.ts';
import { startApp } from '../support/app.ts';
import { uuidOf } from '../support/states.ts';
import { createWorkspace, depot } from '../support/story.ts';
import { announced, answering, delivered, deliveryRow, destinationsSet, nobody } from './announced.ts';
import { eventsOf, executionOf, generatedByHand, goingOn, hasWork, loadedByHand, rowsOf } from './by-hand.ts';
import { readExport } from './story.ts';

const app = await startApp({ worker: false, env: { PACKHORSE_FETCH_HOSTS: '127.0.0.1' } });
const { deliverer } = app.tasks.exports;
let workspaceId: string;
beforeAll(async () => {
  workspaceId = await createWorkspace(app);
  await loadedByHand(app, workspaceId, depot);
});

async function wait(id: string): Promise<number> {
  const [row] = await rowsOf<{ seconds: number }>(
    app,
    'SELECT extract(epoch FROM next_attempt_at - clock_timestamp())::float AS seconds FROM export_delivery WHERE id = $1',
    id,
  );
  return row!.seconds;
}

const globalId = (id: string) => Buffer.from(`ExportDelivery:${id}`).toString('base64');

describe('a published package', () => {
  it('is announced to each destination that the execution copied, and to none before', async () => {
    const server = await answering(200);
    await destinationsSet(app, workspaceId, [
      { name: 'one', url: `${server.url}/one` },
      { name: 'two', url: `${server.url}/two` },
    ]);
    const id = await generatedByHand(app, workspaceId);
    await destinationsSet(app, workspaceId, [{ name: 'three', url: `${server.url}/three` }]);
    expect(await rowsOf(app, 'SELECT FROM export_delivery')).toEqual([]);
    await publish(app.tasks.exports.publisher, uuidOf(id), goingOn);
    const shown = (await readExport(app, id)).exportPackage;
    expect(shown.deliveries).toMatchObject([
      { destination: 'one', state: 'PENDING', attempts: 0 },
      { destination: 'two', state: 'PENDING', attempts: 0 },
    ]);
    const rows = await rowsOf<{ id: string; webhook: string }>(app, 'SELECT id, webhook_id AS webhook FROM export_delivery');
    expect(new Set(rows.map(({ webhook }) => webhook)).size).toBe(2);
    expect(
      await rowsOf(
        app,
        'SELECT FROM graphile_worker.jobs WHERE key = ANY ($1)',
        rows.map((row) => `deliver:${row.id}`),
      ),
    ).toHaveLength(2);
    for (const row of rows) await deliver(deliverer, row.id, goingOn);
    expect(server.calls.map(({ path }) => path).sort()).toEqual(['/one', '/two']);
    expect((await eventsOf(app, id)).slice(-3)).toEqual(['PUBLISH', 'DELIVER one', 'DELIVER two']);
  });

  it('is announced by a signed message, whose link gives the archive', async () => {
    const server = await answering(200);
    const { id, deliveries, secrets } = await announced(app, workspaceId, [{ name: 'crm', url: `${server.url}/hook` }]);
    await delivered(app, deliveries[0]!);
    const [call] = server.calls;
    expect(call).toMatchObject({ method: 'POST', path: '/hook', headers: { 'content-type': 'application/json' } });
    const message = new Webhook(secrets['crm']!).verify(call!.body, call!.headers as Record<string, string>) as any;
    const execution = await executionOf(app, id);
    const shown = await readExport(app, id);
    const row = await deliveryRow(app, deliveries[0]!);
    expect(call!.headers['webhook-id']).toBe(row.webhookId);
    expect(message).toEqual({
      type: 'export.published',
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      data: {
        workspace: 'w1',
        executionId: uuidOf(id),
        packageId: uuidOf(shown.exportPackage.id),
        cutoff: execution.cutoff,
        manifestDigest: execution.manifestDigest,
        digest: shown.exportPackage.digest,
        bytes: shown.exportPackage.bytes,
        counts: execution.counts,
        url: expect.stringContaining(`${app.url}/exports/`),
        urlExpiresAt: expect.stringMatching(/Z$/),
      },
    });
    const hours = (Date.parse(message.data.urlExpiresAt) - Date.now()) / 3_600_000;
    expect(hours).toBeGreaterThan(23.9);
    expect(hours).toBeLessThanOrEqual(24);
    const archive = Buffer.from(await (await fetch(message.data.url)).arrayBuffer());
    expect(`sha256:${createHash('sha256').update(archive).digest('hex')}`).toBe(message.data.digest);
    expect(row).toMatchObject({
      state: 'DELIVERED',
      attempts: 1,
      leaseUntil: null,
      attemptLog: [{ number: 1, status: 200, code: 'DELIVERED' }],
    });
    await delivered(app, deliveries[0]!); // it has it
    expect(server.calls).toHaveLength(1);
  });

  it('is announced by the same message each time, but for its link', async () => {
    const server = await answering(500, 503, 200);
    const { deliveries } = await announced(app, workspaceId, [{ name: 'crm', url: server.url }]);
    for (let attempt = 1; attempt <= 3; attempt++) await delivered(app, deliveries[0]!);
    expect(new Set(server.calls.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    const bodies = server.calls.map(({ body }) => JSON.parse(body));
    expect(bodies.map(({ data: { url: _, urlExpiresAt: __, ...data }, ...rest }) => ({ ...rest, data }))).toEqual(
      Array.from({ length: 3 }, () => expect.objectContaining({ timestamp: bodies[0].timestamp })),
    );
    for (const { data } of bodies) expect((await fetch(data.url, { method: 'HEAD' })).status).toBe(200);
  });
});

describe('a delivery', () => {
  const schedule = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];

  it('is tried ten times over three days, each attempt is shown, and then it has failed', async () => {
    const server = await answering(500, 429, 'reset', 302, 503);
    const { id, deliveries } = await announced(app, workspaceId, [{ name: 'crm', url: server.url }]);
    const [own = ''] = deliveries;
    for (const [index, seconds] of schedule.entries()) {
      await delivered(app, own, { retryMs: 5_000 });
      // The server asked for 7 s at least, where it answered.
      const least = index === 2 ? seconds : Math.max(seconds, 7);
      expect(await wait(own)).toBeGreaterThan(least - 5);
      expect(await wait(own)).toBeLessThanOrEqual(least);
      await deliver(deliverer, own, goingOn); // before its time
      expect(await deliveryRow(app, own)).toMatchObject({ state: 'PENDING', attempts: index + 1, leaseUntil: null });
    }
    expect(
      await rowsOf(
        app,
        'SELECT run_at = next_attempt_at AS same FROM export_delivery d, graphile_worker.jobs WHERE d.id = $1 AND key = $2',
        own,
        `deliver:${own}`,
      ),
    ).toEqual([{ same: true }]);
    await delivered(app, own, { retryMs: 5_000 });
    const { data } = await app.graphql(
      'query ($id: ID!) { node(id: $id) { ... on ExportDelivery { state attempts nextAttemptAt deliveredAt webhookId failure { code origin phase summary } attemptLog { number at status code message durationMs } } } }',
      { id: globalId(own) },
    );
    expect(data.node).toMatchObject({
      state: 'FAILED',
      attempts: 10,
      nextAttemptAt: null,
      deliveredAt: null,
      failure: { code: 'HTTP_503', origin: 'target', phase: 'delivering', summary: 'The receiver answered 503.' },
    });
    const log = data.node.attemptLog as { number: number; at: string; status: number | null; code: string; durationMs: number }[];
    expect(log.map(({ status, code }) => [status, code])).toEqual([
      [500, 'HTTP_500'],
      [429, 'HTTP_429'],
      [null, 'BROKEN_ANSWER'],
      [302, 'REDIRECT_REFUSED'],
      ...Array.from({ length: 6 }, () => [503, 'HTTP_503']),
    ]);
    expect(log.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    for (const { at, durationMs } of log) expect([Math.abs(Date.parse(at) - Date.now()) < 600_000, durationMs >= 0]).toEqual([true, true]);
    expect(await eventsOf(app, id)).toEqual(['REQUEST', 'DISPATCH', 'SUCCEED', 'PUBLISH', 'DELIVERY_FAIL crm HTTP_503']);
    expect((await executionOf(app, id)).state).toBe('SUCCEEDED');
    expect(new Set(server.calls.map(({ path, headers }) => `${path} ${String(headers['webhook-id'])}`))).toEqual(
      new Set([`/ ${data.node.webhookId}`]),
    );
    expect(server.calls).toHaveLength(10);
    await delivered(app, own);
    expect(server.calls).toHaveLength(10);
  });

  it.each([
    ['a wish that is longer than the schedule', '3600', 3_600],
    ['a wish without end', '999999999', 86_400],
    ['a wish that cannot be read', 'soon', 5],
  ])('waits as a receiver asks it to: %s', async (_name, asked, seconds) => {
    const server = await receiver((response) => response.writeHead(503, { 'retry-after': asked }).end());
    const { deliveries } = await announced(app, workspaceId, [{ name: 'crm', url: server.url }]);
    await delivered(app, deliveries[0]!, { retryMs: 5_000 });
    expect(await wait(deliveries[0]!)).toBeGreaterThan(seconds - 5);
    expect(await wait(deliveries[0]!)).toBeLessThanOrEqual(seconds);
  });

  it('is tried again where nobody listens, and where there is no answer in time', async () => {
    const silent = await receiver(() => {});
    const outbound = createOutbound({ hosts: allowedHosts(['127.0.0.1']), limits: { headersMs: 50 } });
    const { deliveries } = await announced(app, workspaceId, [nobody, { name: 'silent', url: silent.url }]);
    for (const id of deliveries) await delivered(app, id, { outbound });
    await outbound.close();
    const rows = await Promise.all(deliveries.map((id) => deliveryRow(app, id)));
    expect(rows).toMatchObject([
      { state: 'PENDING', attemptLog: [{ status: null, code: 'CONNECT_FAILED' }] },
      { state: 'PENDING', attemptLog: [{ status: null, code: 'TIMEOUT' }] },
    ]);
  });

  it('stops at once where the receiver is gone for good, and never follows a redirect', async () => {
    const gone = await answering(410);
    const moved = await answering(307);
    const destinations = [
      { name: 'gone', url: gone.url },
      { name: 'moved', url: moved.url },
    ];
    const { id, deliveries } = await announced(app, workspaceId, destinations);
    for (const one of deliveries) await delivered(app, one);
    expect(await Promise.all(deliveries.map((one) => deliveryRow(app, one)))).toMatchObject([
      { state: 'FAILED', failure: { code: 'GONE' }, attemptLog: [{ status: 410, code: 'GONE' }] },
      { state: 'PENDING', failure: null, attemptLog: [{ status: 307, code: 'REDIRECT_REFUSED' }] },
    ]);
    expect([...gone.calls, ...moved.calls].map(({ path }) => path)).toEqual(['/', '/']);
    expect((await eventsOf(app, id)).at(-1)).toBe('DELIVERY_FAIL gone GONE');
  });

  it('generates nothing, however often it is tried', async () => {
    const server = await answering(500, 500, 200);
    const { id, deliveries } = await announced(app, workspaceId, [{ name: 'crm', url: server.url }]);
    const before = await executionOf(app, id);
    for (let attempt = 1; attempt <= 3; attempt++) {
      await delivered(app, deliveries[0]!);
      expect(hasWork(app, id)).toBe(false);
    }
    const { state, fence, counts, manifestDigest, settledAt } = await executionOf(app, id);
    expect(before).toMatchObject({ state, fence, counts, manifestDigest, settledAt });
    expect(server.calls).toHaveLength(3);
  });

  it('is made by one process at a time, and by another when its lease is over', async () => {
    let answer = () => {};
    const server = await receiver((response) => {
      answer = () => response.end();
    });
    const { deliveries } = await announced(app, workspaceId, [{ name: 'crm', url: server.url }]);
    const [own = ''] = deliveries;
    const first = delivered(app, own);
    await expect.poll(() => server.calls.length).toBe(1);
    const [{ left } = { left: 0 }] = await rowsOf<{ left: number }>(
      app,
      'SELECT extract(epoch FROM lease_until - clock_timestamp())::float AS left FROM export_delivery WHERE id = $1',
      own,
    );
    expect(left).toBeGreaterThan(40); // longer than a call can last
    await Promise.all(Array.from({ length: 4 }, () => deliver(deliverer, own, goingOn)));
    expect(server.calls).toHaveLength(1);
    expect(await dueDeliveries(app.app.db)).not.toContain(own);

    const late = answer;
    await rowsOf(
      app,
      `UPDATE export_delivery SET lease_until = now() - interval '1 second', next_attempt_at = now() - interval '3 seconds' WHERE id = $1`,
      own,
    );
    expect(await dueDeliveries(app.app.db)).toContain(own);
    const second = deliver(deliverer, own, goingOn);
    await expect.poll(() => server.calls.length).toBe(2);
    late();
    await first; // too late to say so
    expect(await deliveryRow(app, own)).toMatchObject({ state: 'PENDING', attempts: 2, fence: 2, attemptLog: [] });
    answer();
    await second;
    expect(await deliveryRow(app, own)).toMatchObject({ state: 'DELIVERED', attemptLog: [{ number: 2, code: 'DELIVERED' }] });
    expect(new Set(server.calls.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  });

  it('whose process goes in the middle is made again with the same id, and does not count', async () => {
    const open: (() => void)[] = [];
    const server = await receiver((response) => void open.push(() => response.end()));
    const { deliveries } = await announced(app, workspaceId, [{ name: 'crm', url: server.url }]);
    const [own = ''] = deliveries;
    const stop = new AbortController();
    const leaving = delivered(app, own, {}, stop.signal);
    await expect.poll(() => open.length).toBe(1);
    stop.abort(new Error('the process goes'));
    await leaving;
    expect(await deliveryRow(app, own)).toMatchObject({ state: 'PENDING', attempts: 0, leaseUntil: null, attemptLog: [] });
    await deliver(deliverer, own, stop.signal);
    expect(await deliveryRow(app, own)).toMatchObject({ fence: 1 });
    await rowsOf(app, `UPDATE export_delivery SET next_attempt_at = now() - interval '3 seconds' WHERE id = $1`, own);
    expect(await dueDeliveries(app.app.db)).toContain(own);
    const next = deliver(deliverer, own, goingOn);
    await expect.poll(() => open.length).toBe(2);
    open[1]!();
    await next;
    expect(await deliveryRow(app, own)).toMatchObject({ state: 'DELIVERED', attempts: 1, attemptLog: [{ number: 1 }] });
    expect(new Set(server.calls.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  });
});
