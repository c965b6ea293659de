// What a person can ask of the authority that a run is driven under: to give theirs, and to take back what is there.
import { type Caller, causeOf } from '../auth/caller.ts';
import { endGrants, leaveGrant } from '../auth/grants.ts';
import { demand, demandTargets } from '../auth/viewer.ts';
import { inTransaction } from '../db.ts';
import { ConflictError, NotFoundError } from '../errors.ts';
import { once } from '../once.ts';
import { enqueue } from '../tasks/task.ts';
import { type CommandInput, findRun, type Runs, remainingSteps, targetsOf } from './operations.ts';
import { lockRun } from './rows.ts';
import { driveKey, driveRun } from './wake.ts';

/** The caller's grant in place of the one that is there, as a resume would leave it, without a pause. What was held goes on. */
export async function renewDataRunGrant(runs: Runs, caller: Caller, id: string, input: CommandInput): Promise<string> {
  const { db, settings } = runs;
  const found = await findRun(db, caller, id);
  demand(caller.viewer, 'data-run');
  demandTargets(caller.viewer, await remainingSteps(db, id));
  const { actor: subject } = causeOf(caller);
  const key = { workspaceId: found.workspaceId, subject, mutation: 'renewDataRunGrant', key: input.idempotencyKey, input: [id] };
  return once(db, key, async (tx) => {
    const locked = await lockRun(tx, id);
    if (locked === null) throw new NotFoundError('data run');
    const { run, steps } = locked;
    if (run.state !== 'RUNNING' && run.state !== 'PAUSED') {
      throw new ConflictError('RUN_NOT_OPEN', `Only a run that is RUNNING or PAUSED is driven under a grant; this one is ${run.state}.`);
    }
    const open = steps.filter(({ target }) => run.openTargets.includes(target));
    await leaveGrant(tx, run, caller.viewer, targetsOf(open), settings.grantHours, 'DRIVE');
    if (run.driving === 'BACKGROUND') await enqueue(tx.sql, driveRun, { runId: id }, { jobKey: driveKey(id) });
    return id;
  });
}

/** Holds further submissions until somebody gives a grant again. Children at work are followed all the same. Once more changes nothing. */
export async function revokeDataRunGrant(runs: Runs, caller: Caller, id: string): Promise<string> {
  await findRun(runs.db, caller, id);
  demand(caller.viewer, 'data-run');
  await inTransaction(runs.db, async (tx) => {
    await lockRun(tx, id); // or a pass that has read the grant could still intend under it after the answer
    await endGrants(tx.sql, id, 'DRIVE');
  });
  return id;
}
