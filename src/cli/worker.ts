// `packhorse worker`: the background half alone, as many as needed against one database.
import type { Command } from '@commander-js/extra-typings';
import { readConfig } from '../config.ts';
import { jsonFlag } from './connection.ts';
import { run } from './serve.ts';
import type { Surroundings } from './surroundings.ts';

export function addWorker(program: Command, surroundings: Surroundings): void {
  program
    .command('worker')
    .description('work in the background only; the same as PACKHORSE_ROLE=worker')
    .option(...jsonFlag)
    .action(({ json }) => run(readConfig({ ...surroundings.env, PACKHORSE_ROLE: 'worker' }), surroundings, json === true));
}
