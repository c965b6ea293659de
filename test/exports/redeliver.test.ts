import { Webhook } from 'standardwebhooks';
import { beforeAll, describe, expect, it } from 'vitest';
import { sealer } from '../../src/auth/sealed.ts';
import { expirePackages } from '../../src/exports/retention.ts';
import { newWebhookSecret } from '../../src/exports/webhook.ts';
import { startApp } from '../support/app.ts';
import { uuidOf } from '../support/states.ts';
import { createWorkspace, depot } from '../support/story.ts';
import { announced, answering, delivered, deliveryRow, destinationsSet, nobody } from './announced.ts';
import { loadedByHand, rowsOf } from './by-hand.ts';
import { mutateExport, readExport } from './story.ts';

const app = await startApp({ worker: false, env: { PACKHORSE_FETCH_HOSTS: '127.0.0.1' } });
let workspaceId: string;
beforeAll(async () => {
  workspaceId = await createWorkspace(app);
  await loadedByHand(app, workspaceId, depot);
});

const globalId = (id: string) => Buffer.from(`ExportDelivery:${id}`).toString('base64');
/** By the delivery's database id. */
const redelivered = (id: string) => mutateExport(app, 'redeliver', { exportDeliveryId: globalId(id) });

describe('redelivering', () => {
  it('tells a destination once more with the same id, where the settings have it now and by their secret', async () => {
    const wrong = await answering(410);
    const right = await answering(200);
    const { id, deliveries, secrets } = await announced(app, workspaceId, [{ name: 'crm', url: wrong.url }]);
    const pending = await redelivered(deliveries[0]!);
    expect(pending).toMatchObject({ __typename: 'ConflictError', code: 'DELIVERY_PENDING' });
    await delivered(app, deliveries[0]!);
    const later = await destinationsSet(app, workspaceId, [{ name: 'crm', url: right.url }]);
    expect(later['crm']).not.toBe(secrets['crm']);
    const made = await redelivered(deliveries[0]!);
    expect(made).toMatchObject({ __typename: 'ExportDelivery', destination: 'crm', state: 'PENDING', attempts: 0 });
    expect(await redelivered(deliveries[0]!)).toMatchObject({ code: 'DELIVERY_PENDING' });
    await delivered(app, uuidOf(made.id));
    const [call] = right.calls;
    new Webhook(later['crm']!).verify(call!.body, call!.headers as Record<string, string>);
    expect(call!.headers['webhook-id']).toBe(wrong.calls[0]!.headers['webhook-id']);
    expect((await readExport(app, id)).exportPackage.deliveries).toMatchObject([{ state: 'FAILED' }, { state: 'DELIVERED' }]);
    expect(wrong.calls).toHaveLength(1);
    // Once more, and to where it went, since the settings have it no more.
    await destinationsSet(app, workspaceId, []);
    await delivered(app, uuidOf((await redelivered(uuidOf(made.id))).id));
    expect(right.calls).toHaveLength(2);
    new Webhook(later['crm']!).verify(right.calls[1]!.body, right.calls[1]!.headers as Record<string, string>);
  });

  it('is one delivery for any number that ask at once', async () => {
    const { deliveries } = await announced(app, workspaceId, [{ name: 'crm', url: (await answering(410)).url }]);
    await delivered(app, deliveries[0]!);
    const answers = await Promise.all(Array.from({ length: 5 }, () => redelivered(deliveries[0]!)));
    expect(answers.filter(({ code }) => code === 'DELIVERY_PENDING')).toHaveLength(4);
    expect(answers.filter(({ state }) => state === 'PENDING')).toHaveLength(1);
  });

  it('is refused once the package is no longer kept, before the sweep and after', async () => {
    const server = await answering(500);
    const { packageId, deliveries } = await announced(app, workspaceId, [nobody, { name: 'crm', url: server.url }]);
    await delivered(app, deliveries[1]!);
    await rowsOf(app, `UPDATE export_delivery SET state = 'FAILED', failure = '{"code":"X"}' WHERE id = $1`, deliveries[0]);
    await rowsOf(app, `UPDATE export_package SET expires_at = now() - interval '1 second' WHERE id = $1`, packageId);
    expect(await redelivered(deliveries[0]!)).toMatchObject({ __typename: 'ConflictError', code: 'PACKAGE_EXPIRED' });
    await delivered(app, deliveries[1]!); // what waits ends, and nobody is told of what cannot be fetched
    expect(await deliveryRow(app, deliveries[1]!)).toMatchObject({ state: 'FAILED', failure: { code: 'PACKAGE_EXPIRED' } });
    expect(server.calls).toHaveLength(1);
    await expirePackages(app.app.db, app.tasks.exports.storage);
    expect(await redelivered(deliveries[0]!)).toMatchObject({ __typename: 'ConflictError', code: 'PACKAGE_EXPIRED' });
  });

  it('is not for whom the workspace is hidden from, or who may not export', async () => {
    const { deliveries } = await announced(app, workspaceId, [nobody]);
    const exportDeliveryId = globalId(deliveries[0]!);
    const ask = async (grant: Parameters<typeof app.token>[0]) =>
      mutateExport(app, 'redeliver', { exportDeliveryId }, await app.token(grant));
    expect(await ask({ workspaces: ['other'] })).toMatchObject({ __typename: 'NotFoundError' });
    expect(await ask({ permissions: ['workspace:read'] })).toMatchObject({
      __typename: 'ForbiddenError',
      permission: 'data-export:execute',
    });
  });

  it('mends what ended because the secret was sealed under another one of the cluster, when it is set again', async () => {
    const server = await answering(200);
    const { deliveries } = await announced(app, workspaceId, [{ name: 'crm', url: server.url }]);
    await delivered(app, deliveries[0]!, { sealer: sealer(Buffer.from('a secret that came after the first one')) });
    expect(await deliveryRow(app, deliveries[0]!)).toMatchObject({ state: 'FAILED', failure: { code: 'SECRET_UNREADABLE' } });
    expect(server.calls).toEqual([]);
    const secret = newWebhookSecret();
    await destinationsSet(app, workspaceId, [{ name: 'crm', url: server.url, secret }]);
    const again = await redelivered(deliveries[0]!);
    await delivered(app, uuidOf(again.id));
    const [call] = server.calls;
    expect(new Webhook(secret).verify(call!.body, call!.headers as Record<string, string>)).toMatchObject({ type: 'export.published' });
  });
});
