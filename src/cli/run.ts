// `packhorse run ID`: where a run or an export is, what became of its rows, and why it does not move.
import type { Command } from '@commander-js/extra-typings';
import { runOrExportDocument } from '../client/export-documents.ts';
import type { ExportFieldsFragment, RunFieldsFragment } from '../client/gql/graphql.ts';
import { execute } from '../client/request.ts';
import { clientCommand, connect } from './connection.ts';
import { reportExport } from './export.ts';
import { report } from './load.ts';
import { notFound, outcomeOf, outcomeOfExport } from './outcome.ts';
import type { Surroundings } from './surroundings.ts';

export function addRun(program: Command, surroundings: Surroundings): void {
  clientCommand(program, 'run', 'show one run, or one export')
    .argument('<id>', 'its id')
    .action(async (id, { json = false, ...given }) => {
      const connection = connect(given, surroundings);
      const { dataRun, exportExecution } = await execute(connection, runOrExportDocument, { id });
      const introduce = (lines: readonly string[]) => {
        for (const line of json ? [] : lines) surroundings.out(line);
      };
      if (dataRun !== null) {
        introduce(introductionOf(dataRun));
        await report(connection, dataRun, surroundings, json);
        return surroundings.finish(outcomeOf(dataRun));
      }
      if (exportExecution === null) throw notFound('run or export');
      introduce(introductionOfExport(exportExecution));
      await reportExport(connection, exportExecution, surroundings, { json, file: null });
      surroundings.finish(outcomeOfExport(exportExecution));
    });
}

function introductionOf({
  package: loaded,
  workspace,
  registeredAt,
  registeredBy,
  driving,
  allowedActions,
}: RunFieldsFragment): readonly string[] {
  return [
    `${loaded.name}${loaded.version === null ? '' : ` ${loaded.version}`} into ${workspace.slug}`,
    `registered ${registeredAt} by ${registeredBy}, driven ${driving === 'BACKGROUND' ? 'in the background' : 'on request'}`,
    ...allowedNow(allowedActions),
  ];
}

function introductionOfExport({
  workspace,
  settings,
  cutoff,
  requestedAt,
  requestedBy,
  allowedActions,
}: ExportFieldsFragment): readonly string[] {
  return [
    `${workspace.slug} as of ${cutoff}, as ${settings.format}`,
    `requested ${requestedAt} by ${requestedBy}`,
    ...allowedNow(allowedActions),
  ];
}

function allowedNow(actions: readonly string[]): readonly string[] {
  return actions.length === 0 ? [] : [`allowed now: ${actions.join(', ')}`];
}
