// `packhorse exports --workspace W`: its exports, newest first.
import type { Command } from '@commander-js/extra-typings';
import { exportExecutionsDocument } from '../client/export-documents.ts';
import type { ExportExecutionsQuery } from '../client/gql/graphql.ts';
import { type Connection, execute } from '../client/request.ts';
import { clientCommand, connect } from './connection.ts';
import { exitCode, notFound } from './outcome.ts';
import { listed } from './pages.ts';
import { count, table } from './print.ts';
import type { Surroundings } from './surroundings.ts';
import { atLeastOne } from './values.ts';

type Listed = NonNullable<ExportExecutionsQuery['workspace']>['exportExecutions']['edges'][number]['node'];

const shownDigest = 'sha256:'.length + 12;

export function addExports(program: Command, surroundings: Surroundings): void {
  clientCommand(program, 'exports', 'list the exports of a workspace, newest first')
    .requiredOption('--workspace <slug>', 'whose exports')
    .option('--limit <number>', 'how many at most', atLeastOne, 20)
    .action(async ({ workspace, limit, json, ...connection }) => {
      const found = await list(connect(connection, surroundings), workspace, limit);
      if (json) for (const one of found) surroundings.out(JSON.stringify(one));
      else for (const line of linesOf(found)) surroundings.out(line);
      surroundings.finish(exitCode.succeeded);
    });
}

function list(connection: Connection, slug: string, limit: number): Promise<Listed[]> {
  return listed(limit, async (first, after) => {
    const { workspace } = await execute(connection, exportExecutionsDocument, { slug, first, after });
    if (workspace === null) throw notFound('workspace');
    return workspace.exportExecutions;
  });
}

function linesOf(found: readonly Listed[]): string[] {
  if (found.length === 0) return ['no exports'];
  return table(
    ['EXPORT', 'STATE', 'PACKAGE', 'BYTES#', 'DIGEST', 'AS OF', 'BY'],
    found.map(({ id, state, exportPackage, manifestDigest, cutoff, requestedBy }) => [
      id,
      state,
      exportPackage?.state ?? '',
      typeof exportPackage?.bytes === 'string' ? count(exportPackage.bytes) : '',
      manifestDigest?.slice(0, shownDigest) ?? '',
      cutoff,
      requestedBy,
    ]),
  );
}
