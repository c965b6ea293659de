// The workspace data export's machine. Its work (admission, dispatch, generation) comes with the exports feature.
import type { ExportExecution } from '../generated/prisma/client.ts';
import { lifecycle } from '../lifecycle/lifecycle.ts';

const administrator = 'administrator with data-export:execute';

export const exportLifecycle = lifecycle<ExportExecution>()({
  name: 'ExportExecution',
  states: {
    QUEUED: { says: 'Admitted: the workspace’s export settings and the cutoff are copied.', initial: true },
    RUNNING: { says: 'A dispatcher gave it a cluster slot; generation is writing.' },
    SUCCEEDED: { says: 'Final counts and the manifest digest are recorded.', terminal: true },
    FAILED: { says: 'Failure code, summary and phase, and the settled time, are recorded.', terminal: true },
    CANCELLED: { says: 'Settled before it finished, by an administrator.', terminal: true },
  },
  transitions: {
    REQUEST: {
      says: 'Admit a request.',
      from: null,
      to: 'QUEUED',
      who: administrator,
      guard: 'The workspace has no queued or running execution; its settings row is locked while admitting.',
      effects: ['settings and cutoff copied'],
    },
    DISPATCH: {
      says: 'Give it a slot.',
      from: ['QUEUED'],
      to: 'RUNNING',
      who: 'system (dispatcher)',
      guard: 'A cluster slot is free; it is taken in the same transaction.',
      effects: ['start time, slot and progress metadata saved'],
    },
    SUCCEED: {
      says: 'Generation finished.',
      from: ['RUNNING'],
      to: 'SUCCEEDED',
      who: 'system (generation)',
      guard: 'The caller holds the current fencing number.',
      effects: ['settled time, counts and manifest digest saved'],
    },
    FAIL: {
      says: 'It could not be generated, or waited too long.',
      from: ['QUEUED', 'RUNNING'],
      to: 'FAILED',
      who: 'system',
      guard: 'It is unfinished.',
      effects: ['code, summary, phase and settled time saved'],
    },
    CANCEL: {
      says: 'End it by a person’s wish.',
      from: ['QUEUED', 'RUNNING'],
      to: 'CANCELLED',
      who: administrator,
      guard: 'It is unfinished.',
      effects: ['settled time saved', 'generation stops and its partial files are removed'],
    },
  },
  commands: {
    CANCEL: {
      says: 'End it; generation stops and its partial files are removed.',
      permission: 'data-export:execute',
      in: { QUEUED: 'CANCEL', RUNNING: 'CANCEL' },
    },
  },
  refused: [
    { from: 'SUCCEEDED', to: 'RUNNING', why: 'A terminal execution is not reopened.' },
    { from: 'CANCELLED', to: 'QUEUED', why: 'Cancellation is terminal; a new request is admitted instead.' },
    { from: 'FAILED', to: 'QUEUED', why: 'A failed execution is not retried in place; a new request is admitted instead.' },
  ],
});
