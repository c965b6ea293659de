// An export that is published and announced, where a test calls the destinations itself.
import { expect } from 'vitest';
import { type Deliverer, deliver } from '../../src/exports/deliveries.ts';
import { publish } from '../../src/exports/publish.ts';
import { type Receiver, receiver } from '../outbound/receiver.ts';
import type { TestApp } from '../support/app.ts';
import { uuidOf } from '../support/states.ts';
import { generatedByHand, goingOn, rowsOf } from './by-hand.ts';
import { mutateExport } from './story.ts';

interface Destination {
  readonly name: string;
  readonly url: string;
  readonly secret?: string;
}

/** Where nobody listens. */
export const nobody: Destination = { name: 'nobody', url: 'http://127.0.0.1:2/nobody' };

/** Answers with these in turn, and with the last one from then on. */
export function answering(...statuses: readonly (number | 'reset')[]): Promise<Receiver> {
  let calls = 0;
  return receiver((response) => {
    const status = statuses[Math.min(calls++, statuses.length - 1)] ?? 200;
    if (status === 'reset') return void response.socket?.resetAndDestroy();
    response.writeHead(status, { 'retry-after': '7', location: `http://${response.req.headers.host}/elsewhere` }).end('x');
  });
}

/** Sets the destinations of the workspace; the secrets that were made for them, by name. */
export async function destinationsSet(
  app: TestApp,
  workspaceId: string,
  destinations: readonly Destination[],
): Promise<Record<string, string>> {
  const set = await mutateExport(app, 'updateExportSettings', { workspaceId, destinations });
  expect(set.__typename, JSON.stringify(set)).toBe('Workspace');
  const made = set.exportSettings.destinations as { name: string; secret: string | null }[];
  return Object.fromEntries(made.flatMap(({ name, secret }) => (secret === null ? [] : [[name, secret]])));
}

interface Announced {
  /** The execution's global id. */
  readonly id: string;
  readonly packageId: string;
  /** Database ids of the deliveries, in the order of the destinations. */
  readonly deliveries: readonly string[];
  readonly secrets: Readonly<Record<string, string>>;
}

export async function announced(app: TestApp, workspaceId: string, destinations: readonly Destination[]): Promise<Announced> {
  const secrets = await destinationsSet(app, workspaceId, destinations);
  const id = await generatedByHand(app, workspaceId);
  await publish(app.tasks.exports.publisher, uuidOf(id), goingOn);
  const rows = await rowsOf<{ id: string; package: string }>(
    app,
    'SELECT d.id, package_id AS package FROM export_delivery d JOIN export_package p ON p.id = d.package_id WHERE execution_id = $1 ORDER BY d.id',
    uuidOf(id),
  );
  expect(rows).toHaveLength(destinations.length);
  return { id, packageId: rows[0]?.package ?? '', deliveries: rows.map((row) => row.id), secrets };
}

/** One attempt, as if its time had come. */
export async function delivered(app: TestApp, deliveryId: string, by: Partial<Deliverer> = {}, stop = goingOn): Promise<void> {
  await rowsOf(app, `UPDATE export_delivery SET next_attempt_at = now() - interval '1 second' WHERE id = $1`, deliveryId);
  await deliver({ ...app.tasks.exports.deliverer, ...by }, deliveryId, stop);
}

export const deliveryRow = (app: TestApp, id: string) =>
  app.app.db.prisma.exportDelivery.findUniqueOrThrow({ where: { id }, include: { attemptLog: { orderBy: { number: 'asc' } } } });
