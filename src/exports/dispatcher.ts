// Who generates: slots for the whole cluster, as rows with a lease and a fencing number. A slot is taken in the transaction that makes its
// execution RUNNING, and given back in the one that settles it, so the two never disagree.
import { type Db, inTransaction, Prisma, type Tx } from '../db.ts';
import type { Failure } from '../errors.ts';
import type { Cause } from '../events/log.ts';
import type { ExportExecution } from '../generated/prisma/client.ts';
import { change, exportExecutionSubject } from '../lifecycle/transition.ts';
import { exportLifecycle } from './lifecycle.ts';
import type { DatasetCount, DatasetProgress } from './plan.ts';
import { freeSlot, lockExecution } from './rows.ts';
import { wakeDispatcher } from './wake.ts';

export interface DispatchSettings {
  /** Exports at once in the whole cluster. */
  readonly slots: number;
  readonly leaseMs: number;
  /** How often a runner may be lost before the execution fails. */
  readonly takeovers: number;
}

/** The right to generate: for as long as the slot's lease is kept, and its number is the newest. */
export interface Claim {
  readonly execution: ExportExecution;
  readonly fence: number;
}

/** Who holds a slot: tells processes apart, in the table, for people. */
export type Owner = string;

const dispatcher: Cause = { actor: 'dispatcher' };

/** Slots are rows, so that taking one is a lock and not a count. Those beyond the setting are taken by nobody. */
export async function ensureSlots(db: Db, slots: number): Promise<void> {
  await db.prisma.$executeRaw`INSERT INTO export_slot (n) SELECT generate_series(1, ${slots}::int) ON CONFLICT (n) DO NOTHING`;
}

/** An execution to generate: one whose runner was lost, else the one that has waited longest, if there is a slot for it. */
export async function claimNext(db: Db, settings: DispatchSettings, owner: Owner): Promise<Claim | null> {
  return (await takeOver(db, settings, owner)) ?? (await dispatch(db, settings, owner));
}

/**
 * A workspace has one active execution, so the order of requests is a round of the workspaces: who has just had a turn queues behind all
 * who wait. Executions and slots that another dispatcher has locked are passed over. The slot comes first: of two dispatchers and one slot,
 * the one without it could else hold the older execution, and the younger would go before. A free slot is nobody's to wait for.
 */
async function dispatch(db: Db, { slots, leaseMs }: DispatchSettings, owner: Owner): Promise<Claim | null> {
  return inTransaction(db, async (tx) => {
    const [slot] = await tx.sql.$queryRaw<{ n: number }[]>`
      SELECT n FROM export_slot WHERE n <= ${slots} AND execution_id IS NULL AND EXISTS (SELECT 1 FROM export_execution WHERE state = 'QUEUED')
      ORDER BY n LIMIT 1 FOR UPDATE SKIP LOCKED`;
    if (slot === undefined) return null;
    const [next] = await tx.sql.$queryRaw<{ id: string }[]>`
      SELECT id FROM export_execution WHERE state = 'QUEUED' ORDER BY requested_at, id LIMIT 1 FOR UPDATE SKIP LOCKED`;
    if (next === undefined) return null;
    const execution = await reread(tx, next.id);
    const fence = execution.fence + 1;
    await tx.sql.$executeRaw`
      UPDATE export_slot SET execution_id = ${execution.id}::uuid, fence = ${fence}, lease_owner = ${owner}, lease_until = ${leaseEnd(leaseMs)}
      WHERE n = ${slot.n}`;
    await wakeForMore(tx, slots);
    await move(tx, execution, 'DISPATCH', [Prisma.sql`started_at = clock_timestamp(), fence = ${fence}, phase = 'writing'`], dispatcher);
    return { execution: await reread(tx, execution.id), fence };
  });
}

/** One alarm takes one execution: where more could begin, the next is set off at once, and does not wait for the reaper. */
async function wakeForMore(tx: Tx, slots: number): Promise<void> {
  const [more] = await tx.sql.$queryRaw<{ free: boolean }[]>`
    SELECT EXISTS (SELECT 1 FROM export_slot WHERE n <= ${slots} AND execution_id IS NULL)
      AND (SELECT count(*) FROM (SELECT 1 FROM export_execution WHERE state = 'QUEUED' LIMIT 2) AS waiting) > 1 AS free`;
  if (more?.free === true) await wakeDispatcher(tx);
}

async function takeOver(db: Db, settings: DispatchSettings, owner: Owner): Promise<Claim | null> {
  for (;;) {
    const claim = await inTransaction(db, (tx) => takeOverOne(tx, settings, owner));
    if (claim !== 'failed instead') return claim;
  }
}

async function takeOverOne(tx: Tx, { leaseMs, takeovers }: DispatchSettings, owner: Owner): Promise<Claim | null | 'failed instead'> {
  const [lapsed] = await tx.sql.$queryRaw<{ id: string }[]>`
    SELECT e.id FROM export_slot s JOIN export_execution e ON e.id = s.execution_id
    WHERE s.lease_until < clock_timestamp() ORDER BY s.lease_until LIMIT 1 FOR UPDATE OF e SKIP LOCKED`;
  const execution = lapsed === undefined ? null : await tx.sql.exportExecution.findUnique({ where: { id: lapsed.id } });
  if (execution === null) return null;
  const [slot] = await tx.sql.$queryRaw<{ lost: boolean }[]>`
    SELECT lease_owner IS NOT NULL AS lost FROM export_slot
    WHERE execution_id = ${execution.id}::uuid AND lease_until < clock_timestamp() FOR UPDATE`;
  if (slot === undefined) return null; // its runner was only late
  if (slot.lost && execution.takeovers >= takeovers) {
    await settle(tx, execution, 'FAIL', runnerLost(takeovers, execution.phase), { ...dispatcher, cause: 'LEASE_LOST' });
    return 'failed instead';
  }
  const fence = execution.fence + 1;
  await tx.sql.$executeRaw`
    UPDATE export_slot SET fence = ${fence}, lease_owner = ${owner}, lease_until = ${leaseEnd(leaseMs)} WHERE execution_id = ${execution.id}::uuid`;
  const set = Prisma.sql`fence = ${fence}, takeovers = takeovers + ${slot.lost ? 1 : 0}`;
  await move(tx, execution, 'TAKE_OVER', [set], { ...dispatcher, cause: slot.lost ? 'LEASE_LOST' : 'HANDED_OVER' });
  return { execution: await reread(tx, execution.id), fence };
}

/** Keeps the lease and tells how far it is. False: it was cancelled, or another runner has taken over; nothing was written. */
export async function keepClaim(
  db: Db,
  { execution, fence }: Claim,
  { leaseMs }: Pick<DispatchSettings, 'leaseMs'>,
  now: { readonly phase: string; readonly progress: readonly DatasetProgress[] },
): Promise<boolean> {
  // The execution's row first, as everywhere: the slot is reached through what the first update returns.
  const kept = await db.prisma.$executeRaw`
    WITH held AS (
      UPDATE export_execution SET phase = ${now.phase}, progress = ${JSON.stringify(now.progress)}::jsonb
      WHERE id = ${execution.id}::uuid AND fence = ${fence} AND state = 'RUNNING' RETURNING id
    )
    UPDATE export_slot s SET lease_until = ${leaseEnd(leaseMs)} FROM held WHERE s.execution_id = held.id AND s.fence = ${fence}`;
  if (kept === 1) db.announce(`progress:${execution.id}`);
  return kept === 1;
}

export interface Generated {
  readonly counts: readonly DatasetCount[];
  readonly manifestDigest: string;
  readonly progress: readonly DatasetProgress[];
}

/** False where the claim is no longer held. Makes no package: the orchestrator does, whom this only wakes. */
export function succeed(db: Db, { execution, fence }: Claim, { counts, manifestDigest, progress }: Generated): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    const row = await lockExecution(tx, execution.id, fence);
    if (row === null || row.state !== 'RUNNING') return false;
    const set = Prisma.sql`settled_at = clock_timestamp(), phase = 'finished', counts = ${JSON.stringify(counts)}::jsonb,
      manifest_digest = ${manifestDigest}, progress = ${JSON.stringify(progress)}::jsonb`;
    await freeSlot(tx, row.id);
    await wakeDispatcher(tx);
    await move(tx, row, 'SUCCEED', [set], { actor: 'runner' });
    return true;
  });
}

export function fail(db: Db, { execution, fence }: Claim, failure: Failure): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    const row = await lockExecution(tx, execution.id, fence);
    if (row === null || row.state !== 'RUNNING') return false;
    await settle(tx, row, 'FAIL', failure, { actor: 'runner', cause: 'GENERATION_FAILED' });
    return true;
  });
}

/** This process goes: whoever looks next takes over at once, and no runner counts as lost. */
export async function giveBack(db: Db, { execution, fence }: Claim): Promise<void> {
  await inTransaction(db, async (tx) => {
    if ((await lockExecution(tx, execution.id, fence)) === null) return;
    // A second back: kept in milliseconds, now may be rounded to a moment later.
    await tx.sql.$executeRaw`
      UPDATE export_slot SET lease_owner = NULL, lease_until = clock_timestamp() - interval '1 second' WHERE execution_id = ${execution.id}::uuid AND fence = ${fence}`;
    await wakeDispatcher(tx);
  });
}

/** Executions that have waited longer than they may. Nothing blocks a workspace for ever. */
export async function expireQueued(db: Db, hours: number): Promise<void> {
  const late = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT id FROM export_execution WHERE state = 'QUEUED' AND requested_at < clock_timestamp() - make_interval(hours => ${hours}) ORDER BY requested_at LIMIT 100`;
  for (const { id } of late) {
    await inTransaction(db, async (tx) => {
      const row = await lockExecution(tx, id);
      if (row?.state === 'QUEUED') await settle(tx, row, 'FAIL', queueExpired(hours), { ...dispatcher, cause: 'QUEUE_EXPIRED' });
    });
  }
}

/** Whether a dispatcher would find something to do. */
export async function hasWork(db: Db, { slots }: Pick<DispatchSettings, 'slots'>): Promise<boolean> {
  const [found] = await db.prisma.$queryRaw<{ work: boolean }[]>`
    SELECT EXISTS (SELECT 1 FROM export_slot WHERE lease_until < clock_timestamp())
      OR (EXISTS (SELECT 1 FROM export_slot WHERE n <= ${slots} AND execution_id IS NULL) AND EXISTS (SELECT 1 FROM export_execution WHERE state = 'QUEUED')) AS work`;
  return found?.work ?? false;
}

/** Settles an unfinished execution without a result, and gives its slot back. */
export async function settle(tx: Tx, row: ExportExecution, action: 'FAIL' | 'CANCEL', failure: Failure | null, by: Cause): Promise<void> {
  await freeSlot(tx, row.id);
  await wakeDispatcher(tx);
  const set = Prisma.sql`settled_at = clock_timestamp(), failure = ${failure === null ? null : JSON.stringify(failure)}::jsonb`;
  await move(tx, row, action, [set], by);
}

type Action = keyof typeof exportLifecycle.transitions;

async function move(tx: Tx, row: ExportExecution, action: Action, set: Prisma.Sql[], by: Cause): Promise<void> {
  const { to } = exportLifecycle.transitions[action];
  await change(tx, exportExecutionSubject, row, { to, events: [{ action, from: row.state, to }], set }, by);
  tx.touched.add(`progress:${row.id}`);
}

async function reread(tx: Tx, id: string): Promise<ExportExecution> {
  return tx.sql.exportExecution.findUniqueOrThrow({ where: { id } });
}

const leaseEnd = (leaseMs: number) => Prisma.sql`clock_timestamp() + make_interval(secs => ${leaseMs / 1_000})`;

const runnerLost = (takeovers: number, phase: string): Failure => ({
  code: 'RUNNER_LOST',
  origin: 'system',
  phase,
  retryable: true,
  summary: `The process that generated it was lost ${takeovers + 1} times. Request the export again.`,
});

const queueExpired = (hours: number): Failure => ({
  code: 'QUEUE_EXPIRED',
  origin: 'system',
  phase: 'queued',
  retryable: true,
  summary: `No slot became free for it within ${hours} hours. Request the export again.`,
});
