// Every state × command × role, against the database: allowed → the exact event; refused → the exact error, and nothing changed.
import { describe, expect, it } from 'vitest';
import { entries } from '../../src/lifecycle/lifecycle.ts';
import { runLifecycle } from '../../src/runs/lifecycle.ts';
import { storeTarget } from '../../src/runs/targets/store.ts';
import { everything, startApp } from '../support/app.ts';
import { scriptedTarget } from '../support/scripted-target.ts';
import { eventsOf, everythingOf, inState, runStates } from '../support/states.ts';
import { createWorkspace, mutate, readRun } from '../support/story.ts';

const target = scriptedTarget();
const app = await startApp({ targets: (db) => [storeTarget(db), target], worker: false });
const workspaceId = await createWorkspace(app, 'matrix');

const roles = {
  staff: { permissions: ['workspace:read', 'data-run', 'target:scripted'], workspaces: ['matrix'] },
  'staff without the target': { permissions: ['workspace:read', 'data-run'], workspaces: ['matrix'] },
  reader: { permissions: ['workspace:read'], workspaces: ['matrix'] },
  'staff elsewhere': { permissions: everything, workspaces: ['elsewhere'] },
} as const;

const mutations = {
  START: 'startDataRun',
  PAUSE: 'pauseDataRun',
  RESUME: 'resumeDataRun',
  ADVANCE: 'advanceDataRun',
  CANCEL: 'cancelDataRun',
  RESET: 'resetDataRun',
} as const;

describe.each(runStates)('a run that is %s', (state) => {
  it.each(entries(mutations).flatMap(([command, mutation]) => entries(roles).map(([role, grant]) => ({ command, mutation, role, grant }))))(
    'answers $command of $role',
    async ({ command, mutation, role, grant }) => {
      const id = await inState(app, target, state, workspaceId);
      try {
        const token = await app.token({ subject: 'bea', ...grant });
        const before = await everythingOf(app, id);
        const answered = await mutate(
          app,
          mutation,
          { dataRunId: id, ...(command === 'ADVANCE' || command === 'START' ? {} : { reason: 'because' }) },
          token,
        );
        const drives = command === 'START' || command === 'RESUME' || command === 'ADVANCE';
        const hasWork = state !== 'SUCCEEDED' && state !== 'FAILED' && state !== 'CANCELLED';
        const asksChildren = command === 'CANCEL' && (state === 'RUNNING' || state === 'PAUSED');
        const takesBack = command === 'RESET' && state !== 'REGISTERED' && state !== 'CANCELLED'; // there it was never started
        const action = runLifecycle.commands[command].in[state];

        if (role === 'staff elsewhere') expect(answered).toMatchObject({ __typename: 'NotFoundError', code: 'NOT_FOUND' });
        else if (role === 'reader') expect(answered).toMatchObject({ __typename: 'ForbiddenError', permission: 'data-run', dataset: null });
        else if (role === 'staff without the target' && ((hasWork && drives) || takesBack)) {
          expect(answered).toMatchObject({ __typename: 'ForbiddenError', permission: 'target:scripted', dataset: 'first' });
        } else if (action === undefined) {
          const allowed = entries(runLifecycle.commands)
            .filter(([, { in: where }]) => state in where)
            .map(([name]) => name);
          expect(answered).toMatchObject({ __typename: 'InvalidTransitionError', from: state, action: command, allowed });
        } else if (role === 'staff without the target' && asksChildren) {
          expect(answered).toMatchObject({ __typename: 'ForbiddenError', permission: 'target:scripted', dataset: 'first' });
        } else if (command === 'RESET' && state === 'SUCCEEDED') {
          expect(answered).toMatchObject({ __typename: 'ConflictError', code: 'NOT_RESETTABLE', conflictingId: null });
        } else {
          expect(answered.__typename, JSON.stringify(answered)).toBe('DataRun');
          const events = await eventsOf(app, id);
          const own = events.filter(({ dataset, actor }) => dataset === null && actor === 'bea');
          const said = { actor: 'bea', reason: command === 'START' ? null : 'because' };
          const expected =
            action === null
              ? command === 'RESET'
                ? [{ action: 'RESET', from_state: state, to_state: state, ...said }]
                : []
              : [
                  {
                    action,
                    from_state: state,
                    to_state: runLifecycle.transitions[action].to,
                    ...said,
                  },
                ];
          expect(own).toMatchObject(expected);
          expect(answered.state).toBe(action === null ? state : runLifecycle.transitions[action].to);
          return;
        }
        expect(await everythingOf(app, id)).toBe(before);
      } finally {
        await mutate(app, 'cancelDataRun', { dataRunId: id });
      }
    },
  );

  it('allows exactly what its allowedActions say', async () => {
    const id = await inState(app, target, state, workspaceId);
    const token = await app.token({ subject: 'bea', ...roles.staff });
    const { allowedActions } = await readRun(app, id, token);
    expect(allowedActions).toEqual(
      entries(runLifecycle.commands)
        .filter(([, { in: where }]) => state in where)
        .map(([name]) => name),
    );
    expect((await readRun(app, id, await app.token({ ...roles.reader }))).allowedActions).toEqual([]);
    await mutate(app, 'cancelDataRun', { dataRunId: id });
  });
});
