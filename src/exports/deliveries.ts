// The orchestrator's second half: tells the destinations that a package is there, by a signed webhook, until each has it or is given up.
// A delivery never generates: it tells of what is in storage.
import { v7 as uuidv7 } from 'uuid';
import type { Sealer } from '../auth/sealed.ts';
import { type Db, inTransaction, Prisma, type Tx } from '../db.ts';
import type { Failure } from '../errors.ts';
import type { ExportDelivery, ExportExecution, ExportPackage } from '../generated/prisma/client.ts';
import { moveRow } from '../lifecycle/transition.ts';
import type { Log } from '../log.ts';
import type { Outbound } from '../outbound/request.ts';
import { enqueue } from '../tasks/task.ts';
import type { ExecutionInWorkspace } from './generate.ts';
import { deliveryLifecycle } from './lifecycle.ts';
import { type Links, linkTo } from './links.ts';
import { appendPackageEvent } from './package-events.ts';
import { countsOf, settingsOf } from './plan.ts';
import { lockExecution } from './rows.ts';
import { secretContext } from './settings.ts';
import { deliverExport } from './wake.ts';
import { accountOf, sendWebhook, type WebhookOutcome } from './webhook.ts';

export interface Deliverer {
  readonly db: Db;
  readonly outbound: Outbound;
  readonly sealer: Sealer;
  readonly links: Links;
  readonly leaseMs: number;
  /** After the first fault; see `waits`. */
  readonly retryMs: number;
  readonly log: Log;
}

/** Standard Webhooks' schedule, in units of the setting: with five seconds at once, 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h. */
const waits = [1, 60, 360, 1_440, 3_600, 7_200, 10_080, 14_400, 17_280];
const longestWaitSeconds = 86_400;
/** How long the link holds that a message carries. */
const linkSeconds = 86_400;

const deliveryTable = { table: 'export_delivery', stateType: 'delivery_state' } as const;

/** One for each destination that the execution copied. */
export async function beginDeliveries(tx: Tx, execution: ExportExecution, packageId: string): Promise<void> {
  for (const destination of settingsOf(execution).destinations) {
    await beginDelivery(tx, packageId, { ...destination, webhookId: `msg_${uuidv7()}` });
  }
}

/** `webhookId`: what a receiver knows a message by, whichever attempt it is. */
export async function beginDelivery(
  tx: Tx,
  packageId: string,
  { name, url, secret, webhookId }: { readonly name: string; readonly url: string; readonly secret: string; readonly webhookId: string },
): Promise<string> {
  const id = uuidv7();
  await tx.sql.exportDelivery.create({ data: { id, packageId, destination: name, url, secret, webhookId } });
  await enqueue(tx.sql, deliverExport, { deliveryId: id }, { jobKey: `deliver:${id}` });
  return id;
}

type Held = ExportDelivery & {
  readonly package: ExportPackage & { readonly execution: ExecutionInWorkspace };
};

/** One attempt. Does nothing where it is delivered or given up, or somebody else is at it. */
export async function deliver(deliverer: Deliverer, id: string, stop: AbortSignal): Promise<void> {
  const { db } = deliverer;
  if (stop.aborted) return;
  const [claim] = await db.prisma.$queryRaw<{ fence: number }[]>`
    UPDATE export_delivery SET fence = fence + 1, attempts = attempts + 1, lease_until = clock_timestamp() + make_interval(secs => ${leaseSeconds(deliverer)})
    WHERE id = ${id}::uuid AND state = 'PENDING' AND next_attempt_at <= clock_timestamp() AND (lease_until IS NULL OR lease_until < clock_timestamp())
    RETURNING fence`;
  if (claim === undefined) return;
  const held = await db.prisma.exportDelivery.findUniqueOrThrow({
    where: { id },
    include: { package: { include: { execution: { include: { workspace: { select: { slug: true } } } } } } },
  });
  const began = performance.now();
  const outcome = await attempt(deliverer, held, stop);
  if (outcome === null) return handBack(db, id, claim.fence);
  await record(deliverer, held, claim.fence, outcome, Math.round(performance.now() - began));
}

// A call has 30 s at most; a lease that ended before it would send twice.
const leaseSeconds = ({ leaseMs }: Deliverer) => Math.max(leaseMs / 1_000, 45);

/**
 * Null: this process goes, and nobody knows whether it arrived. It is sent again, with the same id. The link is made for each attempt, or it
 * would have ended before the later ones; but for `url` and `urlExpiresAt` the message is the same each time.
 */
async function attempt(deliverer: Deliverer, held: Held, stop: AbortSignal): Promise<WebhookOutcome | null> {
  const fault = (code: string, message: string): WebhookOutcome => ({ is: 'failed', code, status: null, message, retryAfterSeconds: null });
  const { state, expiresAt } = held.package;
  // The row says that it is kept until the sweep comes by.
  if (state !== 'PUBLISHED' || expiresAt === null || expiresAt.getTime() <= Date.now())
    return fault('PACKAGE_EXPIRED', 'The package is no longer in storage.');
  const { execution } = held.package;
  const secret = deliverer.sealer.open(held.secret, secretContext(execution.workspaceId));
  if (secret === null) {
    return fault(
      'SECRET_UNREADABLE',
      'The signing secret was sealed under another PACKHORSE_JWT_SECRET. Set the destination’s secret again, then redeliver.',
    );
  }
  const link = linkTo(deliverer.links, held.package, execution.workspace.slug, linkSeconds);
  const body = JSON.stringify({
    type: 'export.published',
    timestamp: held.package.publishedAt?.toISOString(),
    data: {
      workspace: execution.workspace.slug,
      executionId: execution.id,
      packageId: held.package.id,
      cutoff: execution.cutoff,
      manifestDigest: execution.manifestDigest,
      digest: held.package.digest,
      bytes: String(held.package.bytes),
      counts: countsOf(execution),
      url: link.url,
      urlExpiresAt: link.expiresAt.toISOString(),
    },
  });
  try {
    const now = new Date();
    return await sendWebhook(deliverer.outbound, { id: held.webhookId, url: held.url, secret, body, now, signal: stop });
  } catch (error) {
    if (stop.aborted) return null;
    throw error;
  }
}

async function handBack(db: Db, id: string, fence: number): Promise<void> {
  await db.prisma
    .$executeRaw`UPDATE export_delivery SET lease_until = NULL, attempts = attempts - 1 WHERE id = ${id}::uuid AND fence = ${fence} AND state = 'PENDING'`;
}

async function record({ db, retryMs, log }: Deliverer, held: Held, fence: number, outcome: WebhookOutcome, ms: number): Promise<void> {
  const { status, code, message } = accountOf(outcome);
  await inTransaction(db, async (tx) => {
    const execution = await lockExecution(tx, held.package.executionId);
    const [row] = await tx.sql.$queryRaw<{ attempts: number }[]>`
      SELECT attempts FROM export_delivery WHERE id = ${held.id}::uuid AND fence = ${fence} AND state = 'PENDING' FOR UPDATE`;
    if (row === undefined || execution === null) return;
    await tx.sql.exportDeliveryAttempt.create({
      data: { deliveryId: held.id, number: row.attempts, status, code, message, durationMs: ms },
    });
    const destination = held.destination;
    if (outcome.is === 'delivered') {
      await moveRow(tx, deliveryTable, held, deliveryLifecycle.transitions.DELIVER.to, [
        Prisma.sql`delivered_at = clock_timestamp(), lease_until = NULL`,
      ]);
      return appendPackageEvent(tx, execution, { action: 'DELIVER', from: 'PENDING', to: 'DELIVERED', destination });
    }
    const wait = waits[row.attempts - 1];
    if (outcome.is === 'gone' || wait === undefined || isFinal(code)) {
      const failure: Failure = { code, origin: 'target', phase: 'delivering', retryable: true, summary: message };
      const set = [Prisma.sql`failure = ${JSON.stringify(failure)}::jsonb, lease_until = NULL`];
      await moveRow(tx, deliveryTable, held, deliveryLifecycle.transitions.DELIVERY_FAIL.to, set);
      return appendPackageEvent(tx, execution, { action: 'DELIVERY_FAIL', from: 'PENDING', to: 'FAILED', destination, cause: code });
    }
    const asked = outcome.retryAfterSeconds ?? 0;
    const seconds = Math.min(Math.max((retryMs / 1_000) * wait, asked), longestWaitSeconds);
    const [next] = await tx.sql.$queryRaw<{ at: Date }[]>`
      UPDATE export_delivery SET lease_until = NULL, next_attempt_at = clock_timestamp() + make_interval(secs => ${seconds}) WHERE id = ${held.id}::uuid
      RETURNING next_attempt_at AS at`;
    if (next !== undefined) await enqueue(tx.sql, deliverExport, { deliveryId: held.id }, { jobKey: `deliver:${held.id}`, runAt: next.at });
    log.warn({ deliveryId: held.id, destination, code, attempt: row.attempts, seconds }, 'a delivery failed and is tried again');
  });
}

/** What no repetition mends. */
const isFinal = (code: string) => code === 'PACKAGE_EXPIRED' || code === 'SECRET_UNREADABLE' || code === 'SECRET_UNUSABLE';

export async function dueDeliveries(db: Db): Promise<string[]> {
  const rows = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT id::text FROM export_delivery WHERE state = 'PENDING' AND next_attempt_at <= clock_timestamp() - interval '2 seconds'
      AND (lease_until IS NULL OR lease_until < clock_timestamp()) ORDER BY next_attempt_at LIMIT 100`;
  return rows.map(({ id }) => id);
}
