// Who asks, what they may do, and which workspaces they may know of. The one place where permissions are compared.
import { ForbiddenError } from '../errors.ts';

export const permissions = ['workspace:read', 'workspace:admin', 'data-run', 'data-run:force', 'data-export:execute'] as const;
export type Permission = (typeof permissions)[number];

/** As a token says. */
export interface TokenHolder {
  readonly subject: string;
  readonly permissions: ReadonlySet<string>;
  /** Slugs, or all of them. */
  readonly workspaces: ReadonlySet<string> | '*';
  readonly expiresAt: Date;
}

export interface Viewer extends TokenHolder {
  /** Slugs: what the token names there was taken back since. */
  readonly revoked: ReadonlySet<string>;
}

export function can(viewer: Viewer, permission: Permission): boolean {
  return viewer.permissions.has(permission);
}

/** Named in the token, and not taken back since: enough to act on it with the act's own permission. Everything else about it is *not found*. */
export function isNamed(viewer: Viewer, slug: string): boolean {
  return (viewer.workspaces === '*' || viewer.workspaces.has(slug)) && !viewer.revoked.has(slug);
}

/** Named, and with the right to look. */
export function maySee(viewer: Viewer, slug: string): boolean {
  return can(viewer, 'workspace:read') && isNamed(viewer, slug);
}

export function mayWriteThrough(viewer: Viewer, target: string): boolean {
  return viewer.permissions.has('target:*') || viewer.permissions.has(`target:${target}`);
}

export function demand(viewer: Viewer, permission: Permission): void {
  if (!can(viewer, permission)) throw new ForbiddenError(permission, `This needs the permission ${permission}.`);
}

/** Demands authority on the target of each dataset; names the first it is missing for. */
export function demandTargets(viewer: Viewer, steps: readonly { readonly dataset: string; readonly target: string }[]): void {
  const step = steps.find(({ target }) => !mayWriteThrough(viewer, target));
  if (step === undefined) return;
  const permission = `target:${step.target}`;
  throw new ForbiddenError(permission, `Driving the dataset ${step.dataset} needs the permission ${permission}.`, step.dataset);
}

/** For Prisma's `where`: the workspaces this viewer may see. */
export function visibleWorkspaces(viewer: Viewer): { slug?: { in: string[] } | { notIn: string[] } } {
  if (!can(viewer, 'workspace:read')) return { slug: { in: [] } };
  if (viewer.workspaces !== '*') return { slug: { in: [...viewer.workspaces].filter((slug) => isNamed(viewer, slug)) } };
  return viewer.revoked.size === 0 ? {} : { slug: { notIn: [...viewer.revoked] } };
}

/** All of a viewer that an answer depends on, but who it is: two with the same see the same. */
export function rightsOf({ permissions: own, workspaces, revoked }: Viewer): string {
  return JSON.stringify([[...own].sort(), workspaces === '*' ? '*' : [...workspaces].sort(), [...revoked].sort()]);
}
