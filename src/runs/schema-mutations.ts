// What a person can ask of runs, as mutations. Each parses ids, calls one operation, and answers with the run as it then is.
import { ConflictError, ForbiddenError, InvalidInputError, InvalidPackageError, InvalidTransitionError, NotFoundError } from '../errors.ts';
import { builder, idIn } from '../graphql/builder.ts';
import { callerOf } from '../graphql/context.ts';
import { keyDescription, keyOf, reasonDescription, reasonOf, said } from '../graphql/said.ts';
import { cancelDataRun } from './cancel.ts';
import { advanceDataRun, pauseDataRun, resumeDataRun, startDataRun } from './operations.ts';
import { registerDataRun } from './register.ts';
import { resetDataRun } from './reset.ts';
import { driving, onHashMismatch, onInvalidRow, onMissingReference, submissionOutcome } from './schema-enums.ts';
import { settleSubmission } from './settle-submission.ts';

const idDescription = 'The run’s global id.';

const registerInput = builder.inputType('RegisterDataRunInput', {
  description: 'What makes a run.',
  fields: (t) => ({
    workspaceId: t.id({ required: true, description: 'Where to load: the workspace’s global id.' }),
    packageId: t.id({ required: true, description: 'What to load: the id that stagePackage gave.' }),
    driving: t.field({ type: driving, defaultValue: 'BACKGROUND', description: 'Who drives it once it is started.' }),
    onInvalidRow: t.field({ type: onInvalidRow, defaultValue: 'FAIL', description: 'What becomes of rows that are not valid.' }),
    onMissingReference: t.field({
      type: onMissingReference,
      defaultValue: 'BLOCK',
      description: 'What becomes of rows that point at nothing.',
    }),
    onHashMismatch: t.field({ type: onHashMismatch, defaultValue: 'FAIL', description: 'What becomes of wrong sizes and hashes.' }),
    previousRunId: t.id({ description: 'The run that this is another attempt of.' }),
    idempotencyKey: t.string({ description: keyDescription }),
  }),
});

const startInput = builder.inputType('StartDataRunInput', {
  description: 'Which run to start.',
  fields: (t) => ({
    dataRunId: t.id({ required: true, description: idDescription }),
    planDigest: t.string({
      description:
        'The digest of the plan that was looked at. Where what the plan was made of has changed since, the start is refused with the ConflictError PLAN_STALE.',
    }),
    idempotencyKey: t.string({ description: keyDescription }),
  }),
});

const pauseInput = builder.inputType('PauseDataRunInput', {
  description: 'Which run to pause.',
  fields: (t) => ({
    dataRunId: t.id({ required: true, description: idDescription }),
    reason: t.string({ description: reasonDescription }),
    idempotencyKey: t.string({ description: keyDescription }),
  }),
});

const resumeInput = builder.inputType('ResumeDataRunInput', {
  description: 'Which run to resume.',
  fields: (t) => ({
    dataRunId: t.id({ required: true, description: idDescription }),
    reason: t.string({ description: reasonDescription }),
    idempotencyKey: t.string({ description: keyDescription }),
  }),
});

const advanceInput = builder.inputType('AdvanceDataRunInput', {
  description: 'Which run to advance.',
  fields: (t) => ({ dataRunId: t.id({ required: true, description: idDescription }) }),
});

const cancelInput = builder.inputType('CancelDataRunInput', {
  description: 'Which run to cancel.',
  fields: (t) => ({
    dataRunId: t.id({ required: true, description: idDescription }),
    reason: t.string({ description: reasonDescription }),
    force: t.boolean({ defaultValue: false, description: 'Cancel although a child refuses. Needs `data-run:force`.' }),
    idempotencyKey: t.string({ description: keyDescription }),
  }),
});

const resetInput = builder.inputType('ResetDataRunInput', {
  description: 'Which run to take back.',
  fields: (t) => ({
    dataRunId: t.id({ required: true, description: idDescription }),
    reason: t.string({ description: reasonDescription }),
    idempotencyKey: t.string({ description: keyDescription }),
  }),
});

const settleInput = builder.inputType('SettleSubmissionInput', {
  description: 'What a person found at a target that cannot be asked by key.',
  fields: (t) => ({
    dataRunStepId: t.id({ required: true, description: 'The dataset’s global id.' }),
    outcome: t.field({ type: submissionOutcome, required: true, description: 'What became of the submission.' }),
    childJobId: t.string({ description: 'With CREATED: the target’s id of the job. At most 500 characters.' }),
    reason: t.string({ description: reasonDescription }),
    idempotencyKey: t.string({ description: keyDescription }),
  }),
});

const commandErrors = [NotFoundError, ForbiddenError, InvalidTransitionError, ConflictError, InvalidInputError];
const union = (name: string) => ({
  directResult: true as const,
  union: { name, description: 'The run as it then is, or why it stays as it was.' },
});

builder.mutationFields((t) => ({
  registerDataRun: t.prismaField({
    type: 'DataRun',
    description: 'Judges a staged package and saves it with its ordered datasets as a run. Needs `data-run`.',
    args: { input: t.arg({ type: registerInput, required: true, description: 'What makes it.' }) },
    errors: {
      types: [NotFoundError, ForbiddenError, ConflictError, InvalidPackageError, InvalidInputError],
      ...union('RegisterDataRunResult'),
    },
    resolve: async (query, _root, { input }, context) => {
      const id = await registerDataRun(context.runs, context.packages, callerOf(context), {
        workspaceId: idIn('Workspace', input.workspaceId),
        packageId: idIn('DataPackage', input.packageId),
        driving: input.driving ?? 'BACKGROUND',
        onInvalidRow: input.onInvalidRow ?? 'FAIL',
        onMissingReference: input.onMissingReference ?? 'BLOCK',
        onHashMismatch: input.onHashMismatch ?? 'FAIL',
        previousRunId: input.previousRunId === null || input.previousRunId === undefined ? null : idIn('DataRun', input.previousRunId),
        get idempotencyKey() {
          return keyOf(input.idempotencyKey); // read late, as in `said`
        },
      });
      return context.db.prisma.dataRun.findUniqueOrThrow({ ...query, where: { id } });
    },
  }),
  startDataRun: t.prismaField({
    type: 'DataRun',
    description:
      'Begins a registered run, or takes up a paused one. Needs `data-run`, and authority on the target of every remaining dataset.',
    args: { input: t.arg({ type: startInput, required: true, description: 'Which run.' }) },
    errors: { types: commandErrors, ...union('StartDataRunResult') },
    resolve: async (query, _root, { input }, context) => {
      const id = await startDataRun(context.runs, callerOf(context), idIn('DataRun', input.dataRunId), {
        planDigest: input.planDigest,
        get idempotencyKey() {
          return keyOf(input.idempotencyKey); // read late, as in `said`
        },
      });
      return context.db.prisma.dataRun.findUniqueOrThrow({ ...query, where: { id } });
    },
  }),
  pauseDataRun: t.prismaField({
    type: 'DataRun',
    description: 'Holds further submissions; children that are active go on. Needs `data-run`.',
    args: { input: t.arg({ type: pauseInput, required: true, description: 'Which run.' }) },
    errors: { types: commandErrors, ...union('PauseDataRunResult') },
    resolve: async (query, _root, { input }, context) => {
      const id = await pauseDataRun(context.runs, callerOf(context), idIn('DataRun', input.dataRunId), said(input));
      return context.db.prisma.dataRun.findUniqueOrThrow({ ...query, where: { id } });
    },
  }),
  resumeDataRun: t.prismaField({
    type: 'DataRun',
    description: 'Goes on with a paused run. Needs `data-run`, and authority on the target of every remaining dataset.',
    args: { input: t.arg({ type: resumeInput, required: true, description: 'Which run.' }) },
    errors: { types: commandErrors, ...union('ResumeDataRunResult') },
    resolve: async (query, _root, { input }, context) => {
      const id = await resumeDataRun(context.runs, callerOf(context), idIn('DataRun', input.dataRunId), said(input));
      return context.db.prisma.dataRun.findUniqueOrThrow({ ...query, where: { id } });
    },
  }),
  advanceDataRun: t.prismaField({
    type: 'DataRun',
    description:
      'The driving read: carries out one pass of a running run under your own authority, and answers when it is done. Needs `data-run`.',
    args: { input: t.arg({ type: advanceInput, required: true, description: 'Which run.' }) },
    errors: { types: [NotFoundError, ForbiddenError, InvalidTransitionError, InvalidInputError], ...union('AdvanceDataRunResult') },
    resolve: async (query, _root, { input }, context) => {
      const id = await advanceDataRun(context.runs, callerOf(context), idIn('DataRun', input.dataRunId));
      return context.db.prisma.dataRun.findUniqueOrThrow({ ...query, where: { id } });
    },
  }),
  settleSubmission: t.prismaField({
    type: 'DataRunStep',
    description:
      'Says what became of a submission whose answer was lost, where the target goes by no key (whyNotRunning: SUBMISSION_UNKNOWN). The dataset then goes on. Needs `data-run`, and authority on its target.',
    args: { input: t.arg({ type: settleInput, required: true, description: 'Which, and what was found.' }) },
    errors: {
      types: [NotFoundError, ForbiddenError, ConflictError, InvalidInputError],
      directResult: true,
      union: { name: 'SettleSubmissionResult', description: 'The dataset as it then is, or why it stays as it was.' },
    },
    resolve: async (query, _root, { input }, context) => {
      const id = await settleSubmission(context.runs, callerOf(context), idIn('DataRunStep', input.dataRunStepId), {
        outcome: input.outcome,
        childJobId: input.childJobId ?? null,
        get reason() {
          return reasonOf(input.reason); // read late, as in `said`
        },
        get idempotencyKey() {
          return keyOf(input.idempotencyKey);
        },
      });
      return context.db.prisma.dataRunStep.findUniqueOrThrow({ ...query, where: { id } });
    },
  }),
  cancelDataRun: t.prismaField({
    type: 'DataRun',
    description: 'Ends a run after asking its active children to stop. Needs `data-run`, and authority on every active dataset’s target.',
    args: { input: t.arg({ type: cancelInput, required: true, description: 'Which run.' }) },
    errors: { types: commandErrors, ...union('CancelDataRunResult') },
    resolve: async (query, _root, { input }, context) => {
      const id = await cancelDataRun(context.runs, callerOf(context), idIn('DataRun', input.dataRunId), {
        force: input.force ?? false,
        get reason() {
          return reasonOf(input.reason); // read late, as in `said`
        },
        get idempotencyKey() {
          return keyOf(input.idempotencyKey);
        },
      });
      return context.db.prisma.dataRun.findUniqueOrThrow({ ...query, where: { id } });
    },
  }),
  resetDataRun: t.prismaField({
    type: 'DataRun',
    description:
      'Takes back what a settled run wrote and puts back what it replaced, once. Refused while a later run has written the same rows (LATER_RUN, VALUES_TAKEN), while rows of other runs refer to what would vanish (ROWS_IN_USE), and where a remote target wrote (NOT_RESETTABLE). Needs `data-run`, and authority on the target of every dataset that was submitted.',
    args: { input: t.arg({ type: resetInput, required: true, description: 'Which run.' }) },
    errors: { types: commandErrors, ...union('ResetDataRunResult') },
    resolve: async (query, _root, { input }, context) => {
      const id = await resetDataRun(context.runs, callerOf(context), idIn('DataRun', input.dataRunId), said(input));
      return context.db.prisma.dataRun.findUniqueOrThrow({ ...query, where: { id } });
    },
  }),
}));
