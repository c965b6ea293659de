// `packhorse run ID`: where a run is, what became of its rows, and why it does not move.
import type { Command } from '@commander-js/extra-typings';
import { clientCommand, connect } from './connection.ts';
import { readRun, report } from './load.ts';
import { outcomeOf } from './outcome.ts';
import type { Surroundings } from './surroundings.ts';

export function addRun(program: Command, surroundings: Surroundings): void {
  clientCommand(program, 'run', 'show one run')
    .argument('<id>', 'its id')
    .action(async (id, options) => {
      const connection = connect(options, surroundings);
      const run = await readRun(connection, id);
      if (!options.json) {
        const { package: loaded, workspace, registeredAt, registeredBy, driving, allowedActions } = run;
        surroundings.out(`${loaded.name}${loaded.version === null ? '' : ` ${loaded.version}`} into ${workspace.slug}`);
        surroundings.out(
          `registered ${registeredAt} by ${registeredBy}, driven ${driving === 'BACKGROUND' ? 'in the background' : 'on request'}`,
        );
        if (allowedActions.length > 0) surroundings.out(`allowed now: ${allowedActions.join(', ')}`);
      }
      await report(connection, run, surroundings, options.json === true);
      surroundings.finish(outcomeOf(run));
    });
}
