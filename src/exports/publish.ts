// The orchestrator's first half: takes the archive of a succeeded execution to storage, and tells that it is there when it was re-read and
// is equal. Begun after the execution has settled, by its runner or by whoever finds it; every step may be made again.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { v7 as uuidv7 } from 'uuid';
import { type Db, inTransaction, isPassingFault, Prisma, type Tx } from '../db.ts';
import type { Failure } from '../errors.ts';
import type { ExportExecution } from '../generated/prisma/client.ts';
import { moveRow } from '../lifecycle/transition.ts';
import type { Log } from '../log.ts';
import { type Storage, StorageError } from '../storage/storage.ts';
import { enqueue } from '../tasks/task.ts';
import { beginDeliveries } from './deliveries.ts';
import { type Archive, type Generator, generate, keptArchive, removeWork } from './generate.ts';
import { packageLifecycle } from './lifecycle.ts';
import { appendPackageEvent } from './package-events.ts';
import { settingsOf } from './plan.ts';
import { lockExecution } from './rows.ts';
import { publishExport } from './wake.ts';

export interface Publisher {
  readonly generator: Generator;
  readonly storage: Storage;
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  /** After the first fault; each further one waits twice as long. */
  readonly retryMs: number;
  readonly attempts: number;
  readonly log: Log;
}

interface PackageClaim {
  readonly id: string;
  readonly fence: number;
  readonly attempts: number;
}

export const packageTable = { table: 'export_package', stateType: 'publication_state' } as const;

/** The package of a succeeded execution that has none that is pending or published. Where there is one, that one stays. */
export async function beginPackage(tx: Tx, executionId: string): Promise<void> {
  await tx.sql.$executeRaw`
    INSERT INTO export_package (id, execution_id, workspace_id)
    SELECT ${uuidv7()}::uuid, id, workspace_id FROM export_execution WHERE id = ${executionId}::uuid AND state = 'SUCCEEDED'
    ON CONFLICT (execution_id) WHERE state = ANY (ARRAY['PENDING'::publication_state, 'PUBLISHED'::publication_state]) DO NOTHING`;
}

/** Does nothing where the package is in storage, or somebody else is at it, so it may be called any number of times. */
export async function publish(publisher: Publisher, executionId: string, stop: AbortSignal): Promise<void> {
  const { db } = publisher.generator;
  const count = await db.prisma.exportPackage.count({ where: { executionId } });
  if (count === 0) await inTransaction(db, (tx) => beginPackage(tx, executionId));
  const claim = await claimPackage(publisher, executionId);
  if (claim === null || stop.aborted) return;
  const execution = await db.prisma.exportExecution.findUniqueOrThrow({ where: { id: executionId }, include: { workspace: true } });
  const key = `exports/${execution.workspaceId}/${claim.id}/${claim.fence}.zip`;
  const work = new AbortController();
  const onStop = () => work.abort(stop.reason);
  stop.addEventListener('abort', onStop, { once: true });
  const keeper = setInterval(
    () => void keepLease(publisher, claim, () => work.abort(new Error('the lease is gone'))),
    publisher.heartbeatMs,
  );
  try {
    const archive = await archiveOf(publisher, execution, claim, work.signal);
    await store(publisher.storage, key, archive, work.signal);
    if (await published(publisher, execution, claim, key, archive)) await removeWork(publisher.generator, executionId);
    else await publisher.storage.delete(key);
  } catch (error) {
    await retryOrFail(publisher, execution, claim, error, stop);
    await publisher.storage.delete(key).catch(() => {}); // what is left, the sweep removes
  } finally {
    clearInterval(keeper);
    stop.removeEventListener('abort', onStop);
  }
}

async function claimPackage({ generator, leaseMs }: Publisher, executionId: string): Promise<PackageClaim | null> {
  const [claim] = await generator.db.prisma.$queryRaw<PackageClaim[]>`
    UPDATE export_package SET fence = fence + 1, attempts = attempts + 1, lease_until = clock_timestamp() + make_interval(secs => ${leaseMs / 1_000})
    WHERE execution_id = ${executionId}::uuid AND state = 'PENDING' AND next_attempt_at <= clock_timestamp()
      AND (lease_until IS NULL OR lease_until < clock_timestamp())
    RETURNING id::text, fence, attempts`;
  return claim ?? null;
}

async function keepLease({ generator, leaseMs }: Publisher, { id, fence }: PackageClaim, lost: () => void): Promise<void> {
  try {
    const kept = await generator.db.prisma.$executeRaw`
      UPDATE export_package SET lease_until = clock_timestamp() + make_interval(secs => ${leaseMs / 1_000}) WHERE id = ${id}::uuid AND fence = ${fence} AND state = 'PENDING'`;
    if (kept === 0) lost();
  } catch {
    // made up by the next; none for a whole lease lets another take over
  }
}

/** The one on this machine, or the same once more: made again from the cutoff, it must have the digest that the execution recorded. */
async function archiveOf(
  { generator }: Publisher,
  execution: ExportExecution & { readonly workspace: { readonly slug: string } },
  { fence }: PackageClaim,
  signal: AbortSignal,
): Promise<Archive> {
  const kept = await keptArchive(generator, execution.id);
  if (kept !== null && kept.manifestDigest === execution.manifestDigest && (await isWhole(kept, signal))) return kept;
  await removeWork(generator, execution.id);
  // Apart from the fences of runners, whose drafts may still lie there.
  const { archive } = await generate(generator, execution, 1_000_000 + fence, signal, () => {});
  if (archive.manifestDigest !== execution.manifestDigest) throw new DigestChanged();
  return archive;
}

/** What was generated again is not what the execution recorded: a fault of ours, or rows that were changed behind our back. */
class DigestChanged extends Error {
  override readonly name = 'DigestChanged';
}

async function isWhole({ file, sha256 }: Archive, signal: AbortSignal): Promise<boolean> {
  try {
    return (await sha256Of(createReadStream(file, { signal, highWaterMark: 262_144 }))) === sha256;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}

async function store(storage: Storage, key: string, { file, sha256, bytes }: Archive, signal: AbortSignal): Promise<void> {
  await storage.put(key, createReadStream(file, { signal, highWaterMark: 262_144 }));
  const stored = await storage.get(key);
  const stopReading = () => stored.destroy(signal.reason as Error);
  signal.addEventListener('abort', stopReading, { once: true });
  try {
    const isEqual = (await storage.size(key)) === bytes && (await sha256Of(stored)) === sha256;
    if (!isEqual) throw new StorageError('STORAGE_UNAVAILABLE', 'what was stored is not what was sent');
  } finally {
    signal.removeEventListener('abort', stopReading);
  }
}

async function sha256Of(stream: Readable): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of stream) hash.update(chunk as Buffer); // a byte stream has no other chunks
  return hash.digest('hex');
}

/** False where somebody else has the package: then what was stored is nobody's. */
function published(
  { generator }: Publisher,
  execution: ExportExecution,
  claim: PackageClaim,
  key: string,
  archive: Archive,
): Promise<boolean> {
  return inTransaction(generator.db, async (tx) => {
    const locked = await lockPackage(tx, execution.id, claim);
    if (locked === null) return false;
    const { retentionDays } = settingsOf(locked);
    await moveRow(tx, packageTable, { id: claim.id, state: 'PENDING' }, packageLifecycle.transitions.PUBLISH.to, [
      Prisma.sql`storage_key = ${key}, bytes = ${archive.bytes}, digest = ${`sha256:${archive.sha256}`}, blocks = ${Buffer.from(archive.blocks, 'base64')},
        block_bytes = ${archive.blockBytes}, published_at = clock_timestamp(), expires_at = clock_timestamp() + make_interval(days => ${retentionDays}), lease_until = NULL`,
    ]);
    await beginDeliveries(tx, locked, claim.id);
    await appendPackageEvent(tx, locked, { action: 'PUBLISH', from: 'PENDING', to: 'PUBLISHED' });
    return true;
  });
}

async function lockPackage(tx: Tx, executionId: string, { id, fence }: PackageClaim): Promise<ExportExecution | null> {
  const execution = await lockExecution(tx, executionId);
  const held = await tx.sql.$queryRaw<{ id: string }[]>`
    SELECT id::text FROM export_package WHERE id = ${id}::uuid AND fence = ${fence} AND state = 'PENDING' FOR UPDATE`;
  return held.length === 0 ? null : execution;
}

async function retryOrFail(
  publisher: Publisher,
  execution: ExportExecution,
  claim: PackageClaim,
  error: unknown,
  stop: AbortSignal,
): Promise<void> {
  const { generator, retryMs, attempts, log } = publisher;
  const ids = { executionId: execution.id, packageId: claim.id, attempt: claim.attempts };
  const spared = stop.aborted || isPassingFault(error);
  if (!spared) log.error({ err: error, ...ids }, 'an export could not be published');
  await inTransaction(generator.db, async (tx) => {
    const locked = await lockPackage(tx, execution.id, claim);
    if (locked === null) return;
    if (!spared && (claim.attempts >= attempts || error instanceof DigestChanged)) {
      const failure = JSON.stringify(failureOf(error));
      const set = [Prisma.sql`failure = ${failure}::jsonb, lease_until = NULL`];
      await moveRow(tx, packageTable, { id: claim.id, state: 'PENDING' }, packageLifecycle.transitions.PUBLISH_FAIL.to, set);
      await appendPackageEvent(tx, locked, { action: 'PUBLISH_FAIL', from: 'PENDING', to: 'FAILED', cause: 'PUBLICATION_FAILED' });
      return;
    }
    // A process that goes, or a database that went, is no fault of the storage: the attempt does not count.
    const waitMs = spared ? 0 : Math.min(retryMs * 2 ** (claim.attempts - 1), 3_600_000);
    const [row] = await tx.sql.$queryRaw<{ at: Date }[]>`
      UPDATE export_package SET lease_until = NULL, attempts = attempts - ${spared ? 1 : 0}, next_attempt_at = clock_timestamp() + make_interval(secs => ${waitMs / 1_000})
      WHERE id = ${claim.id}::uuid RETURNING next_attempt_at AS at`;
    if (row !== undefined)
      await enqueue(tx.sql, publishExport, { executionId: execution.id }, { jobKey: `publish:${execution.id}`, runAt: row.at });
  });
}

function failureOf(error: unknown): Failure {
  const failure = (code: string, origin: Failure['origin'], summary: string): Failure => ({
    code,
    origin,
    phase: 'publishing',
    retryable: true,
    summary,
  });
  if (error instanceof StorageError) {
    const summary = `The package could not be stored: ${error.message}. Mend the storage, then republish the export; nothing was lost.`;
    return failure(error.code, 'storage', summary);
  }
  if (error instanceof DigestChanged) {
    return failure(
      'DIGEST_CHANGED',
      'system',
      'Generated again from its cutoff, the export has another digest than was recorded. It is not published.',
    );
  }
  return failure(
    'INTERNAL_ERROR',
    'system',
    'Publishing stopped on an unexpected fault. It stands in the server’s log under this execution.',
  );
}

/** Succeeded executions without a package, and packages that are due and that nobody is at. */
export async function duePublications(db: Db): Promise<string[]> {
  const rows = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT execution_id::text AS id FROM export_package
    WHERE state = 'PENDING' AND next_attempt_at <= clock_timestamp() AND coalesce(lease_until, created_at + interval '2 seconds') < clock_timestamp()
    UNION ALL
    SELECT id::text FROM export_execution e WHERE state = 'SUCCEEDED' AND settled_at < clock_timestamp() - interval '2 seconds'
      AND NOT EXISTS (SELECT 1 FROM export_package p WHERE p.execution_id = e.id)
    LIMIT 100`;
  return rows.map(({ id }) => id);
}
