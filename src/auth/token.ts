// JSON Web Tokens by a shared secret. One algorithm, and audience, issuer and expiry always checked.
import { jwtVerify, SignJWT } from 'jose';
import { z } from 'zod';
import type { TokenHolder } from './viewer.ts';

export interface TokenSettings {
  readonly secret: Uint8Array;
  readonly audience: string;
  readonly issuer: string;
}

const algorithm = 'HS256';
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

export async function verifyToken(settings: TokenSettings, token: string): Promise<TokenHolder> {
  if (token.length > maxTokenLength) throw new UnauthenticatedError();
  try {
    const { payload } = await jwtVerify(token, settings.secret, {
      algorithms: [algorithm],
      audience: settings.audience,
      issuer: settings.issuer,
      requiredClaims: ['sub', 'exp', 'aud', 'iss'],
    });
    const { sub, exp, permissions, workspaces } = claims.parse(payload);
    return {
      subject: sub,
      permissions: new Set(permissions),
      workspaces: workspaces.includes('*') ? '*' : new Set(workspaces),
      expiresAt: new Date(exp * 1_000),
    };
  } catch {
    throw new UnauthenticatedError();
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

export function issueToken(settings: TokenSettings, grant: TokenGrant): Promise<string> {
  return new SignJWT({ permissions: grant.permissions, workspaces: grant.workspaces })
    .setProtectedHeader({ alg: algorithm, typ: 'JWT' })
    .setSubject(grant.subject)
    .setAudience(settings.audience)
    .setIssuer(settings.issuer)
    .setIssuedAt()
    .setExpirationTime(Math.floor(Date.now() / 1_000) + grant.expiresInSeconds)
    .sign(settings.secret);
}
