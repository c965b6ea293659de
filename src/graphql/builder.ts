// The Pothos builder that every feature's schema.ts adds to. Plugin order matters: errors first, so that refusals become union members.
import SchemaBuilder from '@pothos/core';
import ComplexityPlugin from '@pothos/plugin-complexity';
import ErrorsPlugin from '@pothos/plugin-errors';
import PrismaPlugin from '@pothos/plugin-prisma';
import RelayPlugin, { decodeGlobalID, encodeGlobalID } from '@pothos/plugin-relay';
import ScopeAuthPlugin from '@pothos/plugin-scope-auth';
import { can } from '../auth/viewer.ts';
import { ForbiddenError } from '../errors.ts';
import type PrismaTypes from '../generated/pothos-prisma.ts';
import { getDatamodel } from '../generated/pothos-prisma.ts';
import { type Context, unauthenticated } from './context.ts';

type Scalars = {
  DateTime: { Input: Date; Output: Date | string };
  BigInt: { Input: bigint; Output: bigint | number | string };
  JSON: { Input: unknown; Output: unknown };
  ID: { Input: string; Output: string };
};

export const maxPageSize = 100;
export const defaultPageSize = 20;

export const builder = new SchemaBuilder<{
  Context: Context;
  PrismaTypes: PrismaTypes;
  Scalars: Scalars;
  AuthScopes: { signedIn: boolean; reader: boolean };
  DefaultFieldNullability: false;
  DefaultEdgesNullability: { list: false; items: false };
}>({
  plugins: [ErrorsPlugin, ScopeAuthPlugin, ComplexityPlugin, RelayPlugin, PrismaPlugin],
  defaultFieldNullability: false,
  prisma: {
    client: (context) => context.db.prisma,
    dmmf: getDatamodel(),
    filterConnectionTotalCount: true,
    maxConnectionSize: maxPageSize,
    defaultConnectionSize: defaultPageSize,
    onUnusedQuery: null,
  },
  relay: {
    cursorType: 'String',
    edgesFieldOptions: { nullable: { list: false, items: false }, description: 'What is on the page, in order.' },
    nodeFieldOptions: { nullable: false, description: 'The thing itself.' },
    cursorFieldOptions: { description: 'Its place in the list. Give it as `after` or `before` to go on from here.' },
    pageInfoFieldOptions: { description: 'Where the page stands in the list.' },
    hasNextPageFieldOptions: { description: 'Whether there is more after this page.' },
    hasPreviousPageFieldOptions: { description: 'Whether there is more before this page.' },
    startCursorFieldOptions: { description: 'The cursor of the first thing on the page; null for an empty page.' },
    endCursorFieldOptions: { description: 'The cursor of the last thing on the page; null for an empty page.' },
    firstArgOptions: { description: 'How many from the beginning, at most 100; 20 if neither this nor `last` is given.' },
    lastArgOptions: { description: 'How many from the end, at most 100. Not together with `first`.' },
    afterArgOptions: { description: 'A cursor of this list: only what comes after it.' },
    beforeArgOptions: { description: 'A cursor of this list: only what comes before it.' },
    idFieldOptions: { description: 'The global id, opaque.' },
    nodeTypeOptions: { description: 'Something with a global id, which `node` finds again.' },
    pageInfoTypeOptions: { description: 'Where a page stands in its list.' },
    nodeQueryOptions: {
      nullable: true,
      description: 'Anything with a global id that you may see; null for everything else.',
      args: { id: { description: 'Its global id.' } },
    },
    nodesQueryOptions: {
      description: 'The same for many ids, in their order.',
      args: { ids: { description: 'Their global ids.' } },
      complexity: ({ ids }) => ({ field: 1, multiplier: ids.length }),
    },
    // A malformed id is not found like any other, so it is read as one that no row has.
    decodeGlobalID: (id) => parse(id) ?? { typename: 'DataRun', id: nobody },
  },
  scopeAuth: {
    authorizeOnSubscribe: true,
    treatErrorsAsUnauthorized: false,
    // `reader`: for what leads on from a mutation's answer, which the act's own permission is enough for.
    authScopes: ({ viewer }) => ({ signedIn: viewer !== null, reader: viewer !== null && can(viewer, 'workspace:read') }),
    unauthorizedError: (_parent, { viewer }) =>
      viewer === null ? unauthenticated() : new ForbiddenError('workspace:read', 'This needs the permission workspace:read.'),
  },
  // The limits are in server/limits.ts: checked before anything is executed, and once a request rather than once a field.
  complexity: { defaultComplexity: 1, defaultListMultiplier: 10 },
  errors: { defaultTypes: [] },
});

export const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The types that have ids; each feature's nodes. A string of another form, or of another type, names nothing. */
const nodeTypes = new Set([
  'Workspace',
  'Dataset',
  'DataRun',
  'DataRunStep',
  'DataPackage',
  'ExportExecution',
  'ExportPackage',
  'ExportDelivery',
]);

function parse(id: string): { typename: string; id: string } | null {
  if (id.length > 200) return null;
  try {
    const parsed = decodeGlobalID(id);
    return nodeTypes.has(parsed.typename) && uuidForm.test(parsed.id) ? parsed : null;
  } catch {
    return null;
  }
}

const nobody = '00000000-0000-0000-0000-000000000000';

/** The database id in a global id. For a malformed one, or one of another type, an id that no row has: it is *not found* like any other. */
export function idIn(typename: string, globalId: string): string {
  const parsed = parse(globalId);
  return parsed?.typename === typename ? parsed.id : nobody;
}

export function globalId(typename: string, id: string): string {
  return encodeGlobalID(typename, id);
}

/** A connection's cost grows with its page: a tenth for each node asked for, times the ten that its list of edges counts. */
export function connectionCost(args: { first?: number | null | undefined; last?: number | null | undefined }) {
  return { field: 1, multiplier: Math.max(1, Math.ceil((args.first ?? args.last ?? defaultPageSize) / 10)) };
}
