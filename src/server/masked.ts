// What a client sees of errors, over HTTP and over sockets.
import { randomUUID } from 'node:crypto';
import { GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { Context } from '../graphql/context.ts';
import { publicError } from '../graphql/errors.ts';
import type { Log } from '../log.ts';

/** What a client sees of an error: its code and sentence if it is one of ours, GraphQL's own words on the document, else nothing. */
export function masked(error: unknown, log: Log): GraphQLError {
  const ours = publicError(error);
  const at = error instanceof GraphQLError ? placeOf(error) : {};
  if (ours !== null) return new GraphQLError(ours.message, { ...at, extensions: { code: ours.code } });
  if (error instanceof GraphQLError && error.originalError === undefined) return error;
  if (error instanceof GraphQLError && error.originalError instanceof GraphQLError) return error;
  if (isOurLibrarys(error)) return new GraphQLError((error as Error).message, { ...at, extensions: { code: 'INVALID_INPUT' } }); // isOurLibrarys looked
  const reference = randomUUID();
  log.error({ err: error instanceof GraphQLError ? error.originalError : error, reference }, 'an operation failed unexpectedly');
  return new GraphQLError(`Something went wrong on our side. Give this to the operator: ${reference}`, {
    ...at,
    extensions: { code: 'INTERNAL_ERROR' },
  });
}

/** GraphQL's own words on a document have a code from whoever validated it; those on its variables, made by execution, have none. */
export function codedVariables(): Plugin<Context> {
  return {
    onExecutionResult(payload) {
      const { result } = payload;
      if (result === undefined || Array.isArray(result) || !('errors' in result) || result.errors === undefined) return;
      const errors = result.errors.map((error) =>
        error.extensions?.['code'] === undefined
          ? new GraphQLError(error.message, { ...placeOf(error), extensions: { ...error.extensions, code: 'BAD_USER_INPUT' } })
          : error,
      );
      payload.setResult({ ...result, errors });
    },
  };
}

function placeOf(error: GraphQLError) {
  return { ...(error.path ? { path: error.path } : {}), ...(error.nodes ? { nodes: error.nodes } : {}) };
}

/** Pothos' words on a bad argument, such as a cursor that is none. */
function isOurLibrarys(error: unknown): boolean {
  const cause = error instanceof GraphQLError ? error.originalError : error;
  return cause instanceof Error && cause.constructor.name === 'PothosValidationError';
}
