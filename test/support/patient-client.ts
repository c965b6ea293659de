// A client that asks again whenever it is not answered, as one with idempotency keys may.
import { setTimeout as pause } from 'node:timers/promises';
import { issueToken } from '../../src/auth/token.ts';
import { readConfig } from '../../src/config.ts';
import { everything, type TestApp } from './app.ts';
import { nodeSecret } from './nodes.ts';

/** `askedAgain` counts why. */
export async function patientClient(url: string, askedAgain: Record<string, number>): Promise<TestApp> {
  const { jwt } = readConfig({});
  const token = await issueToken(
    { secret: new TextEncoder().encode(nodeSecret), audience: jwt.audience, issuer: jwt.issuer },
    { subject: 'ann', permissions: everything, workspaces: ['*'], expiresInSeconds: 36_000 },
  );
  const tryOnce = async (query: string, variables: Record<string, unknown>) => {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, connection: 'close' },
      body: JSON.stringify({ query, variables }),
      signal: AbortSignal.timeout(5_000),
    });
    const { data, errors = [] } = (await response.json()) as { data?: any; errors?: { message: string; extensions?: { code?: string } }[] };
    if (errors.length > 0) throw new Error(errors.map(({ extensions, message }) => `${extensions?.code} ${message}`).join());
    return { status: response.status, data, errors: [] };
  };
  const graphql = async (query: string, variables: Record<string, unknown> = {}) => {
    for (const until = Date.now() + 300_000; ; ) {
      try {
        return await tryOnce(query, variables);
      } catch (error) {
        const what = String(error instanceof Error ? (error.cause ?? error.message) : error).slice(0, 120);
        askedAgain[what] = (askedAgain[what] ?? 0) + 1;
        if (Date.now() > until) throw error;
        await pause(50);
      }
    }
  };
  return { graphql } as Pick<TestApp, 'graphql'> as TestApp; // the stories use nothing else of it
}
