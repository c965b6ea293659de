// The orchestrator's first half: takes the archive of a succeeded execution to storage, and tells that it is there when it was re-read and
// is equal. Begun after the execution has settled, by its runner or by whoever finds it; every step may be made again.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import path from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { type Db, inTransaction, isPassingFault, Prisma, type Tx } from '../db.ts';
import type { ExportExecution } from '../generated/prisma/client.ts';
import { moveRow } from '../lifecycle/transition.ts';
import { linkedTo } from '../linked.ts';
import type { Log } from '../log.ts';
import { folderStorage } from '../storage/folder.ts';
import { type Storage, StorageError } from '../storage/storage.ts';
import { enqueue } from '../tasks/task.ts';
import { AlteredError, checkedBlocks } from './checked-blocks.ts';
import { beginDeliveries } from './deliveries.ts';
import { type Archive, type ExecutionInWorkspace, type Generator, generate, keptArchive, removeWork } from './generate.ts';
import { packageLifecycle } from './lifecycle.ts';
import { appendPackageEvent } from './package-events.ts';
import { settingsOf } from './plan.ts';
import { DigestChanged, publicationFailure } from './publication-failure.ts';
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

const longestWaitMs = 3_600_000;

export const packageTable = { table: 'export_package', stateType: 'publication_state' } as const;

/** The package of a succeeded execution that has none that is pending or published. Where there is one, that one stays. */
export async function beginPackage(tx: Tx, executionId: string): Promise<void> {
  await tx.sql.$executeRaw`
    INSERT INTO export_package (id, execution_id, workspace_id)
    SELECT ${uuidv7()}::uuid, id, workspace_id FROM export_execution WHERE id = ${executionId}::uuid AND state = 'SUCCEEDED'
    ON CONFLICT (execution_id) WHERE state = ANY (ARRAY['PENDING'::publication_state, 'PUBLISHED'::publication_state]) DO NOTHING`;
}

/** The execution's first. Under its lock, or of two at once the later could begin a second one when the first has failed. */
async function beginFirstPackage(db: Db, executionId: string): Promise<void> {
  if ((await db.prisma.exportPackage.count({ where: { executionId } })) > 0) return;
  await inTransaction(db, async (tx) => {
    const execution = await lockExecution(tx, executionId);
    if (execution === null || (await tx.sql.exportPackage.count({ where: { executionId } })) > 0) return;
    await beginPackage(tx, executionId);
    tx.touched.add(`progress:${executionId}`);
  });
}

/** Does nothing where the package is in storage, or somebody else is at it, so it may be called any number of times. */
export async function publish(publisher: Publisher, executionId: string, stop: AbortSignal): Promise<void> {
  const { generator, storage } = publisher;
  const { db } = generator;
  if (stop.aborted) return;
  await beginFirstPackage(db, executionId);
  const claim = await claimPackage(publisher, executionId);
  if (claim === null) return;
  const execution = await db.prisma.exportExecution.findUniqueOrThrow({ where: { id: executionId }, include: { workspace: true } });
  const key = `exports/${execution.workspaceId}/${claim.id}/${claim.fence}.zip`;
  using work = linkedTo(stop);
  const keeper = setInterval(() => void keepLease(publisher, claim, () => work.abort(new LeaseLost())), publisher.heartbeatMs);
  let isPublished = false;
  try {
    const archive = await archiveOf(publisher, execution, claim, work.signal);
    await store(storage, key, archive, work.signal);
    isPublished = await published(publisher, execution, claim, key, archive);
  } catch (error) {
    await retryOrFail(publisher, execution, claim, error, stop);
  } finally {
    clearInterval(keeper);
  }
  if (isPublished) await removeWork(generator, executionId);
  else await discard(publisher, claim, key);
}

/**
 * What was stored and is nobody's. The row is asked: where a commit was made and its answer lost, the archive is the package's. By now that
 * commit has ended, since to have looked for the package under its lock was to wait for it.
 */
async function discard({ generator, storage }: Publisher, { id }: PackageClaim, key: string): Promise<void> {
  const { storageKey } = await generator.db.prisma.exportPackage.findUniqueOrThrow({ where: { id }, select: { storageKey: true } });
  if (storageKey !== key) await storage.delete(key).catch(() => {}); // what is left, the sweep removes
}

/** Somebody else is at the package now. */
class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
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
  execution: ExecutionInWorkspace,
  { fence }: PackageClaim,
  signal: AbortSignal,
): Promise<Archive> {
  const kept = await keptArchive(generator, execution.id);
  if (kept !== null && kept.manifestDigest === execution.manifestDigest && (await isWhole(generator, execution.id, kept, signal)))
    return kept;
  await removeWork(generator, execution.id);
  // Apart from the fences of runners, whose drafts may still lie there.
  const { archive } = await generate(generator, execution, 1_000_000 + fence, signal, () => {});
  if (archive.manifestDigest !== execution.manifestDigest) throw new DigestChanged();
  return archive;
}

async function isWhole({ work }: Generator, executionId: string, archive: Archive, signal: AbortSignal): Promise<boolean> {
  try {
    return await holds(folderStorage(work), `${executionId}/${path.basename(archive.file)}`, archive, signal);
  } catch {
    signal.throwIfAborted();
    return false;
  }
}

async function store(storage: Storage, key: string, archive: Archive, signal: AbortSignal): Promise<void> {
  await storage.put(key, createReadStream(archive.file, { signal, highWaterMark: 262_144 }));
  signal.throwIfAborted();
  if (!(await holds(storage, key, archive, signal))) throw new StorageError('STORAGE_UNAVAILABLE', 'what was stored is not what was sent');
}

/** Whether what stands there is the archive, read as downloads read it, so that none finds a fault in it later that could be seen here. */
async function holds(storage: Storage, key: string, archive: Archive, signal: AbortSignal): Promise<boolean> {
  const { bytes, blockBytes, sha256 } = archive;
  const blocks = Buffer.from(archive.blocks, 'base64');
  if ((await storage.size(key)) !== bytes || blocks.length !== Math.ceil(bytes / blockBytes) * 32) return false;
  const hash = createHash('sha256');
  try {
    const whole = { start: 0, end: bytes - 1 };
    for await (const block of checkedBlocks(storage, { key, bytes, blockBytes, blocks }, whole, signal)) hash.update(block);
  } catch (error) {
    if (error instanceof AlteredError) return false;
    throw error;
  }
  return hash.digest('hex') === sha256;
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
  { generator, retryMs, attempts, log }: Publisher,
  execution: ExportExecution,
  claim: PackageClaim,
  error: unknown,
  stop: AbortSignal,
): Promise<void> {
  const ids = { executionId: execution.id, packageId: claim.id, attempt: claim.attempts };
  // A process that goes, or a database that went, is no fault of the storage: the attempt does not count.
  const isSpared = stop.aborted || isPassingFault(error);
  const isLast = !isSpared && (claim.attempts >= attempts || error instanceof DigestChanged);
  const waitMs = stop.aborted ? 0 : Math.min(retryMs * 2 ** (claim.attempts - 1), longestWaitMs);
  await inTransaction(generator.db, async (tx) => {
    const locked = await lockPackage(tx, execution.id, claim);
    if (locked === null) return log.info(ids, 'publishing stopped: somebody else has the package');
    if (stop.aborted) log.info(ids, 'publishing is handed over');
    else log.error({ err: error, ...ids }, 'an export could not be published');
    if (isLast) {
      const failure = JSON.stringify(publicationFailure(error));
      const set = [Prisma.sql`failure = ${failure}::jsonb, lease_until = NULL`];
      await moveRow(tx, packageTable, { id: claim.id, state: 'PENDING' }, packageLifecycle.transitions.PUBLISH_FAIL.to, set);
      return appendPackageEvent(tx, locked, { action: 'PUBLISH_FAIL', from: 'PENDING', to: 'FAILED', cause: 'PUBLICATION_FAILED' });
    }
    const [row] = await tx.sql.$queryRaw<{ at: Date }[]>`
      UPDATE export_package SET lease_until = NULL, attempts = attempts - ${isSpared ? 1 : 0}, next_attempt_at = clock_timestamp() + make_interval(secs => ${waitMs / 1_000})
      WHERE id = ${claim.id}::uuid RETURNING next_attempt_at AS at`;
    if (row !== undefined)
      await enqueue(tx.sql, publishExport, { executionId: execution.id }, { jobKey: `publish:${execution.id}`, runAt: row.at });
  });
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
