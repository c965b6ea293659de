// Who looks: an access token, kept for this tab alone and gone with it.
import { useSyncExternalStore } from 'react';

export interface Session {
  /** Null: it has to be asked for. */
  readonly token: string | null;
  /** Why it is asked for again; null where it never was there, or was given up. */
  readonly why: string | null;
}

const key = 'packhorse.token'; // GraphiQL’s page takes it from there as well: src/server/graphiql.ts
const longestTimerMs = 2 ** 31 - 1; // a longer one fires at once

const refusals: Readonly<Record<string, string>> = {
  unreachable: 'The sign-in service cannot be reached now.',
  denied: 'The sign-in service refused.',
  foreign: 'The sign-in took too long, or was begun elsewhere.',
  unusable: 'The sign-in service gave an access token that this server does not take.',
};

let session: Session = fromAddress();
let expiry: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();
begin(session);

/** Takes `#token=…` out of the address at once, so that it is neither shared, nor bookmarked, nor in the history; and `#refused=…`. */
function fromAddress(): Session {
  const given = new URLSearchParams(location.hash.slice(1));
  const refused = given.get('refused');
  if (given.has('token') || refused !== null) history.replaceState(history.state, '', location.pathname + location.search);
  const token = given.get('token') ?? sessionStorage.getItem(key);
  return { token, why: token === null && refused !== null ? (refusals[refused] ?? 'The sign-in failed.') : null };
}

function begin(next: Session): void {
  clearTimeout(expiry);
  session = next;
  if (next.token === null) return sessionStorage.removeItem(key);
  sessionStorage.setItem(key, next.token);
  const expiresAt = expiryOf(next.token);
  if (expiresAt !== null) expiry = setTimeout(() => expire(next.token), Math.min(longestTimerMs, Math.max(0, expiresAt - Date.now())));
}

function change(next: Session): void {
  begin(next);
  for (const listener of listeners) listener();
}

export function signIn(token: string): void {
  change({ token: token.trim().replace(/^Bearer\s+/i, ''), why: null });
}

export function signOut(): void {
  change({ token: null, why: null });
}

/** Does nothing where another token is in use by now. */
export function expire(token: string | null, why = 'The access token has expired.'): void {
  if (session.token === token) change({ token: null, why });
}

export function useSession(): Session {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => session,
  );
}

/** Milliseconds since 1970; null where the token does not say, and the server has to. */
function expiryOf(token: string): number | null {
  try {
    const claims: unknown = JSON.parse(atob((token.split('.')[1] ?? '').replace(/-/g, '+').replace(/_/g, '/')));
    return typeof claims === 'object' && claims !== null && 'exp' in claims && typeof claims.exp === 'number' ? claims.exp * 1_000 : null;
  } catch {
    return null; // not one of ours: the server refuses it
  }
}
