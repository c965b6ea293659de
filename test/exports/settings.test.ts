import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Viewer } from '../../src/auth/viewer.ts';
import { deliver } from '../../src/exports/deliveries.ts';
import { cancelExportExecution, requestWorkspaceExport } from '../../src/exports/operations.ts';
import { settingsOf } from '../../src/exports/plan.ts';
import { updateExportSettings } from '../../src/exports/settings.ts';
import { newWebhookSecret } from '../../src/exports/webhook.ts';
import { createLog } from '../../src/log.ts';
import { everything, startApp } from '../support/app.ts';
import { uuidOf } from '../support/states.ts';
import { createWorkspace, depot } from '../support/story.ts';
import { announced, answering, delivered, destinationsSet } from './announced.ts';
import { executionOf, goingOn, loadedByHand, rowsOf } from './by-hand.ts';
import { mutateExport, readExport, request } from './story.ts';

const app = await startApp({ worker: false, env: { PACKHORSE_FETCH_HOSTS: '127.0.0.1,hooks.example' } });
let workspaceId: string;
beforeAll(async () => {
  workspaceId = await createWorkspace(app);
  await loadedByHand(app, workspaceId, depot);
});

const update = (input: object, token?: string) => mutateExport(app, 'updateExportSettings', { workspaceId, ...input }, token);
const url = 'https://hooks.example/one';

async function read(id = workspaceId): Promise<any> {
  const { data, errors } = await app.graphql(
    'query ($id: ID!) { node(id: $id) { ... on Workspace { exportSettings { format datasets retentionDays destinations { name url secret } } } } }',
    { id },
  );
  expect(errors).toEqual([]);
  return data.node.exportSettings;
}

const rowOf = (id = workspaceId) => app.app.db.prisma.exportSettings.findUniqueOrThrow({ where: { workspaceId: uuidOf(id) } });

describe('export settings', () => {
  it('start as CSV, all datasets, 30 days and no destination', async () => {
    expect(await read(await createWorkspace(app))).toEqual({ format: 'CSV', datasets: null, retentionDays: 30, destinations: [] });
  });

  it('change in what is stated, and stay as they are in what is not', async () => {
    const all = { format: 'NDJSON', datasets: ['depots', 'later'], retentionDays: 7 };
    await update({ ...all, destinations: [{ name: 'one', url }] });
    const before = await rowOf();
    const destinations = [{ name: 'one', url, secret: null }];
    expect(await read()).toEqual({ ...all, destinations });
    await update({ retentionDays: 8 });
    expect(await read()).toEqual({ ...all, retentionDays: 8, destinations });
    await update({ format: null, retentionDays: null, destinations: null }); // as if they were not given
    expect(await read()).toEqual({ ...all, retentionDays: 8, destinations });
    await update({ datasets: null });
    expect(await read()).toEqual({ ...all, datasets: null, retentionDays: 8, destinations });
    await update({ destinations: [] });
    expect(await read()).toEqual({ ...all, datasets: null, retentionDays: 8, destinations: [] });
    expect(await rowOf()).toMatchObject({ revision: before.revision + 4 });
  });

  it('are copied with their revision when an export is admitted, and changed for none that was', async () => {
    await update({ format: 'CSV', datasets: ['tools', 'depots'], retentionDays: 11, destinations: [{ name: 'one', url }] });
    const { revision } = await rowOf();
    const id = await request(app, workspaceId);
    await update({ format: 'NDJSON', datasets: null, retentionDays: 12, destinations: [] });
    const settings = { format: 'CSV', datasets: ['tools', 'depots'], retentionDays: 11, destinations: [{ name: 'one', url }] };
    expect((await readExport(app, id)).settings).toEqual(settings);
    expect(settingsOf(await executionOf(app, id))).toMatchObject({ revision });
    await mutateExport(app, 'cancelExportExecution', { exportExecutionId: id });
  });

  it.each<[string, string, object]>([
    ['no day', 'retentionDays', { retentionDays: 0 }],
    ['more than ten years', 'retentionDays', { retentionDays: 3_651 }],
    ['no dataset at all', 'datasets', { datasets: [] }],
    ['too many datasets', 'datasets', { datasets: Array.from({ length: 2_001 }, (_, n) => `d${n}`) }],
    ['a dataset twice', 'datasets', { datasets: ['a', 'b', 'a'] }],
    ['a dataset with NUL', 'datasets', { datasets: ['a\0'] }],
    ['a dataset with half a character', 'datasets', { datasets: ['a\ud800'] }],
    ['too long a name of a dataset', 'datasets', { datasets: ['x'.repeat(201)] }],
    ['too many destinations', 'destinations', { destinations: Array.from({ length: 21 }, (_, n) => ({ name: `d${n}`, url })) }],
    ['two destinations of one name', 'destinations', { destinations: [1, 2].map((n) => ({ name: 'one', url: `${url}/${n}` })) }],
    ['a destination without a name', 'destinations', { destinations: [{ name: ' ', url }] }],
    ['too long a name', 'destinations', { destinations: [{ name: 'x'.repeat(101), url }] }],
    ['a name with NUL', 'destinations', { destinations: [{ name: 'a\0', url }] }],
    ['a URL with half a character', 'destinations', { destinations: [{ name: 'one', url: `${url}\udfff` }] }],
    ['a host that is not listed', 'destinations', { destinations: [{ name: 'one', url: 'https://elsewhere.example/' }] }],
    ['plain http to a far host', 'destinations', { destinations: [{ name: 'one', url: 'http://hooks.example/' }] }],
    ['no URL', 'destinations', { destinations: [{ name: 'one', url: 'hooks.example' }] }],
    ['a password in the URL', 'destinations', { destinations: [{ name: 'one', url: 'https://a:b@hooks.example/' }] }],
    [
      'a secret that is too short',
      'destinations',
      { destinations: [{ name: 'one', url, secret: `whsec_${Buffer.alloc(23).toString('base64')}` }] },
    ],
    ['a secret that is no base64', 'destinations', { destinations: [{ name: 'one', url, secret: `whsec_${'!'.repeat(40)}` }] }],
  ])('are refused with %s, and stay as they are', async (_name, field, input) => {
    const before = await rowOf();
    const answer = await update({ format: 'PARQUET', ...input });
    expect(answer).toMatchObject({ __typename: 'InvalidInputError', field });
    expect(await rowOf()).toEqual(before);
  });

  it('never repeat a secret that was refused', async () => {
    const secret = `whsec_${'canary-'.repeat(5)}`;
    expect(JSON.stringify(await update({ destinations: [{ name: 'one', url, secret }] }))).not.toContain('canary');
  });

  it('are changed by administrators of the workspace only', async () => {
    const before = await rowOf();
    const by = async (grant: Parameters<typeof app.token>[0]) => update({ retentionDays: 1 }, await app.token(grant));
    expect(await by({ workspaces: ['other'] })).toMatchObject({ __typename: 'NotFoundError' });
    const permissions = everything.filter((permission) => permission !== 'workspace:admin');
    expect(await by({ permissions })).toMatchObject({ __typename: 'ForbiddenError', permission: 'workspace:admin' });
    expect(await rowOf()).toEqual(before);
  });

  it('are copied as one, however they are edited meanwhile', { timeout: 300_000 }, async () => {
    const { exports, db } = app.app;
    const viewer: Viewer = {
      subject: 'ann',
      permissions: new Set(everything),
      workspaces: '*',
      revoked: new Set(),
      expiresAt: new Date(Date.now() + 3_600_000),
    };
    const caller = { viewer, requestId: 'r' };
    const id = uuidOf(workspaceId);
    // Everything follows from the number of days, so that a copy of two edits contradicts itself.
    const names = ['depots', 'tools', 'routes'];
    const edit = (n: number) => ({
      format: (['CSV', 'NDJSON', 'PARQUET'] as const)[n % 3]!,
      datasets: n % 4 === 3 ? null : names.slice(n % 4),
      retentionDays: n + 1,
      destinations: Array.from({ length: n % 5 }, (_, index) => ({ name: `${index} of ${n}`, url: `${url}/${n}` })),
    });
    await updateExportSettings(exports, viewer, { workspaceId: id, ...edit(0) });
    let admitted = 0;
    let edits = 0;
    let isOver = false;
    const editor = async () => {
      while (!isOver) await updateExportSettings(exports, viewer, { workspaceId: id, ...edit(++edits % 3_000) });
    };
    const seen = new Set<number>();
    const requester = async () => {
      while (admitted < 500) {
        const made = await requestWorkspaceExport(db, caller, { workspaceId: id });
        const execution = await db.prisma.exportExecution.findUniqueOrThrow({ where: { id: made } });
        const { revision: _, ...copied } = settingsOf(execution);
        const destinations = copied.destinations.map(({ name, url: own }) => ({ name, url: own }));
        const wanted = edit(copied.retentionDays - 1);
        expect({ ...copied, destinations }).toEqual(wanted);
        // What is planned is of the same copy.
        expect((execution.plan as { name: string }[]).map(({ name }) => name)).toEqual([...(wanted.datasets ?? names)].sort());
        seen.add(copied.retentionDays);
        await cancelExportExecution(db, caller, made, {});
        admitted++;
      }
    };
    const requests = requester().finally(() => {
      isOver = true;
    });
    await Promise.all([requests, editor(), editor()]);
    expect(admitted).toBe(500);
    expect(seen.size).toBeGreaterThan(50); // or nothing was edited meanwhile
  });
});

describe('a destination’s secret', () => {
  it('is shown in the answer that made it and never again, and kept as long as its URL is', async () => {
    const [kept, moved] = [
      { name: 'kept', url },
      { name: 'moved', url },
    ];
    const first = await destinationsSet(app, workspaceId, [kept, moved]);
    expect(Object.values(first)).toEqual([expect.stringMatching(/^whsec_.{44}$/), expect.stringMatching(/^whsec_.{44}$/)]);
    const sealed = async () => Object.fromEntries(((await rowOf()).destinations as any[]).map(({ name, secret }) => [name, secret]));
    const before = await sealed();
    expect((await read()).destinations.map(({ secret }: { secret: string | null }) => secret)).toEqual([null, null]);
    const second = await destinationsSet(app, workspaceId, [kept, { ...moved, url: `${url}/elsewhere` }]);
    expect(Object.keys(second)).toEqual(['moved']);
    expect(second['moved']).not.toBe(first['moved']);
    expect((await sealed())['kept']).toBe(before['kept']);
    expect((await sealed())['moved']).not.toBe(before['moved']);
    const own = newWebhookSecret();
    expect(await destinationsSet(app, workspaceId, [{ ...kept, secret: own }])).toEqual({}); // who gave it has it
    expect(app.app.exports.sealer.open((await sealed())['kept'], `export destination of ${uuidOf(workspaceId)}`)).toBe(own);
    const id = await request(app, workspaceId);
    const { data } = await app.graphql('query ($id: ID!) { exportExecution(id: $id) { settings { destinations { secret } } } }', { id });
    expect(data.exportExecution.settings.destinations).toEqual([{ secret: null }]);
    await mutateExport(app, 'cancelExportExecution', { exportExecutionId: id });
  });

  it('is shown for the workspace that it is of, and for no other of the same request', async () => {
    await mutateExport(app, 'updateExportSettings', { workspaceId, destinations: [{ name: 'same', url }] });
    const made = await createWorkspace(app);
    const change = (id: string, more: object = {}) => ({ workspaceId: id, retentionDays: 5, ...more });
    const destinations = 'destinations { name secret }';
    const { data } = await app.graphql(
      `mutation ($a: UpdateExportSettingsInput!, $b: RequestWorkspaceExportInput!, $c: UpdateExportSettingsInput!) {
        a: updateExportSettings(input: $a) { ... on Workspace { exportSettings { ${destinations} } } }
        b: requestWorkspaceExport(input: $b) { ... on ExportExecution { id settings { ${destinations} } workspace { exportSettings { ${destinations} } } } }
        c: updateExportSettings(input: $c) { ... on Workspace { exportSettings { ${destinations} } } } }`,
      { a: change(made, { destinations: [{ name: 'same', url }] }), b: { workspaceId }, c: change(workspaceId) },
    );
    const hidden = { destinations: [{ name: 'same', secret: null }] };
    expect(data.a.exportSettings.destinations).toEqual([{ name: 'same', secret: expect.stringMatching(/^whsec_/) }]);
    expect(data.b).toMatchObject({ settings: hidden, workspace: { exportSettings: hidden } });
    expect(data.c.exportSettings).toEqual(hidden);
    await mutateExport(app, 'cancelExportExecution', { exportExecutionId: data.b.id });
  });

  it('that one administrator sets is not put back by another who keeps it at the same moment', async () => {
    const destinations = [{ name: 'crm', url }];
    await mutateExport(app, 'updateExportSettings', { workspaceId, destinations });
    const client = await app.app.db.pool.connect();
    await client.query('BEGIN');
    await client.query('SELECT FROM export_settings WHERE workspace_id = $1 FOR UPDATE', [uuidOf(workspaceId)]);
    const waiting = (count: number) =>
      expect
        .poll(() => rowsOf(app, `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`))
        .toHaveLength(count);
    const secret = newWebhookSecret();
    const first = update({ destinations: [{ name: 'crm', url, secret }] });
    await waiting(1);
    const second = update({ destinations });
    await waiting(2);
    await client.query('ROLLBACK');
    client.release();
    await Promise.all([first, second]);
    const [{ secret: sealed }] = (await rowOf()).destinations as any;
    expect(app.app.exports.sealer.open(sealed, `export destination of ${uuidOf(workspaceId)}`)).toBe(secret);
  });

  it('opens in its own workspace only', async () => {
    const server = await answering(200);
    const own = await createWorkspace(app);
    await loadedByHand(app, own, depot.slice(0, 1));
    await destinationsSet(app, workspaceId, [{ name: 'crm', url: server.url }]);
    const stolen = ((await rowOf()).destinations as any[])[0].secret;
    const { deliveries } = await announced(app, own, [{ name: 'crm', url: server.url }]);
    await rowsOf(app, 'UPDATE export_delivery SET secret = $2 WHERE id = $1', deliveries[0], stolen);
    await delivered(app, deliveries[0]!);
    expect(server.calls).toEqual([]);
  });

  it('and the link in the message stand nowhere in the database or the logs', async () => {
    const server = await answering(500);
    const canary = randomBytes(24);
    const secret = `whsec_${canary.toString('base64')}`;
    await mutateExport(app, 'updateExportSettings', { workspaceId, destinations: [] });
    const { deliveries } = await announced(app, workspaceId, [{ name: 'crm', url: server.url, secret }]);
    const lines: string[] = [];
    const log = createLog({ logLevel: 'trace' }, { write: (line) => void lines.push(line) });
    await deliver({ ...app.tasks.exports.deliverer, log }, deliveries[0]!, goingOn);
    const [call] = server.calls;
    const { data } = new Webhook(secret).verify(call!.body, call!.headers as Record<string, string>) as { data: { url: string } };
    const signature = new URL(data.url).searchParams.get('signature');
    expect(lines).toHaveLength(1);
    const tables = await rowsOf<{ name: string }>(
      app,
      `SELECT format('%I.%I', nspname, relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE relkind = 'r' AND nspname IN ('public', 'graphile_worker')`,
    );
    let text = lines.join('\n');
    for (const { name } of tables)
      text += (await rowsOf<{ row: string }>(app, `SELECT t::text AS row FROM ${name} t`)).map(({ row }) => row).join('\n');
    expect(text.length).toBeGreaterThan(10_000);
    for (const secretText of [secret, canary.toString('base64'), canary.toString('hex'), canary.toString('base64url'), signature!])
      expect(text).not.toContain(secretText);
  });
});
