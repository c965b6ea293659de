// `packhorse target …`: for who writes a service that Packhorse is to drive. Neither needs a server or a database.
import { randomBytes } from 'node:crypto';
import { type Command, InvalidArgumentError } from '@commander-js/extra-typings';
import { callTokens } from '../auth/call-token.ts';
import { jwtSecret } from '../auth/secret.ts';
import { readConfig } from '../config.ts';
import { checkService, type Finding } from '../job-target/kit.ts';
import { serveMaterials } from '../job-target/materials.ts';
import { httpService, type Service } from '../job-target/service.ts';
import { jsonFlag } from './connection.ts';
import { exitCode, Refusal } from './outcome.ts';
import { table } from './print.ts';
import type { Surroundings } from './surroundings.ts';

const callTimeoutMs = 10_000;

export function addTarget(program: Command, surroundings: Surroundings): void {
  const target = program.command('target').description('what services that Packhorse drives need: checks, and the keys of its calls');
  target
    .command('check')
    .description('the conformance kit: try out whether a service keeps the job-target contract; it is given small datasets named kit-…')
    .argument('<url>', 'its base URL: what /jobs is put after', baseUrl)
    .option('--audience <text>', 'aud of the tokens that it is called with; the base URL if not given')
    .option('--token <token>', 'call it with this token; without it, with ones signed as this home’s server signs them')
    .option('--data-host <name>', 'where the service reaches this machine, to read its data from', '127.0.0.1')
    .option('--patience <seconds>', 'how long a job may take that has its data', seconds, 30)
    .option(...jsonFlag)
    .action(async (url, { audience = url, token, dataHost, patience, json }) => {
      const called = (made: ((id: string) => Promise<string>) | null): Service =>
        httpService({ baseUrl: url, token: made, timeoutMs: callTimeoutMs });
      const own = token === undefined ? tokensFor(surroundings, audience) : async () => token;
      const strangers = {
        'without a token': called(null),
        'with a token that somebody else signed': called(minting(randomBytes(32), audience)),
        ...(token === undefined ? { 'with a token for another service': called(tokensFor(surroundings, 'https://another.example')) } : {}),
      };
      await refuseUnlessThere(url);
      // Only what this machine itself reaches is served to itself.
      const materials = await serveMaterials(dataHost, dataHost === '127.0.0.1' ? dataHost : '0.0.0.0');
      const say = json ? () => {} : ({ name, outcome }: Finding) => surroundings.note(`${name}: ${outcome}`);
      let findings: Finding[];
      try {
        findings = await checkService({ service: called(own), strangers, materials, patienceMs: patience * 1_000 }, say);
      } finally {
        await materials.close();
      }
      const failed = findings.filter(({ outcome }) => outcome === 'failed');
      if (json) surroundings.out(JSON.stringify({ url, holds: failed.length === 0, findings }));
      else tell(findings, failed.length, surroundings);
      surroundings.finish(failed.length === 0 ? exitCode.succeeded : exitCode.refused);
    });
  target
    .command('keys')
    .description('print the public keys of the calls that this home’s server makes, as a JWKS')
    .action(() => {
      const config = readConfig(surroundings.env);
      surroundings.out(JSON.stringify(callTokens(jwtSecret(config), config.jwt.issuer).publicKeys));
    });
}

function tell(findings: readonly Finding[], failed: number, { out }: Surroundings): void {
  const rows = findings.map(({ name, outcome, says, message }) => [name, outcome === 'failed' ? 'FAILED' : outcome, message ?? says]);
  for (const line of table(['CHECK', 'OUTCOME', 'WHAT'], rows)) out(line);
  out(failed === 0 ? 'It keeps the contract.' : `It does not keep the contract: ${failed} of ${findings.length} checks failed.`);
}

function tokensFor({ env }: Surroundings, audience: string): (id: string) => Promise<string> {
  const config = readConfig(env);
  return minting(jwtSecret(config), audience, config.jwt.issuer);
}

function minting(secret: Uint8Array, audience: string, issuer = 'packhorse'): (id: string) => Promise<string> {
  const tokens = callTokens(secret, issuer);
  return (id) => tokens.mint({ subject: 'conformance-kit', audience, id });
}

/** Whoever is not there breaks every promise, which helps nobody. */
async function refuseUnlessThere(url: string): Promise<void> {
  await fetch(url, { signal: AbortSignal.timeout(callTimeoutMs), redirect: 'manual' }).catch((error: unknown) => {
    const why = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    throw new Refusal('UNREACHABLE', `Nobody answers at ${url} (${why}).`);
  });
}

function baseUrl(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '') {
    throw new InvalidArgumentError('It begins with http:// or https://, and has no query.');
  }
  return value.replace(/\/+$/, '');
}

function seconds(value: string): number {
  if (!/^[1-9]\d{0,4}$/.test(value)) throw new InvalidArgumentError('It is a whole number of seconds, from 1.');
  return Number(value);
}
