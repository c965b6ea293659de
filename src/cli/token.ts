// `packhorse token`: an access token for this machine, and the one that the other commands make for themselves.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { type Command, InvalidArgumentError } from '@commander-js/extra-typings';
import { jwtSecret } from '../auth/secret.ts';
import { issueToken, type TokenGrant } from '../auth/token.ts';
import { type Config, ConfigError, readConfig } from '../config.ts';
import type { Surroundings } from './surroundings.ts';

const permission = /^(workspace:read|workspace:admin|data-run|data-run:force|data-export:execute|target:(\*|[a-z][a-z0-9-]*))$/;
const slug = /^(\*|[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)$/;

export const everyPermission = ['workspace:read', 'workspace:admin', 'data-run', 'data-run:force', 'data-export:execute', 'target:*'];

const shortLivedSeconds = 600;
const thisMachine = new Set(['localhost', '127.0.0.1', '[::1]']);

export function addToken(program: Command, surroundings: Surroundings): void {
  program
    .command('token')
    .description('print an access token, signed with the secret of this home; never in production')
    .requiredOption('--permissions <list>', `separated by commas, of ${everyPermission.join(', ')}, target:<name>`, listOf(permission))
    .requiredOption('--workspaces <list>', 'slugs separated by commas, or "*" for all', listOf(slug))
    .option('--subject <name>', 'who is let in: kept with everything done', 'local')
    .option('--expires-in <seconds>', 'how long it is good for', seconds, 86_400)
    .option('--json', 'JSON on stdout and nothing else')
    .action(async ({ permissions, workspaces, subject, expiresIn, json }) => {
      const config = readConfig(surroundings.env);
      if (config.production)
        throw new ConfigError('tokens are not made here where NODE_ENV is production: your identity provider makes them');
      const token = await tokenFor(config, { subject, permissions, workspaces, expiresInSeconds: expiresIn });
      const expiresAt = new Date(Date.now() + expiresIn * 1_000).toISOString();
      if (json) return surroundings.out(JSON.stringify({ token, subject, permissions, workspaces, expiresAt }));
      surroundings.note(`A token for ${subject}, good until ${expiresAt}:`);
      surroundings.out(token);
    });
}

export function tokenFor(config: Config, grant: TokenGrant): Promise<string> {
  return issueToken({ secret: jwtSecret(config), audience: config.jwt.audience, issuer: config.jwt.issuer }, grant);
}

/**
 * A person at this machine who can read the home's secret needs no token. Null in production, where the home has no secret yet, and for
 * servers elsewhere: they should not learn a token that opens this one.
 */
export function localToken(env: NodeJS.ProcessEnv, url: string): (() => Promise<string>) | null {
  if (!URL.canParse(url) || !thisMachine.has(new URL(url).hostname)) return null;
  const config = readConfig(env);
  if (config.production || (config.jwt.secret === null && !existsSync(path.join(config.home, 'secret')))) return null;
  const grant = { subject: 'local', permissions: everyPermission, workspaces: ['*'], expiresInSeconds: shortLivedSeconds };
  return () => tokenFor(config, grant);
}

function listOf(form: RegExp) {
  return (value: string): string[] => {
    const list = value.split(',').map((part) => part.trim());
    const wrong = list.find((part) => !form.test(part));
    if (wrong !== undefined) throw new InvalidArgumentError(`${JSON.stringify(wrong)} is none.`);
    return list;
  };
}

function seconds(value: string): number {
  const parsed = Number(value);
  if (!/^\d{1,9}$/.test(value) || parsed < 1) throw new InvalidArgumentError('It is a whole number of seconds, from 1.');
  return parsed;
}
