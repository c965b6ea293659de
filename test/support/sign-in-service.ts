// A provider of OpenID Connect, a real one over HTTP, that gives access tokens as the API takes them. Whoever signs in is who they say.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';

export interface SignInService {
  readonly issuer: string;
  /** What tokens carry beside what the protocol asks for. */
  claims: Record<string, unknown>;
  /** How long they hold. */
  seconds: number;
  close(): Promise<void>;
}

export const clientId = 'packhorse-dashboard';
export const clientSecret = 'only-for-tests-0123456789';

/** `callbacks`: read when somebody comes, since the server that they lead to is not there before its provider is. `port`: of one that was. */
export async function signInService(callbacks: () => string[], port = 0): Promise<SignInService> {
  const server = createServer();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const service: SignInService = {
    issuer,
    claims: { permissions: ['workspace:read', 'data-run', 'target:*'], workspaces: ['*'] },
    seconds: 600,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        grant_types: ['authorization_code'],
        response_types: ['code'],
        redirect_uris: ['http://127.0.0.1/sign-in/callback'],
      },
    ],
    cookies: { keys: ['only for tests'] },
    pkce: { required: () => true },
    findAccount: (_context, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
    extraTokenClaims: () => service.claims,
    ttl: { AccessToken: () => service.seconds },
    features: {
      devInteractions: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => 'urn:packhorse',
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: '',
          audience: 'packhorse',
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
  });
  // The port of the server under test is known only once it runs, and it runs only once its provider does.
  provider.Client.prototype.redirectUriAllowed = (uri: string) => callbacks().includes(uri);
  const answer = provider.callback();
  server.on('request', (request, response) => void answer(request, response));
  return service;
}
