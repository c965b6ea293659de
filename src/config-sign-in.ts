// Where people sign in: a provider of OpenID Connect. It is who issues the tokens, so its issuer and its keys are settings that stand already.
import type { ProviderSettings } from './auth/sign-in.ts';

export interface SignInValues {
  readonly PACKHORSE_OIDC_CLIENT_ID?: string | undefined;
  readonly PACKHORSE_OIDC_CLIENT_SECRET?: string | undefined;
  readonly PACKHORSE_OIDC_SCOPE: string;
  readonly PACKHORSE_OIDC_PARAMETERS: string;
  readonly PACKHORSE_JWT_ISSUER: string;
  readonly PACKHORSE_JWKS_URL?: string | undefined;
}

// What the flow itself sends: given twice, a provider may take the one that is not checked.
const own = new Set(['client_id', 'response_type', 'scope', 'redirect_uri', 'state', 'nonce', 'code_challenge', 'code_challenge_method']);

/** null where none is set. `isSafe` says of a URL whether what comes from there may be believed. Throws through `refuse`. */
export function providerOf(
  value: SignInValues,
  isSafe: (url: string) => boolean,
  refuse: (name: string, expected: string, found: string) => Error,
): ProviderSettings | null {
  const clientId = value.PACKHORSE_OIDC_CLIENT_ID;
  if (clientId === undefined) return null;
  const issuer = value.PACKHORSE_JWT_ISSUER;
  if (!isSafe(issuer)) {
    throw refuse(
      'PACKHORSE_JWT_ISSUER',
      'the URL of the provider where PACKHORSE_OIDC_CLIENT_ID is set (https://, or http:// on this machine)',
      issuer,
    );
  }
  if (value.PACKHORSE_JWKS_URL === undefined) {
    throw refuse('PACKHORSE_JWKS_URL', 'the keys of the provider where PACKHORSE_OIDC_CLIENT_ID is set', '');
  }
  const parameters = Object.fromEntries(new URLSearchParams(value.PACKHORSE_OIDC_PARAMETERS));
  const taken = Object.keys(parameters).find((name) => own.has(name));
  if (taken !== undefined) throw refuse('PACKHORSE_OIDC_PARAMETERS', 'no parameter of the sign-in itself', taken);
  return { issuer, clientId, clientSecret: value.PACKHORSE_OIDC_CLIENT_SECRET ?? null, scope: value.PACKHORSE_OIDC_SCOPE, parameters };
}
