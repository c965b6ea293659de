// The runs' enums in the API, their descriptions taken from the lifecycle tables.
import { builder } from '../graphql/builder.ts';
import { enumValues } from '../lifecycle/describe.ts';
import { runLifecycle, stepLifecycle } from './lifecycle.ts';

export const runState = builder.enumType('DataRunState', {
  description: 'Where a run is in its lifecycle.',
  values: enumValues(runLifecycle.states),
});
export const runAction = builder.enumType('DataRunAction', {
  description: 'What a person can ask of a run.',
  values: enumValues(runLifecycle.commands),
});
export const stepState = builder.enumType('DataRunStepState', {
  description: 'Where a step is in its lifecycle.',
  values: enumValues(stepLifecycle.states),
});

export const driving = builder.enumType('Driving', {
  description: 'Who drives a run once it is started.',
  values: {
    BACKGROUND: { description: 'The server drives it, under the grant that start or resume left.' },
    ON_REQUEST: { description: 'Only start, resume and advance drive it.' },
  },
});

export const onInvalidRow = builder.enumType('OnInvalidRow', {
  description: 'What becomes of a row that is not valid.',
  values: {
    FAIL: { description: 'The dataset fails, and nothing of it is written.' },
    REJECT: {
      description: 'The row is left out, the rest is written. What was left out is kept for a while: see `issueRejectedRowsLink`.',
    },
  },
});

export const onMissingReference = builder.enumType('OnMissingReference', {
  description: 'What becomes of a valid row whose foreign key points at nothing.',
  values: {
    BLOCK: { description: 'The row is held back, the rest is written, and the step ends blocked.' },
    FAIL: { description: 'As an invalid row: the dataset fails.' },
    REJECT: {
      description: 'As a row that is not valid: it is left out, with the rows of its file that point at it, and the rest is written.',
    },
  },
});

export const onHashMismatch = builder.enumType('OnHashMismatch', {
  description: 'What becomes of a package whose stated sizes or hashes are wrong.',
  values: {
    FAIL: { description: 'It is refused.' },
    WARN: { description: 'It is let pass, and the run’s notes say so.' },
  },
});

export const submissionOutcome = builder.enumType('SubmissionOutcome', {
  description: 'What became of a submission whose answer was lost.',
  values: {
    CREATED: { description: 'The target has a job for it: the dataset is ACTIVE with that job.' },
    NEVER_CREATED: { description: 'The target has none: it is submitted again, the same attempt with the same key.' },
  },
});
