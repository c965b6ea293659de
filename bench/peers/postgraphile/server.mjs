// PostGraphile 5 with a subscription of the same shape, in its quickest form: the event comes whole in the notice, nothing is read from a
// table, and nobody's rights are looked at.
import { createServer } from 'node:http';
import { postgraphile } from 'postgraphile';
import { jsonParse } from 'postgraphile/@dataplan/json';
import { makePgService } from 'postgraphile/adaptors/pg';
import { context, listen } from 'postgraphile/grafast';
import { grafserv } from 'postgraphile/grafserv/node';
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber';
import { extendSchema } from 'postgraphile/utils';

const events = extendSchema(() => ({
  typeDefs: /* GraphQL */ `
    type EventRun { id: ID! state: String! }
    type WorkspaceEvent { cursor: String! sequence: Int! action: String! from: String to: String! at: String! reason: String dataset: String dataRun: EventRun! }
    extend type Subscription { workspaceEvents(workspace: ID!): WorkspaceEvent }
  `,
  objects: {
    Subscription: {
      plans: {
        workspaceEvents: {
          subscribePlan: () => listen(context().get('pgSubscriber'), 'postgraphile', jsonParse),
          plan: ($event) => $event,
        },
      },
    },
  },
}));
const service = makePgService({ connectionString: process.env.DATABASE_URL, schemas: ['public'], pubsub: true });
const graphile = postgraphile({
  extends: [PostGraphileAmberPreset],
  plugins: [events],
  pgServices: [service],
  grafserv: { websockets: true, graphqlPath: '/graphql', graphiql: false },
  grafast: { explain: false },
});
const served = graphile.createServ(grafserv);
const server = createServer();
await served.addTo(server);
await served.ready?.();
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
process.on('SIGTERM', () => process.exit(0));
