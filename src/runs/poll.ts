// The beginning of a pass: asking the children of a run how they stand.
import type { Db } from '../db.ts';
import type { DataRunStep } from '../generated/prisma/client.ts';
import { type Answers, askToStop, childAnswers } from './children.ts';
import { hasEnded } from './lifecycle.ts';
import type { Caller, Targets } from './targets/target.ts';

/** Of the driver, what asking takes. */
interface Asking {
  readonly db: Db;
  readonly targets: Targets;
  readonly settings: { readonly deadlineMs: number };
}

const followed = ['SUBMITTING', 'ACTIVE', 'CANCELLING'] as const satisfies readonly DataRunStep['state'][];

/** Asks every child that may be at work how it stands; asks those of a cancelled run again to stop. In the name of whoever may be named then. */
export async function poll(driver: Asking, runId: string, named: () => Promise<Caller>): Promise<Answers> {
  const { prisma } = driver.db;
  const isFollowed = { OR: [{ state: { in: [...followed] } }, { overdueSince: { not: null } }] };
  const [run, steps] = await Promise.all([
    prisma.dataRun.findUnique({ where: { id: runId } }),
    prisma.dataRunStep.findMany({ where: { runId, ...isFollowed } }),
  ]);
  if (steps.length === 0 || run === null || run.cancelRequestedAt !== null) return new Map(); // a cancel asks them itself
  const deadline = driver.settings.deadlineMs;
  const late = await overdue(driver, runId, steps);
  const isStopping = ({ state }: DataRunStep) => state === 'CANCELLING' || state === 'FAILED';
  const working = steps.filter((step) => !isStopping(step) && !late.has(step.id));
  const caller = await named();
  const [stopped, stoppedLate, polled] = await Promise.all([
    askToStop(driver.targets, steps.filter(isStopping), caller, deadline),
    askToStop(
      driver.targets,
      steps.filter(({ id }) => late.has(id)),
      caller,
      deadline,
      'to stop, being late',
    ),
    childAnswers(driver.targets, working, caller, deadline),
  ]);
  // Under an ended run what the target does not know must not be taken later: the tombstone comes before the step is let go.
  const unknownToIt = hasEnded(run) ? working.filter((step) => polled.get(step.id)?.answer.is === 'none') : [];
  if (unknownToIt.length === 0) return new Map([...stopped, ...stoppedLate, ...polled]);
  // A whole deadline after the first question: whoever was named then may have lost their access meanwhile.
  const buried = await askToStop(driver.targets, unknownToIt, await named(), deadline);
  return new Map([...stopped, ...stoppedLate, ...polled, ...buried]);
}

/** The ids of steps whose children have been at work for longer than their target lets them, by the database's clock. */
async function overdue({ db, targets }: Asking, runId: string, steps: readonly DataRunStep[]): Promise<Set<string>> {
  const names = [...new Set(steps.filter(({ state }) => state === 'ACTIVE').map(({ target }) => target))];
  const found = await Promise.all(
    names.map(async (name) => {
      const ms = targets.get(name)?.stepDeadlineMs;
      if (ms === undefined) return [];
      return db.prisma.$queryRaw<{ id: string }[]>`
        SELECT id::text FROM data_run_step WHERE run_id = ${runId}::uuid AND target = ${name} AND state = 'ACTIVE'
          AND submitted_at < clock_timestamp() - make_interval(secs => ${ms / 1_000})`;
    }),
  );
  return new Set(found.flat().map(({ id }) => id));
}
