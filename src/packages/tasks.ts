// Housekeeping of staged packages: bytes are kept for a day, and for as long as a run that needs them has not settled.
import type { Packages } from './operations.ts';

/** Deletes the bytes of packages past their day. The row says so first, so that a registration in the same moment is refused, not broken. */
export async function discardExpired({ db, storage }: Pick<Packages, 'db' | 'storage'>): Promise<number> {
  const gone = await db.prisma.$queryRaw<{ storageKey: string | null }[]>`
    UPDATE data_package p SET discarded_at = clock_timestamp()
    WHERE p.discarded_at IS NULL AND p.expires_at < clock_timestamp()
      AND NOT EXISTS (SELECT 1 FROM data_run r WHERE r.package_id = p.id AND (r.settled_at IS NULL OR r.active_children > 0))
    RETURNING storage_key AS "storageKey"`;
  for (const { storageKey } of gone) if (storageKey !== null) await storage.delete(storageKey);
  return gone.length;
}
