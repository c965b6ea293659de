// Assembles the features' parts into one schema.
import { type GraphQLSchema, lexicographicSortSchema, printSchema } from 'graphql';
import '../graphql/scalars.ts';
import '../graphql/errors.ts';

import '../workspaces/schema.ts';
import '../workspaces/schema-access.ts';
import '../workspaces/schema-events.ts';
import '../records/schema.ts';
import '../packages/schema.ts';
import '../runs/schema.ts';
import '../runs/schema-grants.ts';
import '../runs/schema-mutations.ts';
import '../runs/schema-plan.ts';
import '../runs/schema-rejected-rows.ts';
import '../runs/schema-subscriptions.ts';
import '../exports/schema.ts';
import '../exports/schema-mutations.ts';
import '../exports/schema-ping.ts';
import '../exports/schema-settings.ts';
import '../exports/schema-subscriptions.ts';
import './schema-lifecycles.ts';
import { builder } from '../graphql/builder.ts';

const authScopes = { signedIn: true };
builder.queryType({ description: 'What can be read. Reading never drives anything.', authScopes });
builder.mutationType({
  description: 'What can be asked for. Refusals are members of each result; only unknown problems go to `errors`.',
  authScopes,
});
builder.subscriptionType({ description: 'What can be followed, over graphql-ws or server-sent events.', authScopes });

export const schema: GraphQLSchema = builder.toSchema();

export function printed(): string {
  return `${printSchema(lexicographicSortSchema(schema))}\n`;
}
