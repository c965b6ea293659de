// Why an export does not move: its place in the queue, or a runner that is silent.
import type { Db } from '../db.ts';
import type { ExportExecution } from '../generated/prisma/client.ts';
import type { Hold } from '../shown.ts';

type Waiting = Pick<ExportExecution, 'id' | 'state' | 'requestedAt'>;

/** Every unmet condition; empty exactly when the next dispatch would act on it, when it is at work, or when nothing is left to do. */
export async function whyNotRunning(db: Db, slots: number, execution: Waiting): Promise<Hold[]> {
  if (execution.state === 'QUEUED') return queued(db, slots, execution);
  if (execution.state === 'RUNNING') return silent(db, execution);
  return [];
}

async function queued(db: Db, slots: number, { id, requestedAt }: Waiting): Promise<Hold[]> {
  const [seen] = await db.prisma.$queryRaw<{ position: number; free: number }[]>`
    SELECT (SELECT count(*)::int FROM export_execution q, export_execution own
        WHERE own.id = ${id}::uuid AND own.state = 'QUEUED' AND q.state = 'QUEUED' AND (q.requested_at, q.id) <= (own.requested_at, own.id)) AS position,
      (SELECT count(*)::int FROM export_slot WHERE n <= ${slots} AND execution_id IS NULL) AS free`;
  if (seen === undefined || seen.position <= seen.free) return [];
  const taken = slots === 1 ? 'the only slot for exports is taken' : `${slots - seen.free} of ${slots} slots for exports are taken`;
  return [
    {
      code: 'WAITING_FOR_SLOT',
      subject: 'export',
      message: `It is number ${seen.position} in the queue, and ${taken}.`,
      since: requestedAt,
      remedy: 'Wait: it begins by itself. An operator can raise PACKHORSE_EXPORT_SLOTS.',
    },
  ];
}

async function silent(db: Db, { id }: Waiting): Promise<Hold[]> {
  const [slot] = await db.prisma.$queryRaw<{ since: Date }[]>`
    SELECT lease_until AS since FROM export_slot WHERE execution_id = ${id}::uuid AND lease_until < clock_timestamp()`;
  if (slot === undefined) return [];
  return [
    {
      code: 'RUNNER_SILENT',
      subject: 'export',
      message: 'The process that generates it has not been heard of for longer than it may be silent.',
      since: slot.since,
      remedy: 'Wait: another worker takes it over, if one is running.',
    },
  ];
}
