// Signing in by a provider of OpenID Connect: the code flow with PKCE. The provider's access token is what the API is then asked with, so it
// must be one that `verifyToken` takes.
import * as client from 'openid-client';
import { KeysUnavailableError } from './remote-keys.ts';
import { type TokenSettings, verifyToken } from './token.ts';

export interface ProviderSettings {
  /** As it stands in its tokens; where its metadata are is found out from it. */
  readonly issuer: string;
  readonly clientId: string;
  /** null: a public client. */
  readonly clientSecret: string | null;
  readonly scope: string;
  /** Sent along with the request, such as the audience that some providers want to be told. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** What the answer must fit. It is kept by the browser that began, so that no other can end what it did not begin. */
export interface Begun {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

export interface SignIn {
  /** Where the browser goes to sign in; the provider sends it to `callback` afterwards. Throws SignInError. */
  begin(callback: string): Promise<{ readonly url: string; readonly begun: Begun }>;
  /** The access token, which the API takes. `arrived`: the address that the provider sent the browser to. Throws SignInError. */
  end(arrived: URL, begun: Begun): Promise<string>;
}

/**
 * `unreachable`: the provider does not answer, or not as one. `denied`: it refused, or the person did. `foreign`: the answer does not belong
 * to what was begun, or comes a second time. `unusable`: its token is not one that the API takes.
 */
export type Refusal = 'unreachable' | 'denied' | 'foreign' | 'unusable';

/** Why stays with whoever runs the server; the person learns which it is. */
export class SignInError extends Error {
  override readonly name = 'SignInError';
  readonly refusal: Refusal;
  constructor(refusal: Refusal, message: string, options?: ErrorOptions) {
    super(message, options);
    this.refusal = refusal;
  }
}

const answerSeconds = 5;
const keptMs = 3_600_000; // then keys and addresses of the provider are asked for again

export function signIn(provider: ProviderSettings, tokens: TokenSettings): SignIn {
  let known: { readonly at: number; readonly configuration: Promise<client.Configuration> } | null = null;
  const configuration = async (): Promise<client.Configuration> => {
    if (known === null || performance.now() - known.at > keptMs) known = { at: performance.now(), configuration: discover(provider) };
    const asked = known;
    try {
      return await asked.configuration;
    } catch (error) {
      if (known === asked) known = null;
      throw new SignInError('unreachable', 'the metadata of the provider could not be read', { cause: error });
    }
  };

  return {
    async begin(callback) {
      const found = await configuration();
      const begun = { state: client.randomState(), nonce: client.randomNonce(), verifier: client.randomPKCECodeVerifier() };
      const url = client.buildAuthorizationUrl(found, {
        ...provider.parameters,
        scope: provider.scope,
        redirect_uri: callback,
        state: begun.state,
        nonce: begun.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(begun.verifier),
        code_challenge_method: 'S256',
      });
      return { url: url.href, begun };
    },

    async end(arrived, { state, nonce, verifier }) {
      const found = await configuration();
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
      let token: string;
      try {
        ({ access_token: token } = await client.authorizationCodeGrant(found, arrived, checks));
      } catch (error) {
        throw new SignInError(refusalOf(error), 'the provider gave no tokens', { cause: error });
      }
      try {
        await verifyToken(tokens, token);
      } catch (error) {
        const refusal = error instanceof KeysUnavailableError ? 'unreachable' : 'unusable';
        const wanted = `aud ${tokens.audience}, iss ${tokens.issuer}, sub, exp, and lists of permissions and workspaces`;
        throw new SignInError(refusal, `the access token is not one that the API takes: a JWT with ${wanted}`, { cause: error });
      }
      return token;
    },
  };
}

function discover({ issuer, clientId, clientSecret }: ProviderSettings): Promise<client.Configuration> {
  const server = new URL(issuer);
  // The settings let http:// through for this machine only.
  const execute = server.protocol === 'http:' ? [client.allowInsecureRequests] : [];
  return client.discovery(server, clientId, clientSecret ?? undefined, clientSecret === null ? client.None() : undefined, {
    execute,
    timeout: answerSeconds,
  });
}

function refusalOf(error: unknown): Refusal {
  if (error instanceof client.AuthorizationResponseError) return 'denied';
  // A code that was used or has expired; any other refusal is of us, by the provider.
  if (error instanceof client.ResponseBodyError) return error.error === 'invalid_grant' ? 'foreign' : 'denied';
  // What does not fit comes as an OAUTH_… code; a provider that is away as an error of the network.
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return code === 'OAUTH_INVALID_RESPONSE' || code === 'OAUTH_JWT_CLAIM_COMPARISON_FAILED' ? 'foreign' : 'unreachable';
}
