// `packhorse retry ID`: the package of a run that has ended, loaded once more under the policies of that run.
import type { Command } from '@commander-js/extra-typings';
import { registerDataRunDocument } from '../client/documents.ts';
import { execute } from '../client/request.ts';
import { retriedRunDocument, retryOf } from '../client/retry.ts';
import { clientCommand, connect } from './connection.ts';
import { carryOn, planFlag, watchFlag } from './load.ts';
import { granted, notFound } from './outcome.ts';
import type { Surroundings } from './surroundings.ts';

export function addRetry(program: Command, surroundings: Surroundings): void {
  clientCommand(program, 'retry', 'load the package of a run that has ended once more: register, start')
    .argument('<id>', 'the run’s id')
    .option(...planFlag)
    .option(...watchFlag)
    .option('--idempotency-key <key>', 'the same key gives the first new run again, for 24 hours')
    .action(async (id, options) => {
      const connection = connect(options, surroundings);
      const { dataRun } = await execute(connection, retriedRunDocument, { id });
      if (dataRun === null) throw notFound('data run');
      const { registerDataRun } = await execute(connection, registerDataRunDocument, {
        input: { ...retryOf(dataRun), idempotencyKey: options.idempotencyKey ?? null },
      });
      await carryOn(connection, granted(registerDataRun, 'DataRun'), options, surroundings);
    });
}
