// A process at work on an execution: keeps the claim while it generates, and settles it, or leaves it to whoever takes over.
import { isPassingFault, postgresFault } from '../db.ts';
import type { Failure } from '../errors.ts';
import { linkedTo } from '../linked.ts';
import type { Log } from '../log.ts';
import { type Claim, claimNext, type DispatchSettings, fail, giveBack, keepClaim, type Owner, succeed } from './dispatcher.ts';
import { type Course, type Generator, generate, removeWork } from './generate.ts';

export interface Runner {
  readonly generator: Generator;
  readonly dispatch: DispatchSettings;
  readonly heartbeatMs: number;
  readonly owner: Owner;
  readonly log: Log;
}

/** It was cancelled, or another runner has taken over: what was written is given up. */
class ClaimLost extends Error {
  override readonly name = 'ClaimLost';
}

// How soon a cancel is seen, and how often progress is written; the lease is kept by the same statement.
const tickMs = 400;

/** Takes what is next and generates it. Null where there is nothing to do, or no slot; else the execution's id, and whether it succeeded. */
export async function runNext(runner: Runner, stop: AbortSignal): Promise<{ executionId: string; succeeded: boolean } | null> {
  if (stop.aborted) return null;
  const claim = await claimNext(runner.generator.db, runner.dispatch, runner.owner);
  return claim === null ? null : { executionId: claim.execution.id, succeeded: await run(runner, claim, stop) };
}

async function run(runner: Runner, claim: Claim, stop: AbortSignal): Promise<boolean> {
  const { generator, log } = runner;
  const { db } = generator;
  const ids = { executionId: claim.execution.id, fence: claim.fence };
  const began = performance.now();
  using work = linkedTo(stop);
  const keeper = keepAlive(runner, claim, () => work.abort(new ClaimLost()));
  try {
    const workspace = await db.prisma.workspace.findUniqueOrThrow({ where: { id: claim.execution.workspaceId }, select: { slug: true } });
    const { archive, counts } = await generate(generator, { ...claim.execution, workspace }, claim.fence, work.signal, keeper.follow);
    await keeper.stop();
    if (!(await succeed(db, claim, { counts, manifestDigest: archive.manifestDigest, progress: await keeper.progress() })))
      throw new ClaimLost();
    log.info({ ...ids, bytes: archive.bytes, ms: Math.round(performance.now() - began) }, 'export generated');
    return true;
  } catch (error) {
    await keeper.stop();
    await end(runner, claim, error, keeper, stop).catch((late: unknown) =>
      log.error({ err: late, ...ids }, 'an export could not be settled'),
    );
    return false;
  }
}

async function end(runner: Runner, claim: Claim, error: unknown, keeper: Keeper, stop: AbortSignal): Promise<void> {
  const { generator, dispatch, log } = runner;
  const { db } = generator;
  const { id } = claim.execution;
  const ids = { executionId: id, fence: claim.fence };
  if (stop.aborted) return giveBack(db, claim); // with what is written so far: whoever takes over on this machine goes on from there
  if (error instanceof ClaimLost) return leave(runner, claim);
  log.error({ err: error, ...ids }, 'an export could not be generated');
  if (isPassingFault(error)) return; // the lease ends by itself, and whoever takes over tries again
  const phase = keeper.phase();
  // Asked before anything is removed: another runner of this machine may have taken over, and be at work in the same folder.
  if (!(await keepClaim(db, claim, dispatch, { phase, progress: await keeper.progress() }))) return leave(runner, claim);
  // Before it settles, so that whoever is next finds the room. What cannot be removed is swept up later, and keeps no workspace waiting.
  await removeWork(generator, id).catch((left: unknown) => log.warn({ err: left, ...ids }, 'what an export had written is left'));
  await fail(db, claim, { ...failureOf(error), phase });
}

/** Another runner may be at work in the same folder, or the archive on its way to storage; what is left of a cancelled one is nobody's. */
async function leave({ generator, log }: Runner, { execution: { id }, fence }: Claim): Promise<void> {
  const now = await generator.db.prisma.exportExecution.findUnique({ where: { id }, select: { state: true } });
  if (now?.state !== 'RUNNING' && now?.state !== 'SUCCEEDED') await removeWork(generator, id);
  log.info({ executionId: id, fence }, 'export stopped: its claim is gone');
}

const full = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);
const storage = /^(ENOSPC|EDQUOT|EFBIG|EIO|EROFS|EACCES|EPERM|EMFILE|ENFILE|ENOENT|ENOTDIR|EISDIR)$/;

function failureOf(error: unknown): Omit<Failure, 'phase'> {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (storage.test(code)) {
    return full.has(code)
      ? failure('STORAGE_FULL', 'storage', 'The disk that exports are written to is full. Make room, then request the export again.')
      : failure('STORAGE_UNAVAILABLE', 'storage', `The disk that exports are written to cannot be used (${code}).`);
  }
  if (postgresFault(error)?.code.startsWith('53') === true) {
    return failure('DATABASE_FULL', 'database', 'The database ran out of disk or memory. Make room, then request the export again.');
  }
  return failure(
    'INTERNAL_ERROR',
    'system',
    'The export stopped on an unexpected fault. It stands in the server’s log under this execution.',
  );
}

function failure(code: string, origin: Failure['origin'], summary: string): Omit<Failure, 'phase'> {
  return { code, origin, retryable: true, summary };
}

interface Keeper {
  readonly follow: (course: Course) => void;
  readonly progress: Course['progress'];
  readonly phase: () => Course['phase'];
  stop(): Promise<void>;
}

/** A tick that fails is made up by the next; none for a whole lease loses the claim to another process. */
function keepAlive({ generator, dispatch, heartbeatMs }: Runner, claim: Claim, lost: () => void): Keeper {
  let course: Course | undefined;
  let ticking: Promise<void> = Promise.resolve();
  let busy = false;
  const progress = async () => (await course?.progress()) ?? [];
  const phase = () => course?.phase ?? 'writing';
  const tick = async () => {
    const now = { phase: phase(), progress: await progress() };
    if (!(await keepClaim(generator.db, claim, dispatch, now))) lost();
  };
  const timer = setInterval(
    () => {
      if (busy) return;
      busy = true;
      ticking = tick()
        .catch(() => {})
        .finally(() => {
          busy = false;
        });
    },
    Math.min(tickMs, heartbeatMs),
  );
  return {
    follow: (begun) => {
      course = begun;
    },
    progress,
    phase,
    async stop() {
      clearInterval(timer);
      await ticking;
    },
  };
}
