// The end of packages: expiry as an event, then the deletion; and objects in storage that no package owns.
import { type Db, inTransaction } from '../db.ts';
import { moveRow } from '../lifecycle/transition.ts';
import type { Storage } from '../storage/storage.ts';
import { each } from './each.ts';
import { packageLifecycle } from './lifecycle.ts';
import { appendPackageEvent } from './package-events.ts';
import { packageTable } from './publish.ts';
import { lockExecution } from './rows.ts';

const atOnce = 1_000;

/** The row says so first, so that no new link is given; the object goes after, and a deletion that failed is made up for the next time. */
export async function expirePackages(db: Db, storage: Storage): Promise<void> {
  await each([() => expireDue(db), () => deleteExpired(db, storage)], (step) => step());
}

async function expireDue(db: Db): Promise<void> {
  const due = await db.prisma.$queryRaw<{ id: string; executionId: string }[]>`
    SELECT id::text, execution_id::text AS "executionId" FROM export_package WHERE state = 'PUBLISHED' AND expires_at <= clock_timestamp() ORDER BY expires_at LIMIT ${atOnce}`;
  await each(due, ({ id, executionId }) =>
    inTransaction(db, async (tx) => {
      const execution = await lockExecution(tx, executionId);
      const held = await tx.sql.$queryRaw<{ id: string }[]>`
        SELECT id::text FROM export_package WHERE id = ${id}::uuid AND state = 'PUBLISHED' FOR UPDATE`;
      if (execution === null || held.length === 0) return; // another process was first
      await moveRow(tx, packageTable, { id, state: 'PUBLISHED' }, packageLifecycle.transitions.EXPIRE.to, []);
      await appendPackageEvent(tx, execution, { action: 'EXPIRE', from: 'PUBLISHED', to: 'EXPIRED', cause: 'RETENTION_OVER' });
    }),
  );
}

async function deleteExpired(db: Db, storage: Storage): Promise<void> {
  const gone = await db.prisma.$queryRaw<{ id: string; key: string }[]>`
    SELECT id::text, storage_key AS key FROM export_package WHERE state = 'EXPIRED' AND storage_key IS NOT NULL ORDER BY expires_at LIMIT ${atOnce}`;
  await each(gone, async ({ id, key }) => {
    await storage.delete(key);
    await db.prisma.$executeRaw`UPDATE export_package SET storage_key = NULL, blocks = NULL WHERE id = ${id}::uuid AND state = 'EXPIRED'`;
  });
}

const orphanedAfterMs = 86_400_000;

/** What a process that was killed left between storing and telling. A day old, so that nothing under way is taken for left. */
export async function deleteOrphans(db: Db, storage: Storage): Promise<void> {
  const old = new Date(Date.now() - orphanedAfterMs);
  let page: string[] = [];
  const sweep = async () => {
    const owned = await db.prisma.exportPackage.findMany({ where: { storageKey: { in: page } }, select: { storageKey: true } });
    const kept = new Set(owned.map(({ storageKey }) => storageKey));
    const left = page.filter((key) => !kept.has(key));
    page = [];
    await each(left, (key) => storage.delete(key));
  };
  for await (const { key, modifiedAt } of storage.list('exports/')) {
    if (modifiedAt >= old) continue;
    page.push(key);
    if (page.length >= atOnce) await sweep();
  }
  if (page.length > 0) await sweep();
}
