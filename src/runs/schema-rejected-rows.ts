// The rows that a run left out, in the API.
import { ConflictError, ForbiddenError, InvalidInputError, NotFoundError } from '../errors.ts';
import { builder, idIn } from '../graphql/builder.ts';
import { callerOf } from '../graphql/context.ts';
import { downloadLink } from '../graphql/values.ts';
import { issueRejectedRowsLink } from './rejected-rows.ts';

const linkInput = builder.inputType('IssueRejectedRowsLinkInput', {
  description: 'A link to the rows of which run, and for how long.',
  fields: (t) => ({
    dataRunId: t.id({ required: true, description: 'The run’s global id.' }),
    expiresInSeconds: t.int({ defaultValue: 600, description: 'How long it holds: 1 to 86,400 s.' }),
  }),
});

builder.mutationField('issueRejectedRowsLink', (t) =>
  t.field({
    type: downloadLink,
    description:
      'Makes a link to the rows that a run left out: a data package with a resource for each dataset that has some, its fields as they stood in the file behind the row’s number and the reason. ConflictError NO_REJECTED_ROWS where there are none, REJECTED_ROWS_GONE where they are not kept. Needs `workspace:read`.',
    args: { input: t.arg({ type: linkInput, required: true, description: 'Of which, and for how long.' }) },
    errors: {
      types: [NotFoundError, ForbiddenError, ConflictError, InvalidInputError],
      directResult: true,
      union: { name: 'IssueRejectedRowsLinkResult', description: 'The link, or why there is none.' },
    },
    resolve: (_root, { input }, context) =>
      issueRejectedRowsLink(context.packages, callerOf(context), idIn('DataRun', input.dataRunId), input.expiresInSeconds ?? 600),
  }),
);
