// The options that commands have which talk to a server, and the connection that they make.
import { type Command, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { WebSocket } from 'ws';
import type { Connection } from '../client/request.ts';
import type { Surroundings } from './surroundings.ts';
import { localToken } from './token.ts';

export const jsonFlag = ['--json', 'JSON on stdout and nothing else; one object a line where there are many'] as const;

export interface ConnectionOptions {
  readonly url: string;
  readonly token?: string | undefined;
}

export function clientCommand(program: Command, name: string, description: string) {
  return program
    .command(name)
    .description(description)
    .addOption(new Option('--url <url>', 'the server').env('PACKHORSE_URL').default('http://127.0.0.1:4000').argParser(webAddress))
    .addOption(
      new Option(
        '--token <token>',
        'the access token; without it, for a server on this machine, one signed with the home’s own secret',
      ).env('PACKHORSE_TOKEN'),
    )
    .option(...jsonFlag);
}

export function connect({ url, token }: ConnectionOptions, { env }: Surroundings): Connection {
  const given = token === undefined || token === '' ? null : token; // an empty variable is one that was not set
  return { url, token: given ?? localToken(env, url), webSocket: WebSocket };
}

function webAddress(value: string): string {
  if (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)) return value;
  throw new InvalidArgumentError('It begins with http:// or https://.');
}
