// How a command ends: its exit code, and what it says where the server refused.
import type { ExportFieldsFragment, RunFieldsFragment } from '../client/gql/graphql.ts';

export const exitCode = { succeeded: 0, fault: 1, refused: 2, failed: 3, cancelled: 4, notReady: 5, interrupted: 130 } as const;

export const exitCodeHelp = `
Exit codes:
  0  it succeeded
  1  a fault: the server or the database cannot be reached, a port is in use, something is broken
  2  refused: the command line, the token, or the input, with the reason on stderr; verify, target check: it does not hold
  3  the run or the export FAILED, or the export’s package did   (load or retry --watch, export, watch ID, run ID), or would (plan ID, --plan)
  4  the run or the export was CANCELLED                          (the same)
  5  the run SUCCEEDED, but its data are not ready: something is missing   (load or retry --watch, watch ID, run ID), or would be (plan ID, --plan)
  130  export was stopped by Ctrl-C before it was done; the export itself goes on
`;

/** The server understood, and said no. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: string;
  readonly details: readonly string[];
  constructor(code: string, message: string, details: readonly string[] = []) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

interface Problem {
  readonly code: string;
  readonly pointer: string;
  readonly resource: string | null;
  readonly message: string;
}

interface Member {
  readonly __typename: string;
  readonly code?: string;
  readonly message?: string;
  readonly field?: string;
  readonly permission?: string;
  readonly allowed?: readonly string[];
  readonly conflictingId?: string | null;
  readonly problems?: readonly Problem[];
}

/** The member of a result that was hoped for. Every other one is a Refusal. */
export function granted<Result extends { readonly __typename: string }, Name extends Result['__typename']>(
  result: Result,
  name: Name,
): Extract<Result, { readonly __typename: Name }> {
  if (isMember(result, name)) return result;
  const member: Member = result;
  throw new Refusal(member.code ?? member.__typename, member.message ?? 'The server refused.', detailsOf(member));
}

function isMember<Result extends { readonly __typename: string }, Name extends Result['__typename']>(
  result: Result,
  name: Name,
): result is Extract<Result, { readonly __typename: Name }> {
  return result.__typename === name;
}

function detailsOf({ field, permission, allowed, conflictingId, problems }: Member): string[] {
  return [
    ...(field === undefined ? [] : [`input: ${field}`]),
    ...(permission === undefined ? [] : [`missing permission: ${permission}`]),
    ...(allowed === undefined ? [] : [`allowed now: ${allowed.join(', ') || 'nothing'}`]),
    ...(conflictingId === undefined || conflictingId === null ? [] : [`in the way: ${conflictingId}`]),
    ...problemLines(problems ?? []),
  ];
}

export function problemLines(problems: readonly Problem[]): string[] {
  return problems.map(({ code, pointer, resource, message }) =>
    [resource, pointer, `${message} [${code}]`].filter((part) => part !== null && part !== '').join('  '),
  );
}

export function notFound(what: string): Refusal {
  return new Refusal('NOT_FOUND', `There is no such ${what}, or it is not yours to see.`);
}

/** 0 also for a run that has not ended: nothing is wrong with it yet. */
export function outcomeOf({ state, readiness }: Pick<RunFieldsFragment, 'state' | 'readiness'>): number {
  if (state === 'FAILED') return exitCode.failed;
  if (state === 'CANCELLED') return exitCode.cancelled;
  return state === 'SUCCEEDED' && !readiness.ready ? exitCode.notReady : exitCode.succeeded;
}

/** The same of an export: what was asked for is there once its package is published. */
export function outcomeOfExport({ state, exportPackage }: Pick<ExportFieldsFragment, 'state' | 'exportPackage'>): number {
  if (state === 'FAILED' || exportPackage?.state === 'FAILED') return exitCode.failed;
  return state === 'CANCELLED' ? exitCode.cancelled : exitCode.succeeded;
}

export function hasEnded(state: string): boolean {
  return state === 'SUCCEEDED' || state === 'FAILED' || state === 'CANCELLED';
}
