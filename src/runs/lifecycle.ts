// The data run's machine and its steps'. Everything else that lists states or moves derives it from here.
import type { DataRun, DataRunStep } from '../generated/prisma/client.ts';
import { lifecycle, type Need, terminalStates } from '../lifecycle/lifecycle.ts';

const noCancelUnderWay: Need<DataRun> = (run) =>
  run.cancelRequestedAt === null ? null : 'A cancel is under way: its children are being asked to stop.';
const noFailedStep: Need<DataRun> = (run) => (run.failedSteps === 0 ? null : `${run.failedSteps} datasets failed.`);
const someFailedStep: Need<DataRun> = (run) => (run.failedSteps > 0 ? null : 'No dataset failed.');
const nothingOpen: Need<DataRun> = (run) => (run.openSteps === 0 ? null : `${run.openSteps} datasets are still open.`);

const notReset: Need<DataRun> = (run) => (run.resetAt === null ? null : 'What it wrote was taken back already.');
/** A child that is not known to have ended could still write. */
const noChildLeft: Need<DataRun> = (run) =>
  run.activeChildren + run.cancellingSteps === 0
    ? null
    : `${run.activeChildren + run.cancellingSteps} of its children are not yet known to have ended.`;

const staff = 'staff with data-run';
const settler = 'start, resume or advance, or the background driver';

export const runLifecycle = lifecycle<DataRun>()({
  name: 'DataRun',
  states: {
    REGISTERED: { says: 'Package and ordered datasets are saved; nothing has been submitted.', initial: true },
    RUNNING: { says: 'Passes poll active children and submit eligible datasets.' },
    PAUSED: { says: 'Nothing more is submitted; children that are active go on.' },
    SUCCEEDED: { says: 'Every dataset succeeded or is finally blocked; readiness may still report blockers.', terminal: true },
    FAILED: { says: 'A dataset failed: the run names it, pending datasets are skipped, what was loaded stays.', terminal: true },
    CANCELLED: {
      says: 'Ended by a person after asking children to stop; pending datasets are skipped, completed writes stay.',
      terminal: true,
    },
  },
  transitions: {
    REGISTER: {
      says: 'Save a package and its ordered datasets.',
      from: null,
      to: 'REGISTERED',
      who: staff,
      guard: 'The package is sound and no unfinished run in the workspace has its name.',
      effects: ['steps are written in package order'],
    },
    START: {
      says: 'Begin the run.',
      from: ['REGISTERED'],
      to: 'RUNNING',
      who: staff,
      guard: 'The caller has authority on the target of every remaining dataset.',
      effects: ['start time saved', 'grant left for the driver', 'datasets without dependencies submitted'],
      needs: { noCancelUnderWay },
    },
    PAUSE: {
      says: 'Hold further submissions.',
      from: ['RUNNING'],
      to: 'PAUSED',
      who: staff,
      guard: 'The run is running.',
      effects: ['active children untouched'],
      needs: { noCancelUnderWay },
    },
    RESUME: {
      says: 'Go on where it was paused.',
      from: ['PAUSED'],
      to: 'RUNNING',
      who: staff,
      guard: 'The caller has authority on the target of every remaining dataset.',
      effects: ['grant left for the driver', 'one pass advanced at once'],
      needs: { noCancelUnderWay },
    },
    SUCCEED: {
      says: 'Every dataset has ended and none failed.',
      from: ['RUNNING'],
      to: 'SUCCEEDED',
      who: settler,
      guard: 'Every dataset succeeded or is finally blocked.',
      effects: ['finish time saved', 'blockers retained'],
      needs: { noCancelUnderWay, nothingOpen, noFailedStep },
    },
    FAIL: {
      says: 'A dataset failed.',
      from: ['RUNNING'],
      to: 'FAILED',
      who: settler,
      guard: 'At least one dataset failed.',
      effects: ['failed dataset named', 'pending datasets skipped', 'children still active are followed to their end'],
      needs: { noCancelUnderWay, someFailedStep },
    },
    CANCEL: {
      says: 'End the run by a person’s wish.',
      from: ['REGISTERED', 'RUNNING', 'PAUSED'],
      to: 'CANCELLED',
      who: staff,
      guard: 'The caller has authority on every active dataset, and no active child refused access.',
      effects: ['each active child asked to stop', 'pending datasets skipped', 'a cancel duty kept for each child not confirmed stopped'],
    },
  },
  commands: {
    START: {
      says: 'Begin a registered run, or take up a paused one.',
      permission: 'data-run',
      in: { REGISTERED: 'START', PAUSED: 'RESUME' },
    },
    PAUSE: { says: 'Hold further submissions; active children go on.', permission: 'data-run', in: { RUNNING: 'PAUSE' } },
    RESUME: { says: 'Go on with a paused run, one pass at once.', permission: 'data-run', in: { PAUSED: 'RESUME' } },
    ADVANCE: {
      says: 'Carry out one pass now, under your own authority; it may settle the run.',
      permission: 'data-run',
      in: { RUNNING: null },
      needs: { noCancelUnderWay },
    },
    CANCEL: {
      says: 'End the run after asking its active children to stop.',
      permission: 'data-run',
      in: { REGISTERED: 'CANCEL', RUNNING: 'CANCEL', PAUSED: 'CANCEL' },
      needs: { noCancelUnderWay },
    },
    RESET: {
      says: 'Take back what a settled run wrote, and put back what it replaced; once.',
      permission: 'data-run',
      in: { SUCCEEDED: null, FAILED: null, CANCELLED: null },
      needs: { notReset, noChildLeft },
    },
  },
  refused: [
    { from: 'SUCCEEDED', to: 'RUNNING', why: 'A completed package needs a new registration for another attempt.' },
    { from: 'FAILED', to: 'RUNNING', why: 'Failed work cannot resume; recovery is a reset and a new run.' },
    { from: 'CANCELLED', to: 'RUNNING', why: 'Cancellation is terminal for the run.' },
    { from: 'REGISTERED', to: 'PAUSED', why: 'Pause applies only to a running run.' },
    { from: 'RUNNING', to: 'REGISTERED', why: 'The lifecycle has no return to its initial state.' },
    { from: 'PAUSED', to: 'SUCCEEDED', why: 'A paused run stays paused until it is resumed, even when its children have ended.' },
    { from: 'PAUSED', to: 'FAILED', why: 'A paused run stays paused until it is resumed; the pass that follows may fail it.' },
  ],
});

const ended = new Set<string>(terminalStates(runLifecycle));

export function hasEnded(run: Pick<DataRun, 'state'>): boolean {
  return ended.has(run.state);
}

const driver = 'a pass of the driver';

export const stepLifecycle = lifecycle<DataRunStep>()({
  name: 'DataRunStep',
  states: {
    PENDING: { says: 'Waits for its dependencies, or for the run to be driven.', initial: true },
    SUBMITTING: { says: 'The intent to submit is saved; the target’s answer is not known yet.' },
    ACTIVE: { says: 'The target accepted it; its child job has not ended.' },
    CANCELLING: { says: 'The run was cancelled; the child is not yet confirmed stopped.' },
    SUCCEEDED: { says: 'The child wrote the dataset.', terminal: true },
    FAILED: { says: 'The child failed or the target refused it; nothing of the dataset was written by this attempt.', terminal: true },
    BLOCKED: { says: 'Something is missing: named in its blockers. Submitted again if a dataset of this run can still clear it.' },
    SKIPPED: { says: 'Never submitted: the run ended first.', terminal: true },
    CANCELLED: { says: 'The child confirmed that it stopped.', terminal: true },
  },
  transitions: {
    REGISTER: { says: 'Made with its run.', from: null, to: 'PENDING', who: staff, guard: 'none', effects: [] },
    SUBMIT: {
      says: 'The intent row, written before the call.',
      from: ['PENDING', 'BLOCKED'],
      to: 'SUBMITTING',
      who: driver,
      guard: 'The run is running, no cancel is under way, every dependency has succeeded, and the driver has authority on the target.',
      effects: ['attempt counted', 'idempotency key derived'],
    },
    ACCEPT: {
      says: 'The target named the child job.',
      from: ['SUBMITTING'],
      to: 'ACTIVE',
      who: driver,
      guard: 'The target answered.',
      effects: [],
    },
    SUCCEED: {
      says: 'The child ended succeeded.',
      from: ['ACTIVE'],
      to: 'SUCCEEDED',
      who: driver,
      guard: 'none',
      effects: ['row account saved'],
    },
    FAIL: {
      says: 'The child ended failed, or the target definitely refused.',
      from: ['SUBMITTING', 'ACTIVE'],
      to: 'FAILED',
      who: driver,
      guard: 'none',
      effects: ['failure saved'],
    },
    BLOCK: {
      says: 'The child ended blocked, or a dependency is finally blocked.',
      from: ['PENDING', 'ACTIVE'],
      to: 'BLOCKED',
      who: driver,
      guard: 'none',
      effects: ['blockers saved'],
    },
    SKIP: { says: 'The run ended before it was submitted.', from: ['PENDING'], to: 'SKIPPED', who: driver, guard: 'none', effects: [] },
    CANCEL_REQUEST: {
      says: 'The run was cancelled; its child is asked to stop until it confirms.',
      from: ['SUBMITTING', 'ACTIVE'],
      to: 'CANCELLING',
      who: staff,
      guard: 'The run’s cancel is committed.',
      effects: ['cancel duty kept'],
    },
    CANCEL: {
      says: 'The child confirmed that it stopped.',
      from: ['CANCELLING'],
      to: 'CANCELLED',
      who: driver,
      guard: 'none',
      effects: [],
    },
    LATE_SUCCEED: {
      says: 'After the run had ended, the child ended succeeded.',
      from: ['CANCELLING'],
      to: 'SUCCEEDED',
      who: driver,
      guard: 'none',
      effects: [],
    },
    LATE_FAIL: {
      says: 'After the run had ended, the child ended failed.',
      from: ['CANCELLING'],
      to: 'FAILED',
      who: driver,
      guard: 'none',
      effects: [],
    },
    LATE_BLOCK: {
      says: 'After the run had ended, the child ended blocked.',
      from: ['CANCELLING'],
      to: 'BLOCKED',
      who: driver,
      guard: 'none',
      effects: [],
    },
  },
  commands: {},
  refused: [],
});

/** Steps that the run still waits for. BLOCKED ones count until they are finally so. */
export const openStepStates = ['PENDING', 'SUBMITTING', 'ACTIVE', 'CANCELLING'] as const satisfies readonly DataRunStep['state'][];
/** Steps with a child that may be at work. */
export const childStepStates = ['SUBMITTING', 'ACTIVE'] as const satisfies readonly DataRunStep['state'][];
