// The refusals a caller can act on. Each carries a code, one sentence for a person, and data. Nothing here knows GraphQL.

export class NotFoundError extends Error {
  override readonly name = 'NotFoundError';
  readonly code = 'NOT_FOUND';
  /** `what` names the kind of thing, never whether one exists for somebody else. */
  constructor(what: string) {
    super(`There is no such ${what}, or it is not yours to see.`);
  }
}

export class ForbiddenError extends Error {
  override readonly name = 'ForbiddenError';
  readonly code: string;
  readonly permission: string;
  readonly dataset: string | null;
  constructor(permission: string, message: string, dataset: string | null = null, code = 'FORBIDDEN') {
    super(message);
    this.code = code;
    this.permission = permission;
    this.dataset = dataset;
  }
}

export class ConflictError extends Error {
  override readonly name = 'ConflictError';
  readonly code: string;
  /** What stands in the way: a typename and a database id, made a global id at the edge. */
  readonly conflicting: { readonly type: string; readonly id: string } | null;
  constructor(code: string, message: string, conflicting: { type: string; id: string } | null = null) {
    super(message);
    this.code = code;
    this.conflicting = conflicting;
  }
}

/** What a link of ours gave, and gives no more. Said to holders of a real link only. */
export class GoneError extends Error {
  override readonly name = 'GoneError';
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export class InvalidTransitionError extends Error {
  override readonly name = 'InvalidTransitionError';
  readonly code: string;
  readonly from: string;
  readonly action: string;
  readonly allowed: readonly string[];
  constructor(from: string, action: string, allowed: readonly string[], message: string, code = 'INVALID_TRANSITION') {
    super(message);
    this.code = code;
    this.from = from;
    this.action = action;
    this.allowed = allowed;
  }
}

export class InvalidInputError extends Error {
  override readonly name = 'InvalidInputError';
  readonly code: string;
  readonly field: string;
  constructor(field: string, message: string, code = 'INVALID_INPUT') {
    super(message);
    this.field = field;
    this.code = code;
  }
}

/** Nothing is wrong with what was asked; it could not be done in time, and nothing was changed by it. */
export class BusyError extends Error {
  override readonly name = 'BusyError';
  readonly code = 'BUSY';
}

/** One thing wrong with a package: where (a JSON pointer into the descriptor, "" for the whole), in which resource, and why. */
export interface PackageProblem {
  readonly code: string;
  readonly pointer: string;
  readonly resource: string | null;
  readonly message: string;
}

export class InvalidPackageError extends Error {
  override readonly name = 'InvalidPackageError';
  readonly code = 'INVALID_PACKAGE';
  readonly problems: readonly PackageProblem[];
  constructor(problems: readonly PackageProblem[]) {
    const first = problems[0]?.message ?? 'The package is not valid.';
    super(problems.length > 1 ? `${first} (and ${problems.length - 1} more)` : first);
    this.problems = problems;
  }
}

/** Why work on a dataset or an export came to nothing, as it is stored and shown. */
export interface Failure {
  readonly code: string;
  readonly origin: 'package' | 'data' | 'target' | 'storage' | 'database' | 'authority' | 'system';
  readonly phase: string;
  readonly retryable: boolean;
  readonly summary: string;
}
