// What holds are told from, read once however many steps of a run ask at once: all of them need all of the run's steps.
import DataLoader from 'dataloader';
import type { Db } from '../db.ts';
import type { HoldSource } from './readiness.ts';

const loaders = new WeakMap<object, DataLoader<string, HoldSource>>();

/** `request` is any object that lives as long as the request. */
export function holdSource(request: object, db: Db, runId: string): Promise<HoldSource> {
  const known = loaders.get(request) ?? new DataLoader<string, HoldSource>((ids) => readSources(db, ids), { cache: false }); // a later field of the request wants what is then

  loaders.set(request, known);
  return known.load(runId);
}

async function readSources(db: Db, ids: readonly string[]): Promise<(HoldSource | Error)[]> {
  const runs = await db.prisma.dataRun.findMany({
    where: { id: { in: [...ids] } },
    include: { steps: { orderBy: { position: 'asc' } }, grants: { where: { purpose: 'DRIVE' }, orderBy: { grantedAt: 'desc' }, take: 1 } },
  });
  const now = new Date();
  const sources = new Map(
    runs.map(({ steps, grants: [newest], ...run }): [string, HoldSource] => {
      const isInForce = newest !== undefined && newest.endedAt === null && newest.expiresAt > now;
      const lapsedAt = newest === undefined ? null : (newest.endedAt ?? newest.expiresAt);
      return [run.id, { run, steps, grant: isInForce ? newest : null, lapsedAt }];
    }),
  );
  return ids.map((id) => sources.get(id) ?? new Error(`there is no run ${id}`));
}
