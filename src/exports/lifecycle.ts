// The workspace data export's machine, and the two small ones that begin after it: its package's and its deliveries'.
import type { ExportDelivery, ExportExecution, ExportPackage } from '../generated/prisma/client.ts';
import { lifecycle } from '../lifecycle/lifecycle.ts';

const administrator = 'administrator with data-export:execute';

export const exportLifecycle = lifecycle<Pick<ExportExecution, 'state'>>()({
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
    TAKE_OVER: {
      says: 'Its runner was lost, or ended on purpose; another goes on.',
      from: ['RUNNING'],
      to: 'RUNNING',
      who: 'system (dispatcher)',
      guard: 'The slot’s lease has lapsed, and the execution was not lost too often.',
      effects: ['next fencing number; what the one before still writes is refused'],
    },
    SUCCEED: {
      says: 'Generation finished.',
      from: ['RUNNING'],
      to: 'SUCCEEDED',
      who: 'system (generation)',
      guard: 'The caller holds the current fencing number.',
      effects: ['settled time, counts and manifest digest saved', 'slot given back'],
    },
    FAIL: {
      says: 'It could not be generated, or waited too long.',
      from: ['QUEUED', 'RUNNING'],
      to: 'FAILED',
      who: 'system',
      guard: 'It is unfinished.',
      effects: ['code, summary, phase and settled time saved', 'slot given back'],
    },
    CANCEL: {
      says: 'End it by a person’s wish.',
      from: ['QUEUED', 'RUNNING'],
      to: 'CANCELLED',
      who: administrator,
      guard: 'It is unfinished.',
      effects: ['settled time saved', 'slot given back', 'generation stops and its partial files are removed'],
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

const orchestrator = 'system (orchestrator)';

/** Begun by the orchestrator after `succeeded`, never by the transition. Its events are the execution’s. */
export const packageLifecycle = lifecycle<Pick<ExportPackage, 'state'>>()({
  name: 'ExportPackage',
  states: {
    PENDING: { says: 'On its way to storage.', initial: true },
    PUBLISHED: { says: 'In storage, whole, re-read and equal; links can be issued.' },
    EXPIRED: { says: 'Its retention is over; the archive is deleted.', terminal: true },
    FAILED: { says: 'It could not be stored, however often it was tried.', terminal: true },
  },
  transitions: {
    BEGIN: {
      says: 'Begin to publish.',
      from: null,
      to: 'PENDING',
      who: orchestrator,
      guard: 'The execution succeeded and has no package that is pending or published.',
      effects: [],
    },
    PUBLISH: {
      says: 'It is in storage.',
      from: ['PENDING'],
      to: 'PUBLISHED',
      who: orchestrator,
      guard: 'What was stored was re-read and is equal.',
      effects: ['size, digest and expiry saved', 'a delivery is begun for each destination of the copied settings'],
    },
    PUBLISH_FAIL: {
      says: 'It could not be stored.',
      from: ['PENDING'],
      to: 'FAILED',
      who: orchestrator,
      guard: 'Every attempt failed.',
      effects: ['failure saved; the execution stays succeeded'],
    },
    EXPIRE: {
      says: 'Its retention is over.',
      from: ['PUBLISHED'],
      to: 'EXPIRED',
      who: orchestrator,
      guard: 'Its expiry has passed.',
      effects: ['the archive is deleted; links answer that it expired'],
    },
  },
  commands: {},
  refused: [
    { from: 'FAILED', to: 'PENDING', why: 'republishExport begins another package of the same execution.' },
    { from: 'EXPIRED', to: 'PUBLISHED', why: 'republishExport begins another package of the same execution.' },
  ],
});

export const deliveryLifecycle = lifecycle<Pick<ExportDelivery, 'state'>>()({
  name: 'ExportDelivery',
  states: {
    PENDING: { says: 'To be sent, or sent again.', initial: true },
    DELIVERED: { says: 'The destination took it.', terminal: true },
    FAILED: { says: 'Every attempt failed, or the destination is gone.', terminal: true },
  },
  transitions: {
    BEGIN: {
      says: 'Begin to deliver.',
      from: null,
      to: 'PENDING',
      who: orchestrator,
      guard: 'The package is published, and nothing is pending for the destination.',
      effects: [],
    },
    DELIVER: {
      says: 'The destination answered that it has it.',
      from: ['PENDING'],
      to: 'DELIVERED',
      who: orchestrator,
      guard: 'none',
      effects: ['attempt and time saved'],
    },
    DELIVERY_FAIL: {
      says: 'It could not be delivered.',
      from: ['PENDING'],
      to: 'FAILED',
      who: orchestrator,
      guard: 'Every attempt failed, or the destination answered 410.',
      effects: ['failure saved; nothing is generated again'],
    },
  },
  commands: {},
  refused: [{ from: 'FAILED', to: 'PENDING', why: 'redeliver begins another delivery with the same webhook id.' }],
});
