// Housekeeping of staged packages: bytes are kept for a day, and for as long as a run that needs them has not settled.
import type { Packages } from './operations.ts';

const atOnce = 1_000;

/**
 * Discards packages past their day, then deletes the bytes of whatever is discarded. The row says so first, so that a registration in the same
 * moment is refused, not broken; its key goes last, so that a deletion that failed, or a process that died, is made up for the next time.
 */
export async function discardExpired({ db, storage }: Pick<Packages, 'db' | 'storage'>): Promise<number> {
  await db.prisma.$executeRaw`
    UPDATE data_package p SET discarded_at = clock_timestamp()
    WHERE p.discarded_at IS NULL AND p.expires_at < clock_timestamp()
      AND NOT EXISTS (SELECT 1 FROM data_run r WHERE r.package_id = p.id AND (r.settled_at IS NULL OR r.active_children > 0 OR r.cancelling_steps > 0))`;
  const gone = await db.prisma.$queryRaw<{ id: string; key: string }[]>`
    SELECT id, storage_key AS key FROM data_package WHERE discarded_at IS NOT NULL AND storage_key IS NOT NULL ORDER BY discarded_at LIMIT ${atOnce}`;
  let deleted = 0;
  let fault: unknown;
  for (const { id, key } of gone) {
    try {
      await storage.delete(key);
      await db.prisma.$executeRaw`UPDATE data_package SET storage_key = NULL WHERE id = ${id}::uuid`;
      deleted++;
    } catch (error) {
      fault = error; // one file that cannot be deleted keeps no other
    }
  }
  if (fault !== undefined) throw fault;
  return deleted;
}
