// Where the coded errors meet GraphQL: members of result unions, and codes on `errors[]` for what has no union.
import { GraphQLError } from 'graphql';
import { KeysUnavailableError } from '../auth/remote-keys.ts';
import { UnauthenticatedError } from '../auth/token.ts';
import { postgresFault } from '../db.ts';
import {
  BusyError,
  ConflictError,
  ForbiddenError,
  InvalidInputError,
  InvalidPackageError,
  InvalidTransitionError,
  NotFoundError,
  type PackageProblem,
} from '../errors.ts';
import { AccessRevokedError } from '../events/access.ts';
import { CursorError, CursorExpiredError } from '../events/cursor.ts';
import { builder, globalId } from './builder.ts';

const errorInterface = builder.interfaceRef<{ code: string; message: string }>('Error').implement({
  description: 'Why something was refused: a stable code for programs, a sentence for people.',
  fields: (t) => ({
    code: t.exposeString('code', { description: 'A stable code, for programs.' }),
    message: t.exposeString('message', { description: 'One sentence, for people.' }),
  }),
});

builder.objectType(NotFoundError, {
  name: 'NotFoundError',
  description: 'There is no such thing, or the viewer may not know of it: the two are not told apart.',
  interfaces: [errorInterface],
});

builder.objectType(ForbiddenError, {
  name: 'ForbiddenError',
  description: 'The viewer’s token lacks a permission, or a child refused its authority.',
  interfaces: [errorInterface],
  fields: (t) => ({
    permission: t.exposeString('permission', { description: 'The permission that is missing.' }),
    dataset: t.exposeString('dataset', { nullable: true, description: 'The dataset it is missing for, where it is missing for one.' }),
  }),
});

builder.objectType(ConflictError, {
  name: 'ConflictError',
  description: 'Something else stands in the way.',
  interfaces: [errorInterface],
  fields: (t) => ({
    conflictingId: t.id({
      nullable: true,
      description: 'The global id of what stands in the way.',
      resolve: ({ conflicting }) => (conflicting === null ? null : globalId(conflicting.type, conflicting.id)),
    }),
  }),
});

builder.objectType(InvalidTransitionError, {
  name: 'InvalidTransitionError',
  description: 'The state it is in does not allow this.',
  interfaces: [errorInterface],
  fields: (t) => ({
    from: t.exposeString('from', { description: 'The state it is in.' }),
    action: t.exposeString('action', { description: 'What was asked for.' }),
    allowed: t.stringList({ description: 'What may be asked for in this state.', resolve: ({ allowed }) => [...allowed] }),
  }),
});

builder.objectType(InvalidInputError, {
  name: 'InvalidInputError',
  description: 'An input cannot be used.',
  interfaces: [errorInterface],
  fields: (t) => ({ field: t.exposeString('field', { description: 'The input’s name.' }) }),
});

const packageProblem = builder.objectRef<PackageProblem>('PackageProblem').implement({
  description: 'One thing wrong with a package.',
  fields: (t) => ({
    code: t.exposeString('code', { description: 'A stable code, for programs.' }),
    pointer: t.exposeString('pointer', { description: 'Where, as a JSON pointer into datapackage.json; empty for the whole.' }),
    resource: t.exposeString('resource', { nullable: true, description: 'In which resource, by name.' }),
    message: t.exposeString('message', { description: 'One sentence, for people.' }),
  }),
});

builder.objectType(InvalidPackageError, {
  name: 'InvalidPackageError',
  description: 'The package cannot be loaded as it is.',
  interfaces: [errorInterface],
  fields: (t) => ({
    problems: t.field({ type: [packageProblem], description: 'All that is wrong with it.', resolve: ({ problems }) => [...problems] }),
  }),
});

const coded = [
  NotFoundError,
  ForbiddenError,
  ConflictError,
  InvalidTransitionError,
  InvalidInputError,
  InvalidPackageError,
  CursorError,
  CursorExpiredError,
  BusyError,
  UnauthenticatedError,
  KeysUnavailableError,
  AccessRevokedError,
];

/** Postgres refused a value that the edge should have refused: the classes of bad data and of limits. */
const badValue = /^(22|54)/;
const busy = new Set(['53300', '55P03', '57014', '40001', '40P01', '25P03']);

/** What a client may see of an error that no union took. Null: nothing but that there was one; it is a bug, or the machine. */
export function publicError(error: unknown): { message: string; code: string } | null {
  const cause = error instanceof GraphQLError && error.originalError !== undefined ? error.originalError : error;
  if (coded.some((kind) => cause instanceof kind)) {
    const { message, code } = cause as { message: string; code: string }; // each of `coded` has both
    return { message, code };
  }
  const code = postgresFault(cause)?.code;
  if (code !== undefined && badValue.test(code))
    return { message: 'An input holds a value that cannot be stored or compared.', code: 'INVALID_INPUT' };
  if ((code !== undefined && busy.has(code)) || isPoolTimeout(cause))
    return { message: 'The database is busy. Try again in a moment.', code: 'BUSY' };
  if (code?.startsWith('08') || code?.startsWith('57P') || isConnectionLoss(cause)) {
    return { message: 'The database cannot be reached. Try again in a moment.', code: 'UNAVAILABLE' };
  }
  return null;
}

const codeOf = (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : '');

function isPoolTimeout(error: unknown): boolean {
  return (
    codeOf(error) === 'P2024' ||
    codeOf(error) === 'P2028' ||
    (error instanceof Error && /timeout exceeded when trying to connect/.test(error.message))
  );
}

function isConnectionLoss(error: unknown): boolean {
  return (
    ['ECONNREFUSED', 'ECONNRESET', 'P1001', 'P1017'].includes(codeOf(error)) ||
    (error instanceof Error && /Connection terminated|ECONNREFUSED/.test(error.message))
  );
}
