// `packhorse runs --workspace W`: its runs, newest first.
import type { Command } from '@commander-js/extra-typings';
import { dataRunsDocument } from '../client/documents.ts';
import type { DataRunsQuery } from '../client/gql/graphql.ts';
import { type Connection, execute } from '../client/request.ts';
import { clientCommand, connect } from './connection.ts';
import { exitCode, notFound } from './outcome.ts';
import { listed } from './pages.ts';
import { table } from './print.ts';
import type { Surroundings } from './surroundings.ts';
import { atLeastOne } from './values.ts';

type Listed = NonNullable<DataRunsQuery['workspace']>['dataRuns']['edges'][number]['node'];

export function addRuns(program: Command, surroundings: Surroundings): void {
  clientCommand(program, 'runs', 'list the runs of a workspace, newest first')
    .requiredOption('--workspace <slug>', 'whose runs')
    .option('--limit <number>', 'how many at most', atLeastOne, 20)
    .action(async ({ workspace, limit, json, ...connection }) => {
      const runs = await list(connect(connection, surroundings), workspace, limit);
      if (json) for (const run of runs) surroundings.out(JSON.stringify(run));
      else for (const line of linesOf(runs)) surroundings.out(line);
      surroundings.finish(exitCode.succeeded);
    });
}

function list(connection: Connection, slug: string, limit: number): Promise<Listed[]> {
  return listed(limit, async (first, after) => {
    const { workspace } = await execute(connection, dataRunsDocument, { slug, first, after });
    if (workspace === null) throw notFound('workspace');
    return workspace.dataRuns;
  });
}

function linesOf(runs: readonly Listed[]): string[] {
  if (runs.length === 0) return ['no runs'];
  return table(
    ['RUN', 'STATE', 'READY', 'PACKAGE', 'REGISTERED', 'BY'],
    runs.map(({ id, state, readiness, package: { name, version }, registeredAt, registeredBy }) => [
      id,
      state,
      readiness.ready ? 'yes' : 'no',
      version === null ? name : `${name} ${version}`,
      registeredAt,
      registeredBy,
    ]),
  );
}
