// JSON Web Tokens, by the shared secret or by keys that are fetched. Audience, issuer and expiry are always checked.
import { decodeProtectedHeader, type JWTVerifyGetKey, jwtVerify, SignJWT } from 'jose';
import { z } from 'zod';
import { KeysUnavailableError } from './remote-keys.ts';
import type { TokenHolder } from './viewer.ts';

export interface TokenSettings {
  readonly secret: Uint8Array;
  readonly audience: string;
  readonly issuer: string;
  /** Of who else may issue tokens; null: nobody. */
  readonly keys: JWTVerifyGetKey | null;
}

const algorithm = 'HS256';
/** Of keys that are fetched, which are public: none that signs with what it verifies with. */
const publicKeyAlgorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'];
/** Longer ones are not looked at: verifying costs time in proportion. */
const maxTokenLength = 8_192;

/** What goes into rows must be storable. */
const isStorable = (text: string) => text.isWellFormed() && !text.includes('\0');

const claims = z.object({
  sub: z.string().min(1).max(200).refine(isStorable),
  exp: z.number(),
  permissions: z.array(z.string().max(200)).max(200),
  workspaces: z.array(z.string().max(200)).max(10_000),
});

/** Why a token was refused stays with us: a client learns only that it was. */
export class UnauthenticatedError extends Error {
  override readonly name = 'UnauthenticatedError';
  readonly code = 'UNAUTHENTICATED';
  constructor() {
    super('A valid access token is needed: Authorization: Bearer <token>.');
  }
}

/** Throws UnauthenticatedError, or KeysUnavailableError where it cannot be said. */
export async function verifyToken({ secret, keys, audience, issuer }: TokenSettings, token: string): Promise<TokenHolder> {
  if (token.length > maxTokenLength) throw new UnauthenticatedError();
  try {
    const wanted = { audience, issuer, requiredClaims: ['sub', 'exp', 'aud', 'iss'] };
    // Which of the two is never left to the token alone: each takes its own algorithms only.
    const isByKeys = keys !== null && decodeProtectedHeader(token).alg !== algorithm;
    const { payload } = isByKeys
      ? await jwtVerify(token, keys, { ...wanted, algorithms: publicKeyAlgorithms })
      : await jwtVerify(token, secret, { ...wanted, algorithms: [algorithm] });
    const { sub, exp, permissions, workspaces } = claims.parse(payload);
    return {
      subject: sub,
      permissions: new Set(permissions),
      workspaces: workspaces.includes('*') ? '*' : new Set(workspaces),
      expiresAt: new Date(exp * 1_000),
    };
  } catch (error) {
    throw error instanceof KeysUnavailableError ? error : new UnauthenticatedError();
  }
}

/** The token of an `Authorization` value, or null where there is none. Throws for anything that is not `Bearer <token>`. */
export function bearer(header: string | null | undefined): string | null {
  if (header === null || header === undefined || header === '') return null;
  const [, token] = /^Bearer ([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(header) ?? [];
  if (token === undefined) throw new UnauthenticatedError();
  return token;
}

export interface TokenGrant {
  readonly subject: string;
  readonly permissions: readonly string[];
  readonly workspaces: readonly string[];
  readonly expiresInSeconds: number;
}

export function issueToken(settings: Omit<TokenSettings, 'keys'>, grant: TokenGrant): Promise<string> {
  return new SignJWT({ permissions: grant.permissions, workspaces: grant.workspaces })
    .setProtectedHeader({ alg: algorithm, typ: 'JWT' })
    .setSubject(grant.subject)
    .setAudience(settings.audience)
    .setIssuer(settings.issuer)
    .setIssuedAt()
    .setExpirationTime(Math.floor(Date.now() / 1_000) + grant.expiresInSeconds)
    .sign(settings.secret);
}
